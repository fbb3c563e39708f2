#include <zlib.h>

#include "array_file.h"
#include "sources.h"

namespace dlhost::test {
namespace {

using input::npy_samples;
using input::parse_idx;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string idx(unsigned char type, std::vector<std::uint32_t> dims, std::string_view data) {
  std::string file{'\0', '\0', static_cast<char>(type), static_cast<char>(dims.size())};
  for (const auto dim : dims)
    for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(dim >> shift);
  return file.append(data);
}

std::string npy(const std::string& header, std::string_view data) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  return file.append(header).append(data);
}

template <class T> std::string raw(std::vector<T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST(ArrayFile, IdxOfEveryType) {
  const auto pair = idx(0x0C, {2}, std::string_view("\0\0\1\2\377\377\377\376", 8));
  const auto words = parse_idx(bytes_of(pair));
  ASSERT_TRUE(words.ok()) << words.status().message();
  std::int32_t value = 0;
  words->copy_row(0, reinterpret_cast<std::byte*>(&value));
  EXPECT_EQ(value, 258);
  words->copy_row(1, reinterpret_cast<std::byte*>(&value));
  EXPECT_EQ(value, -2);
  const auto file = idx(0x0D, {1, 1}, std::string_view("\x3f\xc0\0\0", 4));
  float real = 0;
  parse_idx(bytes_of(file))->copy_row(0, reinterpret_cast<std::byte*>(&real));
  EXPECT_EQ(real, 1.5F);
  EXPECT_EQ(parse_idx(bytes_of(idx(0x08, {2, 3}, "abcdef")))->natural(), DType::u8);
}

TEST(ArrayFile, IdxErrors) {
  const auto why = [](std::string_view file) { return parse_idx(bytes_of(file)).status().message(); };
  EXPECT_THAT(why(""), testing::HasSubstr("is not an idx file"));
  EXPECT_THAT(why(idx(7, {1}, "a")), testing::HasSubstr("byte 2: 7"));
  EXPECT_THAT(why(idx(8, {2, 3}, "abcde")), testing::HasSubstr("cut off"));
  EXPECT_THAT(why(idx(8, {2, 3}, "abcdefg")), testing::HasSubstr("makes 6 bytes of elements, but there are 7"));
  EXPECT_THAT(why(idx(8, {~0U, ~0U, ~0U, ~0U}, "abc")), testing::HasSubstr("cut off"));
  EXPECT_THAT(why(idx(8, {0, 3}, "")), testing::HasSubstr("no elements"));
  EXPECT_THAT(why(idx(8, {}, "a")), testing::HasSubstr("single number"));
  EXPECT_THAT(why(idx(8, {1, 1, 1}, "a").substr(0, 9)), testing::HasSubstr("ends at byte 9"));
}

TEST(ArrayFile, NpyOfEveryType) {
  const auto longs =
      npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }   \n", raw<std::int64_t>({1, -2, 3, 1LL << 40}));
  const auto array = npy_samples(bytes_of(longs));
  ASSERT_TRUE(array.ok()) << array.status().message();
  EXPECT_EQ(array->shape, (Shape{2, 2}));
  EXPECT_FALSE(array->fits());
  std::int32_t pair[2];
  array->copy_row(0, reinterpret_cast<std::byte*>(pair));
  EXPECT_EQ(pair[1], -2);
  const auto halves = npy("{'descr': '<f2', 'fortran_order': False, 'shape': (4,), }\n",
                          raw<std::uint16_t>({0x3C00, 0xC100, 0x0001, 0x7BFF}));
  for (const auto& [row, expected] : {std::pair{0, 1.F}, {1, -2.5F}, {2, 0x1p-24F}, {3, 65504.F}}) {
    float value = 0;
    npy_samples(bytes_of(halves))->copy_row(row, reinterpret_cast<std::byte*>(&value));
    EXPECT_EQ(value, expected);
  }
  const auto doubles =
      npy("{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }\n", std::string_view("\x40\x04\0\0\0\0\0\0", 8));
  float value = 0;
  npy_samples(bytes_of(doubles))->copy_row(0, reinterpret_cast<std::byte*>(&value));
  EXPECT_EQ(value, 2.5F);
}

TEST(ArrayFile, NpyErrors) {
  const auto why = [](const std::string& header, std::string_view data) {
    return npy_samples(bytes_of(npy(header, data))).status().message();
  };
  EXPECT_THAT(npy_samples(bytes_of("PK\3\4aaaaaaaaaa")).status().message(), testing::HasSubstr("is not an npy file"));
  EXPECT_THAT(why("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "12345678"),
              testing::HasSubstr("elements of type '<c8' are not read"));
  EXPECT_THAT(why("{'descr': '|u1', 'fortran_order': True, 'shape': (1,)}", "1"), testing::HasSubstr("Fortran"));
  EXPECT_THAT(why("{'descr': '|u1', 'fortran_order': False, 'shape': (2", "12"), testing::HasSubstr("does not end"));
  EXPECT_THAT(why("{'descr': '|u1', 'fortran_order': False, 'shape': (x,)}", "1"), testing::HasSubstr("not a size"));
  EXPECT_THAT(why("{'descr': '|u1', 'fortran_order': False}", "1"), testing::HasSubstr("no shape"));
  EXPECT_THAT(why("{'descr': '|u1', 'fortran_order': False, 'shape': (9223372036854775807, 2)}", "12"),
              testing::HasSubstr("cut off"));
}

using Arrays = SourceTest;

TEST_F(Arrays, IdxPairAsMnist) {
  const std::string path = folder / "images.gz";
  const auto images = idx(8, {3, 2, 2}, "abcdefghijkl");
  gzFile packed = gzopen(path.c_str(), "wb");
  gzwrite(packed, images.data(), static_cast<unsigned>(images.size()));
  gzclose(packed);
  write("labels", idx(8, {3}, std::string_view("\7\1\0", 3)));
  auto mnist = open("idx", {{"train", value({"images.gz", "labels"})}, {"validate_every", value(3)}});
  ASSERT_TRUE(mnist.status.ok()) << mnist.status.message();
  EXPECT_EQ(mnist.outputs[0].desc, (TensorDesc{DType::u8, {1, 2, 2}, {}}));
  EXPECT_EQ(mnist.outputs[1].desc, (TensorDesc{DType::i32, {}, {}}));
  EXPECT_EQ(mnist.source->count(Phase::train), 2);
  EXPECT_EQ(mnist.label(Phase::train, 0), 7);
  EXPECT_EQ(mnist.values<char>(Phase::validate, 0), (std::vector<char>{'i', 'j', 'k', 'l'}));
  auto scaled = open("idx", {{"train", value({"images.gz"})}, {"mean", value(97.0)}, {"scale", value(0.5)}});
  ASSERT_TRUE(scaled.status.ok()) << scaled.status.message();
  EXPECT_EQ(scaled.values<float>(Phase::train, 0), (std::vector<float>{0, 0.5F, 1, 1.5F}));
}

TEST_F(Arrays, NpyPair) {
  write("x.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", raw<float>({1, 2, 3, 4, 5, 6})));
  write("y.npy", npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }\n", raw<std::int64_t>({4, 9})));
  auto arrays = open("npy", {{"train", value({"x.npy", "y.npy"})}});
  ASSERT_TRUE(arrays.status.ok()) << arrays.status.message();
  EXPECT_EQ(arrays.values<float>(Phase::train, 1), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(arrays.label(Phase::train, 1), 9);
}

TEST_F(Arrays, SaysWhatIsWrong) {
  write("a", idx(8, {2, 2}, "abcd"));
  write("b", idx(8, {1, 3}, "abc"));
  write("labels", idx(8, {3}, "abc"));
  const auto why = [&](SourceTest::Entries options) { return open("idx", std::move(options)).status.message(); };
  EXPECT_THAT(why({{"train", value({"a", "labels"})}}), testing::HasSubstr("a has 2 samples, but labels has 3 labels"));
  EXPECT_THAT(why({{"train", value({"a"})}, {"test", value({"b"})}}), testing::HasSubstr("b: a sample is 3 u8, but 2"));
  EXPECT_THAT(why({{"train", value({"a", "a", "a"})}}), testing::HasSubstr("one or two files"));
  EXPECT_THAT(why({{"train", value({"a"})}, {"test", value({"a"})}, {"test_every", value(2)}}),
              testing::HasSubstr("exclude each other"));
  EXPECT_THAT(why({{"train", value({"a"})}, {"test_every", value(1)}}), testing::HasSubstr("nothing to train on"));
}

} // namespace
} // namespace dlhost::test
