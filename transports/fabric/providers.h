// Libfabric's providers on this machine, and how each would be opened.
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

// The provider as this transport opens it; null: it does not carry tagged messages between reliable datagram endpoints
// here. `host`: the only address where providers with such addresses listen.
Info of_provider(const std::string& provider, const std::string& host);

// All providers, by their name for the option `provider` ("tcp", for "tcp;ofi_rxm"), with their devices and this
// machine's addresses.
std::map<std::string, std::vector<std::string>> providers_here();

// The providers that carry tagged messages between reliable datagram endpoints, at any address.
std::set<std::string> carriers_here();

// Whether its addresses are hosts and ports.
bool has_host(const fi_info&);
// Whether it has put and get.
bool reaches_memory(const fi_info&);
// The division of a message's tag, within the bits that the provider carries: the lower bits are the caller's tag, the
// upper ones the receiver's token, which marks messages of its job.
struct TagBits {
  std::uint64_t owner = 0, token = 0;
};
TagBits tag_bits(const fi_info&);
// "tcp" for "tcp;ofi_rxm".
std::string short_name(const fi_info&);
// Its abilities, for people.
std::string abilities(const fi_info&);

} // namespace dlhost::plugins::fabric
