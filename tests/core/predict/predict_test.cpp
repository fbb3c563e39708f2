// A trained net in a user's own program: it predicts what an evaluation finds, from any thread, without
// data.
#include <dlhost/predict.h>

#include <cmath>
#include <thread>

#include "../run/several.h"
#include "run/session/evaluation.h"

namespace dlhost::test {
namespace {

class PredictTest : public Bench {
 protected:
  void SetUp() override { train(job_, {}, 0, "", checkpoints_); }

  Predictor::Options options() { return {.job = folder_ / "job.toml", .batch = 7}; }

  // What `layer` makes of the test's samples, and these samples.
  struct Found {
    std::vector<float> samples, values;
  };
  Found evaluated(const std::string& layer) {
    Found found;
    const auto job = config::load(host_.disk(), folder_ / "job.toml", {}, *registry_);
    auto session = *run::Session::open(host_, *registry_, *job, run::Purpose::reading);
    EXPECT_TRUE(session->evaluator(Phase::test, {layer}).ok());
    EXPECT_TRUE(param::read_checkpoint(*run::Checkpoints::find(host_, checkpoints_), session->store(), nullptr).ok());
    const auto keep = [&](program::Program& program, const program::BatchView& batch) -> Status {
      for (std::size_t node = 0; node < program.graph().nodes().size(); ++node)
        if (program.graph().nodes()[node].name == "fc2") {
          DLHOST_ASSIGN(const auto values, program.read_output(node, 0));
          found.values.insert(found.values.end(), values.begin(), values.begin() + batch.valid * 3);
        }
      return {};
    };
    EXPECT_TRUE(run::evaluate(*session, Phase::test, {}, keep).ok());
    std::vector<float> sample(7);
    std::int32_t label = 0;
    std::byte* const places[] = {reinterpret_cast<std::byte*>(sample.data()), reinterpret_cast<std::byte*>(&label)};
    for (std::int64_t i = 0; i < session->samples(Phase::test); ++i) {
      EXPECT_TRUE(session->sources()[0].source->read(Phase::test, i, places).ok());
      found.samples.insert(found.samples.end(), sample.begin(), sample.end());
    }
    return found;
  }

  const std::string job_ = small_job(), checkpoints_ = folder_ / "kept";
};

TEST_F(PredictTest, ItIsWhatAnEvaluationFinds) {
  const Found found = evaluated("fc2:data");
  auto with = options();
  with.layer = "fc2";
  auto net = Predictor::open(checkpoints_, with);
  ASSERT_TRUE(net.ok()) << net.status().message();
  ASSERT_EQ(net->inputs().size(), 1U);
  EXPECT_EQ(net->inputs()[0].layer, "data");
  EXPECT_EQ(net->inputs()[0].shape, (Shape{7}));
  EXPECT_EQ(net->output(), (Shape{3}));
  const auto values = net->predict(found.samples);
  ASSERT_TRUE(values.ok()) << values.status().message();
  EXPECT_EQ(*values, found.values);
}

TEST_F(PredictTest, ProbabilitiesAreWhatIsPredictedWhereNothingIsSaid) {
  const Found found = evaluated("fc2:data");
  auto net = Predictor::open(checkpoints_, options());
  ASSERT_TRUE(net.ok()) << net.status().message();
  const auto values = net->predict(found.samples);
  ASSERT_TRUE(values.ok()) << values.status().message();
  ASSERT_EQ(values->size(), found.values.size());
  for (std::size_t row = 0; row < values->size(); row += 3) {
    double sum = 0;
    for (std::size_t i = row; i < row + 3; ++i) sum += std::exp(found.values[i]);
    for (std::size_t i = row; i < row + 3; ++i) EXPECT_NEAR((*values)[i], std::exp(found.values[i]) / sum, 1e-6);
  }
}

TEST_F(PredictTest, ThreadsPredictAtOnce) {
  const Found found = evaluated("fc2:data");
  auto with = options();
  with.layer = "fc2";
  auto net = Predictor::open(checkpoints_, with);
  ASSERT_TRUE(net.ok()) << net.status().message();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int again = 0; again < 5; ++again) {
        const auto values = net->predict(found.samples);
        ASSERT_TRUE(values.ok()) << values.status().message();
        EXPECT_EQ(*values, found.values);
      }
    });
  for (auto& thread : threads) thread.join();
}

// A file that is written, a measure: no prediction takes part in it. And what it was trained on is gone.
TEST_F(PredictTest, NeitherDataNorOutputsAreTouched) {
  const std::string rows = folder_ / "rows.csv", written = folder_ / "out/rows.csv";
  std::string text;
  for (int row = 0; row < 40; ++row) text += concat(row % 3, ",", row % 5, ",", row % 3, "\n");
  ASSERT_TRUE(host_.disk().write_text(rows, text).ok());
  std::string job = job_;
  const std::string source = job.substr(job.find("type = \"synthetic\""),
                                        job.find("[[layer]]\nname = \"fc1\"") - job.find("type = \"synthetic\""));
  job.replace(job.find(source), source.size(), "type = \"csv\"\ntrain = \"rows.csv\"\ntest_every = 4\n");
  job += "[[layer]]\nname = \"file\"\ntype = \"csv_output\"\nsrc = \"fc2\"\nfile = \"out/rows.csv\"\n"
         "[[layer]]\nname = \"right\"\ntype = \"accuracy\"\nsrc = [\"fc2\", \"data:label\"]\n";
  const std::string kept = folder_ / "csv";
  ASSERT_TRUE(host_.disk().make_directory(folder_ / "out").ok());
  train(job, {}, 0, "", kept);
  ASSERT_TRUE(host_.disk().exists(written));
  for (const auto& gone : {rows, folder_ / "out"}) ASSERT_TRUE(host_.disk().remove(gone).ok());
  auto net = Predictor::open(kept, options());
  ASSERT_TRUE(net.ok()) << net.status().message();
  const auto values = net->predict(std::vector<float>{1, 2});
  ASSERT_TRUE(values.ok()) << values.status().message();
  EXPECT_EQ(values->size(), 3U);
  EXPECT_FALSE(host_.disk().exists(written));
}

TEST_F(PredictTest, WhatDoesNotFitIsSaid) {
  auto net = Predictor::open(checkpoints_, options());
  ASSERT_TRUE(net.ok()) << net.status().message();
  EXPECT_EQ(net->predict(std::vector<float>(8)).status().message(),
            "input 'data' takes samples of 7 f32, but 8 values are given, which are no whole number of samples");
  EXPECT_EQ(net->predict(std::vector<std::uint8_t>(7)).status().message(),
            "input 'data' takes samples of 7 f32, but values of u8 are given");
  EXPECT_TRUE(net->predict(std::span<const float>()).ok());
  auto with = options();
  with.layer = "fc3";
  EXPECT_NE(Predictor::open(checkpoints_, with).status().message().find("the net has no output 'fc3'"),
            std::string::npos);
  EXPECT_NE(Predictor::open(folder_ / "nowhere", options()).status().message().find("nowhere"), std::string::npos);
}

} // namespace
} // namespace dlhost::test
