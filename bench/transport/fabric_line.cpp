// libfabric's own providers: reliable datagrams with tagged messages.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "fabric/providers.h"
#include "line.h"

namespace dlhost::bench {

namespace {

constexpr std::chrono::seconds longest_wait(10);

void need(long code, const char* doing) {
  if (code < 0) throw std::runtime_error(std::string(doing) + ": " + fi_strerror(static_cast<int>(-code)));
}

struct FabricClose {
  template <class T> void operator()(T* object) const { fi_close(&object->fid); }
};
template <class T> using Owned = std::unique_ptr<T, FabricClose>;

class FabricLine final : public Line {
 public:
  FabricLine(const std::string& provider, const std::string& host) {
    std::unique_ptr<fi_info, decltype(&fi_freeinfo)> hints(fi_allocinfo(), &fi_freeinfo);
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_TAGGED;
    hints->mode = FI_CONTEXT;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->fabric_attr->prov_name = strdup(provider.c_str());
    fi_info* found = nullptr;
    const auto same = plugins::fabric::of_provider(provider, host);
    const bool has_host = same && plugins::fabric::has_host(*same); // else it would read the host as an endpoint's name
    need(fi_getinfo(FI_VERSION(1, 17), has_host ? host.c_str() : nullptr, nullptr,
                    has_host ? FI_SOURCE | FI_NUMERICHOST : 0, hints.get(), &found),
         "no such provider");
    info_.reset(found);
    open();
  }
  std::string address() const override {
    std::string bytes(256, '\0');
    std::size_t size = bytes.size();
    need(fi_getname(&endpoint_->fid, bytes.data(), &size), "fi_getname");
    bytes.resize(size);
    return bytes;
  }
  void connect(const std::string& address) override {
    if (fi_av_insert(addresses_.get(), address.data(), 1, &peer_, 0, nullptr) != 1)
      throw std::runtime_error("fi_av_insert fails");
  }

  void send(std::span<const std::span<const std::byte>> messages, std::size_t count) override {
    for (std::size_t posted = 0, sent = 0; sent < count;) {
      while (posted < count && posted < sent + window) {
        const auto message = messages[posted % window];
        if (!taken(fi_tsend(endpoint_.get(), message.data(), message.size(), nullptr, peer_, 1,
                            &contexts_[posted % window])))
          break;
        ++posted;
      }
      sent += completed();
    }
  }
  void receive(std::span<const std::span<std::byte>> rooms, std::size_t count,
               const std::function<void(std::size_t, std::span<std::byte>)>& arrived) override {
    for (std::size_t posted = 0, got = 0; got < count;) {
      while (posted < count && posted < got + window) {
        const auto room = rooms[posted % window];
        if (!taken(
                fi_trecv(endpoint_.get(), room.data(), room.size(), nullptr, peer_, 1, 0, &contexts_[posted % window])))
          break;
        ++posted;
      }
      const std::size_t more = completed();
      for (std::size_t i = 0; i < more; ++i, ++got) arrived(got, rooms[got % window]);
    }
  }

 private:
  struct Context {
    fi_context2 inner;
  };

  template <class T, class Open> static Owned<T> opened(Open&& open, const char* doing) {
    T* made = nullptr;
    need(open(&made), doing);
    return Owned<T>(made);
  }
  void open() {
    fabric_ = opened<fid_fabric>([&](auto** to) { return fi_fabric(info_->fabric_attr, to, nullptr); }, "fi_fabric");
    domain_ =
        opened<fid_domain>([&](auto** to) { return fi_domain(fabric_.get(), info_.get(), to, nullptr); }, "fi_domain");
    fi_av_attr av{};
    addresses_ = opened<fid_av>([&](auto** to) { return fi_av_open(domain_.get(), &av, to, nullptr); }, "fi_av_open");
    fi_cq_attr cq{};
    cq.format = FI_CQ_FORMAT_TAGGED;
    cq.size = 1024;
    queue_ = opened<fid_cq>([&](auto** to) { return fi_cq_open(domain_.get(), &cq, to, nullptr); }, "fi_cq_open");
    endpoint_ =
        opened<fid_ep>([&](auto** to) { return fi_endpoint(domain_.get(), info_.get(), to, nullptr); }, "fi_endpoint");
    need(fi_ep_bind(endpoint_.get(), &addresses_->fid, 0), "fi_ep_bind");
    need(fi_ep_bind(endpoint_.get(), &queue_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    need(fi_enable(endpoint_.get()), "fi_enable");
  }

  // False: try again after some progress.
  static bool taken(ssize_t code) {
    if (code == -FI_EAGAIN) return false;
    need(code, "posting");
    return true;
  }
  std::size_t completed() {
    fi_cq_tagged_entry entries[window];
    const ssize_t count = fi_cq_read(queue_.get(), entries, window);
    if (count == -FI_EAGAIN) return nothing();
    need(count, "fi_cq_read");
    looks_ = 0;
    return static_cast<std::size_t>(count);
  }

  // Reads the clock only now and then: it costs as much as reading the queue.
  std::size_t nothing() {
    constexpr std::uint64_t between = 4096;
    if (++looks_ % between != 0) return 0;
    const auto now = std::chrono::steady_clock::now();
    if (looks_ == between) since_ = now;
    if (now - since_ > longest_wait) throw std::runtime_error("nothing arrives");
    return 0;
  }

  std::unique_ptr<fi_info, decltype(&fi_freeinfo)> info_{nullptr, &fi_freeinfo};
  Owned<fid_fabric> fabric_;
  Owned<fid_domain> domain_;
  Owned<fid_av> addresses_;
  Owned<fid_cq> queue_;
  Owned<fid_ep> endpoint_;
  fi_addr_t peer_ = 0;
  Context contexts_[window] = {};
  std::uint64_t looks_ = 0; // empty reads in a row
  std::chrono::steady_clock::time_point since_;
};

} // namespace

std::unique_ptr<Line> make_fabric_line(const std::string& provider, const std::string& host) {
  return std::make_unique<FabricLine>(provider, host);
}

} // namespace dlhost::bench
