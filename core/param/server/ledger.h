// A server's file of the contributions that made each version of its slices. With the job, which gives the samples of
// each step, `dlhost audit` accounts for every update (tools/audit/ledger_reader.h reads the file).
//
//   {"begin":12,"of":"8f14e45fceea167a/1/2","server":0,"steps":[12,12],"origins":[[0,0,0]],
//    "numbers":"5d41402abc4b2a76","job":"7d793037a0760186",
//    "slices":[{"slice":0,"param":"fc1.weight","first":0,"count":512},
//    {"slice":1,"param":"fc1.bias","first":0,"count":10,"holders":[[1,0,64]],"version":11,"steps":[11,12]}]}
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
// Each line ends with its link of a chain (param/server/ledger_chain.h), which is left out here. `numbers` and `job`
// are digests of the files that tell how to read the ledger (run/recovery/ledgers.h), so the chain covers these as
// well.
//
// `begin`: the first line of a file. A file belongs to one attempt. `of` names the run, its arrangement of workers and
// servers, and the attempt. All slices begin with one version and with the steps that each contributor has made, unless
// a slice has its own `version` and `steps`. If only some workers of each group contribute to a slice, `holders` has
// their ranks, each with the first and the number of the samples that it contributes of a step. If a server group was
// lost and replaced while the others continued, the new servers append to the files of the old ones, after a second
// line `begin` with `again`: the sequence number of the replaced group in the run.
//
// `made_of`: each word is one version, from `version` on. A word has the numbers of the contributors (group by group,
// rank by rank). A contributor's step follows only if it is not the one after its last step in this slice. `*N` means
// that N versions follow the same pattern. So a strict run needs one word per pause, and an asynchronous run two bytes
// per update. If late contributions are folded in, a version is made of them too.
// `amended_by`: contributions that were folded in, but in no version, when the run paused: they amend the present one.
// `dropped`: contributions that are dropped from all slices, or from the slice that the line names.
//
// Exchanges among server groups:
// - If groups sum their gradients (`begin` has "summed":true), each server writes its own contributions to the versions
//   that all groups make. There are no lines of exchanges.
// - `exchange`: an exchange of all groups, by its number. It carried the changes of this slice up to version `learned`
//   (sections that began later carried more), and is in the value from `version` on.
// - `told`: under gossip, the number of a part sent to that group. The part has the server's own changes up to version
//   `learned`, and the parts of other groups in `heard`.
// - `heard` with `version`: these parts are in the value from that version on.
// - `outlived`: changes of a lost group, up to that version of its own.
//
// Owns: its file. A shard owns the ledger. Thread: the shard's.
// Does not allocate after begin(). Lines are written when they are long, and by sync(), which the shard calls before a
// process relies on a version. If versions outlive their server, each is written at once. If changes that were sent to
// other groups outlive it, they are written before they are sent.
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
#include "param/store/param_part.h"
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
    Holders holders{};
  };

  static std::string file_in(const std::string& folder, std::uint32_t server);
  // The server whose file has that name; none: it is no ledger file.
  static std::optional<std::uint32_t> server_of(std::string_view file);

  struct Keeping {
    std::uint32_t server; // its number among the servers of all groups
    bool at_once;         // each call writes its lines before it returns, though not to the disk
    bool summed;          // all server groups make the same versions
  };
  Ledger(std::unique_ptr<LogFile> file, std::vector<Owned> owned, std::size_t contributors,
         Keeping = {.server = 0, .at_once = false, .summed = false});
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Forgets everything after that start point. `before`: the whole lines that the file already has, if a lost server
  // wrote them.
  // Errors: corrupt if a line of `before` has a wrong link of the chain.
  Status begin(const StartPoint&, std::string_view before = {});
  // The next version of a slice is made of these. `which`: the slice's index among those that the server owns.
  Status made(std::size_t which, std::span<const Part>);
  Status dropped(const Part&); // from all slices
  Status dropped(std::size_t which, const Part&);
  // These were added to the newest version, while the run pauses.
  Status amended(std::size_t which, std::span<const Part>);
  // The most parts of one version: one of each contributor; and if the handler folds, those that came too late and
  // those that no version waited for.
  static constexpr std::size_t most_parts(std::size_t contributors) { return 3 * contributors; }
  // Exchanges with other server groups. The parts to each neighbour are counted from 1.
  Status exchanged(std::size_t which, std::uint64_t number, Version learned, Version now);
  struct Heard {
    std::uint32_t group = 0;
    std::uint64_t parts = 0;
  };
  // A lost server group, and the version of its own up to which its changes are known.
  struct Outlived {
    std::uint32_t group = 0;
    Version version = 0;
    bool operator==(const Outlived&) const = default;
  };
  Status told(std::size_t which, std::uint32_t group, std::uint64_t part, Version learned, std::span<const Heard>,
              std::span<const Outlived> = {});
  Status heard(std::size_t which, std::span<const Heard>, Version now, std::span<const Outlived> = {});
  // Writes the slice's lines to the file, but not to the disk.
  Status flush(std::size_t which) { return write(which); }
  // Writes everything to the disk. A full disk is no error: the lines are kept for the next sync().
  Status sync();
  // The lines that were written so far.
  const LedgerChain& written() const { return written_; }

 private:
  struct Chain {         // of a slice
    Version version = 0; // the first in `text`
    Version next = 0;
    std::vector<Part> last;           // the parts of the present word's first version
    std::vector<bool> told;           // for each of them: whether the word must give the step
    std::uint64_t repeats = 0;        // versions of the present word
    std::vector<std::uint64_t> steps; // of each contributor: the next step expected
    std::string text;                 // the words before
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
  Status write_line(); // writes `line_`

  std::unique_ptr<LogFile> file_;
  const Keeping keeping_;
  bool synced_ = true; // everything is on the disk
  std::vector<Owned> owned_;
  std::vector<Chain> chains_;
  std::string dropped_, exchanges_, line_;
  LedgerChain written_;
};

} // namespace dlhost::param
