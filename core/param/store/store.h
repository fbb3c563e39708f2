// The params and running state of one worker: masters, working copies, histories.
//
// A param has one master: f32, with the layout of its gradient. Every other form that an op needs (another dtype or
// format) is a working copy, made at most once a version. Programs declare their forms while they are prepared;
// allocate() then makes the new ones. Thread: one task.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dlhost/device.h>
#include <dlhost/layer.h>
#include <dlhost/message.h>
#include <dlhost/updater.h>

#include "param/store/factors.h"
#include "param/store/param_part.h"
#include "plugin/faults.h"

namespace dlhost::param {

struct Declaration {
  std::string name;
  Shape shape;
  Part init;
  Location init_at; // in the job
  std::int64_t fan_in = 0, fan_out = 0;
  double rate_scale = 1, decay_scale = 1;
  bool frozen = false;
  Part consistency{}; // consistency handler of this param; empty type: the job's handler
  ParamParts parts{}; // those that workers of a group hold; empty: all hold all of it
};

// Memory of a store: owned or lent.
class Held {
 public:
  Held() = default;
  Held(Memory own) : own_(std::move(own)), data_(own_.data()), size_(own_.size()) {}
  explicit Held(std::span<std::byte> lent) : data_(lent.data()), size_(lent.size()) {}
  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  Memory own_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// A form of a param or of a part of it. `from_master` is null if it has the master's form.
struct Copy {
  TensorDesc desc;
  TensorDesc source;  // in the master: all of it, or a part
  std::size_t at = 0; // offset of the source in the master, in bytes
  Memory memory;
  std::unique_ptr<Op> from_master;
  Version version = 0;         // of the master it was made from
  bool eager = false;          // refreshed right after the update, because the next step needs it
  Memory landing;              // land_beside() only: the master's values, before conversion into this form
  std::uint64_t landed_in = 0; // number of the step, counted by the store
  void* data = nullptr;
};

struct Param {
  Declaration declared;
  std::size_t number = 0; // index among the store's params
  TensorDesc master;      // format any until settle()
  Held value;
  bool updated = false;           // the training program computes its gradient
  std::optional<Factors> factors; // sent to other workers in place of the gradient
  Pieces pieces;                  // if the gradient is made of factors: how the master can be cut
  std::size_t slots = 0;          // history slots of the updater
  std::vector<Held> history;      // in the master's layout
  Version version = 1;
  std::vector<std::unique_ptr<Copy>> copies;
};

struct State {
  std::string name;
  TensorDesc desc;
  Merge merge = Merge::none;
  float initial = 0;
  Held memory;
};

// Lends the memory that several workers share. An empty result: the store allocates its own.
class Lender {
 public:
  virtual ~Lender() = default;
  // `which`: 0 is the value, 1 and up are history slots.
  virtual std::span<std::byte> lend(const Param&, std::size_t which) = 0;
  // True: the store initialises the lent memory. False: another store does.
  virtual bool fills() const = 0;
  // Running state, by its index in the store.
  virtual std::span<std::byte> lend_state(std::size_t place) = 0;
};

class Store {
 public:
  // One device computes and has the masters.
  Store(Device& device, Stream& stream) : masters_{device, stream}, computing_{device, stream} {}
  // Masters and histories are on `masters`, whose memory the host reaches, because other processes share them. The
  // computing device has copies.
  struct Home {
    Device& device;
    Stream& stream;
  };
  Store(Home masters, Home computing) : masters_(masters), computing_(computing) {}

  // Declares a param. A second declaration of the same name gives the same param. Errors: it has another shape.
  Result<Param*> declare(const Declaration&);
  // Sets formats for the masters with these names: another worker's net chose them.
  void prefer(std::map<std::string, std::string> formats) { preferred_ = std::move(formats); }
  // Sets the layout of a param's gradient and master. The first caller decides; later users convert. With apart() the
  // layout is plain, which all devices know; so is that of a param in parts.
  void settle(Param&, const TensorDesc& gradient);
  // `part`: the shape of the part of the param that is used, and its first element; none: all of it.
  struct Place {
    Shape shape;
    std::int64_t first = 0;
  };
  Copy& use(Param&, const TensorDesc&, bool eager, const std::optional<Place>& part = {});
  Result<State*> declare_state(std::string name, const BufferSpec&);
  // State that training batches hand on, sample row by sample row. It is stored with the histories.
  State* declare_carried(std::string name, const BufferSpec&);

  // Settles the form of all declared tensors. From here on bytes() counts them, allocated or not.
  void lay_out(const Updater::Rule*);
  // From here on the lender provides masters and histories.
  void borrow(Lender& lender) { lender_ = &lender; }
  // Allocates what was laid out and does not exist yet: masters, copies, histories, state.
  Status allocate(const Updater::Rule*);

  // Sets all elements of memory that has the master's layout.
  Status fill(const Param&, const Held&, float value);
  // Sets a new version of a param from plain values on the host.
  Status set(Param&, std::span<const float> plain);
  // Announces another version of a master, perhaps at another place in the lent memory.
  void move(Param&, std::span<std::byte> value);
  // The same for its history.
  void move_history(Param& param, std::size_t slot, std::span<std::byte> history) {
    param.history[slot] = Held(history);
  }
  // Brings a copy to its master's version. With apart() the transfer may be under way until landed().
  Status refresh(Param&, Copy&);
  Status refresh_eager(Param&);
  Status landed();
  // From here on values are transferred on a separate stream, beside the computation. The computing task calls rests()
  // when it has enqueued all ops of a step that read copies; the transfers of the next step wait for these ops.
  Status land_beside();
  Status rests();

  std::vector<std::unique_ptr<Param>>& params() { return params_; }
  const std::vector<std::unique_ptr<Param>>& params() const { return params_; }
  std::vector<std::unique_ptr<State>>& states() { return states_; }
  const std::vector<std::unique_ptr<State>>& states() const { return states_; }
  std::vector<std::unique_ptr<State>>& carried() { return carried_; }
  bool carries() const { return !carried_.empty(); }
  Param* find(std::string_view name);
  // Of the masters.
  Device& device() const { return masters_.device; }
  Stream& stream() { return masters_.stream; }
  const Home& masters() const { return masters_; }
  // The home of copies and running state.
  const Home& computing() const { return computing_; }
  // Waits until both streams have done all their work.
  Status wait();
  bool apart() const { return &masters_.device != &computing_.device; }
  std::int64_t elements() const;
  std::size_t bytes() const; // masters, copies, histories and state on the computing device
  // Bytes that allocate() has yet to make for a param or a state.
  std::size_t missing(const Param&) const;
  std::size_t missing(const State&) const;
  std::size_t missing() const;  // of all
  std::size_t lendable() const; // the part of missing() that a lender would lend
  // Temporary host bytes in plain f32: of the largest file of a checkpoint, else of the largest param.
  std::size_t largest_transfer(bool checkpoints) const;

 private:
  Status allocate(Param&, const Updater::Rule*);
  Status allocate(Param&, Copy&);
  Status allocate_rooms();
  Status land(const Param&, Copy&);
  Result<Held> held(const Param&, std::size_t which);
  void explain_memory();
  Status allocate(State&, std::span<std::byte> lent);
  std::size_t bytes(const Param&) const;

  const Home masters_, computing_;
  std::vector<std::unique_ptr<Param>> params_;
  std::vector<std::unique_ptr<State>> states_, carried_;
  std::map<std::string, std::string> preferred_;
  Lender* lender_ = nullptr; // null: the store owns all memory
  Memory scratch_;
  Memory landing_; // with apart(): a master on its way into another form
  bool landing_now_ = false;
  struct Beside {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> read, landed; // all ops that read copies are done; a copy has arrived
    std::uint64_t step = 1;
  };
  std::optional<Beside> beside_;
  std::vector<plugin::FarMemory> far_; // all device memory, if the host cannot reach it
};

} // namespace dlhost::param
