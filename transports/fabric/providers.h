// Libfabric's providers: which there are on this machine, and what each would be opened as.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <rdma/fabric.h>

namespace dlhost::plugins::fabric {

using Info = std::unique_ptr<fi_info, decltype(&fi_freeinfo)>;

// As this transport opens that one; null: it does not carry tagged messages between reliable datagram endpoints here.
// `host`: the address where providers that have such addresses listen; they do so there or nowhere.
Info of_provider(const std::string& provider, const std::string& host);

// All that there are, by the name that the option `provider` takes ("tcp", for "tcp;ofi_rxm"), with their devices and
// this machine's addresses there.
std::map<std::string, std::vector<std::string>> providers_here();

// Those of them that carry tagged messages between reliable datagram endpoints, at whatever address.
std::set<std::string> carriers_here();

// Its addresses are hosts' and ports.
bool has_host(const fi_info&);
// It has put and get.
bool reaches_memory(const fi_info&);
// How the bits of a message's tag are shared, as many as the provider carries: its sender's owner has the lower ones,
// and by the upper ones its receiver takes it for one of its job's.
struct TagBits {
  std::uint64_t owner = 0, token = 0;
};
TagBits tag_bits(const fi_info&);
// "tcp" of "tcp;ofi_rxm".
std::string short_name(const fi_info&);
// What it offers, for people.
std::string abilities(const fi_info&);

} // namespace dlhost::plugins::fabric
