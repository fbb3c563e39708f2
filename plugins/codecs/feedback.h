// Error feedback: what an encoding leaves out is wanted again in the next one (Seide et al. 2014).
#pragma once

#include <span>

#include <dlhost/codec.h>
#include <dlhost/schema.h>

namespace dlhost::plugins {

struct FeedbackOptions {
  bool feedback = true;
};

template <class Options> SchemaOf<Options> with_feedback(SchemaOf<Options> schema) {
  return schema.option("feedback", static_cast<bool Options::*>(&FeedbackOptions::feedback),
                       "what an exchange leaves out is added to the next");
}

// What one exchange is to send: the values, and what was left out before.
class Wanted {
 public:
  Wanted(std::span<const float> values, std::span<float> error) : values_(values), error_(error) {}
  std::size_t size() const { return values_.size(); }
  float operator[](std::size_t i) const { return error_.empty() ? values_[i] : values_[i] + error_[i]; }
  // `arrives`: what will be decoded for element i, whose operator[] must not be asked again.
  void sent(std::size_t i, float arrives) const {
    if (!error_.empty()) error_[i] = values_[i] + error_[i] - arrives;
  }

 private:
  std::span<const float> values_;
  std::span<float> error_;
};

} // namespace dlhost::plugins
