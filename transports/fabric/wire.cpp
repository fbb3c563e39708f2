#include "wire.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <vector>

#include <rdma/fi_errno.h>

namespace dlhost::plugins::fabric {
namespace {

// Removes segments of this user's killed processes: libfabric's shm names them PROCESS:USER:NUMBER and removes them
// only at an orderly end.
void remove_leftovers() {
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", unreadable)) {
    const std::string name = entry.path().filename().string();
    int process = 0, number = 0, end = 0;
    unsigned user = 0;
    if (std::sscanf(name.c_str(), "%d:%u:%d%n", &process, &user, &number, &end) != 3 || name.size() != std::size_t(end))
      continue;
    if (user == geteuid() && process > 0 && kill(process, 0) != 0 && errno == ESRCH) shm_unlink(name.c_str());
  }
}

template <class T, class Open> Status opened(Owned<T>& into, Open&& open, const char* doing) {
  T* made = nullptr;
  if (const int code = open(&made); code != 0) return failed(code, doing);
  into.reset(made);
  return {};
}

} // namespace

Status failed(long code, std::string_view doing) {
  return Status::io(doing, ": ", fi_strerror(static_cast<int>(code < 0 ? -code : code)));
}

Result<Wire> Wire::open(const std::string& provider, const std::string& host) {
  Wire wire;
  wire.info_ = of_provider(provider, host);
  if (!wire.info_)
    return Status::unsupported("libfabric has no provider here that carries tagged messages between datagram "
                               "endpoints at ",
                               host, "; tried: ", provider, "; `dlhost inspect fabric` lists the providers");
  wire.tags_ = tag_bits(*wire.info_);
  if (wire.provider() == "shm") remove_leftovers();
  DLHOST_TRY(wire.open_parts().at("libfabric's provider '", wire.provider(), "'"));
  return wire;
}

Status Wire::open_parts() {
  fi_info* info = info_.get();
  DLHOST_TRY(opened(
      fabric_, [&](auto** to) { return fi_fabric(info->fabric_attr, to, nullptr); }, "opening it"));
  DLHOST_TRY(opened(
      domain_, [&](auto** to) { return fi_domain(fabric_.get(), info, to, nullptr); }, "opening its domain"));
  fi_av_attr av{};
  DLHOST_TRY(opened(
      addresses_, [&](auto** to) { return fi_av_open(domain_.get(), &av, to, nullptr); },
      "making a list of addresses"));
  fi_cq_attr cq{};
  cq.format = FI_CQ_FORMAT_TAGGED;
  cq.size = 4096;
  cq.wait_obj = FI_WAIT_NONE; // a wait object makes each message of ofi_rxm take eight times as long
  DLHOST_TRY(opened(
      queue_, [&](auto** to) { return fi_cq_open(domain_.get(), &cq, to, nullptr); }, "making a queue of completions"));
  DLHOST_TRY(opened(
      endpoint_, [&](auto** to) { return fi_endpoint(domain_.get(), info, to, nullptr); }, "making an endpoint"));
  if (const int code = fi_ep_bind(endpoint_.get(), &addresses_->fid, 0); code != 0) return failed(code, "binding");
  if (const int code = fi_ep_bind(endpoint_.get(), &queue_->fid, FI_TRANSMIT | FI_RECV); code != 0)
    return failed(code, "binding");
  if (const int code = fi_enable(endpoint_.get()); code != 0) return failed(code, "enabling an endpoint");
  if (provider() == "shm") prime_receives();
  return {};
}

// Works around libfabric's shm 1.17: an early message is kept in an entry that a receive used before, and its tag is
// matched with the mask left there. All receives here use the same mask, so each entry is used once by one of them.
void Wire::prime_receives() {
  std::vector<fi_context2> contexts(info_->rx_attr->size);
  const auto taken =
      std::ranges::find_if(contexts, [&](fi_context2& context) { return receive({}, 0, &context) != 0; });
  for (auto context = contexts.begin(); context != taken; ++context) fi_cancel(&endpoint_->fid, &*context);
  fi_cq_tagged_entry entry;
  fi_cq_err_entry error{};
  while (fi_cq_read(queue_.get(), &entry, 1) == -FI_EAVAIL) fi_cq_readerr(queue_.get(), &error, 0);
}

Result<std::string> Wire::name() const {
  std::string bytes(256, '\0');
  std::size_t size = bytes.size();
  if (const int code = fi_getname(&endpoint_->fid, bytes.data(), &size); code != 0)
    return failed(code, "asking for an endpoint's name");
  bytes.resize(size);
  return bytes;
}

Result<fi_addr_t> Wire::insert(const std::string& name) {
  fi_addr_t peer = FI_ADDR_UNSPEC;
  // Zero-padded: the provider may read beyond a short name. Kept: libfabric's shm 1.17 makes no copy and reads it again
  // when that peer calls.
  std::string& room = names_.emplace_back(name);
  room.resize(std::max<std::size_t>(name.size(), 256), '\0');
  if (const int count = fi_av_insert(addresses_.get(), room.data(), 1, &peer, 0, nullptr); count != 1)
    return failed(count < 0 ? count : -FI_EINVAL, "taking a peer's address");
  return peer;
}

} // namespace dlhost::plugins::fabric
