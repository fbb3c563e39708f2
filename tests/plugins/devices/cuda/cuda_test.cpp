// What cuda alone promises. Without a GPU: that it says what is missing. With one: its errors, and what the suite that
// it shares with other devices has no words for.
#include <cmath>
#include <numeric>

#include <dlhost/device.h>

#include "../../../plugin_host.h"

namespace dlhost::test {
namespace {

class CudaTest : public testing::Test {
 protected:
  std::unique_ptr<Device> device(std::vector<TableEntry> options = {}) {
    return make<Device>(host_, "cuda", std::move(options));
  }
  // A device that works; else the test is skipped, and says why.
  void SetUp() override {
    probe_ = device();
    if (const auto stream = probe_->stream(); stream.ok()) return;
    const std::string why = probe_->stream().status().message();
    if (testing::UnitTest::GetInstance()->current_test_info()->name() != std::string("SaysWhatIsMissing"))
      GTEST_SKIP() << why;
  }

  PluginHost host_;
  std::unique_ptr<Device> probe_;
};

TensorDesc f32(Shape shape) { return {DType::f32, shape, {}}; }

// Every call says the same, and no call throws or ends the process.
TEST_F(CudaTest, SaysWhatIsMissing) {
  const Status status = probe_->stream().status();
  if (status.ok()) GTEST_SKIP() << "nothing is missing: " << probe_->description();
  EXPECT_EQ(status.code(), Code::unsupported) << status.message();
  bool known = false;
  for (const char* words : {"no NVIDIA driver", "driver is too old", "no GPU", "no kernel image"})
    known = known || status.message().find(words) != std::string::npos;
  EXPECT_TRUE(known) << status.message();
  EXPECT_EQ(probe_->allocate(64).status().message(), status.message());
  EXPECT_EQ(probe_->allocate_host(64).status().message(), status.message());
  EXPECT_EQ(probe_->event().status().message(), status.message());
  EXPECT_EQ(probe_->prepare(ReorderSpec{f32({4}), f32({4})}).status().message(), status.message());
  EXPECT_EQ(probe_->description(), status.message());
  EXPECT_EQ(probe_->traits().host_memory, false);
}

TEST_F(CudaTest, OutOfMemorySaysHowMuchIsFree) {
  const auto refused = probe_->allocate(std::size_t{1} << 50);
  ASSERT_EQ(refused.status().code(), Code::no_space) << refused.status().message();
  EXPECT_NE(refused.status().message().find("are free"), std::string::npos) << refused.status().message();
  EXPECT_TRUE(Memory::make(*probe_, 1 << 20).ok()) << "what does not fit hurts nobody";
}

TEST_F(CudaTest, ThereIsNoSuchGpu) {
  const Status status = device({{"gpu", value(1000)}})->stream().status();
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find("no GPU 1000"), std::string::npos) << status.message();
}

// Products, in the two precisions of f32.
TEST_F(CudaTest, Tf32IsNearAndF32Exact) {
  GemmSpec spec{.x = f32({64, 512}), .w = f32({128, 512}), .y = f32({64, 128})};
  std::vector<float> x(64 * 512), w(128 * 512), y(64 * 128);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = std::cos(static_cast<float>(i));
  for (const bool tf32 : {false, true}) {
    const auto one = device({{"tf32", value(tf32)}});
    const auto stream = *one->stream();
    const auto op = *one->prepare(spec);
    EXPECT_TRUE(op->kernel.starts_with("cublaslt "))
        << op->kernel << ": " << op->remark; // our own loops are right, and slow
    const Memory a = *Memory::make(*one, x.size() * 4), b = *Memory::make(*one, w.size() * 4),
                 c = *Memory::make(*one, y.size() * 4), scratch = *Memory::make(*one, op->scratch_bytes);
    ASSERT_TRUE(one->copy(*stream, a.data(), x.data(), a.size(), Direction::from_host).ok());
    ASSERT_TRUE(one->copy(*stream, b.data(), w.data(), b.size(), Direction::from_host).ok());
    op->run(*stream, {a.data(), b.data()}, {c.data()}, scratch.data());
    ASSERT_TRUE(one->copy(*stream, y.data(), c.data(), c.size(), Direction::to_host).ok());
    const Status status = stream->wait();
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::size_t i = 0; i < y.size(); i += 97) {
      double wanted = 0;
      for (std::size_t k = 0; k < 512; ++k) wanted += static_cast<double>(x[i / 128 * 512 + k]) * w[i % 128 * 512 + k];
      ASSERT_NEAR(y[i], wanted, tf32 ? 0.2 : 2e-4) << op->kernel << " at " << i;
    }
  }
}

TEST_F(CudaTest, BadIndicesAreToldAndTheDeviceLives) {
  const auto stream = *probe_->stream();
  const auto op =
      *probe_->prepare(GatherSpec{.table = f32({3, 2}), .indices = {DType::i32, {2}, {}}, .y = f32({2, 2})});
  const Memory table = *Memory::make(*probe_, 24), indices = *Memory::make(*probe_, 8), y = *Memory::make(*probe_, 16);
  const std::int32_t numbers[] = {1, 3};
  ASSERT_TRUE(probe_->fill_zero(*stream, table.data(), 24).ok());
  ASSERT_TRUE(probe_->copy(*stream, indices.data(), numbers, 8, Direction::from_host).ok());
  op->run(*stream, {table.data(), indices.data()}, {y.data()});
  const Status status = stream->wait();
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_NE(status.message().find("index 3 at place 1 is not in [0, 3)"), std::string::npos) << status.message();
  EXPECT_TRUE(stream->wait().ok()) << "an error is told once";
}

} // namespace
} // namespace dlhost::test
