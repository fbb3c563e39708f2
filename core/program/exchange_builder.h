// Makes what turns gradients into new values (param_exchange.h), for a program whose slots have memory. Thread: one.
#pragma once

#include <memory>
#include <vector>

#include "param/store/update.h"
#include "param/table/shared_params.h"
#include "program/box_exchange.h"
#include "program/local_updates.h"
#include "program/step.h"
#include "program/summed_updates.h"

namespace dlhost::program {

// Updates of small params that are made as one op.
struct UpdateGroup {
  param::Likeness likeness;
  std::vector<std::uint32_t> updates;
  std::vector<SlotId> gradients;
  std::uint32_t last = 0; // step of the last update
  std::int64_t elements = 0;
};

// How the params of a program are updated.
struct UpdateRequest {
  const Updater* updater = nullptr; // null: of a program that evaluates
  const plugin::Actor* actor = nullptr;
  Updater::Rule rule;
  param::UpdateSettings settings;
  double clip_norm = 0;
  std::vector<UpdateGroup> groups;
  param::SharedParams* sharing = nullptr; // null: the program updates its params
  param::DeviceSums* others = nullptr;    // null: no devices sum gradients
  bool crosses_beside = false;            // contributions leave the device beside the computing
  BoxExchange* boxes = nullptr;           // the group's other workers, if tensors go to them
  LentMemory lent;                        // empty: no tensors go to others
};

class ExchangeBuilder {
 public:
  // All outlive the exchange, except `steps` and `slots`.
  struct Setup {
    Device& device;
    Stream& stream;
    param::Store& store;
    plugin::Activity* activity = nullptr;
    LossScale* loss_scale = nullptr; // null: gradients are not scaled
    Timings* timings = nullptr;
    const std::vector<Step>& steps;
    const Slots& slots;
    const std::vector<param::Param*>& updated;
  };
  ExchangeBuilder(const UpdateRequest& request, const Setup& setup) : request_(request), setup_(setup) {}

  // `calls`: those that leave the device get the copies that make them.
  Result<std::unique_ptr<ParamExchange>> build(std::vector<Call>& calls) const;

 private:
  Result<std::unique_ptr<ParamExchange>> through_table(std::vector<Call>&) const;
  Result<std::unique_ptr<ParamExchange>> with_sums(LocalUpdates::Setup) const;
  Result<LocalUpdates::Setup> local() const;
  Status join(LocalUpdates::Setup&, const UpdateGroup&) const;
  void* data(SlotId slot) const { return setup_.slots[slot].data; }

  const UpdateRequest& request_;
  const Setup& setup_;
};

} // namespace dlhost::program
