// The stream of kernels that run on the host: all work is done where it is given.
#pragma once

#include <cstring>
#include <utility>

#include "kernels/work.h"

namespace dlhost::test {

using plugins::cuda::Fault;

class HostStream final : public plugins::cuda::WorkStream {
 public:
  Status wait() override {
    if (fault_.what != Fault::none)
      fail(Status::invalid("label or index ", fault_.value, " of place ", fault_.place, " is not in [0, ", fault_.limit,
                           ")"));
    fault_ = {};
    return std::exchange(first_, {});
  }
  Status record(Event&) override { return {}; }
  Status wait_for(Event&) override { return {}; }
  void submit(HostOp&, const HostCall&) override { fail(Status::unsupported("no host op runs on a GPU")); }
  void enter() override {}
  Fault* fault() override { return &fault_; }
  void bring(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void fail(Status status) override {
    if (first_) first_ = std::move(status);
  }
  void launched(const Op&) override {}

 private:
  Fault fault_;
  Status first_;
};

} // namespace dlhost::test
