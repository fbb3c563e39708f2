// One net that predicts: its params, its program and its memory. Used by one task at a time.
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
  // `job` and `params` outlive it. `layer`: whose output, as find_output() takes it.
  static Result<std::unique_ptr<Worker>> make(Host&, plugin::Registry&, const config::Job& job, const run::Inputs&,
                                              const param::TensorFile& params, const std::string& layer);

  // Its whole name; nothing is computed for it.
  static Result<std::string> output_named(Host&, plugin::Registry&, const config::Job&, const run::Inputs&,
                                          const std::string& layer);

  const std::vector<GivenSource*>& inputs() const { return inputs_; } // in the order of names()
  const std::vector<std::string>& names() const { return names_; }
  const Shape& output() const { return output_shape_; } // of one sample

  // `samples`: of each input, one behind another. Appends the output's values to `into`.
  Status predict(std::span<const std::byte* const> samples, std::int64_t count, std::vector<float>& into);

 private:
  Worker() = default;
  Status open(Host&, plugin::Registry&, const config::Job&, const run::Inputs&);

  std::unique_ptr<run::Session> session_;
  std::vector<GivenSource*> inputs_; // the session's
  std::vector<std::string> names_;
  std::int64_t batch_ = 0;
  program::Program* program_ = nullptr; // the session's
  std::unique_ptr<run::Feeds> feeds_;
  net::Edge output_;
  Shape output_shape_;
};

} // namespace dlhost::predict
