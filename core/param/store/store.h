// The params and running state of one worker: masters, working copies, histories.
//
// A param has one master: f32, laid as its gradient lies. Every other form that some op wants (another dtype, another
// format) is a working copy, made at most once a version. Programs declare what they use while they are prepared;
// allocate() then makes what is new. Used by one task.
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
  Part consistency{}; // the handler that decides about it; type empty: the job's
};

// Memory of a store: its own, or lent to it.
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

// A form of a param. The master itself is the copy with an op that is null.
struct Copy {
  TensorDesc desc;
  Memory memory;
  std::unique_ptr<Op> from_master;
  Version version = 0;         // of the master that it was made from
  bool eager = false;          // made right after the update, because the next step surely needs it
  Memory landing;              // of the master, where it lands beside the computing and is made into another form then
  std::uint64_t landed_in = 0; // step, by a count of the store's
  void* data = nullptr;
};

struct Param {
  Declaration declared;
  std::size_t number = 0; // its place among the store's
  TensorDesc master;      // format any until it is settled
  Held value;
  bool updated = false;           // the training program makes a gradient of it
  std::optional<Factors> factors; // which other workers get in its place
  Pieces pieces;                  // of a master whose gradient is made of factors
  std::size_t slots = 0;          // of history, that the updater keeps
  std::vector<Held> history;      // as the master lies
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

// Lends the memory of what several workers share. Empty: the store is to have memory of its own.
class Lender {
 public:
  virtual ~Lender() = default;
  // Of the value (0) or a history slot (1 and on).
  virtual std::span<std::byte> lend(const Param&, std::size_t which) = 0;
  // Whether the borrower is to fill these at first; somebody else does where not.
  virtual bool fills() const = 0;
  // Of running state, by its place in the store.
  virtual std::span<std::byte> lend_state(std::size_t place) = 0;
};

class Store {
 public:
  // Of one worker: what computes has the masters as well.
  Store(Device& device, Stream& stream) : masters_{device, stream}, computing_{device, stream} {}
  // Masters and histories are `masters`', whose memory the host reaches: others share them. Whoever computes elsewhere
  // has copies.
  struct Home {
    Device& device;
    Stream& stream;
  };
  Store(Home masters, Home computing) : masters_(masters), computing_(computing) {}

  // The same name twice: one param, which both must declare alike in shape.
  Result<Param*> declare(const Declaration&);
  // Masters of these names are to lie in the formats of these names, which another worker's net chose.
  void prefer(std::map<std::string, std::string> formats) { preferred_ = std::move(formats); }
  // How the gradient of a param lies, and so its master. The first to say wins; later ones convert. Apart, it lies
  // plain, which all devices know.
  void settle(Param&, const TensorDesc& gradient);
  Copy& use(Param&, const TensorDesc&, bool eager);
  Result<State*> declare_state(std::string name, const BufferSpec&);
  // What the training program's batches hand on, sample row by sample row; it goes with the histories.
  State* declare_carried(std::string name, const BufferSpec&);

  // Settles the form of all that was declared; from here on bytes() tells what it takes, made or not.
  void lay_out(const Updater::Rule*);
  // From here on, masters and histories lie there.
  void borrow(Lender& lender) { lender_ = &lender; }
  // Makes what was laid out and is not there yet: masters, copies, histories, state.
  Status allocate(const Updater::Rule*);

  // All elements of what lies as a master does.
  Status fill(const Param&, const Held&, float value);
  // A new version of a param, from plain values on the host.
  Status set(Param&, std::span<const float> plain);
  // Another version of a master is there, in the memory that was lent: perhaps elsewhere in it.
  void move(Param&, std::span<std::byte> value);
  // And of its history.
  void move_history(Param& param, std::size_t slot, std::span<std::byte> history) {
    param.history[slot] = Held(history);
  }
  // Brings a copy to its master's version. Where masters lie apart it is on its way then, until landed().
  Status refresh(Param&, Copy&);
  Status refresh_eager(Param&);
  Status landed();
  // From here on values land on a stream of their own, beside the computing. Whoever computes says when it has been
  // given all of a step that reads copies, and another step's versions come after that.
  Status land_beside();
  Status rests();

  std::vector<std::unique_ptr<Param>>& params() { return params_; }
  const std::vector<std::unique_ptr<Param>>& params() const { return params_; }
  std::vector<std::unique_ptr<State>>& states() { return states_; }
  const std::vector<std::unique_ptr<State>>& states() const { return states_; }
  std::vector<std::unique_ptr<State>>& carried() { return carried_; }
  bool carries() const { return !carried_.empty(); }
  Param* find(std::string_view name);
  // The masters'.
  Device& device() const { return masters_.device; }
  Stream& stream() { return masters_.stream; }
  const Home& masters() const { return masters_; }
  // Of copies and running state.
  const Home& computing() const { return computing_; }
  // Until both have done what they were given.
  Status wait();
  bool apart() const { return &masters_.device != &computing_.device; }
  std::int64_t elements() const;
  std::size_t bytes() const; // masters, copies, histories and state: what lies with the computing device
  // Of a param, or of a state: what allocate() has yet to make.
  std::size_t missing(const Param&) const;
  std::size_t missing(const State&) const;
  std::size_t missing() const;  // of all
  std::size_t lendable() const; // of missing(), what a lender would lend
  // On the host, in plain f32, for a moment: the largest file of a checkpoint; else the largest param.
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
  Lender* lender_ = nullptr; // null: all memory is its own
  Memory scratch_;
  Memory landing_; // apart: of a master that is made into another form
  bool landing_now_ = false;
  struct Beside {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> read, landed; // copies that are to be made anew; and one that is
    std::uint64_t step = 1;
  };
  std::optional<Beside> beside_;
  std::vector<plugin::FarMemory> far_; // all of it, where the device's memory is
};

} // namespace dlhost::param
