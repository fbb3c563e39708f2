// Tests of cuda alone. Without a GPU: its message names the missing part. With a GPU: its errors, and cases that the
// suite of all devices cannot express.
#include <array>
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
  // Makes a working device; otherwise skips the test with the reason.
  void SetUp() override {
    probe_ = device();
    if (const auto stream = probe_->stream(); stream.ok()) return;
    const std::string why = probe_->stream().status().message();
    if (testing::UnitTest::GetInstance()->current_test_info()->name() != std::string("SaysWhatIsMissing"))
      GTEST_SKIP() << why;
  }

  PluginHost host_{LogLevel::debug};
  std::unique_ptr<Device> probe_;
};

TensorDesc f32(Shape shape) { return {DType::f32, shape, {}}; }

// Every call returns the same error, and no call throws or ends the process.
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
        << op->kernel << ": " << op->remark; // dlhost's own loops are right, but slow
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

// The parts of a training step: library calls, own and compiled kernels, draws, sums, zeros and a copy.
class SmallStep {
 public:
  explicit SmallStep(Device& device) : device_(device), stream_(*device.stream()) {
    MapSpec scaled{.in = {f32({8, 4})}, .out = {f32({8, 4})}}, drawn = scaled, summed{.in = {f32({8, 4})}};
    scaled.expression.result(scaled.expression.input(0) * scaled.expression.scalar(0));
    drawn.expression.result(drawn.expression.input(0) + drawn.expression.uniform());
    summed.out = {f32({1, 4})};
    summed.rows = true;
    summed.expression.result(summed.expression.input(0));
    const TensorDesc picture = f32({1, 8, 8, 8});
    const ConvSpec conv{.x = picture,
                        .w = f32({8, 8, 1, 1}),
                        .y = picture,
                        .stride = {1, 1},
                        .pad_low = {0, 0},
                        .pad_high = {0, 0},
                        .dilation = {1, 1}};
    for (const OpSpec& spec : {OpSpec(GemmSpec{.x = f32({8, 64}), .w = f32({4, 64}), .y = f32({8, 4})}), OpSpec(conv),
                               OpSpec(scaled), OpSpec(drawn), OpSpec(summed)}) {
      ops_.push_back(*device.prepare(spec));
      scratch_.push_back(*Memory::make(device, ops_.back()->scratch_bytes));
    }
    for (Memory& one : memory_) one = *Memory::make(device, count * sizeof(float));
    std::vector<float> values(count);
    for (const std::size_t in : {0, 1, 2}) {
      for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(static_cast<float>(i * (in + 1)));
      EXPECT_TRUE(
          device.copy(*stream_, memory_[in].data(), values.data(), memory_[in].size(), Direction::from_host).ok());
      EXPECT_TRUE(stream_->wait().ok());
    }
  }

  // Batches alternate between two places; the numbers change as in training.
  std::vector<float> made(int step) {
    void *x = at(step % 2), *w = at(2), *product = at(3);
    const float scalars[] = {0.1F * static_cast<float>(step)};
    std::vector<std::uint32_t> samples(8);
    std::iota(samples.begin(), samples.end(), static_cast<std::uint32_t>(8 * step));
    const Dynamic dynamic{.scalars = scalars,
                          .valid = step % 5 == 4 ? 3 : 8,
                          .key = {7, 1},
                          .epoch = static_cast<std::uint32_t>(step / 5),
                          .samples = samples};
    stream_->begin_step();
    EXPECT_TRUE(device_.fill_zero(*stream_, at(8), memory_[8].size()).ok());
    run(0, {x, w}, product, dynamic);
    run(1, {x, w}, at(4), dynamic);
    run(2, {product}, at(5), dynamic);
    run(3, {product}, at(6), dynamic);
    run(4, {at(6)}, at(7), dynamic);
    EXPECT_TRUE(device_.copy(*stream_, at(8), at(5), 128, Direction::within).ok());
    stream_->end_step();
    std::vector<float> all;
    for (std::size_t out = 3; out < memory_.size(); ++out) {
      std::vector<float> values(count);
      EXPECT_TRUE(device_.copy(*stream_, values.data(), at(out), memory_[out].size(), Direction::to_host).ok());
      const Status status = stream_->wait();
      EXPECT_TRUE(status.ok()) << status.message();
      all.insert(all.end(), values.begin(), values.begin() + (out == 4 || out == 8 ? 512 : out == 7 ? 4 : 32));
    }
    return all;
  }

 private:
  static constexpr std::size_t count = 512;
  void* at(std::size_t which) { return memory_[which].data(); }
  void run(std::size_t op, std::initializer_list<const void*> in, void* out, const Dynamic& dynamic) {
    ops_[op]->run(*stream_, in, {out}, scratch_[op].data(), dynamic);
  }

  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<Op>> ops_;
  std::vector<Memory> scratch_;
  std::array<Memory, 9> memory_;
};

TEST_F(CudaTest, ReplayedStepsMakeTheSameBits) {
  const auto graphs = device({{"graphs", value(true)}});
  SmallStep plain(*probe_), replayed(*graphs);
  testing::internal::CaptureStderr();
  for (int step = 0; step < 20; ++step) EXPECT_EQ(replayed.made(step), plain.made(step)) << "step " << step;
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("calls of a step are launched as a graph"), std::string::npos) << said;
  EXPECT_EQ(said.find("not launched as a graph"), std::string::npos) << said;
}

} // namespace
} // namespace dlhost::test
