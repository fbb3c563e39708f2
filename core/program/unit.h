// The pieces that a program is made of while it is built: slots (tensors with a life), units (layers at work) and links
// (what core puts between two of them). An index stands for each, so that frames can repeat them.
#pragma once

#include <climits>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <dlhost/layer.h>

#include "net/graph.h"
#include "param/store/store.h"
#include "plugin/activity.h"

namespace dlhost::program {

using SlotId = std::int32_t;
inline constexpr SlotId no_slot = -1;

struct Slot {
  TensorDesc desc;
  std::size_t bytes = 0;
  bool on_host = false;                 // in host memory, of a device whose memory the host cannot reach
  bool external = false;                // the feeder's memory, another address each step
  bool kept = false;                    // read from outside after the step
  const param::Param* shared = nullptr; // of its gradient, what other workers may read, where those look for it
  std::size_t shared_at = 0;            // behind where that begins
  int first = INT_MAX, last = -1;       // steps that touch it
  SlotId alias = no_slot;               // lies where that one lies
  std::size_t offset = SIZE_MAX;        // in its arena; SIZE_MAX: nobody ever touches it
  void* data = nullptr;
};

// Turns a slot into another form: a reorder on the device, or a copy between host and device.
struct Link {
  SlotId from = no_slot, to = no_slot;   // of frame 0
  std::unique_ptr<Op> forward, backward; // null: a copy
  Direction direction = Direction::within;
};

struct Buffer {
  std::string name;
  std::size_t bytes = 0;
  Life life = Life::scratch;
  TensorDesc desc;                    // of what setup declared
  param::State* state = nullptr;      // running
  std::vector<param::State*> carried; // of each frame, in training
  float initial = 0;                  // carried, in evaluation
};

// What is known of an op that a layer prepared: for `check -v`, the profile and the plan.
struct OpReport {
  Role role = Role::feature;
  std::string spec, kernel, formats, remark;
  double operations = 0;
  double bytes = 0; // operands and results, each once
};

struct ParamBinding {
  param::Param* param = nullptr;
  param::Copy* copy = nullptr;
};

struct Unit {
  std::size_t node = 0;
  const net::Node* described = nullptr;
  Layer* layer = nullptr;
  // Slots of frame 0; frame f's are these plus f times the number of slots a frame.
  std::vector<SlotId> inputs, outputs;
  std::vector<bool> wants_input_gradient;
  std::vector<bool> adds_input_gradient; // the layer adds to what others contributed before it
  std::vector<Buffer> buffers;
  std::vector<SlotId> buffer_slots; // no_slot: state
  std::vector<ParamBinding> uses;
  std::vector<param::Param*> params;      // as declared
  std::vector<TensorDesc> gradient_forms; // of each param
  std::vector<OpReport> ops;
  std::size_t scratch = 0;
  bool on_host = false;
  bool view = false;
  bool feature_fused = false;             // another unit's op makes its output
  bool gradient_fused = false;            // and takes its gradient
  bool reads_output = false;              // its gradient needs its outputs
  std::size_t epilogue_addend = SIZE_MAX; // which input is the addend
  std::string fusion_remark;              // with what it was fused, into what, or why not
};

} // namespace dlhost::program
