// The builder's internal state; builder.h says what it does. Its parts: builder_units.cpp (units, links, fusion),
// builder_steps.cpp (visits to steps), builder_factors.cpp (gradients sent as factors), builder_updates.cpp (updates)
// and builder_layout.cpp (memory, frames).
#pragma once

#include <map>
#include <set>

#include "net/fusion.h"
#include "program/builder.h"
#include "program/local_updates.h"
#include "program/memory.h"

namespace dlhost::program {

class Builder {
 public:
  Builder(Program& program, BuildRequest& request);

  Status prepare_units();
  Status expand();
  void lay_out();
  Status make_memory();
  Status bind_params();

 private:
  // builder_units.cpp
  Status prepare_unit(std::size_t node);
  Status declare(Unit&);
  Status prepare_view(Unit&);
  Result<SlotId> linked(SlotId from, const TensorDesc& wanted, bool on_host);
  Result<SlotId> reordered(SlotId from, const TensorDesc& wanted);
  SlotId copied(SlotId from, Direction);
  SlotId find_link(SlotId from, const TensorDesc& wanted, bool on_host) const;
  SlotId new_slot(const TensorDesc&, bool on_host);
  SlotId new_block(std::size_t bytes);
  bool is_delivered(std::size_t source, std::size_t output) const;
  SlotId source_slot(std::size_t node, std::size_t output) const;
  void settle_fusion(Unit&, const net::Fusion*, const class Preparation&);
  void keep(Unit&);
  bool adds_to_others(const net::Node&, std::size_t index, std::size_t input) const;

  // builder_steps.cpp
  Status emit(const Visit&);
  void emit_arrival(std::size_t source);
  void emit_feature(const Visit&);
  void emit_links(SlotId from, int frame);
  Status emit_gradient(const Visit&);
  Result<SlotId> reformed(SlotId from, const TensorDesc& wanted, const char* what);
  Status pass_gradient_on(Unit&, const Visit&, SlotId gradient);
  Status add_param_gradients(const Visit&);
  Status emit_update(const Visit&);
  Result<SlotId> input_gradient(const Unit&, std::size_t input, SlotId feature);
  Result<SlotId> fold(SlotId feature, int frame);
  Status fold_outputs(std::size_t unit, int frame);
  Status add_up(std::vector<SlotId>& contributions);
  Result<Op*> adder(const TensorDesc&, bool first);
  Result<SlotId> emit_call(Op*, std::vector<SlotId> in, const TensorDesc& out, float scalar, const char* what);
  void push_call(Program::Call);
  void touch(SlotId, int step);
  int here() const { return static_cast<int>(program_.steps_.size()); }
  void may_replace(SlotId written, SlotId read, int step);
  SlotId in_frame(SlotId, int frame) const;
  Program::UnitFrame& unit_frame(std::size_t unit, int frame);

  // builder_factors.cpp
  param::Factors factors_of(const net::Node&, const Factors&) const;
  Result<TensorDesc> made_of(const param::Factors&, const param::Param&) const;
  Status settle_factors(Unit&);
  bool is_one_product(const param::Param&, std::size_t node) const;
  Status send_factors(const Visit&);
  Result<SlotId> leave(SlotId from, const TensorDesc& wanted, const param::Param&, std::size_t at);
  SlotId left_on_host(SlotId from, const param::Param&, std::size_t at);
  void share(SlotId, const param::Param&, std::size_t at);

  // builder_updates.cpp
  struct Joining {
    param::Likeness likeness;
    std::vector<std::uint32_t> updates;
    std::vector<SlotId> gradients;
    std::uint32_t last = 0; // step of the last update
    std::int64_t elements = 0;
  };
  void join_updates();
  void mark_settling();
  std::size_t reader_of_params(const Program::Step&) const;
  Status make_exchange();
  Result<LocalUpdates::Setup> local_updates();
  Status join(LocalUpdates::Setup&, const Joining&);

  // builder_layout.cpp
  SlotId root(SlotId) const;
  Slot& root_slot(SlotId slot) { return program_.slots_[static_cast<std::size_t>(root(slot))]; }
  void join_lives();
  void reuse_in_place();
  void place_slots();
  void note_footprint();
  std::size_t alignment() const;
  void point(Program::UnitFrame&);
  void feed_sources();
  void make_metrics();
  void add_table(const std::string& name, SlotId);

  Program& program_;
  BuildRequest& request_;
  const std::vector<net::Node>& nodes_;
  std::vector<net::Fusion> fusions_;
  std::vector<const net::Fusion*> fusion_of_;               // by producer
  std::vector<std::vector<SlotId>> node_outputs_;           // slots of frame 0
  std::vector<bool> done_feature_, passed_through_;         // by node: another unit does this work
  SlotId frame_slots_ = 0;                                  // number of slots in a frame
  std::map<SlotId, std::vector<SlotId>> contributions_;     // to the gradient of a feature slot, in any frame
  std::set<SlotId> sole_;                                   // contributions with no other reader
  std::map<std::size_t, bool> folded_;                      // unit frames whose output gradients are summed
  std::map<std::pair<std::size_t, int>, int> param_visits_; // gradient calls for params, by node and frame
  std::map<param::Param*, int> awaited_;                    // contributions still missing
  std::map<param::Param*, SlotId> param_gradient_;          // the sum so far
  Updater::Rule rule_;                                      // of a training program
  std::vector<std::pair<const Slot*, Block>> placed_;       // in the device's arena
  std::map<const param::Param*, std::size_t> update_of_;
  struct Replacement {
    SlotId written, read;
    int step;
  };
  std::vector<Replacement> replacements_;
  std::map<std::string, Op*> adders_;
  std::vector<Joining> joined_;
};

} // namespace dlhost::program
