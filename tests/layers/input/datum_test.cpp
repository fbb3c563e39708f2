#include "datum.h"
#include "datum_message.h"
#include "pictures.h"
#include "sources.h"

namespace dlhost::test {
namespace {

using input::parse_datum;

Result<input::Datum> parsed(const Message& message) { return parse_datum(std::as_bytes(std::span(message.text()))); }

TEST(Datum, BytesAndFloats) {
  const auto message = shaped(1, 2, 2).bytes(4, "abcd").number(5, 300).bytes(99, "of a later version");
  const auto datum = parsed(message);
  ASSERT_TRUE(datum.ok()) << datum.status().message();
  EXPECT_EQ(datum->label, 300);
  EXPECT_EQ(datum->data.size(), 4U);
  const auto loose = shaped(1, 1, 3).real(6, 1.5F).real(6, -2).real(6, 7);
  ASSERT_TRUE(parsed(loose).ok()) << parsed(loose).status().message();
  EXPECT_EQ(parsed(loose)->float_at(1), -2);
  EXPECT_EQ(parsed(loose)->float_at(2), 7);
  const float values[] = {1, 2};
  const auto packed = shaped(2, 1, 1).bytes(6, {reinterpret_cast<const char*>(values), 8});
  EXPECT_EQ(parsed(packed)->float_at(1), 2);
}

TEST(Datum, DamageIsTold) {
  const auto why = [](const Message& message) { return parsed(message).status().message(); };
  EXPECT_THAT(why(shaped(1, 2, 2).bytes(4, "abc")), testing::HasSubstr("has 4 values, but it holds 3 bytes"));
  EXPECT_THAT(why(shaped(1, 2, 0)), testing::HasSubstr("its shape is 1x2x0"));
  EXPECT_THAT(why(shaped(1 << 20, 1 << 20, 1 << 20)), testing::HasSubstr("enormous"));
  EXPECT_THAT(why(Message().number(5, ~0ULL)), testing::HasSubstr("label is -1"));
  const auto whole = shaped(1, 2, 2).bytes(4, "abcd").text();
  EXPECT_THAT(parse_datum(std::as_bytes(std::span(whole)).first(whole.size() - 1)).status().message(),
              testing::HasSubstr("byte 6: is not a field of a Datum"));
}

class LmdbTest : public SourceTest {
 protected:
  void database(const std::string& name, const std::vector<std::string>& records) {
    ASSERT_TRUE(write_database(folder / name, records));
  }
};

TEST_F(LmdbTest, PixelsFloatsAndPackedPictures) {
  database("bytes", {shaped(1, 2, 2).bytes(4, "abcd").number(5, 3).text(),
                     shaped(1, 2, 2).bytes(4, "efgh").number(5, 9).text()});
  auto bytes = open("lmdb", {{"train", value("bytes")}});
  ASSERT_TRUE(bytes.status.ok()) << bytes.status.message();
  EXPECT_EQ(bytes.source->count(Phase::train), 2);
  EXPECT_EQ(bytes.label(Phase::train, 1), 9);
  EXPECT_EQ(bytes.values<char>(Phase::train, 1), (std::vector<char>{'e', 'f', 'g', 'h'}));

  database("floats", {shaped(2, 1, 1).real(6, 1.5F).real(6, 2).text()});
  auto floats = open("lmdb", {{"train", value("floats")}});
  ASSERT_TRUE(floats.status.ok()) << floats.status.message();
  EXPECT_EQ(floats.values<float>(Phase::train, 0), (std::vector<float>{1.5F, 2}));

  const input::Pixels red{{200, 0, 0}, 1, 1, 3};
  database("packed", {Message().bytes(4, png(red)).number(5, 1).number(7, 1).text()});
  auto packed = open("lmdb", {{"train", value("packed")}, {"size", value({1})}});
  ASSERT_TRUE(packed.status.ok()) << packed.status.message();
  EXPECT_EQ(packed.values<std::uint8_t>(Phase::train, 0), red.data);
}

TEST_F(LmdbTest, SaysWhatIsWrong) {
  const auto why = [&](const char* name) { return open("lmdb", {{"train", value(name)}}).status.message(); };
  EXPECT_THAT(why("none"), testing::HasSubstr("none"));
  write("text", "This is no database, but a text that goes on and on.");
  EXPECT_THAT(why("text"), testing::HasSubstr("is not a readable LMDB database"));
  database("empty", {});
  EXPECT_THAT(why("empty"), testing::HasSubstr("has no records"));
  database("damaged", {"x"});
  EXPECT_THAT(why("damaged"), testing::HasSubstr("damaged, record 0: byte 0: is not a field"));
  database("packed", {Message().bytes(4, "picture").number(7, 1).text()});
  EXPECT_THAT(why("packed"), testing::HasSubstr("say size"));
  database("cut", std::vector<std::string>(100, shaped(1, 40, 40).bytes(4, std::string(1600, 'x')).text()));
  std::filesystem::resize_file(folder / "cut", 40000);
  EXPECT_THAT(why("cut"), testing::HasSubstr("it was cut off"));
  database("mixed", {shaped(1, 1, 1).bytes(4, "a").text(), shaped(1, 1, 2).bytes(4, "ab").text()});
  auto mixed = open("lmdb", {{"train", value("mixed")}});
  std::byte data[2], label[4];
  std::byte* places[] = {data, label};
  EXPECT_THAT(mixed.source->read(Phase::train, 1, places).message(), testing::HasSubstr("record 1: is 1x1x2 u8"));
}

} // namespace
} // namespace dlhost::test
