// A contribution from a worker's memory, through a codec, to the server that makes a version of it.
#include <array>
#include <cstring>

#include "param/codec/coder.h"
#include "param/store/transfer.h"
#include "served.h"

namespace dlhost::param {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CoderTest : public Served {
 protected:
  void SetUp() override {
    lay_out("sgd", "strict", {1, 2, 3, 4}, 1);
    codec_ = *registry_.create<Codec>("bf16", {});
    coding_.emplace(*store_, slices_, *codec_, 1, sizeof(float) * 4, Coding::Kind{});
    memory_of_worker_.resize(coding_->end());
    use_ = {.store = &*store_, .coding = &*coding_, .codec = codec_.get(), .activity = &activity_};
    auto coder = Coder::make({.use = use_, .slices = &slices_, .memory = memory_of_worker_});
    ASSERT_TRUE(coder.ok());
    coder_ = *std::move(coder);
    coding_->clear(memory_of_worker_, false);
    ShardSetup setup = this->setup(slices_);
    setup.codec = use_;
    setup.contributors = {{0, 0, 0, std::span(memory_of_worker_).first(coding_->sent_end())}};
    setup.send = [](std::uint32_t, const Body&) { return Status(); };
    auto shard = Shard::make(std::move(setup));
    ASSERT_TRUE(shard.ok()) << shard.status().message();
    shard_ = *std::move(shard);
  }
  to_server::Update update(std::uint64_t step, std::uint64_t place) const {
    return {.step = step, .place = place, .rate = 1, .kind = ContributionKind::encoded};
  }
  void set_gradient(const std::array<float, 4>& values) {
    std::memcpy(memory_of_worker_.data(), values.data(), sizeof values);
  }
  void set_lengths(std::size_t place, Encoding::Lengths lengths) {
    std::memcpy(memory_of_worker_.data() + place, &lengths, sizeof lengths);
  }
  std::vector<float> values() {
    const Param& param = *store_->params()[0];
    return *download(*device_, *stream_, param.master, param.value.data());
  }

  Slices slices_ = Slices::cut(std::array<std::int64_t, 1>{4}, 1, 100);
  std::unique_ptr<Codec> codec_;
  std::optional<Coding> coding_;
  std::vector<std::byte> memory_of_worker_;
  CodecUse use_;
  std::unique_ptr<Coder> coder_;
};

// 257 has nine bits, of which bf16 keeps eight; the next step sends the rest.
TEST_F(CoderTest, WhatIsLeftOutComesWithTheNextStep) {
  set_gradient({1, 257, -2, 0});
  const auto place = coder_->encode(slices_[0], 0, 0);
  ASSERT_TRUE(place.ok());
  set_gradient({0, 0, 0, 0}); // it may be overwritten
  ASSERT_TRUE(take(update(0, *place)).ok());
  EXPECT_THAT(values(), ElementsAre(0, 2 - 256, 5, 4));
  set_gradient({0, 0, 0, 0});
  ASSERT_TRUE(coder_->encode(slices_[0], 0, 1).ok());
  ASSERT_TRUE(take(update(1, *place)).ok());
  EXPECT_THAT(values(), ElementsAre(0, 2 - 257, 5, 4));
  EXPECT_EQ(coder_->traffic().dense, 2 * 16U);
  EXPECT_EQ(coder_->traffic().sent, 2 * (8U + sizeof(Encoding::Lengths)));
}

// Recovery from the version with the first step, or from the one before, restores the remainder of that time.
TEST_F(CoderTest, WhatIsLeftOutOutlivesWhoDiesInTheMidst) {
  const Coding coding(*store_, slices_, *codec_, 1, sizeof(float) * 4, {.outlived = true});
  std::vector<std::byte> memory(coding.end());
  use_.coding = &coding;
  const auto coder = *Coder::make({.use = use_, .slices = &slices_, .memory = memory});
  coding.clear(memory, false);
  std::vector<std::vector<std::byte>> gathered;
  const auto left_out = [&](std::uint64_t before) {
    const auto kept = coding.kept(
        memory, [&](SliceId) { return before; }, gathered);
    return *reinterpret_cast<const float*>(kept.at(0).data);
  };
  const auto encode = [&](float value, std::uint64_t step) {
    std::memcpy(memory.data(), &value, sizeof value);
    ASSERT_TRUE(coder->encode(slices_[0], 0, step).ok());
  };
  EXPECT_EQ(left_out(0), 0);
  encode(257, 4);
  EXPECT_EQ(left_out(4), 0);
  EXPECT_EQ(left_out(5), 1);
  encode(258, 5); // 259 with the remainder
  EXPECT_EQ(left_out(5), 1);
  EXPECT_EQ(left_out(6), -1);
  const auto places = coding.begin(memory, 0); // and dies
  std::memset(memory.data() + places.error, 0xFF, sizeof(float) * 4);
  EXPECT_EQ(left_out(6), -1);
  EXPECT_EQ(left_out(7), -1);
}

TEST_F(CoderTest, WhatIsNotAnEncodingIsRefused) {
  set_gradient({1, 2, 3, 4});
  const auto place = coder_->encode(slices_[0], 0, 0);
  ASSERT_TRUE(place.ok());
  constexpr std::uint64_t huge = ~std::uint64_t{0};
  for (const Encoding::Lengths& bad : {Encoding::Lengths{0, 9}, {9, 0}, {huge, 8}, {8, huge}, {huge, huge}}) {
    set_lengths(*place, bad);
    EXPECT_THAT(take(update(0, *place)).message(), HasSubstr("an encoding of ")) << bad.before << bad.last;
  }
  set_lengths(*place, {0, 6}); // the largest length, but no encoding of four elements
  EXPECT_EQ(take(update(0, *place)).code(), Code::corrupt);
  const std::size_t end = coding_->sent_end();
  for (const std::uint64_t elsewhere : {std::uint64_t{0}, std::uint64_t{end}, std::uint64_t{end + 4}, huge - 3})
    EXPECT_THAT(take(update(9, elsewhere)).message(),
                HasSubstr("worker 0 of group 0, for slice 0 of 'w': no encoding left at "))
        << elsewhere;
  to_server::Update dense = update(9, 0);
  dense.kind = ContributionKind::dense;
  EXPECT_THAT(take(dense).message(), HasSubstr("sends the wrong kind of contribution"));
  EXPECT_THAT(values(), ElementsAre(1, 2, 3, 4)) << "nothing of it is in";
}

} // namespace
} // namespace dlhost::param
