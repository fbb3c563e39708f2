#include "record/progress.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "env/printable.h"
#include "record/quantity.h"

namespace dlhost::record {

namespace {

constexpr Nanoseconds between_drawings = 100'000'000;
constexpr Nanoseconds between_lines = 5'000'000'000;
constexpr Nanoseconds between_epochs = 1'000'000'000;
constexpr int bar_weight = 58;
constexpr std::size_t smallest_bar = 8;
constexpr std::size_t largest_bar = 30;

// A part of the line; if the line is too long, the parts with the lowest weight are dropped.
struct Field {
  std::string text;
  int weight = 0;
};

std::string metric_words(const Metric& metric) {
  constexpr std::size_t longest_name = 200; // a plugin chooses it
  return fmt::format("{} {}", env::printable(metric.first, longest_name), steady_number(metric.second));
}

std::string steps_words(const StepReport& report) {
  if (report.total_steps == 0) return fmt::format("step {}", report.step);
  const std::string total = fmt::format("{}", report.total_steps);
  return fmt::format("{:>{}}/{}", report.step, total.size(), total);
}

std::vector<Field> fields_of(const StepReport& report, double left) {
  std::vector<Field> fields = {{steps_words(report), 100}, {fmt::format("epoch {:.2f}", report.epoch), 60}};
  int weight = 90;
  for (const Metric& metric : report.metrics) fields.push_back({metric_words(metric), weight}), weight -= 15;
  if (report.items_per_second > 0)
    fields.push_back({fmt::format("{:>5} items/s", short_rate(report.items_per_second)), 55});
  if (left >= 0) fields.push_back({clock_duration(left) + " left", 80});
  return fields;
}

std::size_t width_of_fields(const std::vector<Field>& fields) {
  constexpr std::size_t gap = 2;
  std::size_t width = 0;
  for (const Field& field : fields) width += record::width_of(field.text) + gap;
  return width - gap;
}

std::string joined(const std::vector<Field>& fields) {
  std::string text;
  for (const Field& field : fields) text += (text.empty() ? "" : "  ") + field.text;
  return text;
}

std::string repeated(std::string_view piece, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

std::string bar_of(double part, std::size_t width, env::Terminal& terminal) {
  part = std::clamp(part, 0.0, 1.0);
  if (!terminal.unicode()) {
    const auto done = static_cast<std::size_t>(part * static_cast<double>(width - 2));
    return fmt::format("[{}{}]", std::string(done, '='), std::string(width - 2 - done, ' '));
  }
  const auto halves = static_cast<std::size_t>(part * 2 * static_cast<double>(width));
  const std::string done = repeated("━", halves / 2) + (halves % 2 ? "╸" : "");
  const std::string rest = repeated(terminal.color() ? "━" : "─", width - halves / 2 - halves % 2);
  if (!terminal.color()) return done + rest;
  return fmt::format("\x1b[36m{}\x1b[90m{}\x1b[0m", done, rest);
}

} // namespace

Progress::Progress(Clock& clock, env::Terminal& terminal) : clock_(clock), terminal_(terminal) {
  shown_at_ = clock.now();
  next_ = shown_at_ + (terminal.interactive() ? 0 : between_lines);
}

bool Progress::due(double epoch) {
  const Nanoseconds now = clock_.now();
  if (now >= next_) return true;
  constexpr double rounding = 1e-9;
  return !terminal_.interactive() && now - shown_at_ > between_epochs &&
         std::floor(epoch + rounding) > std::floor(shown_epoch_ + rounding);
}

void Progress::step(const StepReport& report) {
  if (!begun_) {
    begun_ = true;
    first_step_ = report.step;
    first_seconds_ = report.seconds;
  }
  if (due(report.epoch)) show(report);
}

void Progress::evaluation(const EvaluationReport& report) {
  std::string words;
  for (const Metric& metric : report.metrics) words += (words.empty() ? "" : "  ") + metric_words(metric);
  interrupt();
  terminal_.write(fmt::format("{}  step {}  epoch {:.2f}  {}\n", report.phase, report.step, report.epoch, words));
}

void Progress::interrupt() {
  if (!drawn_) return;
  terminal_.write("\r\x1b[J");
  drawn_ = false;
}

void Progress::finish(const StepReport& report) {
  if (terminal_.interactive() || shown_step_ != report.step) show(report);
  if (drawn_) terminal_.write("\n");
  drawn_ = false;
}

void Progress::show(const StepReport& report) {
  shown_at_ = clock_.now();
  shown_step_ = report.step;
  shown_epoch_ = report.epoch;
  if (terminal_.interactive()) {
    next_ = shown_at_ + between_drawings;
    draw(report);
    return;
  }
  next_ = shown_at_ + between_lines;
  const auto fields = fields_of(report, seconds_left(report));
  terminal_.write(fmt::format("{}{}\n", report.total_steps == 0 ? "" : "step ", joined(fields)));
}

void Progress::draw(const StepReport& report) {
  // The last column stays free: some terminals wrap when it is filled.
  const auto columns = static_cast<std::size_t>(std::max(terminal_.columns() - 1, 1));
  auto fields = fields_of(report, seconds_left(report));
  bool bar = report.total_steps > 0;
  while (width_of_fields(fields) + (bar ? smallest_bar + 1 : 0) > columns) {
    const auto least = std::ranges::min_element(fields, {}, &Field::weight);
    if (bar && bar_weight < least->weight)
      bar = false;
    else if (fields.size() > 1)
      fields.erase(least);
    else
      break;
  }
  const std::size_t width = width_of_fields(fields);
  std::string line;
  if (bar) {
    const double part = static_cast<double>(report.step) / static_cast<double>(report.total_steps);
    line = bar_of(part, std::min(columns - width - 1, largest_bar), terminal_) + " ";
  }
  // The cursor stays at the start of the line, so that another writer's message starts at the margin. Clears to the end
  // of the screen: a window made narrower has wrapped the previous line.
  terminal_.write(fmt::format("\r{}{}\x1b[J\r", line, joined(fields)));
  drawn_ = true;
}

double Progress::seconds_left(const StepReport& report) const {
  if (report.total_steps < report.step || report.step <= first_step_) return -1;
  const double a_step = (report.seconds - first_seconds_) / static_cast<double>(report.step - first_step_);
  return a_step * static_cast<double>(report.total_steps - report.step);
}

} // namespace dlhost::record
