// A separate program, because it counts all allocations of the process.
#include <atomic>
#include <cstdlib>
#include <new>

#include "fake_host.h"
#include "record/metrics_log.h"
#include "record/progress.h"

namespace {
std::atomic<long> allocations = 0;
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace dlhost::record {
namespace {

class Allocation : public RecordTest {};

TEST_F(Allocation, BetweenLinesAStepTakesNone) {
  FakeTerminal terminal;
  Progress progress(host_.clock(), terminal);
  const std::vector<Metric> metrics = {{"loss", 0.5}, {"accuracy", 0.25}};
  StepReport report{.step = 1, .total_steps = 100, .metrics = metrics};
  progress.step(report);
  const long before = allocations;
  for (report.step = 2; report.step < 50; ++report.step) progress.step(report);
  EXPECT_EQ(allocations, before);
}

TEST_F(Allocation, ARecordTakesNoneAfterTheFirst) {
  const auto run = RunFolder::make_at(host_, folder_ / "run");
  ASSERT_TRUE(run.ok()) << run.status().message();
  auto log = MetricsLog::open(host_, *run);
  ASSERT_TRUE(log.ok()) << log.status().message();
  const std::vector<Metric> metrics = {{"loss", 0.5}, {"a metric with a long name indeed", 1e-300 / 3}};
  StepReport report{.step = 1, .seconds = 1.0 / 3, .metrics = metrics, .rate = 0.1};
  ASSERT_TRUE((*log)->train(report).ok());
  const long before = allocations;
  for (report.step = 2; report.step < 50; ++report.step) ASSERT_TRUE((*log)->train(report).ok());
  EXPECT_EQ(allocations, before);
}

} // namespace
} // namespace dlhost::record
