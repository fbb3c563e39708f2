// An opened provider of libfabric: a domain, an endpoint for reliable datagrams, the peers' addresses and the
// completion queue.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <dlhost/status.h>

#include "providers.h"

namespace dlhost::plugins::fabric {

struct Close {
  template <class T> void operator()(T* object) const { fi_close(&object->fid); }
};
template <class T> using Owned = std::unique_ptr<T, Close>;

// The Status of a libfabric error code.
Status failed(long code, std::string_view doing);

class Wire {
 public:
  // `host`: where providers with such addresses listen.
  static Result<Wire> open(const std::string& provider, const std::string& host);

  const fi_info& info() const { return *info_; }
  std::string provider() const { return info_->fabric_attr->prov_name; }
  fid_domain* domain() const { return domain_.get(); }
  fid_ep* endpoint() const { return endpoint_.get(); }
  fid_cq* queue() const { return queue_.get(); }
  // The name by which peers reach this endpoint.
  Result<std::string> name() const;
  Result<fi_addr_t> insert(const std::string& name);
  // Posts a room for the next message with this token in its tag. Returns 0 or a code of libfabric.
  ssize_t receive(std::span<std::byte> room, std::uint64_t token, fi_context2* context) {
    return fi_trecv(endpoint_.get(), room.data(), room.size(), nullptr, FI_ADDR_UNSPEC, token, ~tags_.token, context);
  }
  const TagBits& tags() const { return tags_; }
  void remove(fi_addr_t peer) { fi_av_remove(addresses_.get(), &peer, 1, 0); }

  // Whether messages sent after a put arrive after it.
  bool puts_in_order() const { return (info_->tx_attr->msg_order & FI_ORDER_SAW) != 0; }
  bool one_sided() const { return reaches_memory(*info_); }

 private:
  Status open_parts();
  void prime_receives();

  Info info_{nullptr, &fi_freeinfo};
  TagBits tags_;
  std::deque<std::string> names_; // of peers
  Owned<fid_fabric> fabric_;
  Owned<fid_domain> domain_;
  Owned<fid_av> addresses_;
  Owned<fid_cq> queue_;
  Owned<fid_ep> endpoint_;
};

} // namespace dlhost::plugins::fabric
