// The file sinks: their files after a pass over six samples in batches of four.
#include <array>
#include <cstring>
#include <filesystem>

#include <gmock/gmock.h>

#include <dlhost/partition.h>
#include <dlhost/sink.h>

#include "../../plugin_host.h"
#include "../../temporary_folder.h"

namespace dlhost::test {
namespace {

class OutputTest : public testing::Test {
 protected:
  // Sets the sink up for batches of four samples of two elements, f32, and of one label each.
  std::unique_ptr<Sink> sink(const std::string& type, Phase phase = Phase::test) {
    auto made = host_.make(Kind::layer, Part{type, Table{{{"file", value("out")}}, {}}});
    EXPECT_TRUE(made.ok()) << made.status().message();
    std::unique_ptr<Sink> sink(dynamic_cast<Sink*>(made->release()));
    dlhost::Setup setup;
    const std::array<Port, 2> ports{Port{"x", {DType::f32, {4, 2}, {}}}, Port{"label", {DType::i32, {4}, {}}}};
    setup.inputs = std::span(ports).first(type == "csv_output" ? 2 : 1);
    setup.phase = phase;
    const Status status = sink->setup(setup);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(setup.host);
    EXPECT_FALSE(setup.has_gradient);
    return sink;
  }

  // Six samples: a whole batch, then a batch with two counted rows.
  void pass(Sink& sink) {
    std::array<float, 12> values{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5};
    const std::array<std::int32_t, 6> labels{9, 8, 7, 6, 5, 4};
    for (const std::int64_t first : {0, 4}) {
      std::array<const void*, 2> in{values.data() + 2 * first, labels.data() + first};
      Frame frame;
      frame.inputs = in;
      Pass pass;
      pass.valid = first == 0 ? 4 : 2;
      sink.compute_feature(pass, frame);
    }
  }

  std::string written(const std::string& type) {
    const auto made = sink(type);
    EXPECT_TRUE(made->open(host_, folder_.path(), 6).ok());
    pass(*made);
    const Status status = made->close();
    EXPECT_TRUE(status.ok()) << status.message();
    return *host_.disk().read_text(folder_ / "out");
  }

  PluginHost host_;
  TemporaryFolder folder_;
};

TEST_F(OutputTest, CsvHasALineForEachSample) {
  EXPECT_EQ(written("csv_output"), "0,0.5,9\n1,1.5,8\n2,2.5,7\n3,3.5,6\n4,4.5,5\n5,5.5,4\n");
}

TEST_F(OutputTest, NpySaysItsShapeAndIsAligned) {
  const std::string text = written("npy_output");
  ASSERT_EQ(text.size(), 128 + 12 * sizeof(float));
  EXPECT_EQ(text.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(static_cast<unsigned char>(text[8]) + 256 * text[9], 118);
  EXPECT_THAT(text.substr(10, 117), testing::StartsWith("{'descr': '<f4', 'fortran_order': False, 'shape': (6, 2), }"));
  EXPECT_EQ(text[127], '\n');
  float last = 0;
  std::memcpy(&last, text.data() + text.size() - sizeof last, sizeof last);
  EXPECT_EQ(last, 5.5F);
}

TEST_F(OutputTest, IdxIsBigEndian) {
  const std::string text = written("idx_output");
  EXPECT_EQ(text.substr(0, 12), std::string("\0\0\x0D\x02\0\0\0\x06\0\0\0\x02", 12));
  EXPECT_EQ(text.substr(16, 4), std::string("\x3F\0\0\0", 4)); // 0.5
  EXPECT_EQ(text.size(), 12 + 12 * sizeof(float));
}

TEST_F(OutputTest, AnotherPhaseWritesNothing) {
  const auto made = sink("csv_output", Phase::validate);
  EXPECT_TRUE(made->open(host_, folder_.path(), 6).ok());
  pass(*made);
  EXPECT_TRUE(made->close().ok());
  EXPECT_FALSE(host_.disk().exists(folder_ / "out"));
}

TEST_F(OutputTest, APassThatEndsEarlyLeavesNoFile) {
  const auto made = sink("npy_output");
  EXPECT_TRUE(made->open(host_, folder_.path(), 7).ok());
  pass(*made);
  EXPECT_THAT(made->close().message(), testing::HasSubstr("6 samples came, but 7"));
  EXPECT_FALSE(host_.disk().exists(folder_ / "out"));
}

} // namespace
} // namespace dlhost::test
