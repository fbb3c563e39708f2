// The replay of a repeated step, and the changes in it. Graphs are those of host_graph.h, which run with the kept
// values.
#include "replayed.h"

namespace dlhost::test {
namespace {

constexpr float nothing_changes = 0; // x[0] + valid, with valid = -1

TEST_F(ReplayTest, WhatComesAgainIsKeptAndThenReplayed) {
  const Counts expected[] = {{}, {.made = 1, .launched = 1}, {.launched = 1}, {.launched = 1}};
  const int runs[] = {1, 2, 2, 2};
  const float scalars[] = {5};
  for (int s = 0; s < 4; ++s) {
    step([&] {
      give(op, place, {.scalars = scalars});
      EXPECT_EQ(place.y[0], 0) << "it is held";
    });
    EXPECT_EQ(place.made(), 4) << s;
    EXPECT_EQ(done(), expected[s]) << s;
    EXPECT_EQ(op.runs, runs[s]);
    EXPECT_EQ(stream.last, "sum up");
  }
}

TEST_F(ReplayTest, OutsideOfStepsAllIsDoneAtOnce) {
  for (int s = 0; s < 3; ++s) give(op, place, {.valid = 2});
  EXPECT_EQ(place.made(), 9);
  EXPECT_TRUE(stream.move(place.y, place.x, sizeof place.y).ok());
  EXPECT_EQ(place.made(), 1);
  EXPECT_EQ(done(), Counts());
  stream.begin_step();
  give(op, place, {.valid = 1});
  stream.end_step();
  give(op, place, {.valid = 1});
  EXPECT_EQ(place.made(), 4);
}

// One change after the other, beside calls without changes.
TEST_F(ReplayTest, WhatChangesIsPutIntoIt) {
  SumUp other;
  Place beside;
  const float one[] = {1}, three[] = {3}, minus_zero[] = {-0.0F}, zero[] = {0.0F};
  const std::uint32_t first[] = {10, 20}, second[] = {10, 21};
  struct Case {
    Dynamic dynamic;
    float made;
    int changed;
  };
  const Case cases[] = {
      {{.scalars = one, .samples = first}, 30, 0},
      {{.scalars = one, .samples = first}, 30, 0},
      {{.scalars = one, .samples = first}, 30, 0},
      {{.scalars = three, .samples = first}, 32, 1},
      {{.scalars = three, .samples = first}, 32, 0},
      {{.scalars = three, .samples = second}, 33, 0},
      {{.scalars = three, .valid = 1, .samples = second}, 35, 1},
      {{.scalars = three, .valid = 1, .epoch = 7, .samples = second}, 42, 1},
      {{.scalars = three, .valid = 1, .key = {100, 0}, .epoch = 7, .samples = second}, 142, 1},
      {{.scalars = three, .valid = 1, .key = {100, 1000}, .epoch = 7, .samples = second}, 1142, 1},
      {{.scalars = one, .samples = first}, 30, 1},
      {{.scalars = zero, .samples = first}, 29, 1},
      {{.scalars = minus_zero, .samples = first}, 29, 1},
  };
  for (std::size_t c = 0; c < std::size(cases); ++c) {
    step([&] {
      give(other, beside);
      give(op, place, cases[c].dynamic);
      give(other, beside);
    });
    EXPECT_EQ(place.made(), cases[c].made) << c;
    EXPECT_EQ(beside.made(), 2 * nothing_changes) << c;
    EXPECT_EQ(done(), (Counts{.made = c == 1, .changed = cases[c].changed, .launched = c > 0})) << c;
  }
  EXPECT_EQ(other.runs, 4) << "as it was given, and as it was kept";
}

// The caller's data may be gone at the end of the step.
TEST_F(ReplayTest, WhatAnOpIsGivenIsCopied) {
  for (int s = 0; s < 4; ++s) {
    std::vector<float> scalars{static_cast<float>(s)};
    std::vector<std::uint32_t> samples{static_cast<std::uint32_t>(s * 10), 1};
    step([&] {
      const void* in[] = {place.x};
      void* out[] = {place.y};
      op.execute(stream, in, out, place.scratch.data(), {.scalars = scalars, .samples = samples});
      fill(place);
      in[0] = out[0] = nullptr;
      scalars[0] = 1000;
      samples[0] = 1000;
    });
    EXPECT_EQ(place.made(), static_cast<float>(s * 11)) << s;
  }
  EXPECT_EQ(done(), (Counts{.made = 1, .changed = 2, .launched = 3}));
}

// Two rows of samples in turn, as micro-batches have them; several calls share the first.
TEST_F(ReplayTest, EachCallHasItsSamples) {
  Place places[3];
  for (std::uint32_t s = 0; s < 4; ++s) {
    const std::uint32_t one[] = {s, 1}, two[] = {s, 5};
    step([&] {
      give(op, places[0], {.valid = 0, .samples = one});
      give(op, places[1], {.valid = 0, .samples = one});
      give(op, places[2], {.valid = 0, .samples = two});
    });
    const auto first = static_cast<float>(s);
    EXPECT_EQ(places[0].made(), first + 2);
    EXPECT_EQ(places[1].made(), first + 2);
    EXPECT_EQ(places[2].made(), first + 6);
  }
  EXPECT_EQ(done(), (Counts{.made = 1, .launched = 3}));
}

// Calls with the same samples share one row, which has no room for two rows.
TEST_F(ReplayTest, SamplesThatWereTheSameMayBecomeTwo) {
  Place second;
  const std::uint32_t one[] = {1, 2}, two[] = {3, 4};
  for (int s = 0; s < 8; ++s) {
    const bool differ = s >= 4;
    step([&] {
      give(op, place, {.valid = 0, .samples = one});
      give(op, second, {.valid = 0, .samples = differ ? two : one});
    });
    EXPECT_EQ(place.made(), 4) << s;
    EXPECT_EQ(second.made(), differ ? 8 : 4) << s;
  }
  EXPECT_EQ(done(), (Counts{.made = 2, .launched = 6}));
}

TEST_F(ReplayTest, OtherMemoryIsAnotherGraph) {
  Place second;
  for (int s = 0; s < 6; ++s) {
    Place& turn = s % 2 == 0 ? place : second;
    step([&] { give(op, turn, {.valid = 4}); });
    EXPECT_EQ(turn.made(), 5) << s;
  }
  EXPECT_EQ(done(), (Counts{.made = 2, .launched = 4}));
  std::array<std::uint32_t, SumUp::room_for> elsewhere{};
  const auto with = [&](std::initializer_list<const void*> in, std::initializer_list<void*> out, void* scratch) {
    step([&] { op.run(stream, in, out, scratch), fill(place); });
  };
  with({place.x}, {place.y}, elsewhere.data());
  with({second.x}, {place.y}, place.scratch.data());
  with({place.x}, {second.y}, place.scratch.data());
  with({place.x}, {place.y, second.y}, place.scratch.data());
  EXPECT_EQ(done(), Counts()) << "scratch, an input, an output, and one more";
  const float scalars[] = {1, 2};
  step([&] { give(op, place, {.scalars = scalars}); });
  EXPECT_EQ(done(), Counts()) << "a number of scalars";
}

TEST_F(ReplayTest, CopiesAndZerosAreKeptInTheirTurn) {
  Place second;
  const auto one = [&](std::size_t bytes) {
    place.y[0] = place.y[1] = 50;
    step([&] {
      EXPECT_TRUE(stream.move(place.y, nullptr, bytes).ok());
      give(op, place, {.valid = 0});
      EXPECT_TRUE(stream.move(second.y, place.y, sizeof second.y).ok());
      EXPECT_TRUE(stream.move(place.y, second.x, 0).ok()) << "of nothing";
      EXPECT_EQ(place.y[0], 50);
    });
    EXPECT_EQ(second.y[0], 1);
    EXPECT_EQ(second.y[1], bytes == 4 ? 52 : 2);
  };
  for (int s = 0; s < 3; ++s) one(8);
  EXPECT_EQ(done(), (Counts{.made = 1, .launched = 2}));
  one(4);
  EXPECT_EQ(done(), Counts()) << "of another length";
  for (int s = 0; s < 3; ++s) step([&] { fill(place), fill(place); });
  EXPECT_EQ(done(), (Counts{.made = 1, .launched = 2})) << "nothing else";
}

// A new op at the address of a deleted one, with the same tensors.
TEST_F(ReplayTest, AnOpThatIsGoneIsNotTakenForAnother) {
  std::optional<SumUp> one(std::in_place);
  const void* const address = &*one;
  steps(3, *one, place);
  EXPECT_EQ(done(), (Counts{.made = 1, .launched = 2}));
  one.emplace();
  ASSERT_EQ(&*one, address);
  one->launches = 2;
  place.made();
  for (int s = 0; s < 3; ++s) {
    step([&] { give(*one, place, {.valid = 0}); });
    EXPECT_EQ(place.made(), 2) << s;
  }
  EXPECT_EQ(done(), (Counts{.made = 1, .launched = 2}));
}

TEST_F(ReplayTest, ItEndsWhereTheHostMayLook) {
  class Mark final : public Event {
  } mark;
  const std::function<void()> looks[] = {
      [&] { EXPECT_TRUE(stream.wait().ok()); },
      [&] { EXPECT_TRUE(stream.record(mark).ok()); },
      [&] { EXPECT_TRUE(stream.wait_for(mark).ok()); },
      [&] { (void)stream.native(); },
  };
  for (const auto& look : looks) {
    step([&] {
      give(op, place, {.valid = 0});
      EXPECT_EQ(place.y[0], 0);
      look();
      EXPECT_EQ(place.made(), 1);
      give(op, place, {.valid = 0});
      EXPECT_EQ(place.y[0], 0) << "the step goes on";
    });
    EXPECT_EQ(place.made(), 1);
  }
  EXPECT_EQ(done(), (Counts{.made = 1, .launched = 7})) << "before and behind it is the same work";
}

TEST_F(ReplayTest, NotMoreIsHeldThanThat) {
  for (int s = 0; s < 3; ++s) {
    step([&] {
      const auto once = [&] { op.run(stream, {place.x}, {place.y}, place.scratch.data(), {.valid = 0}); };
      for (std::size_t call = 1; call < Replay::most_calls; ++call) once();
      EXPECT_EQ(place.y[0], 0);
      once();
      EXPECT_EQ(place.y[0], static_cast<float>(Replay::most_calls));
      give(op, place, {.valid = 0});
    });
    EXPECT_EQ(place.made(), static_cast<float>(Replay::most_calls + 1));
  }
  EXPECT_EQ(done(), (Counts{.made = 2, .launched = 4}));
}

TEST_F(ReplayTest, WhatWasNotNeededForLongestIsForgotten) {
  std::vector<Place> places(Replay::most_sequences);
  for (auto& one : places) steps(2, op, one);
  EXPECT_EQ(done(), (Counts{.made = static_cast<int>(places.size()), .launched = static_cast<int>(places.size())}));
  steps(1, op, places[0]);
  EXPECT_EQ(done(), (Counts{.launched = 1}));
  steps(2, op, place); // replaces places[1]
  EXPECT_EQ(done(), (Counts{.made = 1, .launched = 1}));
  steps(1, op, places[0]);
  steps(1, op, places[2]);
  EXPECT_EQ(done(), (Counts{.launched = 2}));
  steps(1, op, places[1]);
  EXPECT_EQ(done(), Counts());
}

TEST_F(ReplayTest, AFewCallsAreNotWorthAGraph) {
  const auto calls = [&](std::size_t number) {
    for (int s = 0; s < 3; ++s)
      step([&] {
        for (std::size_t call = 0; call < number; ++call)
          op.run(stream, {place.x}, {place.y}, place.scratch.data(), {.valid = 0});
        EXPECT_EQ(place.y[0], 0);
        stream.native();
        EXPECT_EQ(place.made(), static_cast<float>(number));
      });
  };
  calls(Replay::least_calls - 1);
  EXPECT_EQ(done(), Counts());
  calls(Replay::least_calls);
  EXPECT_EQ(done(), (Counts{.made = 1, .launched = 2}));
}

} // namespace
} // namespace dlhost::test
