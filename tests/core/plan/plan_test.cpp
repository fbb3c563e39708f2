#include "plan/plan.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace dlhost::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Plan small() {
  return {.device = "a machine, 2 threads",
          .threads = 2,
          .batch = 64,
          .ops = {{"fc1", Role::feature, "gemm", "fast", "f32:ab > f32:ab"},
                  {"fc1", Role::param_gradient, "gemm", "fast", "f32:ab > f32:ab"},
                  {"bn", Role::feature, "map", "loop", "f32:ab > f32:ab"},
                  {"bn", Role::feature, "map", "loop", "f32:ab > f32:ab"}},
          .activation_bytes = 1024};
}

TEST(Plan, IsWhatItsManifestSays) {
  const auto json = to_json(small());
  EXPECT_THAT(differences(json, small()), testing::IsEmpty());
  EXPECT_THAT(differences(nlohmann::json::parse(json.dump()), small()), testing::IsEmpty());
  EXPECT_EQ(json["hash"], hash(small()));
  EXPECT_EQ(hash(small()).size(), 16U);
}

TEST(Plan, TheHashIsOfTheChoices) {
  Plan other = small();
  other.activation_bytes = 2048; // follows from the choices
  EXPECT_EQ(hash(other), hash(small()));
  other.ops[1].kernel = "slow";
  EXPECT_NE(hash(other), hash(small()));
  other = small();
  other.threads = 1;
  EXPECT_NE(hash(other), hash(small()));
}

TEST(Plan, SaysWhichOpDiffers) {
  Plan now = small();
  now.threads = 4;
  now.ops[1].kernel = "slow";
  now.ops[3].formats = "f32:ba > f32:ba";
  now.ops.push_back({"fc2", Role::input_gradient, "gemm", "fast", ""});
  EXPECT_THAT(
      differences(to_json(small()), now),
      ElementsAre("threads was 2 and is 4",
                  "layer 'bn', forward map 2 was loop (f32:ab > f32:ab) and is loop (f32:ba > f32:ba)",
                  "layer 'fc1', backward to params gemm was fast (f32:ab > f32:ab) and is slow (f32:ab > f32:ab)",
                  "layer 'fc2', backward to inputs gemm is new: fast ()"));
  EXPECT_THAT(differences(to_json(now), small()).back(),
              "layer 'fc2', backward to inputs gemm is gone: it was fast ()");
}

TEST(Plan, OfManyOnlyTheFirstAreTold) {
  Plan then = small(), now = small();
  then.ops.clear();
  for (int i = 0; i < 20; ++i) now.ops.push_back({std::to_string(i), Role::feature, "gemm", "fast", ""});
  const auto told = differences(to_json(then), now);
  ASSERT_EQ(told.size(), 7U);
  EXPECT_EQ(told.back(), "and 18 more");
}

TEST(Plan, AManifestThatWasTamperedWithIsOnlyDifferent) {
  for (const char* text :
       {"null", "[]", "{}", R"({"ops":3,"threads":"x"})", R"({"ops":[[1,2],{},["fc1"]],"device":[]})"})
    EXPECT_FALSE(differences(nlohmann::json::parse(text), small()).empty()) << text;
}

} // namespace
} // namespace dlhost::plan
