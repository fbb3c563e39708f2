// Libfabric's providers: which there are on this machine, and what each would be opened as.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <rdma/fabric.h>

namespace dlhost::plugins::fabric {

using Info = std::unique_ptr<fi_info, decltype(&fi_freeinfo)>;

// As this transport opens that one; null: it does not carry tagged messages between reliable datagram endpoints here.
// `host`: the address where providers that have such addresses listen.
Info of_provider(const std::string& provider, const std::string& host);

// All that there are, by the name that the option `provider` takes ("tcp", for "tcp;ofi_rxm"), with their devices and
// this machine's addresses there.
std::map<std::string, std::vector<std::string>> providers_here();

// "tcp" of "tcp;ofi_rxm".
std::string short_name(const fi_info&);
// What it offers, for people.
std::string abilities(const fi_info&);

} // namespace dlhost::plugins::fabric
