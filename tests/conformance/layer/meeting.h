// Synchronises the pieces of one layer, each on its own task and device. As in a collectives library, the first piece
// waits for the others at its turn in the stream, not at the call.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <dlhost/frame.h>
#include <dlhost/host.h>
#include <dlhost/host_op.h>
#include <dlhost/partition.h>

namespace dlhost::conform {

class Meeting {
 public:
  enum class How : std::uint8_t { sum, maximum };

  Meeting(Host&, std::size_t count);
  std::size_t count() const { return brought_.size(); }
  // All pieces call it with equally many values, which become the sum (in the order of the ranks) or the maximum.
  // Errors: a missing piece, or different arguments.
  Status combine(std::size_t rank, How, std::span<float> values);

 private:
  template <class Condition> Status until(std::unique_lock<std::mutex>&, Condition);

  Host& host_;
  std::unique_ptr<Waiter> waiter_;
  std::mutex mutex_;
  std::vector<std::vector<float>> brought_; // by rank
  How how_ = How::sum;
  std::size_t come_ = 0, gone_ = 0;
  bool leaving_ = false; // all have arrived, and some have not left
};

class MeetingPeers final : public Peers {
 public:
  MeetingPeers(Meeting& meeting, std::size_t rank) : meeting_(meeting), rank_(rank) {}
  int rank() const override { return static_cast<int>(rank_); }
  int count() const override { return static_cast<int>(meeting_.count()); }
  void sum(Stream& stream, void* values, std::int64_t count) override;
  void maximum(Stream& stream, void* values, std::int64_t count) override;

 private:
  void call(Stream&, void* values, std::int64_t count, Meeting::How);

  Meeting& meeting_;
  std::size_t rank_;
  std::map<std::pair<Meeting::How, std::int64_t>, std::unique_ptr<HostOp>> ops_; // by function and length
};

} // namespace dlhost::conform
