// The ledgers of a run's servers (param/server/ledger.h), read and put together: whose contributions made which version
// of which slice, and whether that is as it should be. What was rolled back is left out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "param/server/ledger.h"
#include "param/table/sample_origin.h"
#include "record/ledger_head.h"

namespace dlhost::tools {

struct Audit {
  using Part = param::Ledger::Part;
  // Versions one after another that were made by the same contributors, each by its next step; or what amended one
  // that was there.
  struct Word {
    Version first = 0;
    std::uint64_t count = 1; // 0: it amends the first
    std::vector<Part> parts; // of the first
  };
  // With the same slice of other server groups, since the run began, or began once more.
  struct Exchanges {
    std::size_t time = 0; // number of the attempt: some servers may not have reached it
    Version begun = 0;
    bool summed = false; // all make the same versions
    struct Exchanged {
      std::uint64_t number = 0;
      Version learned = 0, version = 0;
    };
    struct Told {
      std::uint32_t to = 0;
      std::uint64_t part = 0;
      Version learned = 0;
      std::vector<param::Ledger::Heard> heard;
      std::vector<param::Ledger::Outlived> outlived;
    };
    struct Heard {
      Version version = 0;
      std::vector<param::Ledger::Heard> heard;
      std::vector<param::Ledger::Outlived> outlived;
    };
    std::vector<Exchanged> exchanged;
    std::vector<Told> told;
    std::vector<Heard> heard;
  };
  // As one server wrote it, in one attempt.
  struct File {
    std::string path;
    std::uint64_t attempt = 1;
    std::uint32_t server = 0;
    std::vector<std::uint64_t> chain; // the digest of each of its lines (param/server/ledger_chain.h)
    bool whole = true;                // each is as it was written; else it was read up to the first that is not
    // From its begin lines: digests of arrangement.json and of the job. Empty: an older dlhost wrote it.
    std::string numbers, job;
  };
  struct Slice {
    SliceId id = 0;
    std::uint32_t server = 0;
    std::string param;
    std::int64_t first = 0, count = 0; // elements
    Version begun = 0;                 // what came before is not written down
    Version last = 0;
    std::vector<std::uint64_t> steps; // of each contributor: what came before them is not written down
    std::vector<Word> words;          // by version
    std::vector<Part> dropped;        // from this slice alone
    std::vector<Exchanges> exchanges;

    // With those that amended it. Empty: not written down.
    std::vector<Part> parts_of(Version) const;
  };

  std::vector<Slice> slices; // by number
  std::vector<Part> dropped; // from all slices
  std::size_t contributors = 0;
  std::size_t begun = 0;                    // how often the run began
  std::vector<param::SampleOrigin> origins; // of the sources, where its steps are counted from
  std::vector<std::uint64_t> attempts;      // that have a folder
  std::vector<File> files;                  // by attempt, then by server
  std::vector<std::string> faults;          // what is missing, was changed, counts twice, or has two owners
  std::vector<std::string> torn;            // files whose last line lacks its end, and that no attempt has followed
  std::vector<std::string> open;            // what the audit cannot decide, in sentences
  bool arranged = true; // false: arrangement.json was changed, so nothing that depends on its numbers was checked
  std::string job;      // the digest of the newest attempt's job; empty: unknown

  // How many of a contributor's are in a slice, and how many were dropped from it.
  static std::uint64_t contributions(const Slice&, std::size_t contributor);
  std::uint64_t dropped_from(const Slice&, std::size_t contributor) const;
  // Of each server group, its own as well: what that had made of the same slice up to this version is in that one of
  // this slice.
  std::vector<Version> learned(const Slice&, Version) const;
};

// The ledger in a folder, of server groups of so many servers; `of`: its first attempt, and the digest of its
// arrangement.json. Not found: there is none.
Result<Audit> audit(Disk&, const std::string& folder, const record::LedgerOf& of, std::int64_t servers_per_group);

// What was read of all servers is put in order, and what counts twice or has two owners is among the faults.
void look_through(Audit&, std::int64_t servers_per_group);

// Not ok where there are faults: the first of them.
Status verdict(std::span<const std::string> faults);

} // namespace dlhost::tools
