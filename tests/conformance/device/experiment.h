// Runs a case on one device, role after role. Fills operands that no op computed, keeps results by name, and passes
// them to the next role.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "device/case.h"
#include "device/lab.h"

namespace dlhost::conform {

// The settings of a run.
struct Manner {
  DType dtype = DType::f32;
  bool chooses = false; // the op chooses formats
  std::string format;   // of x and y, by its name; none: plain
  Choice choice;
};

// The case's spec for a device, with changed dtypes and formats.
OpSpec spec_for(const Case&, const Manner&);
// The spec in f64 and plain formats.
OpSpec spec_for_oracle(const Case&);

using Board = std::map<std::string, Values>;

class Experiment {
 public:
  // `filled`: the filled operands, shared with experiments that need the same values.
  Experiment(Device&, const Case&, OpSpec, std::uint64_t seed, Board& filled);

  // Prepares the op; keeps the message of a refusal. Call before run.
  Status prepare(Role, const Choice& = {});
  // Runs the prepared op and keeps its outputs' values. `checked`: also checks all other promises of a run, and reports
  // failures to GoogleTest.
  void run(bool checked);

  const Op& op() const { return *op_; }
  const Board& results() const { return results_; }
  Board& results() { return results_; }
  const std::vector<std::string>& outputs() const { return outputs_; }
  const std::vector<std::string>& inputs() const { return inputs_; }
  // The outputs of the last run as raw bytes.
  const std::map<std::string, std::vector<std::byte>>& raw() const { return raw_; }
  TensorDesc output_desc(const std::string& name) const;

 private:
  Held input(std::size_t i);
  Held output(std::size_t i);
  Values fill(const std::string& name, const TensorDesc&);
  Dynamic dynamic() const;
  void check_after(const std::vector<Held>& in, const std::vector<Held>& out,
                   const std::vector<std::vector<std::byte>>& before);
  void check_again(std::span<const void* const> in, std::span<void* const> out, const std::vector<Held>& held);

  Device& device_;
  Lab lab_;
  const Case& case_;
  OpSpec spec_;
  std::uint64_t seed_;
  Board& filled_;
  Board results_;
  std::map<std::string, std::vector<std::byte>> raw_;
  std::unique_ptr<Op> op_;
  Role role_ = Role::feature;
  std::vector<std::string> inputs_, outputs_;
  std::optional<Guarded> workspace_;
};

} // namespace dlhost::conform
