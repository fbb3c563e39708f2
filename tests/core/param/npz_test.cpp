#include <gmock/gmock.h>

#include "env/real_host.h"
#include "param/file/tensor_file.h"

namespace dlhost::test {
namespace {

class NpzTest : public testing::Test {
 protected:
  NpzTest() {
    if (!param::npz_built) return;
    const param::NamedTensor tensors[] = {{"fc.weight", DType::f32, {2, 3}, std::as_bytes(std::span(weight_))},
                                          {"fc.bias", DType::f32, {2}, std::as_bytes(std::span(weight_).first(2))},
                                          {"steps", DType::i64, {}, std::as_bytes(std::span(&steps_, 1))}};
    EXPECT_TRUE(param::write_npz(host_.disk(), path_, tensors).ok());
  }
  ~NpzTest() override { host_.disk().remove(path_).ignore("a temporary file"); }
  void SetUp() override {
    if (!param::npz_built) GTEST_SKIP() << "this build has no npz files: libzip is missing";
  }

  const std::vector<float> weight_{0, 1, 2, 3, 4, 5};
  const std::int64_t steps_ = 7;
  const std::string path_ =
      testing::TempDir() + "dlhost-" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".npz";
  env::RealHost host_{LogLevel::error};
};

TEST_F(NpzTest, WhatIsWrittenIsRead) {
  const auto file = param::open_tensors(host_.disk(), path_);
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_EQ(file->tensors.size(), 3U);
  const auto* weight = file->find("fc.weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_TRUE(std::ranges::equal(weight->bytes, std::as_bytes(std::span(weight_))));
  EXPECT_EQ(file->find("steps")->shape, std::vector<std::int64_t>{});
  EXPECT_EQ(file->find("fc"), nullptr);
}

TEST_F(NpzTest, EqualTensorsMakeEqualFiles) {
  const auto first = host_.disk().read_all(path_);
  const param::NamedTensor one{"w", DType::f32, {6}, std::as_bytes(std::span(weight_))};
  const std::string other = path_ + ".2";
  for (const auto& path : {path_, other}) ASSERT_TRUE(param::write_npz(host_.disk(), path, {&one, 1}).ok());
  EXPECT_NE(*first, *host_.disk().read_all(path_));
  EXPECT_EQ(*host_.disk().read_all(other), *host_.disk().read_all(path_));
  host_.disk().remove(other).ignore("a temporary file");
}

TEST_F(NpzTest, DamageIsFoundAndNamed) {
  auto whole = host_.disk().read_all(path_);
  ASSERT_TRUE(whole.ok());
  for (const std::size_t size : {whole->size() - 1, whole->size() / 2, std::size_t{30}}) {
    const auto npz = param::parse_npz(std::span(*whole).first(size), "cut.npz");
    EXPECT_THAT(npz.status().message(), testing::HasSubstr("cut.npz: is no npz file, or a broken one")) << size;
  }
  const auto value = std::search(whole->begin(), whole->end(), reinterpret_cast<const std::byte*>(weight_.data()) + 4,
                                 reinterpret_cast<const std::byte*>(weight_.data()) + 24);
  ASSERT_NE(value, whole->end());
  *value ^= std::byte{1};
  EXPECT_THAT(param::parse_npz(*whole, "flipped.npz").status().message(),
              testing::AllOf(testing::HasSubstr("flipped.npz: array 'fc.weight.npy'"), testing::HasSubstr("CRC")));
}

TEST_F(NpzTest, ASingleArrayIsNoModel) {
  ASSERT_TRUE(host_.disk().write_text(path_, "\x93NUMPY and so on").ok());
  EXPECT_THAT(param::open_tensors(host_.disk(), path_).status().message(), testing::HasSubstr("is a single array"));
}

} // namespace
} // namespace dlhost::test
