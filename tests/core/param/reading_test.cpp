// A worker reads in place while its server updates, each in its own thread: it never sees a partial version.
#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "served.h"

namespace dlhost::param {
namespace {

constexpr std::size_t row_elements = 4096;
constexpr std::uint64_t steps = 3000;

class ReadingTest : public Served {
 protected:
  // Two workers: the first contributes ones, so that all elements of a version are equal; the second reads.
  Status serve(std::size_t versions, Consistency& handler) {
    lay_out("sgd", "eventual", std::vector<float>(row_elements, 0), versions);
    gradient_.assign(row_elements, 1);
    ShardSetup setup = this->setup(slices_);
    setup.handlers.job.consistency = &handler;
    setup.contributors = {{0, 0, 0, std::as_bytes(std::span(gradient_))},
                          {1, 0, 1, std::as_bytes(std::span(gradient_))}};
    setup.groups = 2;
    setup.send = [this](std::uint32_t seat, const Body& message) {
      if (seat == 1) place_.store(static_cast<std::int64_t>(told_in(message)->place), std::memory_order_release);
      return Status();
    };
    DLHOST_ASSIGN(shard_, Shard::make(std::move(setup)));
    std::thread reader([this] { read(); });
    Status status;
    for (std::uint64_t step = 0; status.ok() && (step < steps || read_ < 50); ++step) {
      status = take(to_server::Update{.step = step, .rate = 1});
      if (status.ok()) status = take(to_server::Get());
      if (status.ok() && asks_.exchange(false, std::memory_order_acquire))
        status = take(to_server::Get{.worker = {.group = 1}});
    }
    over_ = true;
    reader.join();
    return status;
  }
  void read() {
    for (; !over_; ++read_) {
      place_ = -1;
      asks_.store(true, std::memory_order_release);
      while (!over_ && place_.load(std::memory_order_acquire) < 0) std::this_thread::yield();
      if (over_) return;
      const auto* value = reinterpret_cast<const float*>(masters_->value(0, static_cast<std::size_t>(place_)).data());
      const float first = value[0];
      for (int again = 0; again < 20; ++again) // a slow reader
        torn_ += static_cast<std::uint64_t>(
            std::count_if(value, value + row_elements, [&](float one) { return one != first; }));
      newest_ = std::min(newest_, first);
    }
  }

  std::vector<float> gradient_;
  Slices slices_ = Slices::cut(std::array<std::int64_t, 1>{row_elements}, 1, 1'000'000);
  std::atomic<std::int64_t> place_{-1};
  std::atomic<bool> asks_{false}, over_{false};
  std::atomic<std::uint64_t> read_{0};
  std::uint64_t torn_ = 0; // elements of another version than the first
  float newest_ = 0;
};

TEST_F(ReadingTest, AVersionIsWholeForAsLongAsItIsRead) {
  const auto handler = *registry_.create<Consistency>("eventual", {});
  ASSERT_TRUE(serve(4, *handler).ok());
  EXPECT_EQ(torn_, 0U);
  EXPECT_LE(newest_, -10) << "it has read nothing new: this shows little";
}

} // namespace
} // namespace dlhost::param
