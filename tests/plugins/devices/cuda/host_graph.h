// A graph on the host, like CUDA's: it keeps its pieces with their values, and a launch runs them. A forgotten change
// shows in the result.
#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include "kernels/graph.h"
#include "kernels/host_launch.h"

namespace dlhost::test {

// Counts of all graphs of a device, from the streams of several tasks.
struct GraphCounts {
  std::atomic<int> made{0}, changed{0}, launched{0}, refused{0}; // `changed`: pieces
};

class HostGraph final : public plugins::cuda::Graph {
 public:
  HostGraph(plugins::cuda::HostLaunches& launches, GraphCounts& counts) : launches_(launches), counts_(counts) {}

  Result<std::uint32_t*> room_for_samples(std::size_t count) override {
    samples_.resize(count);
    return samples_.data();
  }
  Status rest() override { return {}; }
  Status begin() override {
    launches_.keeps = true;
    return {};
  }
  Status end(std::size_t which) override {
    launches_.keeps = false;
    auto piece = std::exchange(launches_.kept, {});
    if (!complete_) {
      pieces_.push_back(std::move(piece));
      return {};
    }
    if (pieces_[which].size() != piece.size()) return Status::unsupported("another number of launches");
    pieces_[which] = std::move(piece);
    ++counts_.changed;
    return {};
  }
  Status complete() override {
    complete_ = true;
    ++counts_.made;
    return {};
  }
  Status launch() override {
    for (const auto& piece : pieces_)
      for (const auto& one : piece) one();
    ++counts_.launched;
    return {};
  }

 private:
  plugins::cuda::HostLaunches& launches_;
  GraphCounts& counts_;
  std::vector<std::vector<std::function<void()>>> pieces_;
  std::vector<std::uint32_t> samples_;
  bool complete_ = false;
};

} // namespace dlhost::test
