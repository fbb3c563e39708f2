// Partitions: by rows, and by each split that a layer declares.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "device/tests.h"
#include "layer/bench.h"
#include "layer/meeting.h"
#include "layer/tests.h"

namespace dlhost::conform {

namespace {

using Operands = std::vector<Split::Operand> Split::*;

// Calls body(index in the whole, index in the box) for each element of the box.
template <class Body> void each(const Shape& whole, const net::Box& box, Body body) {
  for (std::int64_t i = 0; i < box.count(); ++i) {
    std::int64_t rest = i, at = 0, stride = 1;
    for (std::size_t axis = whole.rank(); axis-- > 0;) {
      at += (box.first[axis] + rest % box.shape[axis]) * stride;
      rest /= box.shape[axis];
      stride *= whole[axis];
    }
    body(static_cast<std::size_t>(at), static_cast<std::size_t>(i));
  }
}

Values part_of(const Values& whole, const Shape& shape, const net::Box& box) {
  Values part(static_cast<std::size_t>(box.count()));
  each(shape, box, [&](std::size_t at, std::size_t i) { part[i] = whole[at]; });
  return part;
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

// Computes a layer in pieces of uneven sizes, and compares what they make together with the whole.
class PiecesTrial {
 public:
  PiecesTrial(const Context& context, const LayerCase& of, LayerBench& whole, const std::vector<Split>& splits)
      : context_(context), case_(of), bench_(whole), splits_(splits),
        collective_(std::ranges::any_of(splits, &Split::collective)), pieces_(cut(splits, collective_)),
        given_(filled(of, whole, context.seed)), whole_(run_all(whole, given_, {})) {}

  void run() {
    Meeting meeting(context_.host, pieces_.count());
    std::vector<std::unique_ptr<OnePiece>> all;
    for (std::uint32_t number = 0; number < pieces_.count(); ++number) all.push_back(prepared(number, meeting));
    compute(all);
    for (const auto& one : all) ASSERT_EQ(one->failure, "");
    const auto& setup = bench_.setup();
    for (std::size_t i = 0; i < setup.outputs.size(); ++i) {
      const Shape& shape = setup.outputs[i].desc.shape;
      compare(all, &Whole::outputs, concat("out", i), shape, pieces_.made(shape, i));
    }
    for (std::size_t i = 0; i < setup.inputs.size(); ++i) {
      const Shape& shape = setup.input(i);
      compare(all, &Whole::gradients, concat("din", i), shape, pieces_.gradient(shape, i, &Split::inputs));
    }
    for (std::size_t i = 0; i < setup.params.size(); ++i) {
      const Shape& shape = setup.params[i].shape;
      compare(all, &Whole::gradients, "d" + setup.params[i].name, shape, pieces_.gradient(shape, i, &Split::params));
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

  static net::Pieces cut(const std::vector<Split>& splits, bool collective) {
    std::vector<net::Pieces::Cut> cuts;
    std::uint32_t count = 1;
    for (const Split& split : splits) {
      std::vector<std::int64_t> bounds{0, (split.length + 2) / 3, split.length};
      if (collective) bounds.insert(bounds.begin() + 2, (bounds[1] + split.length + 1) / 2);
      bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
      count *= static_cast<std::uint32_t>(bounds.size() - 1);
      cuts.push_back({split, bounds});
    }
    std::vector<std::uint32_t> of(count);
    std::iota(of.begin(), of.end(), 0U);
    return {std::move(cuts), std::move(of)};
  }

  std::unique_ptr<OnePiece> prepared(std::uint32_t number, Meeting& meeting) {
    const auto& setup = bench_.setup();
    auto one = std::make_unique<OnePiece>(OnePiece{.piece = {}, .given = given_});
    const auto units = pieces_.units(number);
    for (std::size_t c = 0; c < splits_.size(); ++c) {
      const auto declared = std::ranges::find(setup.splits, splits_[c].name, &Split::name);
      if (declared != setup.splits.end())
        one->piece.cuts.push_back({static_cast<std::size_t>(declared - setup.splits.begin()), units[c]});
      if (splits_[c].name == axis_name(0))
        for (std::int64_t row = units[c].first; row < units[c].last; ++row)
          one->manner.samples.push_back(static_cast<std::uint32_t>(row));
    }
    const auto give = [&](const std::string& name, const Shape& shape, std::size_t operand, Operands operands) {
      const auto values = one->given.find(name);
      if (values == one->given.end()) return;
      values->second = part_of(values->second, shape, pieces_.part(shape, number, operand, operands));
    };
    for (std::size_t i = 0; i < setup.inputs.size(); ++i) give(concat("in", i), setup.input(i), i, &Split::inputs);
    for (std::size_t i = 0; i < setup.params.size(); ++i)
      give(setup.params[i].name, setup.params[i].shape, i, &Split::params);
    for (std::size_t i = 0; i < setup.outputs.size(); ++i)
      give(concat("dout", i), setup.outputs[i].desc.shape, i, &Split::outputs);
    one->device = context_.chosen_device();
    one->bench = std::make_unique<LayerBench>(context_, *one->device, case_,
                                              Ask{.pieces = &pieces_, .number = number, .piece = one->piece});
    one->manner.global_batch = case_.batch();
    if (collective_) one->peers = std::make_unique<MeetingPeers>(meeting, number);
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
      if (collective_)
        tasks.push_back(context_.host.tasks().start("piece", body));
      else
        body();
    }
    for (auto& task : tasks) task->join();
  }

  // Adds up the terms of a tensor. Copies of one term have to be equal.
  void compare(const std::vector<std::unique_ptr<OnePiece>>& all, Tensors Whole::*list, const std::string& name,
               const Shape& shape, const net::Form& form) {
    const auto wanted = (whole_.*list).find(name);
    if (wanted == (whole_.*list).end()) return;
    SCOPED_TRACE(concat("the pieces' ", name, " together"));
    std::map<std::uint32_t, std::map<std::size_t, double>> terms;
    Values sum(wanted->second.size());
    for (std::uint32_t number = 0; number < all.size(); ++number) {
      const net::Box& box = form.of(number).box;
      auto& known = terms[form.of(number).term];
      if (box.is_empty()) continue;
      const auto made = (all[number]->made.*list).find(name);
      ASSERT_TRUE(made != (all[number]->made.*list).end()) << "piece " << number << " made none";
      ASSERT_EQ(made->second.size(), static_cast<std::size_t>(box.count())) << "of piece " << number;
      each(shape, box, [&](std::size_t at, std::size_t i) {
        const double value = made->second[i];
        const auto [copy, is_new] = known.emplace(at, value);
        if (is_new) sum[at] += value;
        ASSERT_NEAR(copy->second, value, loose(case_, wanted->second)) << "piece " << number << " makes another copy";
      });
    }
    expect_near(sum, wanted->second, loose(case_, wanted->second), name);
  }

  const Context& context_;
  const LayerCase& case_;
  LayerBench& bench_;
  const std::vector<Split> splits_;
  const bool collective_;
  const net::Pieces pieces_;
  Tensors given_;
  Whole whole_;
};

void try_pieces(const Context& context, const LayerCase& of, LayerBench& bench, const std::vector<Split>& splits) {
  std::string names;
  for (const Split& split : splits) names += (names.empty() ? "" : " and ") + split.name;
  SCOPED_TRACE("cut by " + names);
  PiecesTrial(context, of, bench, splits).run();
}

} // namespace

void rows_are_apart(const Context& context, const LayerCase& of) {
  const auto device = context.chosen_device();
  LayerBench bench(context, *device, of, {});
  if (bench.setup().whole_batch || !of.rows || of.batch() < 2) GTEST_SKIP() << "needs the whole batch";
  try_pieces(context, of, bench, {net::batch_split(bench.setup())});
}

// Each split by itself, and with each other, the batch's among them.
void splits_make_the_whole(const Context& context, const LayerCase& of) {
  const auto device = context.chosen_device();
  LayerBench bench(context, *device, of, {});
  const Setup& setup = bench.setup();
  if (setup.splits.empty()) GTEST_SKIP() << "declares none";
  for (const Split& split : setup.splits) {
    SCOPED_TRACE("split " + split.name);
    ASSERT_EQ(split.inputs.size(), setup.inputs.size());
    ASSERT_EQ(split.params.size(), setup.params.size());
    ASSERT_EQ(split.outputs.size(), setup.outputs.size());
    ASSERT_EQ(std::ranges::count(setup.splits, split.name, &Split::name), 1) << "two splits of this name";
    ASSERT_GE(split.length, 1);
    try_pieces(context, of, bench, {split});
  }
  std::vector<Split> all = setup.splits;
  if (!setup.whole_batch && of.rows) all.push_back(net::batch_split(setup));
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (!all[a].collective && !all[b].collective) try_pieces(context, of, bench, {all[b], all[a]});
}

} // namespace dlhost::conform
