// Workers whose contributions go through a codec.
#include <cmath>

#include "share.h"
#include "trained.h"

namespace dlhost::test {
namespace {

using CodecTest = Bench;

std::vector<std::string> coded(const std::string& codec, std::vector<std::string> more = {}) {
  if (!codec.empty()) more.push_back("topology.codec=" + codec);
  more.insert(more.end(), {"topology.workers_per_group=3", "topology.servers_per_group=2", "topology.slice_elements=20",
                           "topology.codec_elements=1"});
  return more;
}

const std::vector<std::string> codecs{
    "\"bf16\"",     "\"dithering\"", "\"fp16\"",  "\"int8\"",
    "\"none\"",     "\"one_bit\"",   "\"top_k\"", "{ type = \"power_sgd\", rank = 1 }",
    "\"random_k\"", "\"rows\""};

// Contributions are added in the order of the workers with and without a codec.
TEST_F(CodecTest, WhatLosesNothingChangesNothing) {
  const auto plain = train(small_job(), coded(""));
  const auto coded_none = train(small_job(), coded("\"none\""));
  EXPECT_EQ(coded_none.params, plain.params);
  EXPECT_EQ(plain.outcome.encoded.dense, 0U);
  EXPECT_GT(coded_none.outcome.encoded.dense, 0U);
  EXPECT_GT(coded_none.outcome.encoded.sent, coded_none.outcome.encoded.dense) << "each says how long it is";
}

TEST_F(CodecTest, SmallParamsAreSentAsTheyAre) {
  auto settings = coded("\"one_bit\"");
  settings.push_back("topology.codec_elements=100000");
  const auto sent = train(small_job(), settings);
  EXPECT_EQ(sent.params, train(small_job(), coded("")).params);
  EXPECT_EQ(sent.outcome.encoded.dense, 0U);
}

TEST_F(CodecTest, EveryCodecLearns) {
  const auto plain = train(small_job(), coded("", {"train.stop.steps=120"}));
  for (const std::string& codec : codecs) {
    SCOPED_TRACE(codec);
    const auto trained = train(small_job(), coded(codec, {"train.stop.steps=120"}));
    ASSERT_EQ(trained.test.size(), 1U);
    EXPECT_LT(trained.test[0].second, 2 * plain.test[0].second + 0.05 * plain.losses.front());
    EXPECT_EQ(trained.params == plain.params, codec == "\"none\"" || codec == "\"rows\"");
  }
}

TEST_F(CodecTest, ItIsTheSameTwiceAndWhenItIsResumed) {
  for (const std::string& codec : codecs) {
    SCOPED_TRACE(codec);
    const std::string checkpoints = folder_ / codec;
    const auto whole = train(small_job(), coded(codec));
    EXPECT_EQ(train(small_job(), coded(codec)).params, whole.params);
    const auto first = train(small_job(), coded(codec), 17, {}, checkpoints);
    EXPECT_EQ(first.outcome.ending, run::Ending::interrupted);
    const auto rest = train(small_job(), coded(codec), 0, checkpoints);
    ASSERT_EQ(first.losses.size() + rest.losses.size(), whole.losses.size());
    EXPECT_TRUE(std::equal(rest.losses.begin(), rest.losses.end(), whole.losses.begin() + 17));
    EXPECT_EQ(rest.params, whole.params);
  }
}

// Another codec, or none, adds the remainder; one codec's learned state means nothing to another.
TEST_F(CodecTest, AnotherCodecGoesOnWithWhatWasLeftOut) {
  const std::string checkpoints = folder_ / "checkpoints";
  train(small_job(), coded("{ type = \"power_sgd\", rank = 1 }"), 17, {}, checkpoints);
  for (const std::string codec : {"{ type = \"power_sgd\", rank = 2 }", "\"one_bit\"", ""}) {
    SCOPED_TRACE(codec);
    const auto rest = train(small_job(), coded(codec), 0, checkpoints);
    EXPECT_EQ(rest.losses.size(), 40U - 17U);
  }
  // One step, after 17 that changed nothing: with the remainder of these, and without.
  const auto steps = [&](const std::string& codec) {
    const std::string from = folder_ / ("from " + codec);
    train(small_job(), coded(codec, {"updater.rate=0.0"}), 17, {}, from);
    return train(small_job(), coded("\"bf16\"", {"train.stop.steps=18"}), 0, from);
  };
  const auto with = steps("\"top_k\""), without = steps("");
  EXPECT_EQ(with.losses, without.losses);
  EXPECT_NE(with.params, without.params);
}

TEST_F(CodecTest, ValuesOfTheirOwnStayWhateverTheCodec) {
  const std::vector<std::string> elastic{"topology.worker_groups=2", "topology.consistency=elastic", "train.batch=6",
                                         "topology.codec_elements=1"};
  const auto with = [&](const std::string& codec) {
    auto settings = elastic;
    if (!codec.empty()) settings.push_back("topology.codec=" + codec);
    return settings;
  };
  const std::string checkpoints = folder_ / "checkpoints";
  const auto first = train(small_job(), with("\"bf16\""), 17, {}, checkpoints);
  const auto fresh = train(small_job(), with(""));
  for (const std::string codec : {"\"bf16\"", "\"one_bit\"", ""}) {
    SCOPED_TRACE(codec);
    const auto rest = train(small_job(), with(codec), 0, checkpoints);
    ASSERT_EQ(rest.losses.size(), 23U);
    EXPECT_LT(rest.losses.front(), 0.8 * fresh.losses.front()) << "it computes with what it had learned";
  }
  EXPECT_EQ(first.losses.size(), 17U);
}

TEST_F(CodecTest, NormsAndSumsAreThoseOfWhatIsDecoded) {
  std::string lamb = small_job();
  lamb.replace(lamb.find("type = \"sgd\"\nmomentum = 0.9"), 27, "type = \"lamb\"");
  for (const std::string& job : {small_job(), lamb}) {
    const std::vector<std::string> clipped{"updater.rate=0.02", "updater.clip_norm=0.05"};
    EXPECT_EQ(train(job, coded("\"none\"", clipped)).params, train(job, coded("", clipped)).params);
  }
}

// Codecs that need the whole matrix get it in plain layout, in any format of the masters.
TEST_F(CodecTest, MastersThatDoNotLiePlainAreSeenPlain) {
  for (const std::string codec : {"\"one_bit\"", "{ type = \"power_sgd\", rank = 1 }"}) {
    SCOPED_TRACE(codec);
    const auto plain = train(small_job(), coded(codec));
    const auto blocked = train(small_job(), coded(codec, {"train.device={ type = \"ref\", formats = \"blocked\" }"}));
    for (const auto& [name, values] : plain.params)
      for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], blocked.params.at(name)[i], 1e-4) << name;
  }
}

TEST_F(CodecTest, EveryHandlerTakesWhatIsEncoded) {
  for (const std::string handler :
       {"eventual", "{ type = \"eventual\", push = 3, fetch = 2 }", "elastic", "hogwild", "bounded",
        "{ type = \"first_t\", t = 2 }", "backup", "{ type = \"first_t\", late = \"fold\" }",
        "{ type = \"first_t\", choose = \"slice\", late = \"fold\" }"})
    for (const std::string codec : {"\"bf16\"", "\"one_bit\"", "\"top_k\"", "\"dithering\""}) {
      SCOPED_TRACE(handler + " with " + codec);
      const auto trained =
          train(small_job(), {"topology.worker_groups=3", "topology.servers_per_group=2", "topology.codec=" + codec,
                              "topology.consistency=" + handler, "topology.codec_elements=1", "train.batch=6",
                              "train.stop.steps=100", "updater.rate=0.015"});
      ASSERT_EQ(trained.test.size(), 1U);
      EXPECT_LT(trained.test[0].second, 0.6 * trained.losses.front());
      EXPECT_GT(trained.outcome.encoded.sent, 0U);
      EXPECT_LT(trained.outcome.encoded.sent, trained.outcome.encoded.dense);
    }
}

const std::vector<std::string> syncs{"all_to_all", "chain",  "halving", "hierarchical",
                                     "ring",       "shares", "star",    "twin_master"};

std::vector<std::string> exchanged(int groups, const std::string& sync, const std::string& codec,
                                   std::vector<std::string> more = {}) {
  more.insert(more.end(),
              {concat("topology.worker_groups=", groups), concat("topology.server_groups=", groups),
               "topology.sync={ type = \"" + sync + "\", of = \"gradients\" }", concat("train.batch=", 12 / groups),
               "topology.slice_elements=20", "topology.codec_elements=1"});
  if (!codec.empty()) more.push_back("topology.codec=" + codec);
  return more;
}

// All groups continue with the exchanged sum: they make the same versions (else the run reports it).
TEST_F(CodecTest, ServerGroupsExchangeGradientsThroughAnyCodec) {
  const auto plain = train(small_job(), {"train.stop.steps=120"});
  Chosen chosen;
  for (const std::string& sync : syncs)
    for (const int groups : {2, 3, 4})
      for (const std::string& codec : codecs) {
        if (!chosen.next()) continue;
        SCOPED_TRACE(concat(sync, " of ", groups, " with ", codec));
        const auto trained = train(small_job(), exchanged(groups, sync, codec, {"train.stop.steps=120"}));
        ASSERT_EQ(trained.test.size(), 1U);
        EXPECT_LT(trained.test[0].second, 2 * plain.test[0].second + 0.05 * plain.losses.front());
        EXPECT_GT(trained.outcome.encoded.dense, 0U);
        if (codec != "\"none\"" && codec != "\"rows\"") continue;
        const auto uncoded = train(small_job(), exchanged(groups, sync, "", {"train.stop.steps=120"}));
        if (codec == "\"none\"") {
          EXPECT_EQ(trained.params, uncoded.params);
          continue;
        }
        for (const auto& [name, values] : trained.params) // a whole slice is summed in another order
          for (std::size_t i = 0; i < values.size(); ++i)
            EXPECT_NEAR(values[i], uncoded.params.at(name)[i], 1e-4) << name;
      }
}

TEST_F(CodecTest, WhatGroupsLeftOutIsThereWhenItIsResumed) {
  Chosen chosen;
  for (const std::string& codec : codecs)
    for (const std::string sync : {"halving", "ring"}) {
      if (!chosen.next()) continue;
      SCOPED_TRACE(concat(sync, " with ", codec));
      const std::string checkpoints = folder_ / (sync + codec);
      const auto settings = exchanged(3, sync, codec);
      const auto whole = train(small_job(), settings);
      EXPECT_EQ(train(small_job(), settings).params, whole.params);
      train(small_job(), settings, 17, {}, checkpoints);
      EXPECT_EQ(train(small_job(), settings, 0, checkpoints).params, whole.params);
    }
}

TEST_F(CodecTest, ServerGroupsExchangeWhatTheyLearnedThroughIt) {
  Chosen chosen;
  for (const std::string& sync : syncs)
    for (const std::string codec : {"\"none\"", "\"bf16\"", "\"int8\"", "\"top_k\"", "\"one_bit\""})
      for (const std::string handler : {"strict", "eventual"}) {
        if (!chosen.next()) continue;
        SCOPED_TRACE(concat(sync, " under ", handler, " with ", codec));
        const std::vector<std::string> settings{"topology.worker_groups=3",
                                                "topology.server_groups=3",
                                                "topology.sync={ type = \"" + sync + "\", every = 2 }",
                                                "topology.consistency=" + handler,
                                                "train.batch=4",
                                                "train.stop.steps=120",
                                                "topology.slice_elements=20",
                                                "topology.codec_elements=1",
                                                "topology.codec_for=\"exchanges\"",
                                                "topology.codec=" + codec};
        const auto trained = train(small_job(), settings);
        ASSERT_EQ(trained.test.size(), 1U);
        EXPECT_LT(trained.test[0].second, 0.6 * trained.losses.front());
        EXPECT_GT(trained.outcome.encoded.dense, 0U);
      }
}

TEST_F(CodecTest, MatricesThatDoNotLiePlainAreExchangedPlain) {
  for (const std::string codec : {"\"one_bit\"", "{ type = \"power_sgd\", rank = 1 }", "\"bf16\""}) {
    SCOPED_TRACE(codec);
    const auto plain = train(small_job(), exchanged(3, "ring", codec));
    const auto blocked =
        train(small_job(), exchanged(3, "ring", codec, {"train.device={ type = \"ref\", formats = \"blocked\" }"}));
    for (const auto& [name, values] : plain.params)
      for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], blocked.params.at(name)[i], 1e-3) << name;
  }
}

} // namespace
} // namespace dlhost::test
