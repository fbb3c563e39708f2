// Which checkpoints a run has: writes them, keeps the last few and the best, finds the newest good one to go on from.
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
  // `folder` holds one folder for each checkpoint: step-000000660, best; `keep` of the former at most.
  Checkpoints(Session& session, std::string folder, std::size_t keep)
      : session_(session), folder_(std::move(folder)), keep_(keep) {}

  // Writes the checkpoint of a step, tells the fault handler where it is, and removes the oldest beyond `keep`.
  Status save(std::uint64_t step, const nlohmann::json& training);
  // The same, as the best so far.
  Status save_best(std::uint64_t step, const nlohmann::json& training);
  // The same as save(), for somebody who reads it soon: nobody is told to go on from there.
  Status lend(std::uint64_t step, const nlohmann::json& training);
  // One that was written elsewhere is the best so far, and lies here from now on.
  Status take_best(const std::string& checkpoint);
  Result<param::CheckpointFiles> open_best() const;
  std::string path_of(std::uint64_t step) const;

  // The newest checkpoint of these folders that opens; what is broken on the way is named in `refused`, and in a
  // warning where another is taken in its place.
  static Result<param::CheckpointFiles> newest(Host&, std::span<const std::string> folders, std::string& refused);
  // Where a run's lie: those that it keeps, and where it went on should one of its processes die.
  static std::vector<std::string> folders_of(const std::string& run);
  // `what` is a checkpoint, a run's folder or a folder of checkpoints. A broken checkpoint that was named itself is
  // refused, with the newest good one beside it in the message.
  static Result<param::CheckpointFiles> find(Host&, const std::string& what);
  // The best that was kept there, where there is one and it is good; else what find() says.
  static Result<param::CheckpointFiles> find_best(Host&, const std::string& what);
  // Whether one was written there, the best apart.
  static bool any(Disk&, const std::string& folder);

  // What is chosen otherwise here than where it was written: ops, threads, builds of plugins. In words.
  static std::vector<std::string> differences(const param::CheckpointFiles&, Session&);

  // How many steps were done when it was written.
  static std::uint64_t step_of(const param::CheckpointFiles&);

 private:
  Status write(const std::string& name, std::uint64_t step, const nlohmann::json& training);
  void tell(const std::string& name) const; // the fault handler

  Session& session_;
  std::string folder_;
  std::size_t keep_;
};

// The tensors of a run's newest checkpoint, of a checkpoint, or of a file of tensors.
Result<param::TensorFile> start_tensors(Host&, const std::string& path);

} // namespace dlhost::run
