// Manifests of checkpoints that were damaged, or that somebody wrote who can seal them: none is gone on from.
#include "run/session/manifest.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "../config/fakes.h"
#include "trained.h"

namespace dlhost::test {
namespace {

using Json = nlohmann::json;

class ManifestTest : public Bench {
 protected:
  // A checkpoint of a small run of several workers, in memory.
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

  // What is said of a run in which the value at the pointer is another; "": nothing, it is sound.
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
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
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
  EXPECT_EQ(open().message(), "c/manifest.json: its hash is not its own: damaged or tampered with");
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
  EXPECT_EQ(said_with("/step", "3"), "manifest.json: run.step must be a count of at most 1000000000000000");
  EXPECT_EQ(said_with("/step", 2), "manifest.json: run.step is 2, but its training stands at step 3");
  EXPECT_EQ(said_with("/training/validated/0", 4),
            "manifest.json: run.training.validated is 4, and must be a count of at most 3");
}

// In place of each value that a run goes on from, others: what no run can have is refused, and nothing throws.
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
