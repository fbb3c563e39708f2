// The ledgers of a run's servers (param/server/ledger.h), read and merged: the contributions that made each version of
// each slice, and the faults found in them. Versions that were rolled back are left out.
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
  // Consecutive versions that the same contributors made, each contributor by consecutive steps; or contributions that
  // amended one version.
  struct Word {
    Version first = 0;
    std::uint64_t count = 1; // 0: the parts amended version `first`
    std::vector<Part> parts; // of the first version
  };
  // A slice's exchanges with other server groups in one attempt.
  struct Exchanges {
    std::size_t time = 0; // number of the attempt: some servers may not have reached it
    Version begun = 0;
    bool summed = false; // all server groups made the same versions
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
  // A file, written by one server in one attempt.
  struct File {
    std::string path;
    std::uint64_t attempt = 1;
    std::uint32_t server = 0;
    std::vector<std::uint64_t> chain; // the digest of each of its lines (param/server/ledger_chain.h)
    bool whole = true;                // false: a line was altered, and the file was read only up to it
    // From its begin lines: digests of arrangement.json and of the job. Empty: an older dlhost wrote it.
    std::string numbers, job;
  };
  struct Slice {
    SliceId id = 0;
    std::uint32_t server = 0;
    std::string param;
    std::int64_t first = 0, count = 0; // elements
    Version begun = 0;                 // the ledger has no earlier versions
    Version last = 0;
    param::Holders holders;           // the workers of each group that contribute to it; empty: all
    std::vector<std::uint64_t> steps; // per contributor: the ledger has no earlier steps
    std::vector<Word> words;          // by version
    std::vector<Part> dropped;        // from this slice alone
    std::vector<Exchanges> exchanges;

    // The contributions that made or amended a version. Empty: the ledger does not have it.
    std::vector<Part> parts_of(Version) const;
  };

  std::vector<Slice> slices; // by number
  std::vector<Part> dropped; // from all slices
  std::size_t contributors = 0;
  std::size_t begun = 0;                    // number of times that the run began
  std::vector<param::SampleOrigin> origins; // per source: the position from which its steps are counted
  std::vector<std::uint64_t> attempts;      // the attempts that have a folder
  std::vector<File> files;                  // by attempt, then by server
  std::vector<std::string> faults;          // missing or changed data, doubles, slices with two owners: as sentences
  std::vector<std::string> torn;            // files whose last line is cut off, of the last attempt
  std::vector<std::string> open;            // questions that the audit cannot decide, as sentences
  bool arranged = true; // false: arrangement.json was changed, so nothing that depends on its numbers was checked
  std::string job;      // the digest of the newest attempt's job; empty: unknown

  // The number of a contributor's contributions in a slice, and the number of those dropped from it.
  static std::uint64_t contributions(const Slice&, std::size_t contributor);
  std::uint64_t dropped_from(const Slice&, std::size_t contributor) const;
  // For each server group: the version of its own slice whose changes are in this version of this slice.
  std::vector<Version> learned(const Slice&, Version) const;
};

// Reads the ledger in a folder, of server groups of so many servers. `of`: its first attempt, and the digest of its
// arrangement.json. Errors: not_found if there is no ledger.
Result<Audit> audit(Disk&, const std::string& folder, const record::LedgerOf& of, std::int64_t servers_per_group);

// Sorts the lines of all servers, and adds doubles and slices with two owners to the faults.
void look_through(Audit&, std::int64_t servers_per_group);

// Errors: corrupt if there are faults, with the first of them.
Status verdict(std::span<const std::string> faults);

} // namespace dlhost::tools
