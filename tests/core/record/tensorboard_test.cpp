#include "record/tensorboard.h"

#include <cstring>

#include "fake_host.h"
#include "record/event.pb.h"
#include "record/masked_crc.h"

namespace dlhost::record {
namespace {

class TensorboardTest : public RecordTest {
 protected:
  std::vector<std::string> files() {
    std::vector<std::string> names;
    const auto entries = host_.disk().list(folder_.path());
    for (const auto& entry : *entries) names.push_back(entry.name);
    return names;
  }

  // Splits the frames and checks their checksums.
  std::vector<tensorboard::Event> events(const std::string& name) {
    const std::string bytes = *host_.disk().read_text(folder_ / "" + name);
    std::vector<tensorboard::Event> read;
    for (std::size_t at = 0; at < bytes.size();) {
      std::uint64_t size = 0;
      std::uint32_t of_size = 0, of_bytes = 0;
      EXPECT_LE(at + 16, bytes.size());
      std::memcpy(&size, &bytes[at], 8); // both are little-endian on every machine that runs this
      std::memcpy(&of_size, &bytes[at + 8], 4);
      EXPECT_EQ(of_size, masked_crc(bytes.substr(at, 8)));
      const std::string event = bytes.substr(at + 12, size);
      std::memcpy(&of_bytes, &bytes[at + 12 + size], 4);
      EXPECT_EQ(of_bytes, masked_crc(event));
      EXPECT_TRUE(read.emplace_back().ParseFromString(event));
      at += 16 + size;
    }
    return read;
  }
};

TEST(MaskedCrc, KnownValues) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u); // the check value of CRC-32C
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  // The beginning of every event file of TensorBoard: a record of 24 bytes.
  EXPECT_EQ(masked_crc(std::string("\x18\0\0\0\0\0\0\0", 8)), 0x224b7fa3u);
}

TEST_F(TensorboardTest, ScalarsComeBack) {
  {
    auto log = Tensorboard::open(host_, folder_.path(), 0);
    ASSERT_TRUE(log.ok()) << log.status().message();
    (*log)->add("train", "loss", 0.5);
    (*log)->add("", "rate", 0);
    ASSERT_TRUE((*log)->write(3).ok());
    (*log)->add("test", "accuracy", 0.75);
    host_.wall += 1;
    (*log)->add_text("test", "confusion", "| |");
    ASSERT_TRUE((*log)->write(4).ok());
  }
  ASSERT_EQ(files(), std::vector<std::string>{"events.out.tfevents.1795245000.dlhost.0"});
  const auto read = events(files()[0]);
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[0].file_version(), "brain.Event:2");
  EXPECT_EQ(read[1].step(), 3);
  ASSERT_EQ(read[1].summary().value_size(), 2);
  EXPECT_EQ(read[1].summary().value(0).tag(), "train/loss");
  EXPECT_EQ(read[1].summary().value(0).simple_value(), 0.5f);
  EXPECT_EQ(read[1].summary().value(1).tag(), "rate");
  EXPECT_TRUE(read[1].summary().value(1).has_simple_value()); // a zero is a value
  EXPECT_EQ(read[2].wall_time(), 1795245001.25);
  ASSERT_EQ(read[2].summary().value_size(), 2);
  EXPECT_EQ(read[2].summary().value(0).tag(), "test/accuracy");
  EXPECT_EQ(read[2].summary().value(1).tag(), "test/confusion");
  EXPECT_EQ(read[2].summary().value(1).tensor().string_val(0), "| |");
  EXPECT_EQ(read[2].summary().value(1).metadata().plugin_data().plugin_name(), "text");
}

TEST_F(TensorboardTest, AResumedRunTellsWhereItGoesOn) {
  ASSERT_TRUE(Tensorboard::open(host_, folder_.path(), 0).ok());
  ASSERT_TRUE(Tensorboard::open(host_, folder_.path(), 40).ok());
  ASSERT_EQ(files().size(), 2u);
  const auto read = events(files()[1]);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].step(), 41);
  EXPECT_EQ(read[1].session_log().status(), tensorboard::SessionLog::START);
}

} // namespace
} // namespace dlhost::record
