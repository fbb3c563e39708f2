// A companion has a layer's own kernels: it is found by the types of layer and device, and loaded only for a layer that
// asks for it.
#include <algorithm>

#include "trained.h"

namespace dlhost::test {
namespace {

class Companions : public Bench, public ::testing::WithParamInterface<const char*> {
 protected:
  std::vector<std::string> with(std::vector<std::string> set) const {
    set.push_back(concat("train.device={ type = \"ref\", far = ", GetParam(), " }"));
    return set;
  }

  // As on a machine without companions.
  void hide_companions() {
    auto entries = plugin::entries_of(plugin::settings_of_process({}));
    std::erase_if(entries, [](const auto& entry) { return entry.path.ends_with("/companions"); });
    registry_ = std::make_unique<plugin::Registry>(entries, host_);
  }

  bool has_loaded(std::string_view library) {
    const auto builds = registry_->builds();
    return std::ranges::find(builds, library, &plugin::Registry::Build::name) != builds.end();
  }

  // The kernels of the layer `act`, or the reason why there are none.
  Result<std::vector<std::string>> kernels(const std::string& job_text, const std::vector<std::string>& set) {
    DLHOST_TRY(host_.disk().write_text(folder_ / "job.toml", job_text));
    DLHOST_ASSIGN(const auto job, config::load(host_.disk(), folder_ / "job.toml", set, *registry_));
    DLHOST_ASSIGN(const auto session, run::Session::open(host_, *registry_, job));
    DLHOST_ASSIGN(const auto* program, session->trainer());
    std::vector<std::string> names;
    for (const auto& unit : program->units())
      if (unit.described->name == "act")
        for (const auto& op : unit.ops) names.push_back(op.kernel);
    return names;
  }

  static constexpr const char* bump = "layer.act.type=bump";
};
INSTANTIATE_TEST_SUITE_P(Ref, Companions, ::testing::Values("false", "true"),
                         [](const auto& each) { return std::string(each.param) == "true" ? "Far" : "Near"; });

TEST_P(Companions, TrainAsTheDevicesOpsDo) {
  const auto own = train(small_job(), with({bump}));
  hide_companions();
  const auto composed = train(small_job(), with({bump}));
  EXPECT_LT(own.losses.back(), 0.9 * own.losses.front());
  for (const auto& [name, values] : composed.params)
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], own.params.at(name)[i], 1e-4) << name;
}

TEST_P(Companions, AreLoadedOnlyForALayerThatAsks) {
  const auto without = kernels(small_job(), with({}));
  ASSERT_TRUE(without.ok()) << without.status().message();
  EXPECT_FALSE(has_loaded("bump@ref"));
  const auto own = kernels(small_job(), with({bump}));
  ASSERT_TRUE(own.ok()) << own.status().message();
  EXPECT_EQ(*own, (std::vector<std::string>{"bump@ref feature", "bump@ref gradient"}));
  EXPECT_TRUE(has_loaded("bump@ref"));
  EXPECT_FALSE(has_loaded("split_loss@ref"));
}

TEST_P(Companions, AreDoneWithoutWhereALayerCan) {
  hide_companions();
  const auto composed = kernels(small_job(), with({bump}));
  ASSERT_TRUE(composed.ok()) << composed.status().message();
  EXPECT_EQ(*composed, (std::vector<std::string>{"ref map f32", "ref map f32"}));
}

TEST_P(Companions, AreNamedWhereALayerCannot) {
  hide_companions();
  const auto none = kernels(small_job(), with({bump, "layer.act.composes=false"}));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), Code::not_found);
  for (const char* said : {"layer 'act'", "kernel 'bump@ref'", "looked in", "/proofs"})
    EXPECT_NE(none.status().message().find(said), std::string::npos) << none.status().message();
}

TEST_P(Companions, CompareClassesWithLabels) {
  const auto own = train(small_job(), with({"layer.loss.type=split_loss"}));
  const auto bundled = train(small_job(), with({}));
  ASSERT_EQ(own.losses.size(), bundled.losses.size());
  for (std::size_t i = 0; i < own.losses.size(); ++i) EXPECT_NEAR(own.losses[i], bundled.losses[i], 1e-4);
  ASSERT_EQ(own.test.size(), 1U);
  EXPECT_NEAR(own.test[0].second, bundled.test.at(0).second, 1e-4);
}

} // namespace
} // namespace dlhost::test
