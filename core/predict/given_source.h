// A source of samples that a program gives from memory, batch by batch, in place of the job's source.
#pragma once

#include <cstring>
#include <vector>

#include <dlhost/source.h>

namespace dlhost::predict {

class GivenSource final : public Source {
 public:
  // Reports `rows` test samples, however many are given.
  GivenSource(std::vector<Port> outputs, std::int64_t rows) : outputs_(std::move(outputs)), rows_(rows) {}

  // Sets the samples of the first output for the next batch: `rows` of them, one after the other. Further rows and
  // outputs are zero: a prediction does not read labels.
  void give(const std::byte* samples, std::int64_t rows) {
    samples_ = samples;
    given_ = rows;
  }
  const Port& first() const { return outputs_[0]; }

  Status open(Host&, const std::string&) override { return {}; }
  Status setup(Setup& s) override {
    for (const Port& port : outputs_) s.output(port.name, port.desc);
    s.has_gradient = false;
    return {};
  }
  std::int64_t count(Phase phase) const override { return phase == Phase::test ? rows_ : 0; }
  Status read(Phase, std::int64_t index, std::span<std::byte* const> outputs) const override {
    for (std::size_t output = 0; output < outputs_.size(); ++output) {
      const std::size_t bytes = outputs_[output].desc.plain_bytes();
      if (output == 0 && index < given_)
        std::memcpy(outputs[0], samples_ + static_cast<std::size_t>(index) * bytes, bytes);
      else
        std::memset(outputs[output], 0, bytes);
    }
    return {};
  }

 private:
  const std::vector<Port> outputs_;
  const std::int64_t rows_;
  const std::byte* samples_ = nullptr;
  std::int64_t given_ = 0;
};

} // namespace dlhost::predict
