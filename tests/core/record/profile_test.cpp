#include "record/profile.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace dlhost::record {
namespace {

using Json = nlohmann::json;

Profile of_two_steps() {
  Profile profile{.rows = {{"relu", "relu", "forward", 0.002, 2, 0, 4e7},
                           {"conv", "convolution", "forward", 0.008, 2, 3.2e9, 0},
                           {"conv", "convolution", "backward", 0.006, 4, 1.2e9, 6e7}},
                  .steps = 2,
                  .seconds = 0.02,
                  .peak_operations = 5e11,
                  .peak_bytes = 2e10};
  set_floors(profile);
  return profile;
}

TEST(Profile, TheTableIsSortedAndSumsUp) {
  EXPECT_EQ(profile_table(of_two_steps()),
            R"(Where the time of a step goes (2 steps of 10.000 ms; peak 500 GFLOP/s, 20.0 GB/s)
layer  type         direction                 ms    step   GFLOP/s  of peak     GB/s      floor
-----------------------------------------------------------------------------------------------
conv   convolution  forward                4.000   40.0%     400.0      80%               3.200
conv   convolution  backward               3.000   30.0%     200.0      40%     10.0      1.500
relu   relu         forward                1.000   10.0%                        20.0      1.000
-----------------------------------------------------------------------------------------------
all                 forward                5.000   50.0%     320.0      64%               4.200
all                 backward               3.000   30.0%     200.0      40%     10.0      1.500
rest                outside of layers      2.000   20.0%
)");
}

TEST(Profile, WhatIsNotKnownIsNull) {
  const Json json = Json::parse(profile_json(of_two_steps()));
  EXPECT_EQ(json["steps"], 2);
  EXPECT_NEAR(json["seconds_per_step"].get<double>(), 0.01, 1e-12);
  ASSERT_EQ(json["rows"].size(), 3u);
  const Json& backward = json["rows"][1];
  EXPECT_EQ(backward["direction"], "backward");
  EXPECT_EQ(backward["calls_per_step"], 2);
  EXPECT_NEAR(backward["share_of_peak"].get<double>(), 0.4, 1e-12);
  EXPECT_TRUE(json["rows"][2]["gigaflops"].is_null());
  EXPECT_TRUE(json["rows"][0]["gigabytes_per_second"].is_null());
  EXPECT_NEAR(json["rows"][0]["floor_milliseconds"].get<double>(), 3.2, 1e-9);
  EXPECT_NEAR(backward["floor_milliseconds"].get<double>(), 1.5, 1e-9);
  EXPECT_NEAR(json["rest_milliseconds"].get<double>(), 2, 1e-9);
}

TEST(Profile, TheMeanStepIsATrace) {
  const auto events = mean_step(of_two_steps());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].name, "conv forward");
  EXPECT_EQ(events[1].category, "forward");
  EXPECT_EQ(events[1].start, 1'000'000);
  EXPECT_EQ(events[1].duration, 4'000'000);
  EXPECT_EQ(events[2].start, 5'000'000);
}

TEST(Profile, NothingMeasuredIsNoError) {
  EXPECT_NE(profile_table({}).find("0 steps"), std::string::npos);
  const Json json = Json::parse(profile_json({}));
  EXPECT_TRUE(json["peak_operations_per_second"].is_null());
  EXPECT_TRUE(json["peak_bytes_per_second"].is_null());
}

} // namespace
} // namespace dlhost::record
