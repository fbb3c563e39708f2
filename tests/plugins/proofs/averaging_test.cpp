// A handler for elastic averaging works through the SDK as it is.
#include <dlhost/consistency.h>

#include "proofs.h"

namespace dlhost::test {
namespace {

class Averaging : public Proofs {};
INSTANTIATE_TEST_SUITE_P(Ref, Averaging, near_and_far(), near_or_far);

// Two workers descend to their own minima, 1 and 3, tied to a centre by the handler's plan; the device computes every
// difference. The centre must come to rest between them.
TEST_P(Averaging, ElasticAveraging) {
  Table options;
  auto handler = registry_->create<Consistency>("elastic_proof", options);
  ASSERT_TRUE(handler.ok()) << handler.status().message();
  Table far;
  far.entries.emplace_back("far", Value{is_far(), {}});
  auto made = registry_->create<Device>("ref", far);
  ASSERT_TRUE(made.ok());
  Device& device = **made;
  auto stream = device.stream();
  ASSERT_TRUE(stream.ok());
  const TensorDesc one{DType::f32, {1}, {}};
  MapSpec descend{.expression = {}, .in = {one}, .out = {one}}; // x - rate (x - minimum)
  {
    Expression& e = descend.expression;
    const Term x = e.input(0);
    e.result(x - e.scalar(0) * (x - e.scalar(1)));
  }
  MapSpec move{.expression = {}, .in = {one, one}, .out = {one}}; // x + factor (y - x)
  {
    Expression& e = move.expression;
    const Term x = e.input(0), y = e.input(1);
    e.result(x + e.scalar(0) * (y - x));
  }
  auto descent = device.prepare(descend), moving = device.prepare(move);
  ASSERT_TRUE(descent.ok() && moving.ok());
  std::vector<Memory> memory;
  for (int i = 0; i < 4; ++i) {
    auto block = Memory::make(device, 64);
    ASSERT_TRUE(block.ok());
    memory.push_back(*std::move(block));
    const float zero = 0;
    ASSERT_TRUE(device.copy(**stream, memory.back().data(), &zero, sizeof zero, Direction::from_host).ok());
    const Status arrived = (*stream)->wait();
    ASSERT_TRUE(arrived.ok()) << arrived.message();
  }
  auto scratch = Memory::make(device, std::max((*descent)->scratch_bytes, (*moving)->scratch_bytes) + 1);
  ASSERT_TRUE(scratch.ok());
  void *centre = memory[2].data(), *before = memory[3].data();
  SliceState state;
  for (std::uint64_t step = 0; step < 400; ++step)
    for (std::size_t worker = 0; worker < 2; ++worker) {
      void* own = memory[worker].data();
      const WorkerPlan plan = (*handler)->plan(step, state.version);
      ASSERT_TRUE(plan.update_locally);
      if (plan.push) {
        ASSERT_TRUE(plan.send_delta && plan.pull);
        Contribution contribution{.kind = ContributionKind::delta, .elements = 1};
        contribution.who.rank = static_cast<std::uint16_t>(worker);
        contribution.who.step = step;
        ASSERT_EQ((*handler)->on_update(state, contribution).act, UpdateVerdict::Act::apply);
        const float factor = plan.delta_factor;
        ASSERT_TRUE(device.copy(**stream, before, centre, sizeof(float), Direction::within).ok());
        (*moving)->run(**stream, {centre, own}, {centre}, scratch->data(), {.scalars = {&factor, 1}});
        (*moving)->run(**stream, {own, before}, {own}, scratch->data(), {.scalars = {&factor, 1}});
        ++state.version;
      }
      const float scalars[] = {0.1F, worker == 0 ? 1.0F : 3.0F};
      (*descent)->run(**stream, {own}, {own}, scratch->data(), {.scalars = scalars});
    }
  float values[3] = {};
  for (std::size_t i = 0; i < 3; ++i)
    ASSERT_TRUE(device.copy(**stream, &values[i], memory[i].data(), sizeof(float), Direction::to_host).ok());
  const Status done = (*stream)->wait();
  ASSERT_TRUE(done.ok()) << done.message();
  EXPECT_NEAR(values[2], 2, 0.1);
  EXPECT_GT(values[0], 1.05F); // pulled up by the centre
  EXPECT_LT(values[1], 2.95F); // pulled down
  EXPECT_EQ(state.version, 200U);
}

} // namespace
} // namespace dlhost::test
