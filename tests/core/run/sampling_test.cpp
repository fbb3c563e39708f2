#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/input/sampling.h"

namespace dlhost::run {
namespace {

Sampling made(const SamplingSpec& spec, std::int64_t samples) {
  auto sampling = Sampling::make(spec, samples);
  EXPECT_TRUE(sampling.ok()) << sampling.status().message();
  return *sampling;
}

std::vector<std::uint32_t> taken(const Sampling& sampling, std::uint64_t step) {
  std::vector<std::uint32_t> samples;
  for (std::int64_t row = 0; row < sampling.valid(step); ++row) {
    const auto place = sampling.place(step, row);
    samples.push_back(sampling.order(place.epoch)[place.index]);
  }
  return samples;
}

TEST(Permutation, HitsEveryPlaceOnce) {
  for (const std::uint64_t n : {1U, 2U, 3U, 4U, 5U, 17U, 64U, 65U, 1000U, 4096U}) {
    const Permutation permutation({11, 3}, 2, n);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < n; ++i) seen.insert(permutation(i));
    EXPECT_EQ(seen.size(), n);
    EXPECT_EQ(*seen.rbegin(), n - 1);
  }
}

TEST(Permutation, LooksRandom) {
  // Where the first place goes, over many keys: every place about equally often.
  const std::uint64_t n = 10;
  std::vector<int> hits(n);
  for (std::uint32_t epoch = 0; epoch < 10000; ++epoch) ++hits[Permutation({7, 0}, epoch, n)(0)];
  for (const int count : hits) EXPECT_NEAR(count, 1000, 150);
  // Neighbours do not stay neighbours.
  const Permutation permutation({7, 0}, 0, 10000);
  int near = 0;
  for (std::uint64_t i = 0; i + 1 < 10000; ++i) near += permutation(i + 1) == permutation(i) + 1 ? 1 : 0;
  EXPECT_LT(near, 10);
}

TEST(Sampling, SharedTakesEachSampleOnceAnEpoch) {
  const auto sampling = made({.batch = 4, .seed = 5, .last = Last::wrap}, 10);
  std::vector<std::uint32_t> all;
  for (std::uint64_t step = 0; step < 5; ++step)
    for (const auto sample : taken(sampling, step)) all.push_back(sample);
  const std::vector<std::uint32_t> first(all.begin(), all.begin() + 10), second(all.begin() + 10, all.end());
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), 10U);
  EXPECT_EQ(std::set(second.begin(), second.end()).size(), 10U);
  EXPECT_NE(first, second);
  EXPECT_DOUBLE_EQ(sampling.epochs(5), 2);
  EXPECT_EQ(sampling.steps(2), 5U);
  EXPECT_EQ(sampling.steps(1), 3U);
}

TEST(Sampling, DropAndPartial) {
  const auto drop = made({.batch = 4, .last = Last::drop}, 10);
  EXPECT_EQ(drop.steps(1), 2U);
  EXPECT_EQ(drop.place(2, 0).epoch, 1U);
  EXPECT_EQ(drop.place(2, 0).index, 0U);
  const auto partial = made({.batch = 4, .last = Last::partial}, 10);
  EXPECT_EQ(partial.steps(1), 3U);
  EXPECT_EQ(partial.valid(1), 4);
  EXPECT_EQ(partial.valid(2), 2);
  EXPECT_EQ(partial.place(2, 3).index, 9U); // repeats a sample of its own epoch
  EXPECT_EQ(partial.place(2, 3).epoch, 0U);
}

TEST(Sampling, DisjointGroupsAreOneGreaterGroup) {
  const auto whole = made({.batch = 6, .seed = 9, .share = Share::disjoint, .last = Last::partial}, 20);
  for (std::uint64_t step = 0; step < 8; ++step) {
    std::vector<std::uint32_t> together;
    for (int group = 0; group < 3; ++group)
      for (const auto sample : taken(made({.batch = 2,
                               .seed = 9,
                               .group = group,
                               .groups = 3,
                               .share = Share::disjoint,
                               .last = Last::partial},
                                          20),
                                     step))
        together.push_back(sample);
    EXPECT_EQ(together, taken(whole, step));
  }
}

TEST(Sampling, WorkersReadTheirRowsOfTheGroupsBatch) {
  const auto whole = taken(made({.batch = 8, .seed = 1}, 100), 3);
  auto upper = taken(made({.batch = 8, .first_row = 5, .rows = 3, .seed = 1}, 100), 3);
  EXPECT_EQ(upper, std::vector<std::uint32_t>(whole.begin() + 5, whole.end()));
}

TEST(Sampling, GroupsSharingDataHaveOrdersOfTheirOwn) {
  const SamplingSpec one{.batch = 10, .seed = 1, .group = 0, .groups = 2};
  SamplingSpec other = one;
  other.group = 1;
  EXPECT_NE(taken(made(one, 100), 0), taken(made(other, 100), 0));
}

TEST(Sampling, BootstrapDrawsOnceForTheRun) {
  const auto sampling = made({.batch = 1000, .seed = 2, .share = Share::bootstrap}, 1000);
  const auto first = taken(sampling, 0), second = taken(sampling, 1);
  EXPECT_EQ(std::multiset(first.begin(), first.end()), std::multiset(second.begin(), second.end()));
  EXPECT_NE(first, second);
  // About 1 - 1/e of the samples are in a draw.
  EXPECT_NEAR(static_cast<double>(std::set(first.begin(), first.end()).size()), 632, 60);
}

// Two groups of 3 rows, and from step 4 on three groups of 5: in the data they go on where they were.
TEST(Sampling, AnotherStrideGoesOnWhereTheDataWere) {
  constexpr std::int64_t samples = 50;
  constexpr std::uint64_t change = 4;
  for (const Last last : {Last::wrap, Last::drop, Last::partial}) {
    SCOPED_TRACE(static_cast<int>(last));
    SamplingSpec spec{.batch = 3, .seed = 3, .groups = 2, .share = Share::disjoint, .last = last};
    const auto at = made(spec, samples).start(change);
    std::multiset<std::uint32_t> first;
    const auto take = [&](std::uint64_t step) {
      for (spec.group = 0; spec.group < spec.groups; ++spec.group) {
        const auto sampling = made(spec, samples);
        for (std::int64_t row = 0; row < sampling.valid(step); ++row)
          if (const auto place = sampling.place(step, row); place.epoch == 0)
            first.insert(sampling.order(0)[place.index]);
      }
    };
    for (std::uint64_t step = 0; step < change; ++step) take(step);
    spec.batch = 5;
    spec.groups = 3;
    spec.origin = {change, at.epoch, at.index};
    for (std::uint64_t step = change; step < change + 3; ++step) take(step);
    // 24 by the first six rows a step; of the 26 that are left, 15 a step fill one and most of another.
    EXPECT_EQ(first.size(), last == Last::drop ? 39U : 50U);
    EXPECT_EQ(std::set(first.begin(), first.end()).size(), first.size()) << "none comes twice";
    spec.group = 0;
    const auto sampling = made(spec, samples);
    EXPECT_EQ(sampling.start(change + (last == Last::drop ? 1 : 2)).epoch, 1U);
    if (last == Last::wrap) {
      EXPECT_DOUBLE_EQ(sampling.epochs(change), 24.0 / 50);
    }
    for (const double epochs : {1.0, 2.0, 5.0}) {
      EXPECT_GE(sampling.epochs(sampling.steps(epochs)), epochs - 1e-9);
      EXPECT_LT(sampling.epochs(sampling.steps(epochs) - 1), epochs - 1e-9);
    }
  }
}

TEST(Sampling, EvaluationCountsEachSampleOnceOverAllGroups) {
  SamplingSpec spec{.batch = 4, .seed = 3, .groups = 2, .share = Share::bootstrap};
  std::vector<std::uint32_t> all;
  for (spec.group = 0; spec.group < 2; ++spec.group) {
    const auto sampling = made(spec.evaluation(), 21);
    for (std::uint64_t step = 0; step < sampling.steps(1); ++step)
      for (const auto sample : taken(sampling, step)) all.push_back(sample);
  }
  EXPECT_EQ(all.size(), 21U);
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 21U);
}

TEST(Sampling, SaysWhatIsWrong) {
  EXPECT_THAT(Sampling::make({.batch = 8, .last = Last::drop}, 5).status().message(),
              testing::HasSubstr("a step takes 8 samples, but there are only 5"));
  EXPECT_THAT(Sampling::make({.batch = 8}, 0).status().message(), testing::HasSubstr("no samples"));
  EXPECT_FALSE(Sampling::make({.batch = 8, .first_row = 6, .rows = 3}, 5).ok());
}

} // namespace
} // namespace dlhost::run
