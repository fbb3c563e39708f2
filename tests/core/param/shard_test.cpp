// A server alone: its handling of two workers' messages, valid and invalid.
#include <array>

#include <dlhost/random.h>

#include "param/store/transfer.h"
#include "served.h"

namespace dlhost::param {
namespace {

class ShardTest : public Served {
 protected:
  void SetUp() override {
    lay_out("sgd", handler_, {1, 2, 3, 4}, versions_);
    if (auto handler = this->handler()) consistency_ = std::move(handler);
    ShardSetup setup = this->setup(slices_);
    setup.contributors = {{0, 0, 0, std::as_bytes(std::span(gradients_[0]))},
                          {0, 1, 1, std::as_bytes(std::span(gradients_[1]))}};
    setup.published = outlives_;
    setup.send = [this](std::uint32_t seat, const Body& message) {
      if (const auto told = told_in(message)) {
        answers_.emplace_back(seat, told->version);
        place_ = told->place;
      }
      return Status();
    };
    auto shard = Shard::make(std::move(setup));
    ASSERT_TRUE(shard.ok()) << shard.status().message();
    shard_ = *std::move(shard);
  }

  // Another handler than handler_; null: that one.
  virtual std::unique_ptr<Consistency> handler() { return nullptr; }
  to_server::Update update(std::uint16_t rank, std::uint64_t step) const {
    return {.worker = {.rank = rank}, .step = step, .rate = 0.5};
  }
  to_server::Get get(std::uint16_t rank, Version version) const {
    return {.worker = {.rank = rank}, .at_least = version};
  }
  std::vector<float> values() {
    const Param& param = *store_->params()[0];
    return *download(*device_, *stream_, param.master, param.value.data());
  }

  std::string handler_ = "strict";
  std::size_t versions_ = 1;
  std::array<std::array<float, 4>, 2> gradients_{{{1, 1, 1, 1}, {0, 1, 2, 3}}};
  Slices slices_ = Slices::cut(std::array<std::int64_t, 1>{4}, 1, 100);
  // The steps that the newest published version contains or that make no version.
  std::span<const std::uint64_t> published() const { return SurvivingVersions(memory_of_dead(), 2).newest(0).applied; }
  std::span<std::byte> memory_of_dead() const { return {const_cast<std::byte*>(outlives_.data()), outlives_.size()}; }

  std::vector<std::byte> outlives_ = std::vector<std::byte>(SurvivingVersions::bytes(1, 2));
  std::vector<std::pair<std::uint32_t, Version>> answers_;
  std::uint64_t place_ = 0; // from the last answer
};

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST_F(ShardTest, AddsWhatAllBringAndTellsWhoAsked) {
  ASSERT_TRUE(take(get(1, 1)).ok());
  ASSERT_TRUE(take(update(1, 0)).ok());
  EXPECT_THAT(values(), ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(answers_.empty());
  ASSERT_TRUE(take(update(0, 0)).ok());
  EXPECT_THAT(values(), ElementsAre(0.5, 1, 1.5, 2)); // minus half of {1, 2, 3, 4}
  EXPECT_THAT(answers_, ElementsAre(Pair(1, 1)));
  ASSERT_TRUE(take(get(0, 1)).ok());
  EXPECT_THAT(answers_, ElementsAre(Pair(1, 1), Pair(0, 1)));
}

// Declares that readers are at most a step behind, and serves any version.
class Lax final : public Consistency {
 public:
  Traits traits() const override { return {.staleness = 1}; }
  WorkerPlan plan(std::uint64_t, Version) const override { return {}; }
  GetVerdict on_get(const SliceState&, std::uint16_t, std::uint16_t, Version) override { return GetVerdict::serve; }
  UpdateVerdict on_update(SliceState&, const Contribution&) override { return {.act = UpdateVerdict::Act::apply}; }
};

class LaxTest : public ShardTest {
 protected:
  std::unique_ptr<Consistency> handler() override { return std::make_unique<Lax>(); }
};

TEST_F(LaxTest, WhatIsOlderThanTheHandlerPromisesIsItsFault) {
  ASSERT_TRUE(take(update(0, 0)).ok());
  ASSERT_TRUE(take(get(0, 0)).ok());
  ASSERT_TRUE(take(update(0, 1)).ok());
  EXPECT_THAT(take(get(0, 0)).message(),
              HasSubstr("answers worker 0 of group 0, for slice 0 of 'w', after 2 steps, though step 0 of worker 1"));
  EXPECT_THAT(answers_, ElementsAre(Pair(0, 1)));
}

// Records its word.
class Remembering final : public Consistency {
 public:
  Traits traits() const override { return {.own_words = 1}; }
  WorkerPlan plan(std::uint64_t, Version) const override { return {}; }
  GetVerdict on_get(const SliceState&, std::uint16_t, std::uint16_t, Version) override { return GetVerdict::serve; }
  UpdateVerdict on_update(SliceState& slice, const Contribution&) override {
    at_update.push_back(std::exchange(slice.own[0], 99));
    return {.act = UpdateVerdict::Act::apply};
  }
  void on_put(SliceState& slice) override { put.emplace_back(slice.version, std::exchange(slice.own[0], 7)); }
  std::vector<std::pair<Version, std::uint64_t>> put;
  std::vector<std::uint64_t> at_update;
};

class PutTest : public ShardTest {
 protected:
  std::unique_ptr<Consistency> handler() override { return std::make_unique<Remembering>(); }
};

TEST_F(PutTest, TheHandlerHearsOfEachValueThatReplacesOthers) {
  const auto& heard = static_cast<const Remembering&>(*consistency_);
  shard_->begin({.version = 3, .steps = {3, 3}});
  EXPECT_THAT(heard.put, ElementsAre(Pair(3, 0)));
  ASSERT_TRUE(take(update(0, 3)).ok());
  EXPECT_THAT(heard.at_update, ElementsAre(7));
  shard_->begin({.version = 2, .steps = {2, 2}}); // after a death
  EXPECT_THAT(heard.put, ElementsAre(Pair(3, 0), Pair(2, 0)));
}

class OverlappingTest : public ShardTest {
 protected:
  OverlappingTest() {
    handler_ = "eventual";
    versions_ = 4;
  }
};

TEST_F(OverlappingTest, WhatAWorkerReadsStaysUntilItAsksForMore) {
  const auto first = std::span(reinterpret_cast<const float*>(memory_.data()), 4);
  const auto steps_of_another = [&](std::uint64_t from) {
    for (std::uint64_t step = from; step < from + 10; ++step) {
      ASSERT_TRUE(take(update(1, step)).ok());
      ASSERT_TRUE(take(get(1, 0)).ok());
    }
  };
  steps_of_another(0); // worker 0 is still at its first step, and reads the initial version
  EXPECT_THAT(first, ElementsAre(1, 2, 3, 4));
  ASSERT_TRUE(take(get(0, 0)).ok());
  steps_of_another(10);
  EXPECT_NE(first[3], 4) << "nobody reads it any more";
}

// One place more than workers, where no version is to outlive its server.
class FewPlacesTest : public OverlappingTest {
 protected:
  FewPlacesTest() {
    versions_ = 3;
    outlives_.clear();
  }
  float last_of(std::uint64_t place) const {
    return reinterpret_cast<const float*>(masters_->value(0, place).data())[3];
  }
};

TEST_F(FewPlacesTest, TheNewestIsWrittenInPlaceWhileNoWorkerReadsIt) {
  std::array<std::uint64_t, 2> reads{0, 0}, step{0, 0};
  std::array<float, 2> seen{4, 4};
  float newest = 4;
  Random random({3, 0}, 0, 0);
  for (int times = 0; times < 200; ++times) {
    const auto rank = static_cast<std::uint16_t>(random.below(2));
    ASSERT_TRUE(take(update(rank, step[rank]++)).ok());
    newest -= rank == 0 ? 0.5F : 1.5F;
    if (random.below(2) == 0) {
      ASSERT_TRUE(take(get(rank, 0)).ok());
      reads[rank] = place_;
      seen[rank] = newest;
    }
    for (const std::size_t worker : {0, 1}) ASSERT_EQ(last_of(reads[worker]), seen[worker]) << "worker " << worker;
  }
}

class ChosenTest : public ShardTest {
 protected:
  ChosenTest() {
    handler_ = "first_t";
    versions_ = 4;
  }
  Status chosen(std::uint16_t rank, std::uint64_t step, Version version) {
    return take(to_server::Chosen{.worker = {.rank = rank}, .step = step, .version = version, .count = 1});
  }
  to_server::Get get_after(std::uint16_t rank, std::uint64_t step, Version version) const {
    to_server::Get message = get(rank, version);
    message.step = step;
    return message;
  }
};

// The version that worker 1 asks for exists, but the chooser has not decided yet whether its step was late.
TEST_F(ChosenTest, WhoMayBeLateGoesOnWhenThatIsKnown) {
  ASSERT_TRUE(take(update(0, 0)).ok());
  ASSERT_TRUE(chosen(0, 0, 0).ok());
  ASSERT_TRUE(take(update(1, 0)).ok());
  ASSERT_TRUE(take(get_after(1, 0, 1)).ok());
  EXPECT_TRUE(answers_.empty());
  ASSERT_TRUE(take(to_server::Dropped{.worker = {.rank = 1}}).ok());
  EXPECT_THAT(answers_, ElementsAre(Pair(1, 1)));
  ASSERT_TRUE(take(update(1, 1)).ok());
  ASSERT_TRUE(take(get_after(1, 1, 2)).ok());
  ASSERT_TRUE(chosen(1, 1, 1).ok());
  EXPECT_THAT(answers_, ElementsAre(Pair(1, 1), Pair(1, 2)));
}

class FoldingTest : public ChosenTest {
 protected:
  std::unique_ptr<Consistency> handler() override {
    dlhost::Table options;
    options.entries.emplace_back("late", Value{std::string("fold")});
    options.entries.emplace_back("choose", Value{choose_});
    return *registry_.create<Consistency>("first_t", options);
  }
  to_server::Update based_on(Version version, to_server::Update update) const {
    update.based_on = version;
    return update;
  }
  Status late(std::uint16_t rank, std::uint64_t step) {
    return take(to_server::Folded{.worker = {.rank = rank}, .step = step});
  }
  Status stand_still(float weight) { return take(to_server::Align{.weight = weight}); }
  // The value that worker 0 gets now.
  std::span<const float> value() {
    EXPECT_TRUE(take(get(0, 0)).ok());
    return {reinterpret_cast<const float*>(masters_->value(0, place_).data()), 4};
  }
  std::string choose_ = "step";
};

// Version 1, which it asks for, exists; but the chooser has not decided yet whether its first step was late.
TEST_F(FoldingTest, WhatMayBeLateIsNotWrittenOverBeforeThatIsKnown) {
  ASSERT_TRUE(take(update(0, 0)).ok());
  ASSERT_TRUE(chosen(0, 0, 0).ok());
  ASSERT_TRUE(take(update(1, 0)).ok());
  ASSERT_TRUE(take(get(1, 1)).ok());
  EXPECT_TRUE(answers_.empty());
  ASSERT_TRUE(late(1, 0).ok());
  EXPECT_THAT(answers_, ElementsAre(Pair(1, 1)));
  gradients_[1] = {9, 9, 9, 9}; // it is at its next step
  EXPECT_THAT(value(), ElementsAre(0.5, 1.5, 2.5, 3.5));
  ASSERT_TRUE(take(update(0, 1)).ok());
  ASSERT_TRUE(chosen(0, 1, 1).ok());
  EXPECT_THAT(value(), ElementsAre(0, 0.5, 1, 1.5)) << "minus half of {1, 1, 1, 1} + {0, 1, 2, 3}";
}

TEST_F(FoldingTest, WhoIsLateBeforeItComesIsFoldedInWhenItDoes) {
  ASSERT_TRUE(take(update(0, 0)).ok());
  ASSERT_TRUE(chosen(0, 0, 0).ok());
  ASSERT_TRUE(late(1, 0).ok());
  ASSERT_TRUE(take(update(1, 0)).ok());
  ASSERT_TRUE(stand_still(0.5).ok());
  EXPECT_THAT(answers_, ElementsAre(Pair(0, 1))) << "the run's leader, of the same version";
  EXPECT_THAT(value(), ElementsAre(0.5, 1.25, 2, 2.75)) << "a half of half of {0, 1, 2, 3}";
  ASSERT_TRUE(stand_still(0.5).ok());
  EXPECT_THAT(value(), ElementsAre(0.5, 1.25, 2, 2.75)) << "once";
}

// The chooser is on seat 0.
TEST_F(ChosenTest, OnlyTheChooserChooses) {
  ASSERT_TRUE(take(update(0, 0)).ok());
  ASSERT_TRUE(take(get_after(0, 0, 1)).ok());
  EXPECT_EQ(take(to_server::Chosen{.count = 1}, 1).code(), Code::corrupt);
  EXPECT_EQ(take(to_server::Dropped(), 1).code(), Code::corrupt);
  EXPECT_TRUE(answers_.empty()) << "it is undecided";
  ASSERT_TRUE(chosen(0, 0, 0).ok());
  EXPECT_THAT(answers_, ElementsAre(Pair(0, 1)));
}

TEST_F(FoldingTest, NobodyElseSaysThatSomebodyIsLateOrThatAllStandStill) {
  EXPECT_EQ(take(to_server::Folded{.worker = {.rank = 1}}, 1).code(), Code::corrupt);
  const Status aligned = take(to_server::Align(), 1);
  EXPECT_EQ(aligned.message(), "seat 1 sends 'Align', which only the run's leader and the chooser may");
  EXPECT_TRUE(answers_.empty());
}

TEST_F(ShardTest, OnlyWhoLeadsAGroupSaysThatItMakesNoMoreSteps) {
  const Status left = take(to_server::Leave{.worker = {.rank = 1}}, 1);
  EXPECT_EQ(left.message(), "seat 1 sends 'Leave' for group 0, which it does not lead");
  ASSERT_TRUE(take(update(0, 0)).ok());
  EXPECT_THAT(values(), ElementsAre(1, 2, 3, 4)) << "worker 1 is waited for still";
  EXPECT_TRUE(take(to_server::Leave{.worker = {.rank = 1}}).ok());
}

TEST_F(FoldingTest, NobodyIsLateWhereNothingIsChosen) {
  EXPECT_EQ(take(to_server::Folded{.worker = {.rank = 1}, .weight = 0}).code(), Code::corrupt);
  EXPECT_EQ(take(to_server::Folded{.worker = {.rank = 2}}).code(), Code::corrupt);
}

// A recovery from this version must not repeat a dropped step, or the run would never get past it.
TEST_F(ChosenTest, WhatIsLeftOutIsPublishedWithTheNextVersion) {
  ASSERT_TRUE(take(update(0, 0)).ok());
  ASSERT_TRUE(take(update(1, 0)).ok());
  ASSERT_TRUE(take(to_server::Dropped{.worker = {.rank = 1}}).ok());
  ASSERT_TRUE(chosen(0, 0, 0).ok());
  EXPECT_THAT(published(), ElementsAre(1, 1));
}

TEST_F(FoldingTest, WhatIsFoldedInIsPublishedWhenAVersionHasIt) {
  ASSERT_TRUE(take(update(0, 0)).ok());
  ASSERT_TRUE(chosen(0, 0, 0).ok());
  ASSERT_TRUE(late(1, 0).ok());
  ASSERT_TRUE(take(update(1, 0)).ok());
  EXPECT_THAT(published(), ElementsAre(1, 0)) << "nobody has it yet";
  ASSERT_TRUE(stand_still(0.5).ok());
  EXPECT_THAT(published(), ElementsAre(1, 1));
  EXPECT_EQ(SurvivingVersions(memory_of_dead(), 2).newest(0).version, 1U) << "amended";
}

class FoldingBySliceTest : public FoldingTest {
 protected:
  FoldingBySliceTest() { choose_ = "slice"; }
};

// T is one group, of two workers.
TEST_F(FoldingBySliceTest, NobodyWaitsForAVersion) {
  ASSERT_TRUE(take(update(0, 0)).ok());
  EXPECT_THAT(value(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(answers_, ElementsAre(Pair(0, 0)));
  gradients_[0] = {9, 9, 9, 9};
  ASSERT_TRUE(take(update(1, 0)).ok());
  EXPECT_THAT(value(), ElementsAre(0.5, 1, 1.5, 2));
  EXPECT_EQ(shard_->arrivals().late, 0U);
  ASSERT_TRUE(take(based_on(0, update(1, 1))).ok());
  EXPECT_EQ(shard_->arrivals().late, 1U);
  EXPECT_THAT(value(), ElementsAre(0.5, 1, 1.5, 2)) << "it makes no version";
  ASSERT_TRUE(stand_still(0).ok());
  EXPECT_THAT(value(), ElementsAre(0.5, 0.5, 0.5, 0.5));
  EXPECT_EQ(answers_.back(), std::pair(0U, Version{1})) << "and is in the one that was there";
  EXPECT_EQ(late(1, 0).code(), Code::corrupt) << "no steps are chosen";
}

class ElasticTest : public ShardTest {
 protected:
  ElasticTest() {
    handler_ = "elastic";
    versions_ = 4;
  }
  to_server::Update delta(std::uint16_t rank, std::uint64_t step) const {
    to_server::Update message = update(rank, step);
    message.kind = ContributionKind::delta;
    return message;
  }
  std::span<const float> version(std::size_t which) const {
    return {reinterpret_cast<const float*>(masters_->value(0, which).data()), 4};
  }
};

TEST_F(ElasticTest, ADifferenceIsAddedAsItIsAndOnce) {
  ASSERT_TRUE(take(delta(0, 3)).ok());
  ASSERT_TRUE(take(delta(0, 3)).ok());
  ASSERT_TRUE(take(delta(1, 3)).ok());
  EXPECT_EQ(shard_->repeated(), 1U);
  ASSERT_TRUE(take(get(0, 0)).ok());
  EXPECT_THAT(answers_, ElementsAre(Pair(0, 2)));
  EXPECT_THAT(version(place_), ElementsAre(2, 4, 6, 8)) << "no rate has a part in it";
  EXPECT_THAT(version(0), ElementsAre(1, 2, 3, 4)) << "the other worker reads it";
}

TEST_F(ElasticTest, WhatIsOfAnotherKindIsCorrupt) {
  EXPECT_THAT(take(update(0, 0)).message(), HasSubstr("sends the wrong kind of contribution"));
}

TEST_F(ShardTest, ADifferenceIsNotTakenForAGradient) {
  for (const ContributionKind kind :
       {ContributionKind::delta, ContributionKind::rows, ContributionKind::factors, ContributionKind::encoded}) {
    to_server::Update message = update(0, 0);
    message.kind = kind;
    EXPECT_EQ(take(message).code(), Code::corrupt);
  }
  ASSERT_TRUE(take(update(1, 0)).ok());
  EXPECT_THAT(values(), ElementsAre(1, 2, 3, 4)) << "nothing of it is in";
}

TEST_F(ShardTest, ARepeatedUpdateCountsOnce) {
  ASSERT_TRUE(take(update(0, 0)).ok());
  ASSERT_TRUE(take(update(0, 0)).ok());
  EXPECT_EQ(shard_->repeated(), 1U);
  EXPECT_THAT(values(), ElementsAre(1, 2, 3, 4));
  ASSERT_TRUE(take(update(1, 0)).ok());
  ASSERT_TRUE(take(update(1, 0)).ok()); // after both have arrived
  EXPECT_EQ(shard_->repeated(), 2U);
  EXPECT_THAT(values(), ElementsAre(0.5, 1, 1.5, 2));
}

TEST_F(ShardTest, WhatIsNotThereIsRefused) {
  to_server::Update bad = update(0, 0);
  bad.slice = 9;
  EXPECT_THAT(take(bad).message(), HasSubstr("slice 9, which it does not own"));
  bad = update(7, 0);
  EXPECT_THAT(take(bad).message(), HasSubstr("worker 7 of group 0, which is none of those"));
  for (const std::uint64_t place :
       {std::uint64_t{4}, std::uint64_t{2}, std::uint64_t{1} << 63, ~std::uint64_t{0} - 7}) {
    bad = update(0, 0);
    bad.place = place;
    EXPECT_THAT(take(bad).message(), HasSubstr("outside of its memory of 16 bytes")) << place;
  }
  ASSERT_TRUE(take(get(0, 100)).ok());
  EXPECT_THAT(take(get(0, 100)).message(), HasSubstr("worker 0 of group 0 asks twice for slice 0"));
}

TEST_F(ShardTest, ArbitraryMessagesDoNoHarm) {
  Random random({1, 2}, 0, 0);
  std::uint64_t taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::array<std::byte, message_bytes> bytes;
    const ToServer valid = random.below(2) == 0
                               ? ToServer(update(static_cast<std::uint16_t>(i % 2), static_cast<std::uint64_t>(i)))
                               : ToServer(get(1, 0));
    write({.body = valid}, bytes);
    for (std::uint32_t spoiled = random.below(4); spoiled > 0; --spoiled)
      bytes[random.below(message_bytes)] = static_cast<std::byte>(random.below(256));
    const auto message = read_message(bytes);
    if (!message.ok()) continue;
    const std::uint32_t from = random.below(3);
    if (const auto* to_server = std::get_if<ToServer>(&message->body)) {
      taken += take(*to_server, from).ok() ? 1 : 0;
    } else if (const auto* to_neighbour = std::get_if<ToNeighbour>(&message->body)) {
      EXPECT_EQ(shard_->take(from, *to_neighbour).code(), Code::corrupt) << "it has no neighbours";
    }
  }
  EXPECT_GT(taken, 1000U);
  for (const float value : values()) EXPECT_TRUE(value == value);
}

} // namespace
} // namespace dlhost::param
