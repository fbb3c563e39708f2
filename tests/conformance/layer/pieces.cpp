// Partitions: by rows, and by each split that a layer declares.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "device/tests.h"
#include "layer/bench.h"
#include "layer/meeting.h"
#include "layer/tests.h"

namespace dlhost::conform {

namespace {

// Elements [first, last) of an axis.
Values cut(const Values& values, const Shape& shape, std::size_t axis, std::int64_t first, std::int64_t last) {
  Values piece;
  const std::int64_t inner = shape.past(axis + 1);
  for (std::int64_t i = 0; i < shape.count(); ++i)
    if (const std::int64_t at = i / inner % shape[axis]; at >= first && at < last)
      piece.push_back(values[static_cast<std::size_t>(i)]);
  return piece;
}

void add_to(Values& sum, const Values& more) {
  if (sum.empty()) sum.assign(more.size(), 0.0);
  ASSERT_EQ(sum.size(), more.size());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

double loose(const LayerCase& of, const Values& wanted) {
  return 64 * epsilon_of(DType::f32) * std::sqrt(of.terms) * std::max(largest(wanted), 1e-2);
}

struct Whole {
  Tensors outputs, gradients;
};

Whole run_all(LayerBench& bench, const Tensors& given, const LayerRun::Manner& manner) {
  LayerRun run(bench, given, manner);
  run.feature();
  Whole made{run.outputs(), {}};
  run.gradient(Wanted::both);
  if (bench.setup().has_gradient) made.gradients = run.gradients();
  run.check_memory();
  return made;
}

LayerCase with_rows(LayerCase of, std::int64_t rows) {
  for (auto& input : of.inputs) input.shape[0] = rows;
  return of;
}

// The part of an operand that a piece needs.
Values operand_piece(const Values& whole, const Shape& shape, const Split::Operand& operand, std::int64_t first,
                     std::int64_t last) {
  if (operand.need != Split::Need::same) return whole;
  return cut(whole, shape, operand.axis, first, last);
}

// Tests one split with uneven cuts.
class SplitTrial {
 public:
  SplitTrial(const Context& context, const LayerCase& of, LayerBench& whole, std::size_t which)
      : context_(context), case_(of), bench_(whole), which_(which), split_(whole.setup().splits[which]),
        given_(filled(of, whole, context.seed)), whole_(run_all(whole, given_, {})) {}

  void run() {
    const Shape& y = bench_.setup().outputs.at(split_.output).desc.shape;
    const std::int64_t length = split_.sums_outputs ? operand_length() : y[split_.axis];
    std::vector<std::int64_t> cuts{0, (length + 2) / 3, length};
    if (split_.collective) cuts.insert(cuts.begin() + 2, (cuts[1] + length + 1) / 2);
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    Meeting meeting(context_.host, cuts.size() - 1);
    std::vector<std::unique_ptr<OnePiece>> pieces;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) pieces.push_back(prepared(cuts[i], cuts[i + 1], meeting, i));
    compute(pieces);
    for (const auto& piece : pieces) check(*piece);
    for (const auto& [name, sum] : sums_) {
      const Values& wanted = whole_.outputs.contains(name) ? whole_.outputs.at(name) : whole_.gradients.at(name);
      expect_near(sum, wanted, loose(case_, wanted), "the sum of the pieces' " + name);
    }
  }

 private:
  struct OnePiece {
    Piece piece;
    Tensors given;
    std::unique_ptr<Device> device;
    std::unique_ptr<MeetingPeers> peers; // of a collective split
    std::unique_ptr<LayerBench> bench;
    LayerRun::Manner manner;
    Whole made;
    std::string failure;
  };

  // The length of the axis that a split with summed outputs cuts; some operand has it.
  std::int64_t operand_length() const {
    for (std::size_t i = 0; i < split_.inputs.size(); ++i)
      if (split_.inputs[i].need == Split::Need::same) return case_.inputs[i].shape[split_.inputs[i].axis];
    return 0;
  }

  std::unique_ptr<OnePiece> prepared(std::int64_t first, std::int64_t last, Meeting& meeting, std::size_t rank) {
    const auto& setup = bench_.setup();
    auto one = std::make_unique<OnePiece>(OnePiece{.piece = {which_, first, last}, .given = given_});
    for (std::size_t i = 0; i < split_.inputs.size(); ++i) {
      auto& values = one->given.at(concat("in", i));
      values = operand_piece(values, case_.inputs[i].shape, split_.inputs[i], first, last);
    }
    for (std::size_t i = 0; i < setup.params.size(); ++i) {
      auto& values = one->given.at(setup.params[i].name);
      values = operand_piece(values, setup.params[i].shape, split_.params.at(i), first, last);
    }
    const std::string dout = concat("dout", split_.output);
    if (!split_.sums_outputs && one->given.contains(dout))
      one->given.at(dout) = cut(given_.at(dout), setup.outputs[split_.output].desc.shape, split_.axis, first, last);
    one->device = context_.chosen_device();
    one->bench = std::make_unique<LayerBench>(context_, *one->device, case_, Ask{.piece = one->piece});
    one->manner.global_batch = case_.batch();
    const Split::Operand& rows = split_.inputs[0];
    if (rows.need == Split::Need::same && rows.axis == 0)
      for (std::int64_t row = first; row < last; ++row) one->manner.samples.push_back(static_cast<std::uint32_t>(row));
    if (split_.collective) one->peers = std::make_unique<MeetingPeers>(meeting, rank);
    one->manner.peers = one->peers.get();
    return one;
  }

  // Communicating pieces compute concurrently; others run one after another on this task.
  void compute(std::vector<std::unique_ptr<OnePiece>>& pieces) {
    std::vector<std::unique_ptr<Task>> tasks;
    for (auto& piece : pieces) {
      const auto body = [one = piece.get()] {
        try {
          one->made = run_all(*one->bench, one->given, one->manner);
        } catch (const std::exception& wrong) {
          one->failure = wrong.what();
        }
      };
      if (split_.collective)
        tasks.push_back(context_.host.tasks().start("piece", body));
      else
        body();
    }
    for (auto& task : tasks) task->join();
  }

  void check(const OnePiece& one) {
    const auto [which, first, last] = one.piece;
    SCOPED_TRACE(concat("elements ", first, " to ", last));
    ASSERT_EQ(one.failure, "");
    const auto& setup = bench_.setup();
    const std::string out = concat("out", split_.output);
    if (split_.sums_outputs) {
      add_to(sums_[out], one.made.outputs.at(out));
    } else {
      const Values wanted =
          cut(whole_.outputs.at(out), setup.outputs[split_.output].desc.shape, split_.axis, first, last);
      expect_near(one.made.outputs.at(out), wanted, loose(case_, wanted), out);
    }
    for (std::size_t i = 0; i < split_.inputs.size(); ++i)
      compare(one.made, concat("din", i), case_.inputs[i].shape, split_.inputs[i], first, last);
    for (std::size_t i = 0; i < setup.params.size(); ++i)
      compare(one.made, "d" + setup.params[i].name, setup.params[i].shape, split_.params[i], first, last);
  }

  // The gradient of a piece's own operand is a piece of the gradient; that of a shared operand is a summand.
  void compare(const Whole& made, const std::string& name, const Shape& shape, const Split::Operand& operand,
               std::int64_t first, std::int64_t last) {
    const auto got = made.gradients.find(name);
    if (got == made.gradients.end()) return;
    if (operand.need != Split::Need::same) return add_to(sums_[name], got->second);
    const Values wanted = cut(whole_.gradients.at(name), shape, operand.axis, first, last);
    expect_near(got->second, wanted, loose(case_, wanted), name);
  }

  const Context& context_;
  const LayerCase& case_;
  LayerBench& bench_;
  std::size_t which_;
  const Split& split_;
  Tensors given_;
  Whole whole_;
  Tensors sums_;
};

bool can_try(const Split& split) {
  for (const auto* list : {&split.inputs, &split.params})
    for (const auto& operand : *list)
      if (operand.need == Split::Need::halo || operand.need == Split::Need::partial) return false;
  return true;
}

} // namespace

void rows_are_apart(const Context& context, const LayerCase& of) {
  const auto device = context.chosen_device();
  LayerBench bench(context, *device, of, {});
  const std::int64_t rows = of.batch(), middle = (rows + 2) / 3;
  if (bench.setup().whole_batch || !of.rows || rows < 2) GTEST_SKIP() << "needs the whole batch";
  const Tensors given = filled(of, bench, context.seed);
  const Whole whole = run_all(bench, given, {});
  Tensors sums;
  for (const auto& [first, last] : {std::pair{std::int64_t{0}, middle}, std::pair{middle, rows}}) {
    SCOPED_TRACE(concat("rows ", first, " to ", last));
    const LayerCase part = with_rows(of, last - first);
    LayerBench piece_bench(context, *device, part, {});
    Tensors piece;
    for (const auto& [name, values] : given) {
      const bool by_row = name.starts_with("in") || name.starts_with("dout");
      const auto size = static_cast<std::int64_t>(values.size());
      piece[name] = by_row ? cut(values, {rows, size / rows}, 0, first, last) : values;
    }
    LayerRun::Manner manner{.global_batch = rows};
    for (std::int64_t row = first; row < last; ++row) manner.samples.push_back(static_cast<std::uint32_t>(row));
    const Whole made = run_all(piece_bench, piece, manner);
    for (const auto* list : {&whole.outputs, &whole.gradients})
      for (const auto& [name, values] : *list) {
        const Values& got = list == &whole.outputs ? made.outputs.at(name) : made.gradients.at(name);
        const auto size = static_cast<std::int64_t>(values.size());
        const bool is_sum = got.size() == values.size();
        if (is_sum) {
          add_to(sums[name], got);
          continue;
        }
        const Values wanted = cut(values, {rows, size / rows}, 0, first, last);
        expect_near(got, wanted, loose(of, wanted), name);
      }
  }
  for (const auto& [name, sum] : sums) {
    const Values& wanted = whole.outputs.contains(name) ? whole.outputs.at(name) : whole.gradients.at(name);
    expect_near(sum, wanted, loose(of, wanted), "the sum of both parts' " + name);
  }
}

void splits_make_the_whole(const Context& context, const LayerCase& of) {
  const auto device = context.chosen_device();
  LayerBench bench(context, *device, of, {});
  if (bench.setup().splits.empty()) GTEST_SKIP() << "declares none";
  for (std::size_t which = 0; which < bench.setup().splits.size(); ++which) {
    const Split& split = bench.setup().splits[which];
    SCOPED_TRACE(concat("output ", split.output, ", axis ", split.axis, split.sums_outputs ? ", summed" : ""));
    ASSERT_EQ(split.inputs.size(), of.inputs.size());
    ASSERT_EQ(split.params.size(), bench.setup().params.size());
    if (can_try(split)) SplitTrial(context, of, bench, which).run();
  }
}

} // namespace dlhost::conform
