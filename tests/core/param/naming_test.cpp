#include <gmock/gmock.h>

#include "config/names.h"
#include "param/file/naming.h"
#include "param/file/plain.h"

namespace dlhost::test {
namespace {

using Parts = std::vector<std::string>;

TEST(Naming, StarsStandForAnyPart) {
  EXPECT_EQ(param::match("fc*.weight", "fc12.weight"), Parts{"12"});
  EXPECT_EQ(param::match("*.conv*.weight", "stage1.2.conv3.weight"), (Parts{"stage1.2", "3"}));
  EXPECT_EQ(param::match("*b", "aabb"), Parts{"aab"}); // shorter would leave a rest
  EXPECT_EQ(param::match("a*", "a"), Parts{""});
  EXPECT_EQ(param::match("**", "x"), (Parts{"", "x"}));
  EXPECT_EQ(param::match("fc1", "fc1"), Parts{});
  EXPECT_EQ(param::match("fc*.weight", "fc1.bias"), std::nullopt);
  EXPECT_EQ(param::match("fc", "fc1"), std::nullopt);
  EXPECT_EQ(param::match("", "fc1"), std::nullopt);
}

TEST(Naming, ExactNamesComeBeforePatterns) {
  const config::Names names{.rename = {{"fc*.weight", "hidden*.kernel", {1, 0}, {}},
                                       {"fc9.weight", "head.kernel", {}, {}},
                                       {"no*", "x*", {}, {}}},
                            .keep = {"out.*"},
                            .ignore = {"*.num_batches_tracked"}};
  param::Naming naming(names);
  EXPECT_EQ(naming.theirs("fc1.weight").name, "hidden1.kernel");
  EXPECT_EQ(naming.theirs("fc1.weight").order, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(naming.theirs("fc9.weight").name, "head.kernel");
  EXPECT_EQ(naming.theirs("bn.scale").name, "bn.scale");
  EXPECT_TRUE(naming.ignored("bn.num_batches_tracked"));
  EXPECT_FALSE(naming.ignored("bn.scale"));
  EXPECT_EQ(naming.unused(), (Parts{"no*", "out.*"}));
  EXPECT_TRUE(naming.kept("out.weight"));
  EXPECT_EQ(naming.unused(), (Parts{"no*"}));
}

TEST(Naming, CommandLine) {
  config::Names names;
  ASSERT_TRUE(config::add_rename(names, "fc*.weight = hidden*.weight").ok());
  EXPECT_EQ(names.rename[0].ours, "fc*.weight");
  EXPECT_EQ(names.rename[0].theirs, "hidden*.weight");
  EXPECT_THAT(config::add_rename(names, "fc*.weight=hidden.weight").message(),
              testing::HasSubstr("'fc*.weight' has 1 *, but 'hidden.weight' has 0"));
  EXPECT_THAT(config::add_rename(names, "fc1").message(), testing::HasSubstr("write it as 'ours=theirs'"));
}

TEST(Plain, AxesInAnotherOrder) {
  const std::vector<float> rows{0, 1, 2, 3, 4, 5};
  const param::NamedTensor tensor{"w", DType::f32, {2, 3}, std::as_bytes(std::span(rows))};
  const std::vector<std::int64_t> swapped{1, 0};
  EXPECT_EQ(param::plain_values(tensor), rows);
  EXPECT_EQ(param::plain_values(tensor, swapped), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(param::reordered(tensor.shape, swapped), (std::vector<std::int64_t>{3, 2}));
  const param::NamedTensor cube{"w", DType::f32, {1, 2, 3}, tensor.bytes};
  EXPECT_EQ(param::plain_values(cube, std::vector<std::int64_t>{2, 0, 1}), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(Plain, OtherFloats) {
  const std::vector<std::uint16_t> halves{0x3C00, 0xC100, 0x0001, 0xFC00};
  const std::vector<std::uint16_t> brains{0x3F80, 0xC020, 0x0000, 0xFF80};
  const std::vector<double> doubles{1, -2.5, 0, 1e300};
  const float infinity = std::numeric_limits<float>::infinity();
  const auto values = [](DType type, auto& from) {
    return param::plain_values({"w", type, {4}, std::as_bytes(std::span(from))});
  };
  EXPECT_EQ(values(DType::f16, halves), (std::vector<float>{1, -2.5, 0x1p-24F, -infinity}));
  EXPECT_EQ(values(DType::bf16, brains), (std::vector<float>{1, -2.5, 0, -infinity}));
  EXPECT_EQ(values(DType::f64, doubles), (std::vector<float>{1, -2.5, 0, infinity}));
}

} // namespace
} // namespace dlhost::test
