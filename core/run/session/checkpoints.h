// The checkpoints of a run: writes them, keeps the last few and the best, and finds the newest good one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "param/file/tensor_file.h"
#include "run/session/session.h"

namespace dlhost::run {

class Checkpoints {
 public:
  // `folder` holds one folder for each checkpoint: step-000000660, ..., and best. At most `keep` of the former are
  // kept.
  Checkpoints(Session& session, std::string folder, std::size_t keep)
      : session_(session), folder_(std::move(folder)), keep_(keep) {}

  // Writes the checkpoint of a step, tells the fault handler its path, and removes the oldest beyond `keep`.
  Status save(std::uint64_t step, const nlohmann::json& training);
  // The same, for the best checkpoint so far.
  Status save_best(std::uint64_t step, const nlohmann::json& training);
  // The same as save(), for a checkpoint that is only read by this process: the fault handler is not told.
  Status lend(std::uint64_t step, const nlohmann::json& training);
  // Moves a checkpoint from elsewhere here, as the best so far.
  Status take_best(const std::string& checkpoint);
  Result<param::CheckpointFiles> open_best() const;
  std::string path_of(std::uint64_t step) const;

  // The newest checkpoint of these folders that opens. `refused` names the broken ones that are newer; a warning does
  // so too if another one is used instead.
  static Result<param::CheckpointFiles> newest(Host&, std::span<const std::string> folders, std::string& refused);
  // The folders of a run's checkpoints and of its recovery points.
  static std::vector<std::string> folders_of(const std::string& run);
  // `what`: a checkpoint, a run's folder or a folder of checkpoints. A named checkpoint that is broken is refused; the
  // message names the newest good one beside it.
  static Result<param::CheckpointFiles> find(Host&, const std::string& what);
  // The best checkpoint of a run, if there is a good one; else the result of find().
  static Result<param::CheckpointFiles> find_best(Host&, const std::string& what);
  // True if a checkpoint of a step was written there.
  static bool any(Disk&, const std::string& folder);

  // The differences between this session and the one that wrote the checkpoint, as texts: ops, threads, builds of
  // plugins.
  static std::vector<std::string> differences(const param::CheckpointFiles&, Session&);

  // Steps done when the checkpoint was written.
  static std::uint64_t step_of(const param::CheckpointFiles&);

 private:
  Status write(const std::string& name, std::uint64_t step, const nlohmann::json& training);
  void tell(const std::string& name) const; // the fault handler

  Session& session_;
  std::string folder_;
  std::size_t keep_;
};

// The tensors of a run's newest checkpoint, of a checkpoint, or of a tensor file.
Result<param::TensorFile> start_tensors(Host&, const std::string& path);

} // namespace dlhost::run
