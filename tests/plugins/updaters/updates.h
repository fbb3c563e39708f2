// Runs an updater's rule as core does, on the ref device in f64: a difference from a closed form is the rule's.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <dlhost/device.h>
#include <dlhost/updater.h>

#include "../../plugin_host.h"

namespace dlhost::test {

using Numbers = std::vector<double>;

struct Factors {
  double decay_scale = 1, gradient_scale = 1;
};

class Updates {
 public:
  Updates(PluginHost& host, const std::string& updater, std::vector<TableEntry> options, Numbers values)
      : value(std::move(values)), updater_(make<Updater>(host, updater, std::move(options))), rule_(updater_->rule()),
        device_(make<Device>(host, "ref", {{"wide", test::value(true)}})), stream_(*device_->stream()) {
    for (const auto& slot : rule_.history) history.emplace_back(value.size(), static_cast<double>(slot.initial));
    const TensorDesc desc{DType::f64, {static_cast<std::int64_t>(value.size())}, {}};
    MapSpec spec{.expression = rule_.apply};
    spec.in.assign(2 + history.size(), desc);
    spec.out.assign(1 + history.size(), desc);
    apply_ = *device_->prepare(spec);
    if (rule_.partials.results().empty()) return;
    spec.expression = rule_.partials;
    spec.out.assign(rule_.partials.results().size(), {DType::f64, {}, {}});
    partials_ = *device_->prepare(spec);
  }

  void update(const Numbers& gradient, double rate, Factors factors = {}) {
    const Updater::When when{++updates_, rate};
    std::vector<float> scalars(Updater::first_own + rule_.own_scalars);
    scalars[Updater::rate] = static_cast<float>(rate);
    scalars[Updater::decay_scale] = static_cast<float>(factors.decay_scale);
    scalars[Updater::gradient_scale] = static_cast<float>(factors.gradient_scale);
    const std::span<float> own = std::span(scalars).subspan(Updater::first_own);
    updater_->scalars(when, {}, own);
    std::vector<const void*> in{value.data(), gradient.data()};
    std::vector<void*> out{value.data()};
    for (auto& slot : history) {
      in.push_back(slot.data());
      out.push_back(slot.data());
    }
    if (partials_) {
      Numbers sums(rule_.partials.results().size());
      std::vector<void*> sums_out;
      for (double& sum : sums) sums_out.push_back(&sum);
      run(*partials_, in, sums_out, scalars);
      updater_->scalars(when, sums, own);
    }
    run(*apply_, in, out, scalars);
  }

  Numbers value;
  std::vector<Numbers> history;

 private:
  void run(Op& op, std::span<const void* const> in, std::span<void* const> out, std::span<const float> scalars) {
    std::vector<std::byte> scratch(op.scratch_bytes);
    op.execute(*stream_, in, out, scratch.data(), {.scalars = scalars});
    ASSERT_TRUE(stream_->wait().ok());
  }

  std::unique_ptr<Updater> updater_;
  Updater::Rule rule_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Op> apply_, partials_;
  std::uint64_t updates_ = 0;
};

} // namespace dlhost::test
