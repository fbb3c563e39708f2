// Steps that fit no graph, or no longer fit theirs, and faults in the data of replayed steps.
#include "replayed.h"

namespace dlhost::test {
namespace {

// An op fails while a graph keeps it: the step runs as without graphs, and the op's error then counts.
TEST_F(ReplayTest, WhatCannotBeKeptRunsOneByOne) {
  step([&] { give(op, place, {.valid = 0}); });
  op.fails = Status::unsupported("not in a graph");
  for (int s = 0; s < 3; ++s) step([&] { give(op, place, {.valid = 0}); });
  EXPECT_EQ(place.made(), 4);
  EXPECT_EQ(done(), (Counts{.refused = 1})) << "told once, and not tried again";
  EXPECT_TRUE(stream.wait().ok());
  op.fails = Status::invalid("wrong");
  step([&] { give(op, place, {.valid = 0}); });
  EXPECT_EQ(stream.wait().message(), "wrong");
}

TEST_F(ReplayTest, AnEarlierErrorIsStillTold) {
  step([&] { give(op, place); });
  step([&] {
    give(op, place);
    stream.fail(Status::invalid("before"));
  });
  EXPECT_EQ(done(), (Counts{.made = 1, .launched = 1}));
  EXPECT_EQ(stream.wait().message(), "before");
}

// A call with another number of kernels does not fit into its piece.
TEST_F(ReplayTest, WhatDoesNotFitIsMadeAnew) {
  float epoch = 0;
  const auto one = [&] {
    epoch += 1;
    step([&] { give(op, place, {.valid = 0, .epoch = static_cast<std::uint32_t>(epoch)}); });
    EXPECT_EQ(place.made(), static_cast<float>(op.launches) * (epoch + 1));
  };
  for (int s = 0; s < 20; ++s) one();
  EXPECT_EQ(done(), (Counts{.made = 1, .changed = 18, .launched = 19}));
  for (int s = 0; s < 2; ++s) {
    op.launches = 3 - op.launches;
    one();
    EXPECT_EQ(done(), (Counts{.made = 1, .launched = 1}));
  }
  op.launches = 2;
  one();
  EXPECT_EQ(done(), (Counts{.refused = 1})) << "too often";
  one();
  EXPECT_EQ(done(), Counts());
}

TEST_F(ReplayTest, FaultsInTheDataAreToldOfReplayedStepsToo) {
  const auto gather = *plugins::cuda::prepare_own(
      GatherSpec{.table = {DType::f32, {3, 2}, {}}, .indices = {DType::i32, {2}, {}}, .y = {DType::f32, {2, 2}, {}}});
  float table[6] = {1, 2, 3, 4, 5, 6}, y[4] = {};
  std::int32_t indices[2] = {};
  std::vector<std::byte> scratch(gather->scratch_bytes + 256);
  for (int s = 0; s < 6; ++s) {
    indices[1] = s;
    step([&] { gather->run(stream, {table, indices}, {y}, scratch.data()), fill(place); });
    EXPECT_EQ(stream.wait().ok(), s < 3) << s;
  }
  EXPECT_EQ(done(), (Counts{.made = 1, .launched = 5}));
}

} // namespace
} // namespace dlhost::test
