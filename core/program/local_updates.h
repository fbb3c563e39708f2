// Updates that this worker makes itself: each as soon as its gradient is made, or, if gradients are clipped by their
// norm or may overflow, all at the end of the step.
#pragma once

#include <memory>
#include <vector>

#include "param/store/update_together.h"
#include "plugin/activity.h"
#include "program/loss_scale.h"
#include "program/param_exchange.h"

namespace dlhost::program {

class LocalUpdates final : public ParamExchange {
 public:
  struct One {
    std::unique_ptr<param::Update> update;
    const void* gradient = nullptr;
    std::size_t step = 0; // of the program, for timings
  };
  // Small updates that are made as one op, when the last of their gradients is made.
  struct Joined {
    std::vector<std::uint32_t> updates; // in the order of their steps
    std::unique_ptr<param::UpdateTogether> together;
    std::vector<const void*> gradients;
  };
  struct Setup {
    std::vector<One> updates;
    std::vector<Joined> joined;
    double clip_norm = 0; // of all gradients; 0: no clipping
    // The following outlive it.
    LossScale* loss_scale = nullptr; // null: gradients are not scaled
    Timings* timings = nullptr;
    plugin::Activity* activity = nullptr;
    const plugin::Actor* actor = nullptr; // the updater
  };
  explicit LocalUpdates(Setup);

  Status add(std::uint32_t update, const StepInfo& info) override {
    return waits_for_all() ? Status() : apply(update, info);
  }
  Status end_step(const StepInfo&) override;
  std::optional<double> gradient_norm() const override { return gradient_norm_; }
  void resume_at(std::uint64_t updates) override;
  void describe(std::uint32_t update, Timing&) const override;

  // Whether updates wait for the gradients of all params.
  bool waits_for_all() const { return setup_.clip_norm > 0 || setup_.loss_scale; }
  std::size_t step_of(std::uint32_t update) const { return setup_.updates[update].step; }
  Timings& timings() { return *setup_.timings; }

 private:
  Status apply(std::uint32_t update, const StepInfo&);
  Status apply_all(const StepInfo&);
  const Joined* joined(std::uint32_t update) const;

  Setup setup_;
  std::vector<std::uint32_t> joined_of_; // by update: index in `joined` plus one; 0: made alone
  std::optional<double> gradient_norm_;
  float gradient_scale_ = 1;
};

} // namespace dlhost::program
