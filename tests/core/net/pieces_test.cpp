// The forms of a layer's tensors, by the rule that all splits have in common.
#include "net/pieces.h"

#include <gmock/gmock.h>

namespace dlhost::net {
namespace {

using testing::ElementsAre;
using Need = Split::Need;

Split split(std::vector<Split::Operand> inputs, std::vector<Split::Operand> params,
            std::vector<Split::Operand> outputs) {
  return {.name = "s",
          .length = 8,
          .inputs = std::move(inputs),
          .params = std::move(params),
          .outputs = std::move(outputs)};
}

const Shape x{6, 8}, w{4, 8}, y{6, 4};

// A dense layer by what it reads, in two: each piece makes a summand, and the first adds the bias.
Pieces by_inputs() {
  return {{{split({along(1)}, {along(1), {.need = Need::once}}, {{.need = Need::sum}}), {0, 5, 8}}}, {0, 1}};
}

TEST(Pieces, OfSummandsReadPartsAndWantTheWholeGradient) {
  const Pieces pieces = by_inputs();
  EXPECT_EQ(to_string(pieces.read(x, 0, &Split::inputs)), "axis 1 in 2");
  EXPECT_EQ(pieces.read(x, 0, &Split::inputs).of(0).box.shape, Shape({6, 5}));
  EXPECT_EQ(pieces.made(y, 0), Form::summands(y, 2));
  EXPECT_EQ(pieces.wanted(y, 0), Form::whole(y, 2));
  EXPECT_EQ(pieces.gradient(w, 0, &Split::params), pieces.read(w, 0, &Split::params)); // each its own
}

TEST(Pieces, HaveAParamOnce) {
  const Pieces pieces = by_inputs();
  EXPECT_EQ(pieces.read({4}, 1, &Split::params), Form::at({4}, 2, 0));
  EXPECT_EQ(pieces.gradient({4}, 1, &Split::params), Form::at({4}, 2, 0));
}

TEST(Pieces, ThatReadTheSameMakeSummandsOfItsGradient) {
  const Pieces pieces({{split({{}}, {along(0)}, {along(1)}), {0, 3, 4}}}, {0, 1});
  EXPECT_EQ(pieces.read(x, 0, &Split::inputs), Form::whole(x, 2));
  EXPECT_EQ(pieces.gradient(x, 0, &Split::inputs), Form::summands(x, 2));
  EXPECT_EQ(pieces.wanted(y, 0), pieces.made(y, 0));
}

TEST(Pieces, AllWholeCountOnce) {
  const Pieces pieces({}, {0, 0, 0});
  EXPECT_EQ(pieces.gradient(w, 0, &Split::params), Form::whole(w, 3));
  EXPECT_EQ(pieces.made(y, 0), Form::whole(y, 3));
}

TEST(Pieces, OfAGridSumOverOneAxisOnly) {
  // Rows in two, units in two: the weights of worker 0 and 2 are the same rows, of different batches.
  const Pieces pieces(
      {{split({along(0)}, {{}}, {along(0)}), {0, 3, 6}}, {split({{}}, {along(0)}, {along(1)}), {0, 2, 4}}},
      {0, 1, 2, 3});
  const Form gradient = pieces.gradient(w, 0, &Split::params);
  EXPECT_EQ(gradient.of(0).box, gradient.of(2).box);
  EXPECT_NE(gradient.of(0).term, gradient.of(2).term);
  EXPECT_TRUE(intersection(gradient.of(0).box, gradient.of(1).box).is_empty());
  EXPECT_EQ(pieces.made(y, 0).of(3).box, (Box{.first = {3, 2}, .shape = {3, 2}}));
  EXPECT_FALSE(pieces.made(y, 0).has_summands());
}

TEST(Pieces, OfWindowsOverlapInHalos) {
  // Rows of a picture of 8; a window of 3 with a pad of 1 and a step of 2 makes 4.
  const Split::Operand window{.need = Need::window, .axis = 0, .step = 2, .low = 1, .high = 1};
  const Pieces pieces({{split({window}, {}, {along(0)}), {0, 2, 4}}}, {0, 1});
  const Form read = pieces.read({8}, 0, &Split::inputs);
  EXPECT_EQ(read.of(0).box, (Box{.first = {0}, .shape = {4}}));
  EXPECT_EQ(read.of(1).box, (Box{.first = {3}, .shape = {5}}));
  EXPECT_TRUE(pieces.gradient({8}, 0, &Split::inputs).has_summands()); // of the element that both read
}

TEST(Pieces, OfSomeWorkersLeaveTheOthersEmpty) {
  const Pieces pieces({{split({along(0)}, {{}}, {along(0)}), {0, 3, 6}}}, {0, Pieces::none, 1});
  const Form made = pieces.made(y, 0);
  EXPECT_TRUE(made.of(1).box.is_empty());
  EXPECT_EQ(made.of(2).box.first, Shape({3, 0}));
  EXPECT_EQ(pieces.gradient(w, 0, &Split::params).has_summands(), true);
}

TEST(BatchSplit, CutsRowsAndSumsMetrics) {
  const std::vector<Port> inputs{{"x", {DType::f32, {6, 4}, {}}}, {"steps", {DType::f32, {18, 4}, {}}}};
  dlhost::Setup setup;
  setup.inputs = inputs;
  setup.batch = 6;
  setup.output("y", Shape{6, 2});
  setup.output("loss", TensorDesc{DType::f32, {2}, {}});
  setup.metric({.name = "loss", .output = 1});
  setup.param({.name = "w", .shape = {2, 4}});
  const Split split = batch_split(setup);
  EXPECT_EQ(split.inputs[1].each, 3); // three rows a sample
  EXPECT_EQ(split.outputs[0].need, Need::same);
  EXPECT_EQ(split.outputs[1].need, Need::sum);
  EXPECT_EQ(split.params[0].need, Need::whole);
}

} // namespace
} // namespace dlhost::net
