// The outcome of a run: a table for people, and summary.json with the same figures for programs. Written when a run
// starts, and when it ends, fails or is interrupted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dlhost/host.h>

#include "record/ledger_head.h"
#include "record/replacement.h"
#include "record/report.h"
#include "record/run_folder.h"
#include "record/traffic.h"
#include "record/worker_report.h"

namespace dlhost::record {

struct Summary {
  std::string status; // "running", "done", "interrupted" or "failed"
  std::string reason; // why it ended: "30 epochs", "no better for 5 epochs", or the error
  std::uint64_t steps = 0;
  double epochs = 0;
  double seconds = 0;
  std::vector<Metric> train; // empty: the phase did not run
  std::vector<Metric> validation;
  std::vector<Metric> test;
  std::vector<Table> validation_tables, test_tables;
  struct Best {
    std::string metric;
    double value = 0;
    std::uint64_t step = 0;
  };
  std::optional<Best> best; // the best validation, if its checkpoint is kept
  double items_per_second = 0;
  double step_median = 0, step_least = 0; // seconds
  double input_wait_seconds = 0;
  std::vector<WorkerReport> workers;                       // if there are several
  std::uint64_t contributions = 0, late_contributions = 0; // of worker groups, if late ones are possible
  Traffic encoded, factored;                               // sent by the leading worker through a codec, or as factors
  struct LossScale {
    double value = 1; // at the end
    std::uint64_t skipped_steps = 0;
  };
  std::optional<LossScale> loss_scale;   // of a net that computes in f16
  LedgerHeads ledgers;                   // at the end; with several workers
  std::vector<Replacement> replacements; // of processes while the others went on; since this process leads
  std::uint32_t recoveries = 0;          // how often the run continued after the death of a process
  std::uint64_t peak_rss_bytes = 0;      // of all its processes; shared memory counts once
  std::uint64_t shared_bytes = 0;        // part of it: memory shared by workers
  std::uint64_t started_rss_bytes = 0;   // before the net was made
  std::uint64_t unsaved_checkpoints = 0; // not saved because the disk was full
  std::string plan_hash;
  std::string job_hash;
  std::vector<std::pair<std::string, std::string>> versions; // {"dlhost", "0.1.0"}, {"cpu", ...}

  // Not in summary.json.
  std::string job_name;
  std::string folder;
  std::string remark;                                    // a failure in spite of a good status
  std::vector<std::pair<std::string, std::string>> next; // {"dlhost plot FOLDER", "draws the curves"}
};

std::string summary_json(const Summary&);
std::string summary_table(const Summary&, bool unicode);

// Writes summary.json into the run's folder.
Status write_summary(Disk&, const RunFolder&, const Summary&);
// The same. For a running or finished run it also prepares a failed summary, for a crash of this process
// (env/process/failure_note.h).
Status keep_summary(Disk&, const RunFolder&, const Summary&);
// The status in a run's summary.json; "running" if there is none yet.
std::string status_told(Disk&, const std::string& run);

} // namespace dlhost::record
