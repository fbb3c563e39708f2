// The transports between processes, which tests open by a word.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/transport.h>

namespace dlhost::test {

// "shm", and with libfabric "fabric-tcp" and so on, by its providers.
std::vector<std::string> ways();
Result<std::unique_ptr<Endpoint>> open_endpoint(Host&, const std::string& way, std::string_view name);

} // namespace dlhost::test
