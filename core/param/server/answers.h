// A server's answers: the message and, before it, the bytes that the other machine lacks.
//
// Thread: the server's. Does not allocate.
#pragma once

#include <cstdint>

#include "param/codec/coder.h"
#include "param/server/contributors.h"
#include "param/server/ledger.h"
#include "param/server/send.h"
#include "param/server/slice_versions.h"
#include "param/table/table_memory.h"

namespace dlhost::param {

class Answers {
 public:
  struct Setup {
    std::uint32_t machine = 0; // the server's
    const Contributors* contributors = nullptr;
    const Masters* masters = nullptr;
    const Coding* coding = nullptr;      // of exchanges with other server groups; null: they are not encoded
    std::span<std::byte> exchanged;      // the memory of these exchanges
    const Send* send = nullptr;          // borrowed, as the three below
    const SendWith* send_with = nullptr; // empty: there is one machine
    const Show* show = nullptr;          // empty: there is one machine
    const ShowOwn* show_own = nullptr;
  };
  explicit Answers(const Setup& setup) : setup_(setup) {}

  // From now on, the ledger is on the disk before an answer lets its receiver save a value.
  void keep(Ledger* ledger) { ledger_ = ledger; }

  // Sends the newest version. From then on the worker reads it.
  Status answer_get(SliceVersions&, std::size_t contributor);
  Status answer_look(SliceVersions&, std::size_t contributor);
  // Says that the worker may write its memory again.
  Status answer_settle(const SliceVersions&, std::size_t contributor);
  // Takes `Attest`: the run's leader stores the ledger's head in a checkpoint.
  // Errors: corrupt if the sender is not the leader, or there is no ledger.
  Status attest(std::uint32_t from);
  // Shows the histories and the rows of exchanges to a seat that is about to save them.
  Status show_kept(const SliceVersions&, std::uint32_t seat);
  // Writes the ledger to the disk, if there is one.
  Status sync_ledger() { return ledger_ ? ledger_->sync() : Status(); }

 private:
  Status send_value(SliceVersions&, std::size_t contributor, const Body&);

  const Setup setup_;
  Ledger* ledger_ = nullptr;
};

} // namespace dlhost::param
