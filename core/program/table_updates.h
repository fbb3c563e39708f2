// Updates by the servers of the parameter table: the gradients of this worker are its contributions.
#pragma once

#include <memory>
#include <vector>

#include "param/table/shared_params.h"
#include "program/host_copies.h"
#include "program/param_exchange.h"

namespace dlhost::program {

class TableUpdates final : public ParamExchange {
 public:
  // `updated`: the params, in the order of their updates. `copies`: beside the computing; null: contributions are in
  // their place when their gradients are made.
  TableUpdates(param::Store& store, param::SharedParams& sharing, std::vector<const param::Param*> updated,
               std::unique_ptr<HostCopies> copies)
      : store_(store), sharing_(sharing), updated_(std::move(updated)), copies_(std::move(copies)) {}

  Status progress() override;
  Status collect(const param::Param& param) override;
  void converts(bool begins) override;
  Status add(std::uint32_t update, const StepInfo& info) override;
  Status end_step(const StepInfo&) override;
  void abandon() override;
  std::optional<double> gradient_norm() const override { return sharing_.gradient_norm(); }

 private:
  Status send(std::uint32_t update);
  Status send_what_has_left();

  param::Store& store_;
  param::SharedParams& sharing_;
  const std::vector<const param::Param*> updated_;
  const std::unique_ptr<HostCopies> copies_;
  std::uint64_t step_ = 0; // of the updates that are added
  double rate_ = 0;
};

} // namespace dlhost::program
