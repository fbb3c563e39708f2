// The transports between processes, as tests open them: by a word.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/transport.h>

namespace dlhost::test {

// "shm", and where libfabric is, "fabric-tcp" and so on, by its providers.
std::vector<std::string> ways();
Result<std::unique_ptr<Endpoint>> open_endpoint(Host&, const std::string& way, std::string_view name);

} // namespace dlhost::test
