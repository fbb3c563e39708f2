// A device's contract for memory, streams and events.
#include <numeric>

#include "device/lab.h"
#include "device/tests.h"

namespace dlhost::conform {

namespace {

std::vector<float> counted(std::size_t count, float from) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), from);
  return values;
}

Memory memory_for(Device& device, std::size_t floats) { return need(Memory::make(device, floats * sizeof(float))); }

// Takes an lvalue, because the stream may read the values later.
void copy_in(Device& device, Stream& stream, const Memory& to, const std::vector<float>& values) {
  need(device.copy(stream, to.data(), values.data(), values.size() * sizeof(float), Direction::from_host));
}
void copy_in(Device&, Stream&, const Memory&, std::vector<float>&&) = delete;

std::vector<float> copied_out(Device& device, Stream& stream, const Memory& from) {
  std::vector<float> values(from.size() / sizeof(float), -1.0F);
  need(device.copy(stream, values.data(), from.data(), from.size(), Direction::to_host));
  need(stream.wait());
  return values;
}

// dst = a * src, elementwise.
std::unique_ptr<Op> times(const Context& context, Device& device, std::int64_t count, double a) {
  MapSpec spec{.in = {{DType::f32, {count}, {}}}, .out = {{DType::f32, {count}, {}}}};
  spec.expression.result(spec.expression.input(0) * a);
  return prepared(context, device, spec);
}

void traits_hold(const Context&, Device& device) {
  const auto traits = device.traits();
  EXPECT_FALSE(device.description().empty());
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{63}, std::size_t{4096}, std::size_t{100000}}) {
    const Memory memory = need(Memory::make(device, bytes));
    ASSERT_NE(memory.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % traits.alignment, 0U) << bytes << " bytes";
    if (traits.host_memory) {
      memory.data()[0] = std::byte{1};
      memory.data()[bytes - 1] = std::byte{2};
    }
  }
  const Memory nothing = need(Memory::make(device, 0));
  EXPECT_GE(device.traits().alignment, 64U);
}

void copies_arrive(const Context&, Device& device) {
  const auto stream = need(device.stream());
  const auto values = counted(1000, 1);
  const Memory first = memory_for(device, 1000), second = memory_for(device, 1000);
  copy_in(device, *stream, first, values);
  need(device.copy(*stream, second.data(), first.data(), first.size(), Direction::within));
  EXPECT_EQ(copied_out(device, *stream, second), values);
  // A part in the middle.
  const std::vector<float> piece{-1, -2, -3};
  need(device.copy(*stream, second.data() + 500 * sizeof(float), piece.data(), 12, Direction::from_host));
  need(device.fill_zero(*stream, second.data() + 8, 8));
  auto wanted = values;
  std::copy(piece.begin(), piece.end(), wanted.begin() + 500);
  wanted[2] = wanted[3] = 0;
  EXPECT_EQ(copied_out(device, *stream, second), wanted);
  need(device.copy(*stream, second.data(), piece.data(), 0, Direction::from_host));
  need(stream->wait());
}

// Host memory from the device works as plain host memory, and copies to the device and back. A device may have none.
void host_memory_serves(const Context&, Device& device) {
  const auto stream = need(device.stream());
  for (const std::size_t count : {std::size_t{1}, std::size_t{100000}}) {
    const std::size_t bytes = count * sizeof(float);
    const auto given = device.allocate_host(bytes);
    if (!given.ok()) throw Declined{given.status().message()};
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(*given) % 64, 0U);
    const std::span values(static_cast<float*>(*given), count);
    std::iota(values.begin(), values.end(), 1.0F);
    const Memory there = memory_for(device, count);
    need(device.copy(*stream, there.data(), values.data(), bytes, Direction::from_host));
    need(stream->wait());
    std::ranges::fill(values, 0.0F);
    need(device.copy(*stream, values.data(), there.data(), bytes, Direction::to_host));
    need(stream->wait());
    EXPECT_EQ(values.front(), 1.0F);
    EXPECT_EQ(values.back(), static_cast<float>(count));
    device.release_host(*given);
  }
  device.release_host(nullptr);
}

// A stream executes all kinds of work in order.
void streams_keep_order(const Context& context, Device& device) {
  const auto stream = need(device.stream());
  const auto op = times(context, device, 64, 2);
  const Memory a = memory_for(device, 64), b = memory_for(device, 64);
  const Memory scratch = need(Memory::make(device, op->scratch_bytes));
  const auto first = counted(64, 1), others = counted(64, 100);
  copy_in(device, *stream, a, first);
  for (int turn = 0; turn < 100; ++turn) { // more than a queue may hold
    op->run(*stream, {a.data()}, {b.data()}, scratch.data());
    op->run(*stream, {b.data()}, {a.data()}, scratch.data());
    need(device.fill_zero(*stream, a.data(), a.size()));
    copy_in(device, *stream, a, others);
  }
  op->run(*stream, {a.data()}, {b.data()}, scratch.data());
  EXPECT_EQ(copied_out(device, *stream, b).at(5), 2 * others[5]);
}

// A stream that waits for another's event sees the other's work before the event, and waits for it.
void events_order_streams(const Context& context, Device& device) {
  const auto first = need(device.stream()), second = need(device.stream());
  const auto event = need(device.event()), back = need(device.event());
  const auto twice = times(context, device, 256, 2), thrice = times(context, device, 256, 3);
  const Memory a = memory_for(device, 256), b = memory_for(device, 256), c = memory_for(device, 256);
  const Memory scratch = need(Memory::make(device, twice->scratch_bytes));
  const Memory other_scratch = need(Memory::make(device, thrice->scratch_bytes));
  need(second->wait_for(*event)); // never recorded: does not wait
  for (int turn = 1; turn <= 3; ++turn) {
    const auto values = counted(256, static_cast<float>(10 * turn));
    copy_in(device, *first, a, values);
    twice->run(*first, {a.data()}, {b.data()}, scratch.data());
    need(first->record(*event));
    need(second->wait_for(*event));
    thrice->run(*second, {b.data()}, {c.data()}, other_scratch.data());
    need(second->record(*back));
    need(first->wait_for(*back));
    need(device.fill_zero(*first, b.data(), b.size())); // only after the second stream has read it
    EXPECT_EQ(copied_out(device, *second, c).at(3), 6 * values[3]);
    EXPECT_EQ(copied_out(device, *first, b).at(3), 0);
  }
}

// The caller may free a pass's scalars and samples before the op runs.
void dynamic_is_taken_at_once(const Context& context, Device& device) {
  const auto stream = need(device.stream());
  MapSpec spec{.in = {{DType::f32, {8}, {}}}, .out = {{DType::f32, {8}, {}}}};
  spec.expression.result(spec.expression.input(0) * spec.expression.scalar(0));
  const auto op = prepared(context, device, spec);
  const Memory a = memory_for(device, 8), b = memory_for(device, 8);
  const Memory scratch = need(Memory::make(device, op->scratch_bytes));
  const auto values = counted(8, 1);
  copy_in(device, *stream, a, values);
  {
    std::vector<float> factor{4};
    op->run(*stream, {a.data()}, {b.data()}, scratch.data(), {.scalars = factor});
    factor[0] = 100;
  }
  EXPECT_EQ(copied_out(device, *stream, b).at(1), 8);
}

void check_device(const Context& context, const std::string& name, DeviceCheck check) {
  const auto device = context.make<Device>(name, context.options);
  try {
    check(context, *device);
  } catch (const Declined& declined) {
    GTEST_SKIP() << declined.why;
  }
}

} // namespace

std::unique_ptr<Op> prepared(const Context& context, Device& device, const OpSpec& spec, const Choice& choice) {
  auto op = device.prepare(spec, choice);
  if (op.status().code() == Code::unsupported && context.may_decline(spec)) throw Declined{op.status().message()};
  return need(std::move(op));
}

void add_check(const Context& context, const std::string& device, const std::string& name, DeviceCheck check) {
  add_test(context, Kind::device, device, name, [&context, device, check] { check_device(context, device, check); });
}

void add_memory_tests(const Context& context, const std::string& device) {
  add_check(context, device, "memory.traits_hold", traits_hold);
  add_check(context, device, "memory.copies_arrive", copies_arrive);
  add_check(context, device, "memory.host_memory_serves", host_memory_serves);
  add_check(context, device, "memory.streams_keep_order", streams_keep_order);
  add_check(context, device, "memory.events_order_streams", events_order_streams);
  add_check(context, device, "memory.dynamic_is_taken_at_once", dynamic_is_taken_at_once);
}

} // namespace dlhost::conform
