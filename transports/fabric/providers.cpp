#include "providers.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <dlhost/status.h>

namespace dlhost::plugins::fabric {
namespace {

constexpr std::uint32_t interface = FI_VERSION(1, 17);

// Over tcp, ofi_rxm sends longer messages in parts that wait for one another, which takes three times as long; its
// default is 16 KiB. Over verbs the buffers would have to grow too. Set before the first call of libfabric, while no
// other thread reads the environment. The user's setting stays.
const bool eager = [] {
  std::error_code none;
  return std::filesystem::is_empty("/sys/class/infiniband", none) || none
             ? setenv("FI_OFI_RXM_EAGER_LIMIT", "40960", 0) == 0
             : false;
}();

Info all_here() {
  fi_info* list = nullptr;
  if (fi_getinfo(interface, nullptr, nullptr, 0, nullptr, &list) != 0) list = nullptr;
  return {list, &fi_freeinfo};
}

Info offered(const std::string& provider, const std::string& host, std::uint64_t more) {
  const Info hints(fi_allocinfo(), &fi_freeinfo);
  if (!hints) return {nullptr, &fi_freeinfo};
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_TAGGED | more;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->cq_data_size = 8;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->fabric_attr->prov_name = strdup(provider.c_str());
  fi_info* list = nullptr;
  if (fi_getinfo(interface, host.c_str(), nullptr, FI_SOURCE | FI_NUMERICHOST, hints.get(), &list) != 0) list = nullptr;
  // Providers with other kinds of addresses ignore the host, or take it for an endpoint's name.
  if (list && has_host(*list)) return {list, &fi_freeinfo};
  if (list) fi_freeinfo(list);
  if (fi_getinfo(interface, nullptr, nullptr, 0, hints.get(), &list) != 0) list = nullptr;
  Info others(list, &fi_freeinfo);
  if (others && has_host(*others)) others.reset(); // it would listen elsewhere than required
  return others;
}

std::string address_of(const fi_info& info) {
  char text[INET6_ADDRSTRLEN] = {};
  if (info.src_addr && info.addr_format == FI_SOCKADDR_IN)
    inet_ntop(AF_INET, &static_cast<const sockaddr_in*>(info.src_addr)->sin_addr, text, sizeof text);
  if (info.src_addr && info.addr_format == FI_SOCKADDR_IN6)
    inet_ntop(AF_INET6, &static_cast<const sockaddr_in6*>(info.src_addr)->sin6_addr, text, sizeof text);
  return text;
}

} // namespace

Info of_provider(const std::string& provider, const std::string& host) {
  Info info = offered(provider, host, FI_RMA);
  return info ? std::move(info) : offered(provider, host, 0);
}

std::map<std::string, std::vector<std::string>> providers_here() {
  std::map<std::string, std::vector<std::string>> here;
  const Info all = all_here();
  for (const fi_info* one = all.get(); one; one = one->next) {
    auto& places = here[short_name(*one)];
    const std::string address = address_of(*one);
    std::string place = one->domain_attr->name ? one->domain_attr->name : "";
    if (!address.empty()) place += concat(place.empty() ? "" : " ", address);
    if (!place.empty() && std::ranges::find(places, place) == places.end()) places.push_back(place);
  }
  return here;
}

std::set<std::string> carriers_here() {
  std::set<std::string> here;
  const Info all = all_here();
  for (const fi_info* one = all.get(); one; one = one->next)
    if (one->ep_attr->type == FI_EP_RDM && (one->caps & FI_TAGGED) != 0) here.insert(short_name(*one));
  return here;
}

bool has_host(const fi_info& info) {
  return info.addr_format == FI_SOCKADDR || info.addr_format == FI_SOCKADDR_IN || info.addr_format == FI_SOCKADDR_IN6;
}

bool reaches_memory(const fi_info& info) { return (info.caps & FI_RMA) != 0; }

TagBits tag_bits(const fi_info& info) {
  constexpr std::uint64_t all = ~std::uint64_t{0}, lower = 0xFFFF'FFFF;
  const std::uint64_t format = info.ep_attr->mem_tag_format; // starts with zeros for the bits that it cannot carry
  const std::uint64_t carried = format == 0 ? all : all >> std::countl_zero(format);
  return {.owner = carried & lower, .token = carried & ~lower};
}

std::string short_name(const fi_info& info) {
  std::string name = info.fabric_attr->prov_name;
  name = name.substr(0, name.find(';'));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

std::string abilities(const fi_info& info) {
  std::string text = "tagged messages";
  if (reaches_memory(info)) text += ", put and get";
  if ((info.caps & FI_HMEM) != 0) text += ", memory of devices";
  if (info.tx_attr->inject_size > 0) text += concat(", up to ", info.tx_attr->inject_size, " bytes at once");
  if (info.nic && info.nic->link_attr && info.nic->link_attr->speed > 0)
    text += concat(", a link of ", info.nic->link_attr->speed / 1'000'000'000, " Gb/s");
  return text;
}

} // namespace dlhost::plugins::fabric
