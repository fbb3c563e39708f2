// The samples that a run is trained on: so a checkpoint identifies them, and a resume refuses other data.
// Owns: a print of each source's samples, once it was made. Thread: the training's.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "run/input/feeds.h"
#include "run/input/samples_print.h"

namespace dlhost::run {

class KnownSamples {
 public:
  // Both outlive it.
  KnownSamples(Session& session, const Feeds& feeds) : session_(session), feeds_(feeds) {}

  // Reads a few samples of each source, which stand for all. Only the first call reads.
  Status look();
  // Reads every sample once, so that checkpoints identify all, and compare() compares all.
  Status read_all();

  // Adds the prints to the sources' states in a checkpoint.
  void write(nlohmann::json& data) const;
  // Compares with the samples in a checkpoint; those of older versions have none. Errors: a source has other samples.
  Status compare(const nlohmann::json& data) const;

 private:
  Status read(Reading);

  Session& session_;
  const Feeds& feeds_;
  std::vector<SamplesPrint> prints_; // per source; empty: not made yet
};

} // namespace dlhost::run
