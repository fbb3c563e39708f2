// The reported reason of a wait, for the first of two servers that each own half of a param.
#include <array>
#include <functional>

#include "served.h"

namespace dlhost::param {
namespace {

using What = Shard::MissingContribution::What;

class LacksTest : public Served {
 protected:
  void serve(
      const std::string& updater, double clip_norm, std::size_t shared_rows = 0,
      const std::function<void(ShardSetup&)>& also = [](ShardSetup&) {}) {
    lay_out(updater, "strict", std::vector<float>(32, 1.0F), 1, shared_rows);
    ShardSetup setup = this->setup(slices_);
    setup.contributors = {{0, 0, 0, std::as_bytes(std::span(gradient_))},
                          {0, 1, 1, std::as_bytes(std::span(gradient_))}};
    setup.update_settings.clip_norm = clip_norm;
    setup.send = [](std::uint32_t, const Body&) { return Status(); };
    also(setup);
    shard_ = *Shard::make(std::move(setup));
    shard_->begin({.version = 0, .steps = {0, 0}});
  }
  Status update(std::uint16_t rank) { return take(to_server::Update{.worker = {.rank = rank}, .rate = 0.5}, rank); }
  void expect_lack(What what, std::uint32_t seat) {
    const Shard::MissingContribution lack = shard_->lack(0);
    EXPECT_EQ(lack.what, what);
    EXPECT_EQ(lack.seat, seat);
  }

  std::vector<float> gradient_ = std::vector<float>(32, 1.0F);
  Slices slices_ = Slices::cut(std::array<std::int64_t, 1>{32}, 2, 16);
};

TEST_F(LacksTest, AContributionOfWhoIsBehind) {
  serve("sgd", 0);
  ASSERT_TRUE(update(0).ok());
  expect_lack(What::contribution, 1);
  ASSERT_TRUE(update(1).ok());
  EXPECT_EQ(shard_->version(), 1U);
}

TEST_F(LacksTest, TheNormOfTheOtherServer) {
  serve("sgd", 2);
  ASSERT_TRUE(update(1).ok());
  expect_lack(What::contribution, 0);
  ASSERT_TRUE(update(0).ok());
  expect_lack(What::norm, 1);
  ASSERT_TRUE(take(to_server::Norm{.squares = 48}, 1).ok());
  EXPECT_EQ(shard_->version(), 1U);
}

// The server of another group with the same slice.
TEST_F(LacksTest, ThePartOfTheOtherServerGroup) {
  const auto sync = *registry_.create<Sync>("all_to_all", {});
  std::array<std::vector<std::byte>, 2> memories;
  for (auto& memory : memories) memory.resize(GroupSync::bytes({sync.get(), {0, 2, {}}, {}}, slices_, 0));
  serve("sgd", 0, GroupSync::shared_rows(*sync, false), [&](ShardSetup& setup) {
    setup.sync =
        GroupSync::Setup{.neighbours = {.rank = 0,
                                        .all = {{0, memories[0]}, {5, memories[1]}},
                                        .memory = memories[0],
                                        .sync = sync.get(),
                                        .activity = &activity_,
                                        .send = [](std::uint32_t, const ToNeighbour&, auto) { return Status(); }},
                         .in_step = true,
                         .masters = &*masters_,
                         .store = &*store_};
  });
  ASSERT_TRUE(update(0).ok());
  expect_lack(What::contribution, 1);
  ASSERT_TRUE(update(1).ok());
  expect_lack(What::exchange, 5);
}

TEST_F(LacksTest, TheSumsOfTheOtherServer) {
  serve("lamb", 0);
  ASSERT_TRUE(update(0).ok());
  ASSERT_TRUE(update(1).ok());
  expect_lack(What::sum, 1);
  EXPECT_EQ(shard_->version(), 0U);
}

} // namespace
} // namespace dlhost::param
