#include <lmdb.h>

#include "datum.h"
#include "pictures.h"
#include "sources.h"

namespace dlhost::test {
namespace {

using input::parse_datum;

// A protobuf message, written by hand.
class Message {
 public:
  Message& number(unsigned field, std::uint64_t value) {
    varint(field << 3U);
    varint(value);
    return *this;
  }
  Message& bytes(unsigned field, std::string_view data) {
    varint(field << 3U | 2U);
    varint(data.size());
    text_ += data;
    return *this;
  }
  Message& real(unsigned field, float value) {
    varint(field << 3U | 5U);
    text_.append(reinterpret_cast<const char*>(&value), 4);
    return *this;
  }
  const std::string& text() const { return text_; }
  auto parse() const { return parse_datum(std::as_bytes(std::span(text_))); }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) text_ += static_cast<char>(value | 0x80U);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

Message shaped(std::uint64_t channels, std::uint64_t height, std::uint64_t width) {
  return Message().number(1, channels).number(2, height).number(3, width);
}

TEST(Datum, BytesAndFloats) {
  const auto message = shaped(1, 2, 2).bytes(4, "abcd").number(5, 300).bytes(99, "of a later version");
  const auto datum = message.parse();
  ASSERT_TRUE(datum.ok()) << datum.status().message();
  EXPECT_EQ(datum->label, 300);
  EXPECT_EQ(datum->data.size(), 4U);
  const auto loose = shaped(1, 1, 3).real(6, 1.5F).real(6, -2).real(6, 7);
  ASSERT_TRUE(loose.parse().ok()) << loose.parse().status().message();
  EXPECT_EQ(loose.parse()->float_at(1), -2);
  EXPECT_EQ(loose.parse()->float_at(2), 7);
  const float values[] = {1, 2};
  const auto packed = shaped(2, 1, 1).bytes(6, {reinterpret_cast<const char*>(values), 8});
  EXPECT_EQ(packed.parse()->float_at(1), 2);
}

TEST(Datum, DamageIsTold) {
  const auto why = [](const Message& message) { return message.parse().status().message(); };
  EXPECT_THAT(why(shaped(1, 2, 2).bytes(4, "abc")), testing::HasSubstr("has 4 values, but it holds 3 bytes"));
  EXPECT_THAT(why(shaped(1, 2, 0)), testing::HasSubstr("its shape is 1x2x0"));
  EXPECT_THAT(why(shaped(1 << 20, 1 << 20, 1 << 20)), testing::HasSubstr("enormous"));
  EXPECT_THAT(why(Message().number(5, ~0ULL)), testing::HasSubstr("label is -1"));
  const auto whole = shaped(1, 2, 2).bytes(4, "abcd").text();
  EXPECT_THAT(parse_datum(std::as_bytes(std::span(whole)).first(whole.size() - 1)).status().message(),
              testing::HasSubstr("byte 6: is no field of a Datum"));
}

class LmdbTest : public SourceTest {
 protected:
  void database(const std::string& name, const std::vector<std::string>& records) {
    MDB_env* environment = nullptr;
    MDB_txn* writing = nullptr;
    MDB_dbi dbi = 0;
    ASSERT_EQ(mdb_env_create(&environment), 0);
    ASSERT_EQ(mdb_env_open(environment, (folder / name).c_str(), MDB_NOSUBDIR, 0600), 0);
    ASSERT_EQ(mdb_txn_begin(environment, nullptr, 0, &writing), 0);
    ASSERT_EQ(mdb_dbi_open(writing, nullptr, 0, &dbi), 0);
    for (std::size_t i = 0; i < records.size(); ++i) {
      std::string key = std::to_string(100 + i), record = records[i];
      MDB_val k{key.size(), key.data()}, v{record.size(), record.data()};
      ASSERT_EQ(mdb_put(writing, dbi, &k, &v, 0), 0);
    }
    ASSERT_EQ(mdb_txn_commit(writing), 0);
    mdb_env_close(environment);
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
  EXPECT_THAT(why("text"), testing::HasSubstr("is no LMDB database"));
  database("empty", {});
  EXPECT_THAT(why("empty"), testing::HasSubstr("has no records"));
  database("damaged", {"x"});
  EXPECT_THAT(why("damaged"), testing::HasSubstr("damaged, record 0: byte 0: is no field"));
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
