// Runs the frames of a layer.
#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "allocations.h"
#include "layer/bench.h"

namespace dlhost::conform {

namespace {

const Values& value_of(const Tensors& given, const std::string& name) {
  const auto found = given.find(name);
  if (found == given.end()) throw std::runtime_error("no values for " + name);
  return found->second;
}

} // namespace

LayerRun::LayerRun(LayerBench& bench, const Tensors& given, const Manner& manner) : bench_(bench), manner_(manner) {
  Lab& lab = bench.lab();
  for (std::size_t i = 0; i < bench.reads_.size(); ++i) {
    inputs_.push_back(lab.put(bench.reads_[i], value_of(given, concat("in", i))));
    input_bytes_.push_back(lab.raw(inputs_.back().memory));
    has_input_gradient_.push_back(bench.wants_input_gradient(i) && !(i == 0 && manner.drops_input_gradient));
    input_gradients_.push_back(lab.blank(bench.reads_[i]));
  }
  for (std::size_t i = 0; i < bench.gives_.size(); ++i) {
    const std::string gradient = concat("dout", i);
    has_output_gradient_.push_back(given.contains(gradient));
    outputs_.push_back(lab.blank(bench.gives_[i]));
    output_gradients_.push_back(has_output_gradient_[i] ? lab.put(bench.gives_[i], given.at(gradient))
                                                        : lab.blank(bench.gives_[i]));
  }
  for (const auto& use : bench.uses_)
    uses_.push_back(lab.put(use.desc, value_of(given, bench.setup_.params[use.param].name)));
  for (const auto& desc : bench.param_gradients_) param_gradients_.push_back(lab.blank(desc));
  for (const auto& buffer : bench.buffers_) {
    const auto count = static_cast<std::int64_t>(buffer.bytes / sizeof(float));
    if (buffer.filled)
      buffers_.push_back(
          lab.put({DType::f32, {count}, {}}, Values(static_cast<std::size_t>(count), buffer.initial)).memory);
    else
      buffers_.push_back(lab.room(buffer.bytes));
  }
  scratch_ = lab.room(bench.scratch_);
  samples_ = manner.samples;
  if (samples_.empty()) {
    samples_.resize(static_cast<std::size_t>(bench.rows()));
    std::iota(samples_.begin(), samples_.end(), 0U);
  }
  bind();
}

void LayerRun::bind() {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    in_.push_back(inputs_[i].memory.data());
    din_.push_back(has_input_gradient_[i] ? input_gradients_[i].memory.data() : nullptr);
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    out_.push_back(outputs_[i].memory.data());
    dout_.push_back(has_output_gradient_[i] ? output_gradients_[i].memory.data() : nullptr);
  }
  if (manner_.in_place) {
    out_[0] = inputs_[0].memory.data();
    if (din_[0]) din_[0] = output_gradients_[0].memory.data();
  }
  if (bench_.setup_.is_view) {
    out_[0] = inputs_[0].memory.data();
    if (din_[0]) din_[0] = output_gradients_[0].memory.data();
  }
  for (const auto& use : uses_) param_.push_back(use.memory.data());
  for (std::size_t i = 0; i < param_gradients_.size(); ++i)
    dparam_.push_back(bench_.wants_param_gradient(i) ? param_gradients_[i].memory.data() : nullptr);
  for (const auto& buffer : buffers_) buffer_.push_back(buffer.data());
  frame_.inputs = in_;
  frame_.outputs = out_;
  frame_.output_gradients = dout_;
  frame_.input_gradients = din_;
  frame_.params = param_;
  frame_.param_gradients = dparam_;
  frame_.buffers = buffer_;
  frame_.scratch = scratch_.size ? scratch_.data() : nullptr;
  frame_.stream = &bench_.lab_->stream();
  frame_.draw_stream = 5;
  frame_.peers = manner_.peers;
}

Pass LayerRun::pass() const {
  Pass pass{.phase = bench_.ask_.phase, .step = 3, .epoch = 2, .seed = 11, .samples = samples_};
  pass.valid = manner_.valid < 0 ? bench_.rows() : manner_.valid;
  pass.global_batch = manner_.global_batch > 0 ? manner_.global_batch : bench_.rows();
  pass.loss_scale = manner_.loss_scale;
  return pass;
}

void LayerRun::wait() { need(bench_.lab_->stream().wait()); }

void LayerRun::feature() {
  const std::uint64_t before = dlhost::conform::allocations();
  bench_.layer().compute_feature(pass(), frame_);
  wait();
  allocations_ = dlhost::conform::allocations() - before;
}

void LayerRun::gradient(Wanted wanted) {
  if (!bench_.setup_.has_gradient) return;
  const std::uint64_t before = dlhost::conform::allocations();
  bench_.layer().compute_gradient(pass(), frame_, wanted);
  wait();
  allocations_ += dlhost::conform::allocations() - before;
}

void LayerRun::poison() {
  poisoned_ = true;
  const auto spoil = [&](const Held& held) {
    const Held bad = bench_.lab_->blank(held.desc);
    need(bench_.lab_->device().copy(bench_.lab_->stream(), held.memory.data(), bad.memory.data(), held.memory.size,
                                    Direction::within));
    wait();
  };
  if (!bench_.setup_.reads.inputs && !bench_.setup_.is_view && !manner_.in_place)
    for (const auto& held : inputs_)
      if (is_float(held.desc.dtype)) spoil(held);
  if (!bench_.setup_.reads.outputs)
    for (const auto& held : outputs_) spoil(held);
}

void LayerRun::preset_input_gradient(std::size_t input, const Values& values) {
  input_gradients_.at(input) = bench_.lab_->put(bench_.reads_[input], values);
  din_[input] = input_gradients_[input].memory.data();
}

Tensors LayerRun::outputs() {
  Tensors got;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const bool shares = i == 0 && (manner_.in_place || bench_.setup_.is_view);
    if (shares) { // the same elements, possibly in another shape
      Held lent{bench_.reads_[0], {}};
      std::swap(lent.memory, inputs_[0].memory);
      got[concat("out", i)] = bench_.lab_->get(lent);
      std::swap(lent.memory, inputs_[0].memory);
    } else {
      got[concat("out", i)] = bench_.lab_->get(outputs_[i]);
    }
  }
  return got;
}

Tensors LayerRun::gradients() {
  Tensors got;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!has_input_gradient_[i]) continue;
    const bool shares = i == 0 && (manner_.in_place || bench_.setup_.is_view);
    got[concat("din", i)] = bench_.lab_->get(shares ? output_gradients_[0] : input_gradients_[i]);
  }
  for (std::size_t i = 0; i < param_gradients_.size(); ++i)
    if (dparam_[i]) got["d" + bench_.setup_.params[i].name] = bench_.lab_->get(param_gradients_[i]);
  return got;
}

void LayerRun::check_memory() {
  const auto all_intact = [&](const std::vector<Held>& list, const char* what) {
    for (std::size_t i = 0; i < list.size(); ++i)
      EXPECT_TRUE(bench_.lab_->intact(list[i].memory)) << "writes beyond " << what << " " << i;
  };
  all_intact(inputs_, "input");
  all_intact(outputs_, "output");
  all_intact(output_gradients_, "output gradient");
  all_intact(input_gradients_, "input gradient");
  all_intact(uses_, "param");
  all_intact(param_gradients_, "param gradient");
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    EXPECT_TRUE(bench_.lab_->intact(buffers_[i])) << "writes beyond buffer " << i;
  EXPECT_TRUE(bench_.lab_->intact(scratch_)) << "writes beyond its scratch";
  if (manner_.in_place || poisoned_) return;
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    EXPECT_EQ(bench_.lab_->raw(inputs_[i].memory), input_bytes_[i]) << "writes to input " << i;
}

} // namespace dlhost::conform
