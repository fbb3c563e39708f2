// CIFAR, raw text and synthetic samples.
#include <cmath>
#include <numeric>

#include "sources.h"

namespace dlhost::test {
namespace {

using Sources = SourceTest;

std::string record(std::initializer_list<char> labels, char pixel) {
  std::string text(labels);
  return text.append(3072, pixel);
}

TEST_F(Sources, CifarOverSeveralFiles) {
  write("a.bin", record({3}, 'x') + record({9}, 'y'));
  write("b.bin", record({0}, 'z'));
  auto cifar = open("cifar", {{"train", value({"a.bin", "b.bin"})}, {"test", value({"b.bin"})}});
  ASSERT_TRUE(cifar.status.ok()) << cifar.status.message();
  EXPECT_EQ(cifar.source->count(Phase::train), 3);
  EXPECT_EQ(cifar.outputs[0].desc, (TensorDesc{DType::u8, {3, 32, 32}, {}}));
  EXPECT_EQ(cifar.label(Phase::train, 1), 9);
  EXPECT_EQ(cifar.label(Phase::train, 2), 0);
  EXPECT_EQ(cifar.values<char>(Phase::train, 2), std::vector<char>(3072, 'z'));
  EXPECT_EQ(cifar.values<char>(Phase::train, 1), std::vector<char>(3072, 'y'));
}

TEST_F(Sources, Cifar100HasTwoLabels) {
  write("a.bin", record({19, 99}, 'x'));
  auto cifar = open("cifar", {{"train", value({"a.bin"})}, {"kind", value("cifar100")}, {"scale", value(2.0)}});
  ASSERT_TRUE(cifar.status.ok()) << cifar.status.message();
  EXPECT_EQ(cifar.label(Phase::train, 0), 99);
  EXPECT_EQ(cifar.values<std::int32_t>(Phase::train, 0, 2).at(0), 19);
  EXPECT_EQ(cifar.values<float>(Phase::train, 0), std::vector<float>(3072, 240.F));
}

TEST_F(Sources, CifarSaysWhatIsWrong) {
  write("a.bin", record({3}, 'x').substr(1));
  EXPECT_THAT(open("cifar", {{"train", value({"a.bin"})}}).status.message(),
              testing::HasSubstr("a.bin: has 3072 bytes, which is not a whole number of records of 3073"));
  write("b.bin", record({3}, 'x') + record({10}, 'x'));
  EXPECT_THAT(open("cifar", {{"train", value({"b.bin"})}}).status.message(),
              testing::HasSubstr("byte 3073: label 10 of record 1 is not one of 10 classes"));
  EXPECT_THAT(open("cifar", {{"train", value(std::initializer_list<const char*>{})}}).status.message(),
              testing::HasSubstr("names no file"));
}

TEST_F(Sources, TextAsWindows) {
  write("a.txt", "abcabd");
  write("b.txt", "dcba");
  auto text = open("text", {{"train", value("a.txt")}, {"test", value("b.txt")}, {"length", value(2)}});
  ASSERT_TRUE(text.status.ok()) << text.status.message();
  EXPECT_EQ(text.source->count(Phase::train), 2);
  EXPECT_EQ(text.values<std::int32_t>(Phase::train, 1), (std::vector<std::int32_t>{2, 0}));
  EXPECT_EQ(text.values<std::int32_t>(Phase::train, 1, 1), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(text.source->count(Phase::test), 1);
  EXPECT_EQ(text.values<std::int32_t>(Phase::test, 0, 1), (std::vector<std::int32_t>{2, 1}));
  write("c.txt", "abx");
  EXPECT_THAT(
      open("text", {{"train", value("a.txt")}, {"test", value("c.txt")}, {"length", value(2)}}).status.message(),
      testing::HasSubstr("byte 2 is the symbol 120, which the training text does not have"));
  EXPECT_THAT(open("text", {{"train", value("a.txt")}, {"length", value(6)}}).status.message(),
              testing::HasSubstr("make length smaller"));
}

TEST_F(Sources, SyntheticIsRepeatable) {
  const SourceTest::Entries options{{"shape", value({3, 40, 50})}, {"train", value(100)}, {"test", value(10)}};
  auto one = open("synthetic", options), other = open("synthetic", options);
  ASSERT_TRUE(one.status.ok()) << one.status.message();
  EXPECT_EQ(one.read(Phase::train, 5), other.read(Phase::train, 5));
  EXPECT_NE(one.read(Phase::train, 5), one.read(Phase::train, 6));
  EXPECT_NE(one.read(Phase::train, 5), one.read(Phase::test, 5));
  const auto sample = one.values<float>(Phase::train, 5);
  const double mean = std::accumulate(sample.begin(), sample.end(), 0.0) / static_cast<double>(sample.size());
  const double power = std::inner_product(sample.begin(), sample.end(), sample.begin(), 0.0);
  EXPECT_NEAR(mean, 0, 0.05);
  EXPECT_NEAR(power / static_cast<double>(sample.size()), 1, 0.1);
}

TEST_F(Sources, SyntheticCanBeLearnt) {
  auto source =
      open("synthetic",
           {{"shape", value({5000})}, {"classes", value(3)}, {"mode", value("learnable")}, {"noise", value(0.1)}});
  ASSERT_TRUE(source.status.ok()) << source.status.message();
  // Samples of one class are close, samples of two classes are not.
  const auto distance = [&](std::int64_t a, std::int64_t b) {
    const auto x = source.values<float>(Phase::train, a), y = source.values<float>(Phase::train, b);
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += std::pow(x[i] - y[i], 2) / static_cast<double>(x.size());
    return sum;
  };
  for (std::int64_t i = 1; i < 20; ++i)
    EXPECT_EQ(distance(0, i) < 0.1, source.label(Phase::train, 0) == source.label(Phase::train, i)) << i;
  auto bytes = open("synthetic", {{"shape", value({5000})}, {"values", value("u8")}, {"mode", value("uniform")}});
  EXPECT_EQ(bytes.outputs[0].desc.dtype, DType::u8);
  const auto sample = bytes.values<std::uint8_t>(Phase::train, 0);
  EXPECT_NEAR(std::accumulate(sample.begin(), sample.end(), 0.0) / 5000, 127.5, 5);
}

} // namespace
} // namespace dlhost::test
