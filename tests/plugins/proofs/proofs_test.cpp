// What comes later works through the SDK as it stands, on ref, near and far.
#include <cmath>

#include <dlhost/consistency.h>
#include <dlhost/random.h>

#include "param/checkpoint.h"
#include "param/safetensors.h"
#include "trained.h"

namespace dlhost::test {
namespace {

class Proofs : public Bench, public ::testing::WithParamInterface<const char*> {
 protected:
  std::vector<std::string> with(std::vector<std::string> set) const {
    set.push_back(concat("train.device={ type = \"ref\", far = ", GetParam(), " }"));
    return set;
  }
};
INSTANTIATE_TEST_SUITE_P(Ref, Proofs, ::testing::Values("false", "true"),
                         [](const auto& each) { return std::string(each.param) == "true" ? "Far" : "Near"; });

TEST_P(Proofs, LateMultiplyEqualsBackPropagation) {
  const auto late = train(small_job(), with({"train.algorithm=late_multiply"}));
  const auto early = train(small_job(), with({}));
  EXPECT_EQ(late.losses, early.losses);
  EXPECT_EQ(late.params, early.params);
}

// What leaves late is what leaves early.
TEST_P(Proofs, LateFactorsOfSeveralWorkersAreThoseOfBackPropagation) {
  if (std::string(GetParam()) == "true") GTEST_SKIP() << "several workers need memory that the host can reach";
  const std::vector<std::string> several{"topology.workers_per_group=2", "topology.servers_per_group=2",
                                         "topology.factors=on"};
  auto settings = several;
  settings.push_back("train.algorithm=late_multiply");
  const auto late = train(small_job(), settings), early = train(small_job(), several);
  EXPECT_EQ(late.factored.size(), 2U);
  EXPECT_EQ(late.losses, early.losses);
  EXPECT_EQ(late.params, early.params);
}

TEST_P(Proofs, ATwoStagePipelineEqualsMicroBatches) {
  const auto piped =
      train(small_job(), with({"train.algorithm={ type = \"pipeline_1f1b\", cut = \"fc2\", micro_batches = 4 }"}));
  const auto plain = train(small_job(), with({"train.algorithm={ type = \"bp\", micro_batches = 4 }"}));
  EXPECT_EQ(piped.params, plain.params);
}

constexpr const char* rbm_job = R"(name = "rbm"
seed = 5
[train]
batch = 6
threads = 1
algorithm = "cd1"
stop = { steps = 5 }
[test]
at_end = false
[updater]
type = "sgd"
rate = 0.5
[[layer]]
name = "data"
type = "synthetic"
mode = "uniform"
shape = [4]
train = 30
[[layer]]
name = "visible"
type = "rbm_visible"
src = ["data", "hidden:down"]
[[layer]]
name = "hidden"
type = "rbm_hidden"
src = "visible"
units = 3
)";

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// The same five steps, written plainly.
struct Rbm {
  std::vector<std::vector<double>> w;
  std::vector<double> a = std::vector<double>(4), b = std::vector<double>(3);

  void step(const std::vector<std::vector<float>>& data, const std::vector<std::vector<double>>& draws, double rate) {
    auto dw = w;
    for (auto& row : dw) std::fill(row.begin(), row.end(), 0.0);
    std::vector<double> da(4), db(3);
    const double n = static_cast<double>(data.size());
    for (std::size_t s = 0; s < data.size(); ++s) {
      std::vector<double> v(data[s].begin(), data[s].end());
      const auto up = [&](const std::vector<double>& visible) {
        std::vector<double> h(3);
        for (std::size_t j = 0; j < 3; ++j) {
          double sum = b[j];
          for (std::size_t i = 0; i < 4; ++i) sum += w[j][i] * visible[i];
          h[j] = logistic(sum);
        }
        return h;
      };
      const auto add = [&](const std::vector<double>& visible, const std::vector<double>& h, double sign) {
        for (std::size_t j = 0; j < 3; ++j) {
          for (std::size_t i = 0; i < 4; ++i) dw[j][i] += sign * h[j] * visible[i] / n;
          db[j] += sign * h[j] / n;
        }
        for (std::size_t i = 0; i < 4; ++i) da[i] += sign * visible[i] / n;
      };
      const auto h0 = up(v);
      add(v, h0, 1);
      std::vector<double> v1(4);
      for (std::size_t i = 0; i < 4; ++i) {
        double sum = a[i];
        for (std::size_t j = 0; j < 3; ++j) sum += (h0[j] > draws[s][j] ? 1.0 : 0.0) * w[j][i];
        v1[i] = logistic(sum);
      }
      add(v1, up(v1), -1);
    }
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t i = 0; i < 4; ++i) w[j][i] += rate * dw[j][i];
      b[j] += rate * db[j];
    }
    for (std::size_t i = 0; i < 4; ++i) a[i] += rate * da[i];
  }
};

TEST_P(Proofs, ContrastiveDivergenceOnAnUndirectedPair) {
  const auto start = train(rbm_job, with({"train.stop.steps=1", "updater.rate=0.0"}));
  Rbm rbm;
  const auto& first = start.params.at("hidden.weight");
  for (std::size_t j = 0; j < 3; ++j)
    rbm.w.emplace_back(first.begin() + static_cast<std::ptrdiff_t>(4 * j),
                       first.begin() + static_cast<std::ptrdiff_t>(4 * j + 4));

  // The batches as the feeder gives them, and the draws as any device makes them.
  auto job = config::load(host_.disk(), folder_ / "job.toml", with({}), *registry_);
  ASSERT_TRUE(job.ok()) << job.status().message();
  auto session = run::Session::open(host_, *registry_, *job);
  ASSERT_TRUE(session.ok()) << session.status().message();
  auto program = (*session)->trainer();
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto feeds = run::Feeds::make(**session, **program, Phase::train, 6);
  ASSERT_TRUE(feeds.ok());
  const std::uint32_t hidden_stream = 3; // the third layer of the job
  for (int step = 0; step < 5; ++step) {
    auto batch = (*feeds)->next();
    ASSERT_TRUE(batch.ok());
    std::vector<std::vector<float>> data(6);
    std::vector<std::vector<double>> draws(6, std::vector<double>(3));
    for (std::size_t s = 0; s < 6; ++s) {
      const auto* row = static_cast<const float*>((*batch)->sources[0].outputs[0]) + 4 * s;
      data[s].assign(row, row + 4);
      for (std::size_t j = 0; j < 3; ++j)
        draws[s][j] = static_cast<double>(draw({5, hidden_stream}, (*feeds)->epoch(), (*batch)->samples[s], j));
    }
    rbm.step(data, draws, 0.5);
  }
  const auto trained = train(rbm_job, with({}));
  for (std::size_t j = 0; j < 3; ++j) {
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(trained.params.at("hidden.weight")[4 * j + i], rbm.w[j][i], 1e-5);
    EXPECT_NEAR(trained.params.at("hidden.bias")[j], rbm.b[j], 1e-5);
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(trained.params.at("visible.bias")[i], rbm.a[i], 1e-5);
}

// Two workers descend to minima of their own, 1 and 3, tied to a centre: as the handler says, with every difference
// made on the device. The centre must come to rest between them.
TEST_P(Proofs, ElasticAveraging) {
  Table options;
  auto handler = registry_->create<Consistency>("elastic_proof", options);
  ASSERT_TRUE(handler.ok()) << handler.status().message();
  Table far;
  far.entries.emplace_back("far", Value{std::string(GetParam()) == "true", {}});
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
  EXPECT_LT(values[1], 2.95F); // and down
  EXPECT_EQ(state.version, 200U);
}

// A feature that is cut twice and added to: its gradient has three contributions, and `a` hands one tensor to two.
std::string cut_job(bool through_views) {
  const auto source = [&](const std::string& view) { return through_views ? view : std::string("fc1"); };
  const std::string views = R"([[layer]]
name = "v1"
type = "flatten"
src = "fc1"
[[layer]]
name = "v2"
type = "flatten"
src = "fc1"
)";
  return R"(name = "cut"
seed = 3
[train]
batch = 12
threads = 1
stop = { steps = 20 }
[updater]
type = "sgd"
rate = 0.1
[[layer]]
name = "data"
type = "synthetic"
mode = "learnable"
shape = [7]
classes = 3
train = 50
test = 20
[[layer]]
name = "fc1"
type = "dense"
src = "data"
units = 9
[[layer]]
name = "g"
type = "dense"
src = "data"
units = 9
)" + (through_views ? views : "") +
         R"([[layer]]
name = "s1"
type = "slice"
src = ")" +
         source("v1") +
         R"("
first = 2
count = 4
[[layer]]
name = "s2"
type = "slice"
src = ")" +
         source("v2") +
         R"("
first = 0
count = 3
[[layer]]
name = "a"
type = "add"
src = ["fc1", "g"]
[[layer]]
name = "cat"
type = "concat"
src = ["s1", "s2", "a"]
[[layer]]
name = "fc2"
type = "dense"
src = "cat"
units = 3
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["fc2", "data:label"]
)";
}

TEST_P(Proofs, AGradientIsAddedToWhereItLies) {
  for (const char* fuse : {"train.fuse=true", "train.fuse=false"}) {
    const auto added = train(cut_job(false), with({fuse})), summed = train(cut_job(true), with({fuse}));
    EXPECT_LT(added.losses.back(), 0.7 * added.losses.front());
    for (const auto& [name, values] : summed.params)
      for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], added.params.at(name)[i], 1e-5) << name;
  }
}

// Adding takes the place of sums of core's own: here all but the copy of what `a` hands to two.
TEST_P(Proofs, AnAddingLayerSavesASum) {
  const auto sums = [&](bool through_views) {
    EXPECT_TRUE(host_.disk().write_text(folder_ / "job.toml", cut_job(through_views)).ok());
    const auto job = config::load(host_.disk(), folder_ / "job.toml", with({"train.fuse=false"}), *registry_);
    auto session = run::Session::open(host_, *registry_, *job);
    const auto program = (*session)->trainer();
    EXPECT_TRUE(program.ok()) << program.status().message();
    (*program)->measure(&host_.clock());
    return std::ranges::count((*program)->timings(), "sum", &program::Timing::what);
  };
  EXPECT_EQ(sums(true), 2);
  EXPECT_EQ(sums(false), 1);
}

std::string carried_job() {
  std::string job = small_job();
  job.replace(job.find("[[layer]]\nname = \"fc1\""), 0,
              "[[layer]]\nname = \"total\"\ntype = \"running_total\"\nsrc = \"data\"\n");
  job.replace(job.find("src = \"data\"\nunits"), 12, "src = \"total\"");
  return job;
}

TEST_P(Proofs, WhatIsCarriedGoesFromBatchToBatchAndIntoCheckpoints) {
  const std::string checkpoints = folder_ / "checkpoints";
  const auto whole = train(carried_job(), with({}));
  train(carried_job(), with({}), 17, {}, checkpoints);
  const auto rest = train(carried_job(), with({}), 0, checkpoints);
  EXPECT_TRUE(std::equal(rest.losses.begin(), rest.losses.end(), whole.losses.begin() + 17));
  EXPECT_EQ(rest.params, whole.params);

  // The state of the seventeenth step: what each row of the batch has seen.
  auto job = config::load(host_.disk(), folder_ / "job.toml", with({}), *registry_);
  auto session = run::Session::open(host_, *registry_, *job);
  ASSERT_TRUE(session.ok()) << session.status().message();
  auto program = (*session)->trainer();
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto feeds = run::Feeds::make(**session, **program, Phase::train, 12);
  std::vector<float> expected(12 * 7, 0.5F);
  for (int step = 0; step < 17; ++step) {
    const auto batch = (*feeds)->next();
    const auto* data = static_cast<const float*>((*batch)->sources[0].outputs[0]);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += data[i];
  }
  const auto files = param::open_checkpoint(host_.disk(), checkpoints + "/step-000000017");
  ASSERT_TRUE(files.ok()) << files.status().message();
  const auto history = param::parse_safetensors(files->history->map(), "history");
  const auto* total = history->find("total.total");
  ASSERT_NE(total, nullptr);
  EXPECT_TRUE(std::ranges::equal(total->bytes, std::as_bytes(std::span(expected))));
}

TEST_P(Proofs, EachFrameCarriesItsOwnRows) {
  const auto whole = train(carried_job(), with({}));
  const auto cut = train(carried_job(), with({"train.algorithm={ type = \"bp\", micro_batches = 3 }"}));
  for (const auto& [name, values] : whole.params)
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], cut.params.at(name)[i], 1e-4) << name;
}

TEST_P(Proofs, AnEvaluationCarriesFromItsOwnBeginning) {
  EXPECT_TRUE(host_.disk().write_text(folder_ / "job.toml", carried_job()).ok());
  auto job = config::load(host_.disk(), folder_ / "job.toml", with({"test.batch=5"}), *registry_);
  auto session = run::Session::open(host_, *registry_, *job);
  ASSERT_TRUE(session.ok()) << session.status().message();
  const Source& data = *(*session)->sources()[0].source;
  std::vector<float> row(7);
  std::int32_t label = 0;
  std::byte* const places[] = {reinterpret_cast<std::byte*>(row.data()), reinterpret_cast<std::byte*>(&label)};
  for (int time = 0; time < 2; ++time) {
    std::vector<float> expected(5 * 7, 0.5F);
    std::int64_t first = 0;
    const auto evaluation = run::evaluate(
        **session, Phase::test, time == 0 ? std::vector<std::string>{"total"} : std::vector<std::string>{},
        [&](program::Program& program, const program::BatchView&) -> Status {
          for (std::size_t r = 0; r < 5; ++r) {
            DLHOST_TRY(data.read(Phase::test, first++, places));
            for (std::size_t i = 0; i < 7; ++i) expected[7 * r + i] += row[i];
          }
          DLHOST_ASSIGN(const auto total, program.read_output(1, 0));
          EXPECT_EQ(total, expected) << "before sample " << first << ", time " << time;
          return {};
        });
    ASSERT_TRUE(evaluation.ok()) << evaluation.status().message();
    EXPECT_EQ(first, 20);
  }
}

} // namespace
} // namespace dlhost::test
