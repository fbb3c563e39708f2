#include "record/progress.h"

#include "fake_host.h"
#include "record/quantity.h"

namespace dlhost::record {
namespace {

constexpr Nanoseconds one_second = 1'000'000'000;

class ProgressTest : public testing::Test {
 protected:
  StepReport report(std::uint64_t step) {
    return {.step = step,
            .total_steps = 100,
            .epoch = static_cast<double>(step) / 10,
            .seconds = static_cast<double>(step) / 2,
            .metrics = metrics_,
            .items_per_second = 12345,
            .rate = 0.1};
  }

  FakeHost host_;
  FakeTerminal terminal_;
  std::vector<Metric> metrics_ = {{"loss", 0.25}, {"accuracy", 0.9}};
};

TEST_F(ProgressTest, DrawsOneLineAtMostTenTimesASecond) {
  Progress progress(host_.clock(), terminal_);
  for (std::uint64_t step = 1; step <= 100; ++step) {
    progress.step(report(step));
    host_.time += one_second / 100;
  }
  const auto drawn = std::count(terminal_.written.begin(), terminal_.written.end(), '\r') / 2;
  EXPECT_EQ(drawn, 10);
  EXPECT_EQ(terminal_.written.find('\n'), std::string::npos);
  progress.finish(report(100));
  EXPECT_EQ(terminal_.written.back(), '\n');
}

TEST_F(ProgressTest, TheLineSaysHowFarAndHowLong) {
  Progress progress(host_.clock(), terminal_);
  terminal_.width = 110;
  progress.step(report(1));
  host_.time += one_second;
  terminal_.written.clear();
  progress.step(report(50));
  EXPECT_EQ(terminal_.written, "\r[==============              ]  50/100  epoch 5.00  loss 0.2500  accuracy 0.9000  "
                               "12.3k items/s  0:25 left\x1b[J\r");
}

TEST_F(ProgressTest, NamesAreShownWithoutTheirControlCharacters) {
  metrics_ = {{"lo\x1b[2Jss", 0.25}};
  Progress progress(host_.clock(), terminal_);
  host_.time += one_second;
  progress.step(report(50));
  progress.evaluation({.phase = "test", .step = 50, .metrics = metrics_});
  EXPECT_NE(terminal_.written.find("lo\\x1b[2Jss 0.25"), std::string::npos) << terminal_.written;
  EXPECT_EQ(terminal_.written.find("lo\x1b"), std::string::npos);
}

TEST_F(ProgressTest, ANarrowTerminalKeepsWhatMattersMost) {
  Progress progress(host_.clock(), terminal_);
  for (int width = 1; width < 120; ++width) {
    terminal_.width = width;
    terminal_.written.clear();
    host_.time += one_second;
    progress.step(report(50));
    const auto line = terminal_.written.substr(1, terminal_.written.size() - 5);
    EXPECT_NE(line.find(" 50/100"), std::string::npos) << line;
    if (width > 30) {
      EXPECT_NE(line.find("loss 0.2500"), std::string::npos) << line;
    }
    if (width > 8) {
      EXPECT_LT(width_of(line), static_cast<std::size_t>(width)) << line;
    }
  }
}

TEST_F(ProgressTest, EightyColumnsHaveABarAndAllButTheSpeed) {
  Progress progress(host_.clock(), terminal_);
  terminal_.width = 80;
  progress.step(report(1));
  host_.time += one_second;
  terminal_.written.clear();
  progress.step(report(50));
  EXPECT_EQ(terminal_.written,
            "\r[========        ]  50/100  epoch 5.00  loss 0.2500  accuracy 0.9000  0:25 left\x1b[J\r");
}

TEST_F(ProgressTest, AnEvaluationLeavesALineOnATerminalToo) {
  Progress progress(host_.clock(), terminal_);
  progress.step(report(30));
  terminal_.written.clear();
  progress.evaluation({.phase = "validation", .step = 30, .epoch = 3, .metrics = metrics_});
  EXPECT_EQ(terminal_.written, "\r\x1b[Jvalidation  step 30  epoch 3.00  loss 0.2500  accuracy 0.9000\n");
}

TEST_F(ProgressTest, TheLastLineStandsOnce) {
  terminal_.watched = false;
  Progress progress(host_.clock(), terminal_);
  host_.time += 10 * one_second;
  progress.step(report(100));
  const std::string written = terminal_.written;
  EXPECT_NE(written, "");
  progress.finish(report(100));
  EXPECT_EQ(terminal_.written, written);
}

TEST_F(ProgressTest, ElsewhereItWritesPlainLines) {
  terminal_.watched = false;
  Progress progress(host_.clock(), terminal_);
  for (std::uint64_t step = 1; step <= 24; ++step) {
    host_.time += one_second / 2;
    progress.step(report(step));
  }
  EXPECT_EQ(terminal_.written, "step  10/100  epoch 1.00  loss 0.2500  accuracy 0.9000  12.3k items/s  0:45 left\n"
                               "step  20/100  epoch 2.00  loss 0.2500  accuracy 0.9000  12.3k items/s  0:40 left\n");
  terminal_.written.clear();
  progress.step(report(30)); // an epoch later, but within five seconds
  progress.evaluation({.phase = "validation", .step = 30, .epoch = 3, .metrics = metrics_});
  EXPECT_EQ(terminal_.written, "step  30/100  epoch 3.00  loss 0.2500  accuracy 0.9000  12.3k items/s  0:35 left\n"
                               "validation  step 30  epoch 3.00  loss 0.2500  accuracy 0.9000\n");
}

TEST_F(ProgressTest, MakesRoomForOthers) {
  Progress progress(host_.clock(), terminal_);
  progress.interrupt();
  EXPECT_EQ(terminal_.written, "");
  progress.step(report(1));
  terminal_.written.clear();
  progress.interrupt();
  EXPECT_EQ(terminal_.written, "\r\x1b[J");
}

TEST(Quantity, IsShort) {
  EXPECT_EQ(short_number(0.123456), "0.1235");
  EXPECT_EQ(short_number(0.0000123), "1.23e-05");
  EXPECT_EQ(short_number(12345.6), "12346");
  EXPECT_EQ(steady_number(0.25), "0.2500");
  EXPECT_EQ(steady_number(1), "1.000");
  EXPECT_EQ(short_rate(999.6), "1k");
  EXPECT_EQ(short_rate(12345), "12.3k");
  EXPECT_EQ(short_bytes(1023), "1023 B");
  EXPECT_EQ(short_bytes(std::uint64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(clock_duration(59.6), "1:00");
  EXPECT_EQ(clock_duration(3723), "1:02:03");
  EXPECT_EQ(short_duration(0.314), "0.31 s");
  EXPECT_EQ(short_duration(100), "1:40");
}

} // namespace
} // namespace dlhost::record
