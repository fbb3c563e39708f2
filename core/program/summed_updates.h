// Updates that each worker makes alike, of the sum of all workers' gradients: their devices add these up.
#pragma once

#include <memory>
#include <vector>

#include "program/gradient_sums.h"
#include "program/local_updates.h"

namespace dlhost::program {

class SummedUpdates final : public ParamExchange {
 public:
  struct Gradient {
    void* data = nullptr;
    std::int64_t count = 0;
  };
  // `gradients`: one for each update.
  SummedUpdates(LocalUpdates::Setup, std::vector<Gradient> gradients, std::unique_ptr<GradientSums>,
                param::DeviceSums&);

  Status progress() override { return others_.progress(); }
  Status add(std::uint32_t update, const StepInfo&) override;
  Status settle(const StepInfo&) override;
  Status end_step(const StepInfo&) override;
  void abandon() override;
  std::optional<double> gradient_norm() const override { return local_.gradient_norm(); }
  void resume_at(std::uint64_t updates) override { local_.resume_at(updates); }
  void describe(std::uint32_t update, Timing& timing) const override { local_.describe(update, timing); }

 private:
  LocalUpdates local_;
  const std::vector<Gradient> gradients_;
  const std::unique_ptr<GradientSums> sums_;
  param::DeviceSums& others_;
  std::vector<std::uint32_t> unsettled_; // updates that wait for their sums
};

} // namespace dlhost::program
