// A worker that reads params in place, and the server that makes their next versions: all interleavings of their
// actions, with a death of either at every point. A value does not change until its reader asks for a newer one, and a
// version that a dead server published is whole.
//
// The server is the shard of real runs. Its change of a value is one action here; the interleaving may switch before it
// takes a message, and between a version and its announcement.
#include <algorithm>
#include <array>
#include <utility>

#include "../../transports/shm/interleaving.h"
#include "served.h"

namespace dlhost::param {
namespace {

using test::Interleaving;

constexpr std::int64_t elements = 8;
constexpr int server = 0, reader = 1;

// Switches tasks in the ledger's append: after the value is written, and before any message announces it.
class Pausing final : public LogFile {
 public:
  explicit Pausing(const bool& serving) : serving_(serving) {}
  Status append(std::string_view) override {
    if (serving_) Interleaving::access();
    return {};
  }
  Status sync() override { return {}; }

 private:
  const bool& serving_;
};

class PinsTest : public Served {
 protected:
  // Two workers: the first contributes ones, so that each element of version v is -v; the second reads.
  long explore(std::uint64_t versions, Interleaving::Death death) {
    return Interleaving::explore([this] { begin(); }, [this, versions] { serve(versions); }, [this] { read(); },
                                 [this, versions, death] { end(versions, death); }, death);
  }

  std::uint64_t wrong_ = 0; // elements of another version than the announced one

 private:
  static constexpr std::uint64_t reads = 2;

  std::span<float> value(std::size_t place) {
    return {reinterpret_cast<float*>(masters_->value(0, place).data()), static_cast<std::size_t>(elements)};
  }
  void begin() {
    constexpr float nobodys = 42;
    shard_.reset();
    for (std::size_t place = 0; place < masters_->values(0); ++place)
      std::ranges::fill(value(place), place == 0 ? 0 : nobodys);
    made_ = read_ = 0;
    asked_ = read_all_ = false;
    answer_.reset();
    ShardSetup setup = this->setup(slices_);
    setup.published = published_;
    setup.contributors = {{0, 0, 0, std::as_bytes(std::span(gradient_))},
                          {1, 0, 1, std::as_bytes(std::span(gradient_))}};
    setup.groups = 2;
    setup.send = [this](std::uint32_t seat, const Body& message) {
      if (seat != reader) return Status();
      answer_ = told_in(message);
      Interleaving::changed();
      return Status();
    };
    auto made = Shard::make(std::move(setup));
    ASSERT_TRUE(made.ok()) << made.status().message();
    shard_ = std::move(*made);
    const StartPoint beginning{.steps = {0, 0}};
    shard_->begin(beginning);
    ASSERT_TRUE(shard_->keep_ledger(std::make_unique<Pausing>(serving_), 0, beginning).ok());
    serving_ = true;
  }
  void serve(std::uint64_t versions) {
    while (made_ < versions || !read_all_) {
      Interleaving::access();
      if (std::exchange(asked_, false)) {
        const Status status = take(to_server::Get{.worker = {.group = 1}});
        ASSERT_TRUE(status.ok()) << status.message();
      } else if (made_ < versions) {
        const Status status = take(to_server::Update{.step = made_, .rate = 1});
        ASSERT_TRUE(status.ok()) << status.message();
        ++made_;
      } else {
        Interleaving::wait();
      }
    }
  }
  void read() {
    for (; read_ < reads; ++read_) {
      Interleaving::access();
      asked_ = true;
      Interleaving::changed();
      while (!answer_) Interleaving::wait();
      const Told told = *std::exchange(answer_, std::nullopt);
      const auto whole = value(static_cast<std::size_t>(told.place));
      for (const auto half : {whole.first(elements / 2), whole.last(elements / 2)}) {
        Interleaving::access();
        wrong_ += static_cast<std::uint64_t>(
            std::ranges::count_if(half, [&](float one) { return one != -static_cast<float>(told.version); }));
      }
    }
    read_all_ = true;
    Interleaving::changed();
  }
  void end(std::uint64_t versions, Interleaving::Death death) {
    serving_ = false;
    const SurvivingVersions published(published_, 2);
    ASSERT_TRUE(published.has(0));
    const auto newest = published.newest(0);
    ASSERT_TRUE(
        std::ranges::all_of(value(newest.value), [&](float one) { return one == -static_cast<float>(newest.version); }))
        << "version " << newest.version << " is said to be whole";
    ASSERT_EQ(newest.applied[0], newest.version);
    if (death.party == server) {
      ASSERT_EQ(newest.version, made_) << "what others have heard of is gone, or nobody has heard of what is there";
      return;
    }
    ASSERT_EQ(newest.version, versions) << "who reads holds up who serves";
    if (death.party == Interleaving::nobody) {
      ASSERT_EQ(read_, reads) << "stuck";
    }
  }

  std::vector<float> gradient_ = std::vector<float>(static_cast<std::size_t>(elements), 1);
  Slices slices_ = Slices::cut(std::array<std::int64_t, 1>{elements}, 1, 1'000'000);
  std::vector<std::byte> published_ = std::vector<std::byte>(SurvivingVersions::bytes(1, 2));
  bool serving_ = false;
  std::uint64_t made_ = 0, read_ = 0;
  bool asked_ = false, read_all_ = false; // and not yet served
  std::optional<Told> answer_;            // and not yet read
};

TEST_F(PinsTest, WhatIsReadStaysInEveryOrder) {
  lay_out("sgd", "eventual", std::vector<float>(elements), 4);
  const long orders = explore(3, {});
  RecordProperty("orders", std::to_string(orders));
  EXPECT_GT(orders, 1000);
  EXPECT_EQ(wrong_, 0U);
}

TEST_F(PinsTest, AServerMayDieAtAnyPoint) {
  lay_out("sgd", "eventual", std::vector<float>(elements), 4);
  long orders = 0;
  for (int after = 0; after < 9; ++after) orders += explore(2, {.party = server, .after = after});
  RecordProperty("orders", std::to_string(orders));
  EXPECT_GT(orders, 1000);
  EXPECT_EQ(wrong_, 0U);
}

TEST_F(PinsTest, AReaderMayDieAtAnyPoint) {
  lay_out("sgd", "eventual", std::vector<float>(elements), 4);
  long orders = 0;
  for (int after = 0; after < 6; ++after) orders += explore(2, {.party = reader, .after = after});
  RecordProperty("orders", std::to_string(orders));
  EXPECT_GT(orders, 1000);
  EXPECT_EQ(wrong_, 0U);
}

// With a single place, new versions overwrite it: the tests above would detect torn reads.
TEST_F(PinsTest, WithoutOtherPlacesReadsAreTorn) {
  lay_out("sgd", "eventual", std::vector<float>(elements), 1);
  explore(2, {});
  EXPECT_GT(wrong_, 0U);
}

} // namespace
} // namespace dlhost::param
