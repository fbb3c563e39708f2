// The evaluations of a training, during it and at its end, by the leader or the testing group; and what follows from
// them: which validation is the best so far, and whether the training has reached the accuracy at which it stops.
//
// Owns: the newest results, the position of the last evaluations, and the best, which checkpoints keep.
// Thread: the training's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "run/coordinator/due.h"
#include "run/coordinator/observer.h"
#include "run/coordinator/tester.h"
#include "run/session/checkpoints.h"

namespace dlhost::run {

// The best validation so far.
struct Best {
  std::string metric;
  double value = 0;
  std::uint64_t step = 0;
  double epoch = 0, seconds = 0;
};

class Evaluations {
 public:
  // The functions of the training that evaluations call. Both outlive them.
  struct Training {
    std::function<Status()> settle;        // all updates of the steps so far are made
    std::function<nlohmann::json()> state; // of the training, for a checkpoint
  };
  Evaluations(Session& session, Training training) : session_(session), training_(std::move(training)) {}

  // A best checkpoint is kept there. Default: none is kept.
  void keep_best_in(Checkpoints* checkpoints) { checkpoints_ = checkpoints; }
  // A testing group evaluates params that are written there. Default: the leader evaluates.
  void test_beside(Checkpoints*);

  // A run begins: it has no results yet.
  void begin();
  // Makes those that are due, or asks the testing group for them.
  Status make_due(const Progress&, Observer&);
  // Takes results of the testing group, if there is one. `wait`: waits for the results that are still to come.
  Status hear(Observer&, bool wait);
  // Makes those that the job asks for at the end, unless they were made after the last step.
  Status make_last(const Progress&, Observer&);

  // True once after a validation that is the best so far, if a best checkpoint is kept.
  bool take_new_best() { return std::exchange(is_best_, false) && keeps_best(); }
  // The new best was not saved, and the checkpoint of the one before is still there.
  void restore_best() { kept_.best = best_before_; }

  const Evaluation& validation() const { return validation_; }
  const Evaluation& test() const { return test_; }
  // The reason to stop that the newest results give, once; empty: none.
  std::string take_reason() { return std::exchange(reason_, {}); }
  // None: no best checkpoint is kept, or there is no finite value yet.
  std::optional<Best> best() const { return keeps_best() ? kept_.best : std::nullopt; }

  // What checkpoints keep. It is taken back if a step is repeated.
  struct Kept {
    LastTime validated, tested;
    std::optional<Best> best; // by the metric of checkpoint.best; none: there is no finite one yet
    std::int64_t worse = 0;   // evaluations since the best
  };
  const Kept& kept() const { return kept_; }
  void restore(const Kept& kept) { kept_ = kept; }
  void write(nlohmann::json& training) const;
  void read(const nlohmann::json& training);

 private:
  bool keeps_best() const { return checkpoints_ && kept_.best && session_.job().checkpoint.best != "none"; }
  Result<Evaluation> evaluate(const Progress&, Phase, Observer&);
  void judge(const Progress&, const Evaluation&);
  void learn(const Progress&, Phase, Evaluation);
  Status ask(const Progress&, bool validates, bool tests);
  Status test_best(const Progress&, const param::CheckpointFiles&, Observer&);

  Session& session_;
  const Training training_;
  Checkpoints* checkpoints_ = nullptr;
  std::unique_ptr<Tester> tester_; // null: the leader evaluates
  Checkpoints* tested_beside_ = nullptr;
  Evaluation validation_, test_; // the last of each; at the end, the test is of the best if a best is kept
  std::string reason_;           // to stop; empty: none
  Kept kept_;
  std::optional<Best> best_before_; // the best before the newest evaluation
  bool is_best_ = false;            // the newest evaluation is the best
};

} // namespace dlhost::run
