// One predicting net: its params, its program and its memory. Thread: one task at a time.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/job.h"
#include "param/file/tensor_file.h"
#include "predict/given_source.h"
#include "predict/output.h"
#include "run/input/feeds.h"
#include "run/input/inputs.h"

namespace dlhost::predict {

class Worker {
 public:
  // Requires: `job` and `params` outlive it. `layer`: the output, as for find_output().
  static Result<std::unique_ptr<Worker>> make(Host&, plugin::Registry&, const config::Job& job, const run::Inputs&,
                                              const param::TensorFile& params, const std::string& layer);

  // The full name of an output; computes nothing.
  static Result<std::string> output_named(Host&, plugin::Registry&, const config::Job&, const run::Inputs&,
                                          const std::string& layer);

  const std::vector<GivenSource*>& inputs() const { return inputs_; } // in the order of names()
  const std::vector<std::string>& names() const { return names_; }
  const Shape& output() const { return output_shape_; } // of one sample

  // `samples`: for each input, one after the other. Appends the output's values to `into`.
  Status predict(std::span<const std::byte* const> samples, std::int64_t count, std::vector<float>& into);

 private:
  Worker() = default;
  Status open(Host&, plugin::Registry&, const config::Job&, const run::Inputs&);

  std::unique_ptr<run::Session> session_;
  std::vector<GivenSource*> inputs_; // owned by the session
  std::vector<std::string> names_;
  std::int64_t batch_ = 0;
  program::Program* program_ = nullptr; // owned by the session
  std::unique_ptr<run::Feeds> feeds_;
  net::Edge output_;
  Shape output_shape_;
};

} // namespace dlhost::predict
