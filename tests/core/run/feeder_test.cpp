#include <cstring>

#include <dlhost/partition.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "env/real_host.h"
#include "numbers.h"
#include "run/input/feeder.h"

namespace dlhost::run {
namespace {

// Appends a draw to the sample, to show whether draws depend only on the epoch and the sample.
class Shift : public Augmentation {
 public:
  Result<TensorDesc> setup(const TensorDesc& sample) override {
    return TensorDesc{sample.dtype, {sample.count() + 1}, {}};
  }
  void apply(const std::byte* src, std::byte* dst, bool training, Random& random) const override {
    std::int32_t values[3] = {0, 0, 0};
    std::memcpy(values, src, 8);
    values[2] = training ? static_cast<std::int32_t>(random.below(1 << 30)) : -1;
    std::memcpy(dst, values, 12);
  }
};

class Host : public env::RealHost {
 public:
  Host() {
    set_maker([](Kind, const Part&) -> Result<std::unique_ptr<Plugin>> { return std::unique_ptr<Plugin>(new Shift); });
  }
};

struct Seen {
  std::uint64_t step;
  std::uint32_t epoch;
  std::int64_t valid;
  std::vector<std::uint32_t> samples;
  std::vector<std::int32_t> data, labels;
  bool operator==(const Seen&) const = default;
};

class FeederTest : public testing::Test {
 protected:
  std::unique_ptr<Feeder> feeder(const FeederSpec& spec) {
    dlhost::Setup setup;
    EXPECT_TRUE(source.setup(setup).ok());
    const auto desc = augment.empty() ? setup.outputs[0].desc : augment.result();
    width = static_cast<std::size_t>(desc.count());
    auto made = Feeder::make(host, source, setup.outputs, augment, spec);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *std::move(made) : nullptr;
  }
  Seen next(Feeder& feeder) {
    const auto batch = feeder.next();
    if (!batch.ok()) {
      ADD_FAILURE() << batch.status().message();
      return {};
    }
    const Batch& b = **batch;
    Seen seen{b.step, b.epoch, b.valid, {b.samples.begin(), b.samples.end()}, {}, {}};
    const auto* data = reinterpret_cast<const std::int32_t*>(b.outputs[0]);
    const auto* labels = reinterpret_cast<const std::int32_t*>(b.outputs[1]);
    seen.data.assign(data, data + width * b.samples.size());
    seen.labels.assign(labels, labels + b.samples.size());
    return seen;
  }
  void add_augmentations() {
    auto made = net::Augment::make(host, std::vector<Part>(1), {DType::i32, {2}, {}});
    ASSERT_TRUE(made.ok());
    augment = *std::move(made);
  }

  Host host;
  Numbers source{23};
  net::Augment augment;
  std::size_t width = 0;
};

TEST_F(FeederTest, RowsAreTheSamplesThatTheyName) {
  auto made = feeder({.sampling = {.batch = 5}, .readers = 2});
  for (int step = 0; step < 20; ++step) {
    const Seen seen = next(*made);
    EXPECT_EQ(seen.step, static_cast<std::uint64_t>(step));
    for (std::size_t row = 0; row < 5; ++row) {
      const auto sample = static_cast<std::int32_t>(seen.samples[row]);
      EXPECT_EQ(seen.data[2 * row], sample);
      EXPECT_EQ(seen.data[2 * row + 1], 7 * sample);
      EXPECT_EQ(seen.labels[row], 100 + sample);
    }
  }
}

TEST_F(FeederTest, SameBatchesForAnyNumberOfReaders) {
  add_augmentations();
  std::vector<Seen> alone;
  auto single = feeder({.sampling = {.batch = 7, .seed = 4}, .readers = 0});
  for (int step = 0; step < 30; ++step) alone.push_back(next(*single));
  for (const int readers : {1, 2, 3, 4})
    for (const int prefetch : {0, 1, 5}) {
      auto made = feeder({.sampling = {.batch = 7, .seed = 4}, .readers = readers, .prefetch = prefetch});
      for (const Seen& seen : alone) ASSERT_EQ(next(*made), seen) << readers << " readers, " << prefetch << " ahead";
    }
}

TEST_F(FeederTest, ReadingOnTheCallersTaskCountsAsWaiting) {
  auto made = feeder({.sampling = {.batch = 7}, .readers = 0});
  for (int step = 0; step < 4; ++step) next(*made);
  EXPECT_EQ(made->waits().batches, 4U);
  EXPECT_GT(made->waits().time, 0);
}

TEST_F(FeederTest, SeekEqualsRunning) {
  add_augmentations();
  auto made = feeder({.sampling = {.batch = 7, .seed = 4}, .readers = 2});
  std::vector<Seen> run;
  for (int step = 0; step < 12; ++step) run.push_back(next(*made));
  for (const std::uint64_t step : {9U, 2U, 0U}) {
    made->seek(step);
    EXPECT_EQ(next(*made), run[step]);
    EXPECT_EQ(next(*made), run[step + 1]);
  }
}

TEST_F(FeederTest, DrawsChangeWithTheEpochAndStopInEvaluation) {
  add_augmentations();
  auto made = feeder({.sampling = {.batch = 23, .last = Last::drop, .shuffle = false}});
  const auto first = next(*made).data, second = next(*made).data;
  EXPECT_NE(first, second);
  auto still =
      feeder({.phase = Phase::test, .trains = false, .sampling = {.batch = 23, .last = Last::drop, .shuffle = false}});
  EXPECT_EQ(next(*still).data[2], -1);
}

TEST_F(FeederTest, PartialBatchRepeatsASampleAndTheEndIsTold) {
  SamplingSpec sampling{.batch = 10};
  auto made =
      feeder({.phase = Phase::validate, .trains = false, .sampling = sampling.evaluation(), .readers = 2, .end = 3});
  EXPECT_EQ(next(*made).valid, 10);
  EXPECT_EQ(next(*made).valid, 10);
  const Seen last = next(*made);
  EXPECT_EQ(last.valid, 3);
  EXPECT_EQ(last.samples, (std::vector<std::uint32_t>{20, 21, 22, 22, 22, 22, 22, 22, 22, 22}));
  EXPECT_EQ(made->next().status().code(), Code::cancelled);
  EXPECT_EQ(source.reads, 30);
  made->seek(2);
  EXPECT_EQ(next(*made), last);
}

TEST_F(FeederTest, ErrorsNameTheSample) {
  for (const int readers : {0, 2}) {
    source.bad = 11;
    source.throwing = -1;
    auto made = feeder({.sampling = {.batch = 10, .shuffle = false}, .readers = readers});
    next(*made);
    EXPECT_EQ(made->next().status().message(), "sample 11: this sample is bad");
    made.reset(); // its readers are ahead and would see the changes below
    source.bad = -1;
    source.throwing = 3;
    const plugin::Actor* actor = plugin::remember("layer", "data", "numbers", "/plugins/numbers.so");
    auto other = feeder({.actor = actor, .sampling = {.batch = 10, .shuffle = false}, .readers = readers});
    EXPECT_EQ(other->next().status().message(),
              "sample 3: plugin 'numbers' (/plugins/numbers.so) threw an exception in layer 'data', read, step 0: this "
              "sample throws");
    other.reset();
    source.throwing = -1;
    source.refusing = 3;
    auto third = feeder({.actor = actor, .sampling = {.batch = 10, .shuffle = false}, .readers = readers});
    EXPECT_EQ(third->next().status().message(), "sample 3: layer 'data' at step 0: this sample is refused");
    third.reset();
    source.refusing = -1;
  }
}

} // namespace
} // namespace dlhost::run
