// What a server writes down of each version of its slices: whose contributions made it. From this, and the job, which
// says the samples of each step, `dlhost audit` answers for every update (run/audit.h reads it).
//
//   {"begin":12,"of":"8f14e45fceea167a/1/2","server":0,"steps":[12,12],"origins":[[0,0,0]],
//    "numbers":"5d41402abc4b2a76","job":"7d793037a0760186",
//    "slices":[{"slice":0,"param":"fc1.weight","first":0,"count":512},
//    {"slice":1,"param":"fc1.bias","first":0,"count":10,"version":11,"steps":[11,12]}]}
//   {"slice":0,"version":13,"made_of":"0+1*20 0 1:40"}
//   {"dropped":"1:34 1:38"}
//   {"slice":0,"dropped":"1:34"}
//   {"slice":0,"version":32,"amended_by":"1:41+2:40"}
//   {"slice":0,"exchange":3,"learned":30,"version":31}
//   {"slice":0,"told":2,"part":4,"learned":30,"heard":[[1,7]]}
//   {"slice":0,"heard":[[1,7],[2,5]],"version":31}
//   {"slice":0,"heard":[[1,7]],"outlived":[[2,40]],"version":33}
//   {"begin":29,"again":1,...}
//
// Each line ends with its link of a chain (param/server/ledger_chain.h), which is left out here. `of` is the run, its
// arrangement of workers and servers, and its attempt in that: a file is of one attempt, and begins with `begin`. Where
// a server group was lost and replaced while the others went on, its servers go on with their files, and begin again
// there ("again": the sequence number of the replaced group in the run). `numbers` and `job` are digests of the files
// that tell how to read the ledger (run/recovery/ledgers.h): so the chain covers these as well.
//
// A run begins, at first or once more, with all slices at one version, and with the steps that each contributor has
// done, where a slice does not say otherwise. The words of `made_of` stand for one version each, from `version` on: the
// numbers of its contributors (group by group, rank by rank), a step where it is not the one after the contributor's
// last in this slice, and how often the same follows. So a strict run is a word for each pause, and one in which nobody
// waits two bytes an update. What is dropped is so for all slices, or for the one that is named. Where late
// contributions are folded in, a version is made of them as well; those that had no version yet when the run stood
// still amend the one that is there.
//
// Where several server groups add up their gradients ("summed":true, where it begins), each writes down its own part of
// the versions that all make. Else an exchange carries what each had learned until a version of its own, of sections
// that began later more than that, and is in the value from some version on. Who gossips writes down what a part told a
// neighbour (what it had learned itself, and which parts it had heard from others), and which parts of whom are in the
// value from some version on.
//
// Belongs to a shard and its task; after begin() it allocates nothing, and writes when a line is long or when it is
// told to sync: before anybody relies on what is in a version. Where versions outlive the server that made them, it
// writes at once, a line each; where what other groups were told of does, before they are. What such a lost group had
// learned is told by its version ("outlived").
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/host.h>

#include "param/server/ledger_chain.h"
#include "param/table/slices.h"
#include "param/table/start_point.h"

namespace dlhost::param {

class Ledger {
 public:
  struct Part {
    std::size_t contributor = 0;
    std::uint64_t step = 0;
    auto operator<=>(const Part&) const = default;
  };
  struct Owned {
    const Slice* slice = nullptr;
    std::string param;
  };

  static std::string file_in(const std::string& folder, std::uint32_t server);
  // Whose file has that name; none: nobody's.
  static std::optional<std::uint32_t> server_of(std::string_view file);

  struct Keeping {
    std::uint32_t server; // among those of all server groups
    bool at_once;         // what is known is written when a call returns, though not on the disk
    bool summed;          // its versions are those of all server groups
  };
  Ledger(std::unique_ptr<LogFile> file, std::vector<Owned> owned, std::size_t contributors,
         Keeping = {.server = 0, .at_once = false, .summed = false});
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Everything after that version is void. `before`: what lies in the file already, where processes have died and
  // others go on with it: whole lines.
  Status begin(const StartPoint&, std::string_view before = {});
  // `which`: of those that it owns.
  Status made(std::size_t which, std::span<const Part>);
  Status dropped(const Part&);
  Status dropped(std::size_t which, const Part&);
  // The newest version, while the run stands still.
  Status amended(std::size_t which, std::span<const Part>);
  // Of a version: each contributor's, and where some are folded in, those that came too late and those that nobody
  // waited for.
  static constexpr std::size_t most_parts(std::size_t contributors) { return 3 * contributors; }
  // With other server groups. Parts are counted from 1 on, for each neighbour.
  Status exchanged(std::size_t which, std::uint64_t number, Version learned, Version now);
  struct Heard {
    std::uint32_t group = 0;
    std::uint64_t parts = 0;
  };
  // Of a lost server group: it had learned what that version of its own had.
  struct Outlived {
    std::uint32_t group = 0;
    Version version = 0;
    bool operator==(const Outlived&) const = default;
  };
  Status told(std::size_t which, std::uint32_t group, std::uint64_t part, Version learned, std::span<const Heard>,
              std::span<const Outlived> = {});
  Status heard(std::size_t which, std::span<const Heard>, Version now, std::span<const Outlived> = {});
  // What made its versions is written when this returns, though not on the disk.
  Status flush(std::size_t which) { return write(which); }
  // All that is known is on the disk.
  Status sync();
  // What was written so far.
  const LedgerChain& written() const { return written_; }

 private:
  struct Chain {         // of a slice
    Version version = 0; // the first of `text`
    Version next = 0;
    std::vector<Part> last;           // of the newest version
    std::vector<bool> told;           // of each of its parts: whether the step has to be said
    std::uint64_t repeats = 0;        // of it
    std::vector<std::uint64_t> steps; // of each contributor: the one that is to be expected
    std::string text;                 // what came before it
    std::string dropped;              // from this slice alone
  };
  bool repeats(const Chain&, std::span<const Part>) const;
  void close(Chain&);
  static void print(std::string& to, const Part&);
  Status write(std::size_t which);
  Status write_dropped();
  void print(std::span<const Heard>, std::span<const Outlived>);
  Status note_exchange();
  Status write_exchanges();
  Status write_line(); // `line_`

  std::unique_ptr<LogFile> file_;
  const Keeping keeping_;
  bool synced_ = true; // nothing is known that is not on the disk
  std::vector<Owned> owned_;
  std::vector<Chain> chains_;
  std::string dropped_, exchanges_, line_;
  LedgerChain written_;
};

} // namespace dlhost::param
