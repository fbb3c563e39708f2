// The params and running state of one worker: masters, working copies, histories.
//
// A param has one master: f32, laid as its gradient lies. Every other form that some op wants (another dtype, another
// format) is a working copy, made at most once a version. Programs declare what they use while they are prepared;
// allocate() then makes what is new. Used by one task.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dlhost/device.h>
#include <dlhost/layer.h>
#include <dlhost/message.h>
#include <dlhost/updater.h>

#include "plugin/faults.h"

namespace dlhost::param {

struct Declaration {
  std::string name;
  Shape shape;
  Part init;
  std::int64_t fan_in = 0, fan_out = 0;
  double rate_scale = 1, decay_scale = 1;
  bool frozen = false;
};

// A form of a param. The master itself is the copy with an op that is null.
struct Copy {
  TensorDesc desc;
  Memory memory;
  std::unique_ptr<Op> from_master;
  Version version = 0; // of the master that it was made from
  bool eager = false;  // made right after the update, because the next step surely needs it
  void* data = nullptr;
};

struct Param {
  Declaration declared;
  TensorDesc master; // format any until it is settled
  Memory value;
  std::size_t slots = 0;       // of history, that the updater keeps
  std::vector<Memory> history; // as the master lies
  Version version = 1;
  std::vector<std::unique_ptr<Copy>> copies;
};

struct State {
  std::string name;
  TensorDesc desc;
  Merge merge = Merge::none;
  float initial = 0;
  Memory memory;
};

class Store {
 public:
  Store(Device& device, Stream& stream) : device_(device), stream_(stream) {}

  // The same name twice: one param, which both must declare alike in shape.
  Result<Param*> declare(const Declaration&);
  // How the gradient of a param lies, and so its master. The first to say wins; later ones convert.
  void settle(Param&, const TensorDesc& gradient);
  Copy& use(Param&, const TensorDesc&, bool eager);
  Result<State*> declare_state(std::string name, const BufferSpec&);
  // What the training program's batches hand on, sample row by sample row; it goes with the histories.
  State* declare_carried(std::string name, const BufferSpec&);

  // Settles the form of all that was declared; from here on bytes() tells what it takes, made or not.
  void lay_out(const Updater::Rule*);
  // Makes what was laid out and is not there yet: masters, copies, histories, state.
  Status allocate(const Updater::Rule*);

  // A new version of a param, from plain values on the host.
  Status set(Param&, std::span<const float> plain);
  // Brings a copy to its master's version.
  void refresh(Param&, Copy&);
  void refresh_eager(Param&);

  std::vector<std::unique_ptr<Param>>& params() { return params_; }
  const std::vector<std::unique_ptr<Param>>& params() const { return params_; }
  std::vector<std::unique_ptr<State>>& states() { return states_; }
  std::vector<std::unique_ptr<State>>& carried() { return carried_; }
  Param* find(std::string_view name);
  Device& device() { return device_; }
  Stream& stream() { return stream_; }
  std::int64_t elements() const;
  std::size_t bytes() const; // masters, copies, histories and state
  // Of a param, or of a state: what allocate() has yet to make.
  std::size_t missing(const Param&) const;
  std::size_t missing(const State&) const;
  std::size_t missing() const; // of all
  // On the host, in plain f32, for a moment: the largest file of a checkpoint; else the largest param.
  std::size_t largest_transfer(bool checkpoints) const;

 private:
  Status allocate(Param&, const Updater::Rule*);
  Status allocate(Param&, Copy&);
  void explain_memory();
  Status allocate(State&);
  std::size_t bytes(const Param&) const;

  Device& device_;
  Stream& stream_;
  std::vector<std::unique_ptr<Param>> params_;
  std::vector<std::unique_ptr<State>> states_, carried_;
  Memory scratch_;
  std::vector<plugin::FarMemory> far_; // all of it, where the device's memory is
};

} // namespace dlhost::param
