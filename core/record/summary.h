// How a run ended: a table for people, and summary.json with the same figures for programs. It is written when a run
// starts and again when it ends, also when it failed or was interrupted.
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
  std::string reason; // "30 epochs", "no better for 5 epochs", the error: why it ended
  std::uint64_t steps = 0;
  double epochs = 0;
  double seconds = 0;
  std::vector<Metric> train; // empty where a phase was not run
  std::vector<Metric> validation;
  std::vector<Metric> test;
  std::vector<Table> validation_tables, test_tables;
  struct Best {
    std::string metric;
    double value = 0;
    std::uint64_t step = 0;
  };
  std::optional<Best> best; // of the validations, where its checkpoint is kept
  double items_per_second = 0;
  double step_median = 0, step_least = 0; // seconds
  double input_wait_seconds = 0;
  std::vector<WorkerReport> workers;                       // where there are several
  std::uint64_t contributions = 0, late_contributions = 0; // of worker groups, where some may come too late
  Traffic encoded, factored; // what the leading worker sent through a codec, or as factors
  struct LossScale {
    double value = 1; // at the end
    std::uint64_t skipped_steps = 0;
  };
  std::optional<LossScale> loss_scale;   // of a net that computes in f16
  LedgerHeads ledgers;                   // at the end; of several workers
  std::vector<Replacement> replacements; // of processes, while the others went on; since this process leads
  std::uint32_t recoveries = 0;          // that the run went on after one of its processes had died
  std::uint64_t peak_rss_bytes = 0;      // of all its processes, what they share once
  std::uint64_t shared_bytes = 0;        // of that, what several workers share
  std::uint64_t started_rss_bytes = 0;   // before the net was made
  std::uint64_t unsaved_checkpoints = 0; // for which there was no room
  std::string plan_hash;
  std::string job_hash;
  std::vector<std::pair<std::string, std::string>> versions; // {"dlhost", "0.1.0"}, {"cpu", ...}

  // For people only.
  std::string job_name;
  std::string folder;
  std::string remark;                                    // what went well by its status, and did not
  std::vector<std::pair<std::string, std::string>> next; // {"dlhost plot FOLDER", "draws the curves"}
};

std::string summary_json(const Summary&);
std::string summary_table(const Summary&, bool unicode);

// Leaves summary.json in the run's folder. Where the run goes on, or is done, it becomes that of a failed run should
// this process end by a fault (env/process/failure_note.h).
Status write_summary(Disk&, const RunFolder&, const Summary&);
// As it stands in a run's folder; "running" as long as nobody has written it.
std::string status_told(Disk&, const std::string& run);

} // namespace dlhost::record
