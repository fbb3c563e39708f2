// Manifests of damaged checkpoints, or forged ones with a valid seal: none can be resumed from.
#include "run/session/manifest.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "../config/fakes.h"
#include "share.h"
#include "trained.h"

namespace dlhost::test {
namespace {

using Json = nlohmann::json;

class ManifestTest : public Bench {
 protected:
  // Loads a checkpoint of a small run of several workers into memory.
  void SetUp() override {
    Bench::SetUp();
    const std::string checkpoints = folder_ / "checkpoints";
    train(small_job(), {"topology.worker_groups=2", "topology.consistency=\"eventual\""}, 3, {}, checkpoints);
    const auto files = run::Checkpoints::find(host_, checkpoints);
    ASSERT_TRUE(files.ok()) << files.status().message();
    const auto entries = host_.disk().list(files->folder);
    ASSERT_TRUE(entries.ok());
    for (const auto& entry : *entries)
      disk_.files["c/" + entry.name] = *host_.disk().read_text(files->folder + "/" + entry.name);
    run_ = files->manifest->at("run");
  }

  std::string& text() { return disk_.files["c/manifest.json"]; }
  Status open() { return param::open_checkpoint(disk_, "c").status(); }

  // The error for a manifest with another value at the pointer; "": none.
  std::string said_with(const std::string& pointer, const Json& value) {
    Json run = run_;
    run[Json::json_pointer(pointer)] = value;
    return run::check_manifest(Json::parse(run.dump()), "manifest.json").message();
  }

  config::MemoryDisk disk_;
  Json run_;
};

TEST_F(ManifestTest, EveryBitIsUnderItsHash) {
  ASSERT_TRUE(open().ok()) << open().message();
  const std::string whole = text();
  ASSERT_GT(whole.size(), 1000U);
  for (std::size_t bit = 0; bit < 8 * whole.size(); bit += one_in()) {
    text() = whole;
    text()[bit / 8] = static_cast<char>(text()[bit / 8] ^ (1 << (bit % 8)));
    const Status status = open();
    ASSERT_FALSE(status.ok()) << "bit " << bit % 8 << " of byte " << bit / 8;
    ASSERT_THAT(status.message(), testing::StartsWith("c/"));
    ASSERT_THAT(status.message(), testing::Not(testing::HasSubstr("json.exception")));
  }
}

TEST_F(ManifestTest, NothingIsAddedOrCut) {
  const std::string whole = text();
  for (const char* added : {" ", "\n", "{}", "x"}) {
    text() = whole + added;
    EXPECT_FALSE(open().ok()) << added;
  }
  for (std::size_t length = 0; length < whole.size(); ++length) {
    text() = whole.substr(0, length);
    ASSERT_FALSE(open().ok()) << length;
  }
}

TEST_F(ManifestTest, MayBeAsDeepAsItIsLong) {
  text() = "{\"files\": " + std::string(1'000'000, '[') + std::string(1'000'000, ']') + ", \"run\": {}, \"format\": 3}";
  EXPECT_EQ(open().message(), "c/manifest.json: its hash does not match its text: damaged or tampered with");
}

TEST_F(ManifestTest, ASoundOneIsTaken) {
  EXPECT_TRUE(run::check_manifest(run_, "manifest.json").ok());
  EXPECT_EQ(said_with("/training/best", nullptr), "");
  EXPECT_EQ(said_with("/training/workers", nullptr), "");
}

TEST_F(ManifestTest, StepsThatCannotBe) {
  EXPECT_EQ(said_with("/step", -1), "manifest.json: run.step is -1, and must be a count of at most 1000000000000000");
  EXPECT_EQ(said_with("/step", std::numeric_limits<std::uint64_t>::max()),
            "manifest.json: run.step is 18446744073709551615, and must be a count of at most 1000000000000000");
  EXPECT_EQ(said_with("/step", "3"),
            "manifest.json: run.step is \"3\", and must be a count of at most 1000000000000000");
  EXPECT_EQ(said_with("/step", 2), "manifest.json: run.step is 2, but its training is at step 3");
  EXPECT_EQ(said_with("/training/validated/0", 4),
            "manifest.json: run.training.validated is 4, and must be a count of at most 3");
}

// Replaces each value of the training state: impossible values are refused, without exceptions.
TEST_F(ManifestTest, WhatStandsInPlaceOfAnyValue) {
  const Json training = run_.at("training");
  const Json values = training.flatten();
  for (const auto& [pointer, value] : values.items()) {
    const std::string at = "/training" + pointer;
    const auto is_refused = testing::StartsWith("manifest.json: run.training.");
    for (const Json& other : {Json("x"), Json(Json::object()), Json(Json::array({-1}))}) {
      if (value.is_string() && other.is_string()) continue;
      EXPECT_THAT(said_with(at, other), is_refused) << at << " = " << other;
    }
    if (!value.is_number() || pointer.ends_with("loss") || pointer.ends_with("best")) continue;
    for (const Json& other : {Json(-1), Json(1e300), Json(nullptr), Json(true)})
      EXPECT_THAT(said_with(at, other), is_refused) << at << " = " << other;
  }
  for (const char* key : {"step", "epoch", "seconds", "items", "validated", "tested", "best", "worse", "has_loss"}) {
    Json run = run_;
    run["training"].erase(key);
    EXPECT_EQ(run::check_manifest(run, "manifest.json").message(),
              concat("manifest.json: run.training.", key, " is missing"));
  }
}

// The values beside the training state: of another type, or nonsense of the same type.
TEST_F(ManifestTest, WhatTellsOfTheRunIsChecked) {
  ASSERT_TRUE(run_.at("inputs").at("data").is_object());
  ASSERT_FALSE(run_.at("plan").at("ops").empty());
  ASSERT_FALSE(run_.at("matrices").empty());
  ASSERT_FALSE(run_.at("plugins").empty());
  for (const char* part : {"job", "seed", "plan", "matrices", "inputs", "plugins"}) {
    const Json of_part{{part, run_.at(part)}};
    const Json values = of_part.flatten();
    for (const auto& [pointer, value] : values.items()) {
      const bool is_list = value.is_null() || value.is_structured(); // flatten() gives null for an empty one
      for (const Json& other : {Json(), Json(-1), Json(1.5), Json(1e308), Json(true), Json(7), Json(Json::object()),
                                Json(std::numeric_limits<std::uint64_t>::max()), Json(""), Json("\x1b[2J")}) {
        if (is_list || (part == std::string("job") && other.is_string())) continue; // any text is a job's name
        if (part == std::string("seed") && other == 7) continue;
        const bool is_size =
            pointer.ends_with("_bytes") || pointer.ends_with("/links") || pointer.find("/shape/") != std::string::npos;
        if (is_size && other == 7) continue;
        EXPECT_THAT(said_with(pointer, other), testing::StartsWith(concat("manifest.json: run.", part)))
            << pointer << " = " << other;
      }
    }
    for (const Json& other : {Json(), Json(-1), Json(1.5), Json(Json::array({Json::array()}))})
      EXPECT_THAT(said_with(concat("/", part), other), testing::StartsWith(concat("manifest.json: run.", part, " is ")))
          << other;
    Json without = run_; // an older dlhost did not write it
    without.erase(part);
    EXPECT_EQ(run::check_manifest(without, "manifest.json").message(), "") << part;
  }
  EXPECT_EQ(said_with("/seed", -1),
            "manifest.json: run.seed is -1, and must be a count of at most 9223372036854775807");
  EXPECT_THAT(said_with("/plan/threads", 3), testing::HasSubstr("must be the hash of the plan beside it"));
  EXPECT_EQ(said_with("/plan/ops/0/1", "sideways"),
            "manifest.json: run.plan.ops is \"sideways\", and must be of a known role");
  EXPECT_THAT(said_with("/plugins/sgd", "1.0+x"), testing::StartsWith("manifest.json: run.plugins.sgd is \"1.0+x\""));
  Json twice = run_.at("matrices");
  twice.push_back(twice[0]);
  EXPECT_THAT(said_with("/matrices", twice), testing::HasSubstr("must be of different params"));
}

TEST_F(ManifestTest, HeadsOfLedgersThatCannotBe) {
  const Json sound{{"run", "0123456789abcdef"}, {"steps", {3, 3}}, {"heads", {{1, 1, 0, 4, "0123456789abcdef"}}}};
  EXPECT_EQ(said_with("/training/ledgers", sound), "");
  EXPECT_EQ(said_with("/training/ledgers", nullptr), "");
  const Json values = sound.flatten();
  for (const auto& [pointer, value] : values.items())
    for (const Json& other :
         {Json(-1), Json(1.5), Json("x"), Json(std::numeric_limits<std::uint64_t>::max()), Json()}) {
      if (value.is_string() && other == "x" && pointer == "/run") continue;
      Json changed = sound;
      changed[Json::json_pointer(pointer)] = other;
      EXPECT_THAT(said_with("/training/ledgers", changed), testing::StartsWith("manifest.json: run.training.ledgers "))
          << pointer << " = " << other;
    }
}

} // namespace
} // namespace dlhost::test
