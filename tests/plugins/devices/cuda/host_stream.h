// The stream of kernels on the host: work runs when it is given, or when held work begins.
#pragma once

#include <cstring>

#include "host_graph.h"
#include "kernels/host_launch.h"
#include "kernels/work.h"

namespace dlhost::test {

using plugins::cuda::Fault;

class HostStream final : public plugins::cuda::WorkStream {
 public:
  HostStream() = default;
  // With graphs, which `counts` counts. It outlives the stream.
  explicit HostStream(GraphCounts& counts) : counts_(&counts) {
    replay(
        [this]() -> std::unique_ptr<plugins::cuda::Graph> { return std::make_unique<HostGraph>(launches_, *counts_); });
  }

  Status wait() override {
    flush();
    if (fault_.what != Fault::none)
      fail(Status::invalid("label or index ", fault_.value, " of place ", fault_.place, " is not in [0, ", fault_.limit,
                           ")"));
    fault_ = {};
    return take_error();
  }
  Status record(Event&) override {
    flush();
    return {};
  }
  Status wait_for(Event&) override {
    flush();
    return {};
  }
  void submit(HostOp&, const HostCall&) override { fail(Status::unsupported("no host op runs on a GPU")); }
  void* native() override {
    flush();
    return &launches_;
  }
  void enter() override {}
  Fault* fault() override { return &fault_; }
  void bring(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) launches_.launch([=] { std::memcpy(to, from, bytes); });
  }
  Status move_now(void* to, const void* from, std::size_t bytes) override {
    launches_.launch([=] {
      if (from)
        std::memmove(to, from, bytes);
      else
        std::memset(to, 0, bytes);
    });
    return {};
  }
  void launched(const Op& op) override { last = op.kernel; }
  void kept(std::size_t) override {}
  void refused(const Status&) override { ++counts_->refused; }

  std::string last; // the last launched op

 private:
  plugins::cuda::HostLaunches launches_;
  GraphCounts* counts_ = nullptr;
  Fault fault_;
};

} // namespace dlhost::test
