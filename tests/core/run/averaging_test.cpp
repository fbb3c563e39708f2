// Averages of params, beside the params: the mean of all values so far, and then one that forgets.
#include <cmath>

#include "param/file/tensor_file.h"
#include "run/session/checkpoints.h"
#include "several.h"

namespace dlhost::test {
namespace {

class AveragingTest : public Bench {
 protected:
  using Values = std::map<std::string, std::vector<float>>;

  // Of the newest checkpoint in `folder`.
  Values averages_in(const std::string& folder) {
    Values values;
    auto files = run::Checkpoints::find(host_, folder);
    EXPECT_TRUE(files.ok()) << files.status().message();
    EXPECT_TRUE(param::use_averages(*files).ok());
    const auto tensors = param::tensors_of(*std::move(files));
    EXPECT_TRUE(tensors.ok()) << tensors.status().message();
    for (const auto& tensor : tensors->tensors) {
      const auto* first = reinterpret_cast<const float*>(tensor.bytes.data());
      values[tensor.name].assign(first, first + tensor.bytes.size() / sizeof(float));
    }
    return values;
  }

  static void expect_near(const Values& one, const Values& other) {
    ASSERT_EQ(one.size(), other.size());
    for (const auto& [name, values] : one)
      for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], other.at(name)[i], 1e-5) << name;
  }
};

TEST_F(AveragingTest, ItIsTheMeanAndThenForgets) {
  constexpr double share = 0.75; // the mean of the first four, then a quarter of each new one
  Values expected;
  for (int step = 1; step <= 6; ++step) {
    const double kept = std::min(share, (step - 1.0) / step);
    const auto at = train(small_job(), {concat("train.stop.steps=", step), concat("updater.average=", share)});
    for (const auto& [name, values] : at.params) {
      auto& average = expected[name];
      average.resize(values.size());
      for (std::size_t i = 0; i < values.size(); ++i)
        average[i] = static_cast<float>(kept * average[i] + (1 - kept) * values[i]);
    }
  }
  const std::string folder = folder_ / "kept";
  train(small_job(), {"train.stop.steps=6", concat("updater.average=", share)}, 0, "", folder);
  expect_near(averages_in(folder), expected);
}

// Servers keep the average; it does not change training.
TEST_F(AveragingTest, SeveralWorkersHaveThoseOfOne) {
  for (const char* updater :
       {"{ type = \"sgd\", momentum = 0.9, rate = 0.05, average = 0.9 }",
        "{ type = \"adam\", rate = 0.01, average = 0.9 }", "{ type = \"lamb\", rate = 0.01, average = 0.9 }"}) {
    SCOPED_TRACE(updater);
    const std::vector<std::string> one{concat("updater=", updater)};
    const std::string alone = folder_ / "alone", shared = folder_ / "shared";
    const auto first = train(small_job(), one, 0, "", alone);
    train(small_job(), workers(3, 2, one), 0, "", shared);
    expect_near(averages_in(shared), averages_in(alone));
    std::string plain = updater;
    plain.replace(plain.find(", average = 0.9"), std::string_view(", average = 0.9").size(), "");
    EXPECT_EQ(train(small_job(), {concat("updater=", plain)}).losses, first.losses);
    for (const auto& folder : {alone, shared}) ASSERT_TRUE(host_.disk().remove(folder).ok());
  }
}

TEST_F(AveragingTest, ItGoesOnWithARun) {
  expect_resumed_alike(small_job(), {"updater.average=0.9"}, 17);
  expect_resumed_alike(small_job(), workers(2, 2, {"updater.average=0.9"}), 17);
}

TEST_F(AveragingTest, WhereNoneWasKeptItIsSaid) {
  const std::string folder = folder_ / "kept";
  train(small_job(), {"train.stop.steps=2"}, 0, "", folder);
  auto files = run::Checkpoints::find(host_, folder);
  ASSERT_TRUE(files.ok());
  EXPECT_NE(param::use_averages(*files).message().find("updater.average"), std::string::npos);
}

} // namespace
} // namespace dlhost::test
