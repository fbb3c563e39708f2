// A case run on one device, role after role: operands that nobody computed are filled, results are kept by name and
// feed the next role.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "device/case.h"
#include "device/lab.h"

namespace dlhost::conform {

// How a case is to be tried.
struct Manner {
  DType dtype = DType::f32;
  bool chooses = false; // formats are the op's to choose
  std::string format;   // of x and y, by its name; none: plain
  Choice choice;
};

// The case's spec on the way to a device: dtypes and formats changed.
OpSpec spec_for(const Case&, const Manner&);
// f64 and plain.
OpSpec spec_for_oracle(const Case&);

using Board = std::map<std::string, Values>;

class Experiment {
 public:
  // `filled`: what has been filled in, shared with others that are to get the same values.
  Experiment(Device&, const Case&, OpSpec, std::uint64_t seed, Board& filled);

  // Prepares; the message of a refusal is kept. Call before run.
  Status prepare(Role, const Choice& = {});
  // Runs the prepared op and keeps its outputs' values. With `checked`, looks for everything else that a run must
  // leave in order, and reports it to GoogleTest.
  void run(bool checked);

  const Op& op() const { return *op_; }
  const Board& results() const { return results_; }
  Board& results() { return results_; }
  const std::vector<std::string>& outputs() const { return outputs_; }
  const std::vector<std::string>& inputs() const { return inputs_; }
  // Of the last run: each output's bytes as they lie.
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
