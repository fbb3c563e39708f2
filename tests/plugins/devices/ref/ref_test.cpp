// Tests of ref alone: far memory faults, far work is late, the caller's mistakes are found, time is charged. The
// conformance suite tests the behaviour of all devices.
#include <dlhost/device.h>

#include "../../../plugin_host.h"

namespace dlhost::test {
namespace {

// Only sleeping moves this clock.
class CountingClock final : public Clock {
 public:
  Nanoseconds now() override { return now_; }
  void sleep(Nanoseconds time) override { now_ += time; }
  double wall_seconds() override { return 0; }

 private:
  Nanoseconds now_ = 0;
};

class RefTest : public testing::Test {
 protected:
  class TimedHost : public PluginHost {
   public:
    Clock& clock() override { return clock_; }

   private:
    CountingClock clock_;
  };

  static std::unique_ptr<Op> twice(Device& device, std::int64_t count) {
    MapSpec spec{.in = {{DType::f32, {count}, {}}}, .out = {{DType::f32, {count}, {}}}};
    spec.expression.result(spec.expression.input(0) * 2.0);
    return *device.prepare(spec);
  }

  TimedHost host_;
};

using RefDeathTest = RefTest;

TEST_F(RefDeathTest, TheHostCannotTouchFarMemory) {
  const auto device = make<Device>(host_, "ref", {{"far", value(true)}});
  const Memory memory = *Memory::make(*device, 64);
  EXPECT_DEATH(*reinterpret_cast<volatile char*>(memory.data()) = 1, "");
}

TEST_F(RefTest, FarWorkIsLate) {
  const auto device = make<Device>(host_, "ref", {{"far", value(true)}});
  const auto stream = *device->stream();
  const Memory memory = *Memory::make(*device, 16);
  float values[4] = {1, 2, 3, 4}, back[4] = {};
  ASSERT_TRUE(device->copy(*stream, memory.data(), values, 16, Direction::from_host).ok());
  ASSERT_TRUE(device->copy(*stream, back, memory.data(), 16, Direction::to_host).ok());
  EXPECT_EQ(back[0], 0) << "a host that does not wait must see that";
  values[0] = 9; // a far copy reads when the stream runs
  ASSERT_TRUE(stream->wait().ok());
  EXPECT_EQ(back[0], 9);
  EXPECT_EQ(back[3], 4);
}

TEST_F(RefTest, HostMemoryInAFarOpIsAnError) {
  const auto device = make<Device>(host_, "ref", {{"far", value(true)}});
  const auto stream = *device->stream();
  const auto op = twice(*device, 4);
  const Memory memory = *Memory::make(*device, 16), scratch = *Memory::make(*device, op->scratch_bytes);
  float values[4] = {};
  op->run(*stream, {values}, {memory.data()}, scratch.data());
  const Status status = stream->wait();
  EXPECT_EQ(status.code(), Code::invalid) << status.message();
  EXPECT_TRUE(stream->wait().ok()) << "an error is told once";
}

TEST_F(RefTest, AMissingScratchIsAnError) {
  const auto device = make<Device>(host_, "ref");
  const auto stream = *device->stream();
  const auto op = twice(*device, 4);
  float values[4] = {};
  op->run(*stream, {values}, {values});
  EXPECT_NE(stream->wait().message().find("scratch"), std::string::npos);
}

TEST_F(RefTest, BadLabelsAndIndicesAreErrors) {
  const auto device = make<Device>(host_, "ref");
  const auto stream = *device->stream();
  const auto op = *device->prepare(
      GatherSpec{.table = {DType::f32, {3, 2}, {}}, .indices = {DType::i32, {1}, {}}, .y = {DType::f32, {1, 2}, {}}});
  std::vector<std::byte> scratch(op->scratch_bytes + 64);
  const float table[6] = {};
  const std::int32_t index = 3;
  float y[2];
  op->run(*stream, {table, &index}, {y}, scratch.data());
  EXPECT_NE(stream->wait().message().find("index 3"), std::string::npos);
}

TEST_F(RefTest, ChargesTheClockForItsOperations) {
  const auto device = make<Device>(host_, "ref", {{"rate", value(0.5)}}); // half an operation a nanosecond
  const auto stream = *device->stream();
  GemmSpec spec{.x = {DType::f32, {10, 20}, {}}, .w = {DType::f32, {30, 20}, {}}, .y = {DType::f32, {10, 30}, {}}};
  const auto op = *device->prepare(spec);
  std::vector<float> x(200), w(600), y(300);
  std::vector<std::byte> scratch(op->scratch_bytes + 64);
  const Nanoseconds before = host_.clock().now();
  op->run(*stream, {x.data(), w.data()}, {y.data()}, scratch.data());
  ASSERT_TRUE(stream->wait().ok());
  EXPECT_EQ(host_.clock().now() - before, 2 * 10 * 20 * 30 * 2);
}

TEST_F(RefTest, SpecsThatDoNotFitSayWhy) {
  const auto device = make<Device>(host_, "ref");
  GemmSpec spec{.x = {DType::f32, {10, 20}, {}}, .w = {DType::f32, {30, 21}, {}}, .y = {DType::f32, {10, 30}, {}}};
  const auto op = device->prepare(spec);
  EXPECT_EQ(op.status().code(), Code::invalid);
  EXPECT_NE(op.status().message().find("30x21"), std::string::npos) << op.status().message();
}

} // namespace
} // namespace dlhost::test
