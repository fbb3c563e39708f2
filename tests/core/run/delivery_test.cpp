// Each batch arrives as the feeder gives it, for all paces of the streams. For each wait in delivery.cpp, one pace
// turns its omission into wrong data or memory that is released too early.
#include "run/input/delivery.h"

#include <numeric>
#include <utility>

#include <dlhost/partition.h>
#include <gtest/gtest.h>

#include "env/real_host.h"
#include "numbers.h"
#include "queue_device.h"

namespace dlhost::run {
namespace {

using When = QueueDevice::Pace;

struct Got {
  std::uint64_t step = 0;
  std::int64_t valid = 0;
  std::vector<std::uint32_t> samples;
  std::vector<std::int32_t> data, labels;
  bool operator==(const Got&) const = default;
};

const FeederSpec spec{.sampling = {.batch = 5, .seed = 4, .last = Last::partial}, .readers = 2};

class DeliveryTest : public testing::Test {
 protected:
  void TearDown() override {
    stop();
    EXPECT_EQ(device.faults, 0);
    EXPECT_EQ(device.pinned, 0);
  }
  void start(When computing, When copying, FeederSpec with, const std::vector<bool>& wanted = {true, true}) {
    stop();
    device.pace = computing;
    computation = *device.stream();
    device.pace = copying;
    with.held = Delivery::held;
    with.device = &device;
    feeder = made(with);
    auto delivered = Delivery::make(device, *computation, *feeder, wanted);
    ASSERT_TRUE(delivered.ok()) << delivered.status().message();
    delivery = *std::move(delivered);
  }
  // Ends with pending work, like a run.
  void stop() {
    delivery.reset();
    feeder.reset();
    EXPECT_TRUE(!computation || computation->wait().ok());
    computation.reset();
    room.clear();
  }
  std::unique_ptr<Feeder> made(const FeederSpec& with) {
    dlhost::Setup setup;
    EXPECT_TRUE(source.setup(setup).ok());
    auto fresh = Feeder::make(host, source, setup.outputs, plain, with);
    EXPECT_TRUE(fresh.ok()) << fresh.status().message();
    return *std::move(fresh);
  }
  // The batches that a single program would get for `steps`, in their order.
  std::vector<Got> expected(FeederSpec with, const std::vector<std::uint64_t>& steps) {
    with.readers = 0;
    const auto alone = made(with);
    std::vector<Got> got;
    for (const std::uint64_t step : steps) {
      alone->seek(step);
      const auto batch = alone->next();
      EXPECT_TRUE(batch.ok()) << batch.status().message();
      got.push_back(of(**batch));
      const auto* data = reinterpret_cast<const std::int32_t*>((*batch)->outputs[0]);
      const auto* labels = reinterpret_cast<const std::int32_t*>((*batch)->outputs[1]);
      got.back().data.assign(data, data + 10);
      got.back().labels.assign(labels, labels + 5);
    }
    return got;
  }
  static Got of(const Batch& batch) {
    return {batch.step, batch.valid, {batch.samples.begin(), batch.samples.end()}, {}, {}};
  }
  // A step that copies the batch away asynchronously, like a program. The result is checked only in read().
  void step() {
    const auto load = delivery->next();
    ASSERT_TRUE(load.ok()) << load.status().message();
    taken.push_back(of(*(*load)->batch));
    ASSERT_TRUE(computation->wait_for(*(*load)->arrived).ok());
    for (const std::size_t output : {0U, 1U}) {
      room.push_back(*Memory::make(device, feeder->bytes(output)));
      ASSERT_TRUE(
          device.copy(*computation, room.back().data(), (*load)->outputs[output], room.back().size(), Direction::within)
              .ok());
    }
  }
  std::vector<Got> read() {
    EXPECT_TRUE(computation->wait().ok());
    for (std::size_t s = 0; s < taken.size(); ++s) {
      const auto* data = reinterpret_cast<const std::int32_t*>(room[2 * s].data());
      const auto* labels = reinterpret_cast<const std::int32_t*>(room[2 * s + 1].data());
      taken[s].data.assign(data, data + 10);
      taken[s].labels.assign(labels, labels + 5);
    }
    room.clear();
    return std::exchange(taken, {});
  }
  // Waits until the readers have finished the next batch.
  void wait_until_ready() {
    for (int i = 0; i < 10'000 && !feeder->ready(); ++i) host.clock().sleep(1'000'000);
    ASSERT_TRUE(feeder->ready());
  }

  static constexpr std::pair<When, When> paces[] = {
      {When::late, When::late}, {When::late, When::eager}, {When::eager, When::late}, {When::eager, When::eager}};
  env::RealHost host{LogLevel::error};
  Numbers source{23};
  net::Augment plain;
  QueueDevice device;
  std::unique_ptr<Stream> computation;
  std::unique_ptr<Feeder> feeder;
  std::unique_ptr<Delivery> delivery;
  std::vector<Memory> room;
  std::vector<Got> taken;
};

TEST_F(DeliveryTest, BatchesAreThoseOfTheFeederWhoeverIsLate) {
  std::vector<std::uint64_t> steps(30);
  std::iota(steps.begin(), steps.end(), 0U);
  const auto wanted = expected(spec, steps);
  EXPECT_EQ(wanted[4].valid, 3) << "an epoch ends in a short batch";
  for (const auto& [computing, copying] : paces)
    for (const int readers : {0, 1, 2})
      for (const int prefetch : {0, 1, 3})
        for (const bool always_ahead : {false, true}) {
          FeederSpec with = spec;
          with.readers = readers;
          with.prefetch = prefetch;
          start(computing, copying, with);
          for (std::size_t s = 0; s < steps.size(); ++s) {
            step();
            if (always_ahead && readers > 0 && prefetch > 1) wait_until_ready();
          }
          ASSERT_EQ(read(), wanted) << readers << " readers, " << prefetch << " ahead, paces "
                                    << static_cast<int>(computing) << static_cast<int>(copying);
        }
}

TEST_F(DeliveryTest, SeeksAndMovesLeaveNothingOfWhatWasAhead) {
  const std::vector<std::uint64_t> ways[] = {{0, 1, 2}, {9, 10}, {3}, {3, 4, 5, 6}, {0, 1}};
  std::vector<std::uint64_t> steps;
  for (const auto& way : ways) steps.insert(steps.end(), way.begin(), way.end());
  const auto wanted = expected(spec, steps);
  FeederSpec moved = spec;
  moved.sampling.origin = {0, 1, 7};
  const auto wanted_there = expected(moved, {0, 1, 2});
  for (const auto& [computing, copying] : paces) {
    start(computing, copying, spec);
    for (const auto& way : ways) {
      ASSERT_TRUE(delivery->halt().ok());
      feeder->seek(way[0]);
      for (std::size_t s = 0; s < way.size(); ++s) {
        step();
        wait_until_ready();
      }
    }
    ASSERT_EQ(read(), wanted);
    step();
    ASSERT_TRUE(delivery->halt().ok());
    feeder->move(moved.sampling.origin);
    feeder->seek(0);
    read();
    for (int s = 0; s < 3; ++s) step();
    ASSERT_EQ(read(), wanted_there);
  }
}

TEST_F(DeliveryTest, TheNextBatchIsCopiedWhileThisOneIsComputed) {
  source.closed_from = 5;
  FeederSpec with = spec;
  with.sampling.shuffle = false;
  start(When::late, When::eager, with);
  step();
  EXPECT_EQ(device.copies, 2);
  source.closed_from = INT64_MAX;
  for (int i = 0; i < 10'000 && source.reads < 20; ++i) host.clock().sleep(1'000'000); // all read-ahead samples
  wait_until_ready();
  step();
  EXPECT_EQ(device.copies, 4) << "the third has to wait: where it will lie nothing is computed yet";
  ASSERT_TRUE(computation->wait().ok());
  EXPECT_EQ(device.copies, 6);
  step();
  EXPECT_EQ(device.copies, 8);
}

TEST_F(DeliveryTest, OnlyWhatIsWantedIsCopied) {
  FeederSpec with = spec;
  with.end = 1;
  start(When::eager, When::eager, with, {false, true});
  const auto load = delivery->next();
  ASSERT_TRUE(load.ok());
  EXPECT_EQ((*load)->outputs[0], nullptr);
  EXPECT_NE((*load)->outputs[1], nullptr);
  EXPECT_EQ(device.copies, 1);
}

TEST_F(DeliveryTest, ASlowReaderIsWaitedForByItsOwnStepOnly) {
  source.closed_from = 5;
  FeederSpec with = spec;
  with.sampling.shuffle = false;
  start(When::late, When::late, with);
  step(); // returns, though the second is not read yet
  EXPECT_FALSE(feeder->ready());
  source.closed_from = INT64_MAX;
  step();
  ASSERT_EQ(read(), expected(with, {0, 1}));
}

TEST_F(DeliveryTest, ErrorsAndTheEndComeInTheirOwnStep) {
  for (const auto& [computing, copying] : paces) {
    source.bad = 11;
    FeederSpec with = spec;
    with.sampling.shuffle = false;
    with.end = 5;
    start(computing, copying, with);
    for (int s = 0; s < 2; ++s) step();
    EXPECT_EQ(delivery->next().status().message(), "sample 11: this sample is bad");
    source.bad = -1;
    ASSERT_TRUE(delivery->halt().ok());
    feeder->seek(2);
    for (int s = 2; s < 5; ++s) step();
    EXPECT_EQ(delivery->next().status().code(), Code::cancelled);
    ASSERT_EQ(read(), expected(with, {0, 1, 2, 3, 4}));
  }
}

TEST_F(DeliveryTest, AnErrorLeavesTheStepsAroundItWhole) {
  source.bad = 11;
  FeederSpec with = spec;
  with.sampling.shuffle = false;
  start(When::late, When::late, with);
  for (int s = 0; s < 2; ++s) step();
  EXPECT_FALSE(delivery->next().ok());
  source.bad = -1; // it is read again in another epoch
  for (int s = 3; s < 10; ++s) step();
  ASSERT_EQ(read(), expected(with, {0, 1, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_F(DeliveryTest, WithoutMemoryOfTheDevicePlainMemoryServes) {
  device.pins = false;
  start(When::late, When::late, spec);
  for (int s = 0; s < 6; ++s) step();
  ASSERT_EQ(read(), expected(spec, {0, 1, 2, 3, 4, 5}));
  stop();
  device.pins = true;
  start(When::late, When::late, spec);
  EXPECT_EQ(device.pinned, 2 * (spec.prefetch + Delivery::held));
}

} // namespace
} // namespace dlhost::run
