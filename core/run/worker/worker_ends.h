// One worker's ends of the parameter table: its post, the memory that workers share, its client, and the server and the
// chooser that may run beside it. The parts of a worker (lost groups, liveness, salvage, ...) refer to it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "param/server/chooser.h"
#include "param/server/shard.h"
#include "param/table/table.h"
#include "program/box_exchange.h"
#include "run/membership/address_book.h"
#include "run/memory/run_memory.h"
#include "run/memory/worker_layout.h"
#include "run/session/session.h"
#include "run/worker/waits.h"

namespace dlhost::run {

// The position of a run, as one worker knows it.
struct RunSteps {
  param::StartPoint begun;         // where all began
  param::StartPoint reached;       // at the last hold; before that: where they began
  std::vector<std::uint64_t> done; // by each worker
};

struct WorkerEnds {
  // `publishes`: servers put what outlives them where other workers see it.
  WorkerEnds(Session&, AddressBook&, plan::ExchangePlugins, std::uint32_t number, bool publishes);
  ~WorkerEnds();

  // Loads the transports that the job names.
  Status load();
  // Lays out the memory and opens the post. Requires: the store is laid out.
  Status open_post();
  // Writes what a lost group had learned of a slice; returns the version that has it.
  using LearnedBy = std::function<std::optional<Version>(std::uint32_t group, const param::Slice&, std::span<float>)>;
  // Makes the client, and the server and chooser beside it. `mends`: other groups go on without a lost one.
  Status make_table(param::ControlHandler&, bool mends, LearnedBy learned_by);

  bool has_far() const { return layout.map.has_far(number); }
  std::uint32_t home() const { return layout.map.home_of(layout.place.server_group); }
  const param::Slices& slices() const { return memory.places().slices; }
  Status send(std::uint32_t worker, const param::Body& message) const { return table->send(worker, message); }
  // Sends to each, also if some are gone. Errors: the first.
  Status tell(std::span<const std::uint32_t> workers, const param::Body&) const;

  // Waits until all that was shown to other machines is there.
  Status await_shown() const;
  // Waits until the messages have left for other machines, but not for long.
  void await_sent() const;
  // Tells the others why this worker cannot go on.
  void fail(const Status&) const;
  std::optional<double> gradient_norm() const;
  // At all servers, if contributions may be late.
  param::Arrivals arrivals() const;
  // Bytes of this worker's that went through a codec, and that were sent as factors.
  record::Traffic encoded() const;
  record::Traffic factored() const { return table ? table->factored() : record::Traffic(); }

  Session& session;
  AddressBook& address_book;
  const std::uint32_t number;
  const WorkerLayout layout;
  std::unique_ptr<Transport> near, far; // null: no worker is reached by it
  std::unique_ptr<param::Post> post;
  RunMemory memory;
  std::unique_ptr<param::Shard> shard;   // null: no server runs beside this worker
  std::optional<param::Chooser> chooser; // beside the first server of a group
  std::unique_ptr<param::Table> table;
  record::Traffic exchanged; // bytes that went through the codec between server groups
  RunSteps steps;
  Waits waits;
  program::LentMemory lent; // what workers of the group lend each other; empty: nothing

 private:
  Result<std::unique_ptr<param::Replica>> make_replica() const;
  Status make_shard(bool mends, LearnedBy);
  void make_chooser();
  std::optional<param::GroupSync::Setup> sync_setup(bool mends, LearnedBy);
  param::CodecUse codec_use() const;

  const plugin::Actor* updater_actor_ = nullptr;
};

} // namespace dlhost::run
