// Values that layers carry from batch to batch.
#include "proofs.h"

namespace dlhost::test {
namespace {

class Carried : public Proofs {};
INSTANTIATE_TEST_SUITE_P(Ref, Carried, near_and_far(), near_or_far);

std::string carried_job() {
  std::string job = small_job();
  job.replace(job.find("[[layer]]\nname = \"fc1\""), 0,
              "[[layer]]\nname = \"total\"\ntype = \"running_total\"\nsrc = \"data\"\n");
  job.replace(job.find("src = \"data\"\nunits"), 12, "src = \"total\"");
  return job;
}

TEST_P(Carried, WhatIsCarriedGoesFromBatchToBatchAndIntoCheckpoints) {
  const std::string checkpoints = folder_ / "checkpoints";
  const auto whole = train(carried_job(), with({}));
  train(carried_job(), with({}), 17, {}, checkpoints);
  const auto rest = train(carried_job(), with({}), 0, checkpoints);
  EXPECT_TRUE(std::equal(rest.losses.begin(), rest.losses.end(), whole.losses.begin() + 17));
  EXPECT_EQ(rest.params, whole.params);

  // The state after 17 steps: the total of each row of the batch.
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

TEST_P(Carried, EachFrameCarriesItsOwnRows) {
  const auto whole = train(carried_job(), with({}));
  const auto cut = train(carried_job(), with({"train.algorithm={ type = \"bp\", micro_batches = 3 }"}));
  for (const auto& [name, values] : whole.params)
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], cut.params.at(name)[i], 1e-4) << name;
}

TEST_P(Carried, AnEvaluationCarriesFromItsOwnBeginning) {
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
