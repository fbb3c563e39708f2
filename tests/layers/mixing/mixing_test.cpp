// mixup and cutmix: a row's target has the shares of the row's parts.
#include <cmath>

#include "../../core/run/several.h"
#include "program/build/preparation.h"

namespace dlhost::test {
namespace {

constexpr std::int64_t rows = 64, channels = 2, side = 6, elements = channels * side * side, classes = 5;

class MixingTest : public Bench {
 protected:
  struct Mixed {
    std::vector<float> x, target;
  };
  // Every value of row r is r + 1, and its class is r % classes.
  Mixed mixed(const std::string& layer, const Table& options, Phase phase = Phase::train, std::uint32_t epoch = 0,
              std::int64_t valid = rows) {
    auto made = registry_->create<Layer>(layer, options);
    EXPECT_TRUE(made.ok()) << made.status().message();
    const std::vector<Port> inputs{{"data", {DType::f32, {rows, channels, side, side}, {}}},
                                   {"label", {DType::i32, {rows}, {}}}};
    dlhost::Setup setup;
    setup.inputs = inputs;
    setup.batch = rows;
    Status status = (*made)->setup(setup);
    EXPECT_TRUE(status.ok()) << status.message();
    const net::Node node{};
    plugin::Activity activity;
    program::Unit unit{.wants_input_gradient = {false, false}};
    program::Preparation preparation(
        {.batch = rows, .inputs = {inputs[0].desc, inputs[1].desc}, .companion = {*registry_, activity, node, "ref"}},
        unit);
    status = (*made)->prepare(preparation);
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<float> data;
    std::vector<std::int32_t> labels;
    std::vector<std::uint32_t> samples;
    for (std::int64_t row = 0; row < rows; ++row) {
      data.insert(data.end(), elements, static_cast<float>(row + 1));
      labels.push_back(static_cast<std::int32_t>(row % classes));
      samples.push_back(static_cast<std::uint32_t>(1000 + row));
    }
    Mixed result{std::vector<float>(rows * elements), std::vector<float>(rows * classes)};
    const void* in[] = {data.data(), labels.data()};
    void* out[] = {result.x.data(), result.target.data()};
    Frame frame;
    frame.inputs = in;
    frame.outputs = out;
    frame.draw_stream = 3;
    (*made)->compute_feature(
        {.phase = phase, .epoch = epoch, .valid = valid, .global_batch = rows, .seed = 7, .samples = samples}, frame);
    return result;
  }
  static Table with(double alpha, double probability = 1) {
    Table options;
    options.entries.emplace_back("classes", Value{std::int64_t{classes}, {}});
    options.entries.emplace_back("alpha", Value{alpha, {}});
    options.entries.emplace_back("probability", Value{probability, {}});
    return options;
  }
  static double mean_of_row(const Mixed& mixed, std::int64_t row) {
    double sum = 0;
    for (std::int64_t i = 0; i < elements; ++i) sum += mixed.x[static_cast<std::size_t>(row * elements + i)];
    return sum / elements;
  }
  static float target(const Mixed& mixed, std::int64_t row, std::int64_t of) {
    return mixed.target[static_cast<std::size_t>(row * classes + of % classes)];
  }
};

// A row's mean is share * own + (1 - share) * other, for both layers.
TEST_F(MixingTest, ATargetHasTheSharesOfWhatTheSampleIsMadeOf) {
  for (const char* layer : {"mixup", "cutmix"}) {
    SCOPED_TRACE(layer);
    const Mixed mixed = this->mixed(layer, with(1));
    double shares = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t other = (row + 1) % rows;
      const double share = target(mixed, row, row);
      EXPECT_NEAR(share + target(mixed, row, other), 1, 1e-6);
      EXPECT_NEAR(mean_of_row(mixed, row),
                  share * static_cast<double>(row + 1) + (1 - share) * static_cast<double>(other + 1), 1e-3);
      shares += share;
    }
    // Only a box's part inside the picture counts, so cutmix leaves more of the sample itself.
    EXPECT_NEAR(shares / rows, layer == std::string("mixup") ? 0.5 : 0.72, 0.15);
  }
}

TEST_F(MixingTest, CutmixPutsABoxInItsPlace) {
  const Mixed mixed = this->mixed("cutmix", with(1));
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < elements; ++i) {
      const float value = mixed.x[static_cast<std::size_t>(row * elements + i)];
      EXPECT_TRUE(value == static_cast<float>(row + 1) || value == static_cast<float>((row + 1) % rows + 1))
          << row << " " << i;
    }
}

TEST_F(MixingTest, DrawsAreThoseOfSampleAndEpoch) {
  const Mixed once = mixed("mixup", with(0.4)), again = mixed("mixup", with(0.4)),
              later = mixed("mixup", with(0.4), Phase::train, 1);
  EXPECT_EQ(once.x, again.x);
  EXPECT_NE(once.x, later.x);
}

TEST_F(MixingTest, AnEvaluationMixesNothing) {
  const Mixed tested = mixed("mixup", with(1), Phase::test), never = mixed("mixup", with(1, 0));
  EXPECT_EQ(tested.x, never.x);
  for (std::int64_t row = 0; row < rows; ++row) {
    EXPECT_EQ(mean_of_row(tested, row), static_cast<double>(row + 1));
    EXPECT_EQ(target(tested, row, row), 1);
  }
}

TEST_F(MixingTest, RowsThatDoNotCountAreNotMixedIn) {
  const Mixed mixed = this->mixed("mixup", with(1), Phase::train, 0, 3);
  EXPECT_LE(mean_of_row(mixed, 2), 3);
  EXPECT_GE(mean_of_row(mixed, 2), 1); // mixed with the first row, not the fourth
  EXPECT_EQ(mean_of_row(mixed, 3), 4);
}

// The net has softmax's logarithms and kl_loss, which accepts targets of several classes.
TEST_F(MixingTest, ANetLearnsFromThem) {
  std::string job = small_job();
  job.replace(job.find("src = \"data\""), 12, "src = \"mix:x\"");
  const std::string loss = job.substr(job.find("[[layer]]\nname = \"loss\""));
  job.replace(job.find(loss), loss.size(), R"([[layer]]
name = "mix"
type = "mixup"
src = ["data", "data:label"]
classes = 3
[[layer]]
name = "log"
type = "softmax"
src = "fc2"
logarithm = true
[[layer]]
name = "loss"
type = "kl_loss"
src = ["log", "mix:target"]
)");
  for (const auto& way : {std::vector<std::string>{}, workers(2, 2)}) {
    const auto trained = train(job, way);
    ASSERT_EQ(trained.losses.size(), 40U);
    EXPECT_LT(trained.losses.back(), trained.losses.front());
    EXPECT_LT(trained.test[0].second, 0.7 * trained.losses.front());
  }
  expect_resumed_alike(job, {}, 17);
}

} // namespace
} // namespace dlhost::test
