// Sources: layers that bring samples in. A source knows how many samples each phase has and can read any of them, from
// any task at any time; which samples make a step, in which order, with which augmentation, is core's business and a
// pure function of seed, group and step.
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

// Core makes and opens one object for all phases; setup may then be called once for each, and must say the same.
//
// Setup declares the outputs of one sample, without the batch axis: a picture is {3, 32, 32}, its label, a number, {}.
// Core puts the batch axis in front: in a batch of 64 they are [64, 3, 32, 32] and [64]. A source that declares
// {batch, ...} is refused; Setup::batch is no source's business.
class DLHOST_API Source : public Layer {
 public:
  // Opens what the options name; relative paths are relative to `folder`, the job file's, which is never empty. Called
  // before setup.
  virtual Status open(Host&, const std::string& folder) = 0;
  // 0: this phase has no samples.
  virtual std::int64_t count(Phase) const = 0;
  // Writes each output's sample (plain, as setup declared it, without the batch axis) to the given places. The
  // index is below count(): nobody asks for another. May be called from several tasks at once.
  virtual Status read(Phase, std::int64_t index, std::span<std::byte* const> outputs) const = 0;

  // For people. What its classes are called, in the order of their numbers; empty: they have no names.
  virtual std::vector<std::string> class_names() const;
  // The class of a sample, where it is known without reading the sample; none: it has no class, or reading tells it.
  // Asked for every sample when a job is checked.
  virtual std::optional<std::int64_t> class_of(Phase, std::int64_t index) const;
  // What a sample is called: its file. Empty: it has no name.
  virtual std::string sample_name(Phase, std::int64_t index) const;

  // Core's feeder fills a source's outputs.
  Status prepare(Prepare&) final;
  void compute_feature(const Pass&, Frame&) const final;
};

} // namespace dlhost
