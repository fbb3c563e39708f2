// Sources: layers that provide samples. A source knows the number of samples of each phase and can read any of them,
// from any task at any time. Core chooses the samples of a step, their order and their augmentation, as a pure function
// of seed, group and step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <dlhost/layer.h>

namespace dlhost {

class Host;

// Core makes and opens one object for all phases; setup may then be called once for each, and must declare the same.
//
// Setup declares the outputs of one sample, without the batch axis: a picture is {3, 32, 32}, its label, a number, {}.
// Core adds the batch axis in front: in a batch of 64 they are [64, 3, 32, 32] and [64]. A source that declares {batch,
// ...} is refused; sources must not use Setup::batch.
class DLHOST_API Source : public Layer {
 public:
  // Opens the files that the options name; relative paths start at `folder`, the job file's, which is never empty.
  // Called before setup.
  virtual Status open(Host&, const std::string& folder) = 0;
  // 0: this phase has no samples.
  virtual std::int64_t count(Phase) const = 0;
  // Writes each output's sample (plain, as declared in setup, without the batch axis) to the given places. Core only
  // asks for an index below count(). Thread: several tasks at once.
  virtual Status read(Phase, std::int64_t index, std::span<std::byte* const> outputs) const = 0;

  // The names of its classes, by class number, for people; empty: no names.
  virtual std::vector<std::string> class_names() const;
  // The class of a sample if it is known without reading the sample; none: unknown, or no class. Called for every
  // sample when a job is checked.
  virtual std::optional<std::int64_t> class_of(Phase, std::int64_t index) const;
  // The name of a sample: its file. Empty: no name.
  virtual std::string sample_name(Phase, std::int64_t index) const;

  // Core's feeder fills a source's outputs.
  Status prepare(Prepare&) final;
  void compute_feature(const Pass&, Frame&) const final;
};

} // namespace dlhost
