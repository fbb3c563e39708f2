// The units of a program (layers at work) and the links between them (core's conversions). Both refer to slots by
// index, so that frames can repeat them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dlhost/layer.h>

#include "net/part.h"
#include "param/store/store.h"
#include "plugin/activity.h"
#include "program/slots.h"

namespace dlhost::program {

// Converts a slot to another form: a reorder on the device, or a copy between host and device.
struct Link {
  SlotId from = no_slot, to = no_slot;   // in frame 0
  std::unique_ptr<Op> forward, backward; // null: a copy
  Direction direction = Direction::within;
};

struct Buffer {
  std::string name;
  std::size_t bytes = 0;
  Life life = Life::scratch;
  TensorDesc desc;                    // as declared in setup
  param::State* state = nullptr;      // for running state
  std::vector<param::State*> carried; // one for each frame, in training
  float initial = 0;                  // of carried state, in evaluation
};

// A prepared op, described for `check -v`, the profile and the plan.
struct OpReport {
  Role role = Role::feature;
  std::string spec, kernel, formats, remark;
  double operations = 0;
  double bytes = 0; // of operands and results, each counted once
};

struct ParamBinding {
  param::Param* param = nullptr;
  param::Copy* copy = nullptr;
};

struct Unit {
  // The form of the part of a param that this worker holds, in the master.
  TensorDesc master_of(std::size_t param) const {
    return param_places[param] ? TensorDesc{DType::f32, param_places[param]->shape, Format::plain()}
                               : params[param]->master;
  }
  bool holds(std::size_t param) const { return !param_places[param] || param_places[param]->shape.count() > 0; }

  std::size_t node = 0;
  const net::Node* described = nullptr;
  net::NodePart part; // of the node, that this worker computes
  Layer* layer = nullptr;
  // Slots of frame 0; frame f adds f times the number of slots per frame.
  std::vector<SlotId> inputs, outputs;
  std::vector<bool> wants_input_gradient;
  std::vector<bool> adds_input_gradient; // the layer adds to earlier contributions
  std::vector<Buffer> buffers;
  std::vector<SlotId> buffer_slots; // no_slot: the buffer is state
  std::vector<ParamBinding> uses;
  std::vector<param::Param*> params; // in the order of declaration
  std::vector<std::optional<param::Store::Place>>
      param_places;                       // of the parts that this worker holds; none: it is whole
  std::vector<TensorDesc> gradient_forms; // one for each param
  std::vector<OpReport> ops;
  std::size_t scratch = 0;
  bool on_host = false;
  bool view = false;
  bool feature_fused = false;             // another unit's op makes its output
  bool gradient_fused = false;            // and handles its gradient
  bool reads_output = false;              // its gradient reads its outputs
  std::size_t epilogue_addend = SIZE_MAX; // index of the addend input
  std::string fusion_remark;              // fused with what, into what, or why not
};

} // namespace dlhost::program
