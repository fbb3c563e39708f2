#include "device/experiment.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "allocations.h"

namespace dlhost::conform {

namespace {

// Pieces of a map's flat tensors have the length of their segment; all others are as in the op.
TensorDesc piece(const OpSpec& spec, const std::vector<TensorDesc>& list, std::size_t i) {
  const TensorDesc& desc = list.at(i % list.size());
  const auto* map = std::get_if<MapSpec>(&spec);
  if (!map || map->segments.empty() || desc.shape != Shape{*std::ranges::max_element(map->segments)}) return desc;
  return {desc.dtype, {map->segments[i / list.size()]}, desc.format};
}

bool has_role(const OpSpec& spec) {
  return std::visit(
      [](const auto& one) {
        return requires { one.role; };
      },
      spec);
}

} // namespace

OpSpec spec_for(const Case& of, const Manner& manner) {
  OpSpec spec = of.spec;
  each_tensor(spec, [&](const std::string& name, TensorDesc& desc) {
    if (desc.dtype == DType::f32 && name != "b") desc.dtype = manner.dtype; // biases stay in f32
    if (manner.chooses && (name == "x" || name == "y" || name == "w")) desc.format = Format::any();
  });
  return spec;
}

OpSpec spec_for_oracle(const Case& of) {
  OpSpec spec = of.spec;
  each_tensor(spec, [](const std::string&, TensorDesc& desc) {
    if (is_float(desc.dtype)) desc.dtype = DType::f64;
    desc.format = Format::plain();
  });
  return spec;
}

Experiment::Experiment(Device& device, const Case& of, OpSpec spec, std::uint64_t seed, Board& filled)
    : device_(device), lab_(device), case_(of), spec_(std::move(spec)), seed_(seed), filled_(filled) {}

Status Experiment::prepare(Role role, const Choice& choice) {
  role_ = role;
  OpSpec spec = spec_;
  set_role(spec, role);
  if (role == Role::param_gradient || role == Role::input_gradient)
    each_tensor(spec, [&](const std::string& name, TensorDesc& desc) {
      // A param's gradient is f32; everything that the feature's op has settled stays.
      if (role == Role::param_gradient && name == "w" && desc.dtype != DType::f64) desc.dtype = DType::f32;
      if (role == Role::input_gradient && name == "b") desc = TensorDesc{};
    });
  if (role != Role::feature && (spec_.index() == 0 || spec_.index() == 1)) drop_epilogue(spec);
  if (role == Role::input_gradient && case_.adds) add_to_result(spec);
  auto made = device_.prepare(spec, choice);
  if (!made.ok()) return std::move(made).status();
  op_ = *std::move(made);
  inputs_ = input_names(spec, *op_);
  outputs_ = output_names(spec, op_->epilogue_taken);
  if (role != Role::feature || !has_role(spec)) return {};
  each_tensor(spec_, [&](const std::string& name, TensorDesc& desc) {
    if (name == "x") desc = op_->in.at(0);
    if (name == "y") desc = op_->out.at(0);
  });
  return {};
}

TensorDesc Experiment::output_desc(const std::string& name) const {
  const auto at = std::ranges::find(outputs_, name) - outputs_.begin();
  return piece(spec_, op_->out, static_cast<std::size_t>(at));
}

Values Experiment::fill(const std::string& name, const TensorDesc& desc) {
  if (const auto known = results_.find(name); known != results_.end()) return known->second;
  auto& values = filled_[name];
  if (!values.empty() || desc.count() == 0) return values;
  values = uniform(seed_, case_.name + name, desc.count());
  const auto own = case_.fills.find(name);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = own != case_.fills.end() ? own->second(static_cast<std::int64_t>(i), values[i]) : 2 * values[i] - 1;
  return values = rounded(values, desc.dtype);
}

Held Experiment::input(std::size_t i) {
  const TensorDesc desc = piece(spec_, op_->in, i);
  return lab_.put(desc, fill(inputs_[i], desc));
}

Held Experiment::output(std::size_t i) {
  const TensorDesc desc = piece(spec_, op_->out, i);
  if (outputs_[i] == "dst" && std::holds_alternative<BoxSpec>(spec_)) return lab_.put(desc, fill("dst", desc));
  return lab_.blank(desc);
}

Dynamic Experiment::dynamic() const {
  return {.scalars = case_.scalars, .valid = case_.valid, .key = {seed_, 7}, .epoch = 3};
}

void Experiment::run(bool checked) {
  std::vector<Held> in, out;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (std::size_t i = 0; i < inputs_.size(); ++i) from.push_back(in.emplace_back(input(i)).memory.data());
  for (std::size_t i = 0; i < outputs_.size(); ++i) to.push_back(out.emplace_back(output(i)).memory.data());
  if (role_ == Role::feature && op_->workspace_bytes > 0) {
    workspace_ = lab_.room(op_->workspace_bytes);
    to.push_back(workspace_->data());
  } else if (role_ != Role::feature && workspace_) {
    from.push_back(workspace_->data());
  }
  std::vector<std::vector<std::byte>> before;
  for (const auto& held : in) before.push_back(checked ? lab_.raw(held.memory) : std::vector<std::byte>());
  need(lab_.run(*op_, from, to, dynamic()));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    results_[outputs_[i]] = lab_.get(out[i]);
    raw_[outputs_[i]] = lab_.raw(out[i].memory);
  }
  if (!checked) return;
  check_after(in, out, before);
  check_again(from, to, out);
}

void Experiment::check_after(const std::vector<Held>& in, const std::vector<Held>& out,
                             const std::vector<std::vector<std::byte>>& before) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    EXPECT_TRUE(lab_.intact(in[i].memory)) << "writes beyond input " << inputs_[i];
    EXPECT_EQ(lab_.raw(in[i].memory), before[i]) << "writes to input " << inputs_[i];
  }
  EXPECT_TRUE(!workspace_ || lab_.intact(*workspace_)) << "writes beyond the workspace";
  for (std::size_t i = 0; i < out.size(); ++i) {
    const TensorDesc& desc = out[i].desc;
    EXPECT_TRUE(lab_.intact(out[i].memory)) << "writes beyond output " << outputs_[i];
    if (desc.format.is_plain()) continue;
    const std::string name = device_.format_name(desc);
    EXPECT_EQ(lab_.raw(lab_.put(desc, results_[outputs_[i]]).memory), raw_[outputs_[i]])
        << "the padding of " << outputs_[i] << " in " << name << " is not zero";
    const auto again = device_.format_named(desc.as(Format::plain()), name);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, desc.format) << name;
  }
}

// A second run gives the same bits and allocates no memory.
void Experiment::check_again(std::span<const void* const> in, std::span<void* const> out,
                             const std::vector<Held>& held) {
  if (std::holds_alternative<BoxSpec>(spec_)) return; // it adds to its output
  const Guarded scratch = lab_.room(op_->scratch_bytes);
  Status status;
  std::uint64_t asked = 0;
  for (int turn = 0; turn < 2; ++turn) {
    asked = allocations();
    op_->execute(lab_.stream(), in, out, op_->scratch_bytes ? scratch.data() : nullptr, dynamic());
    status = lab_.stream().wait();
    asked = allocations() - asked;
  }
  ASSERT_TRUE(status.ok()) << status.message();
  for (std::size_t i = 0; i < held.size(); ++i)
    EXPECT_EQ(lab_.raw(held[i].memory), raw_[outputs_[i]]) << "another run makes other bits of " << outputs_[i];
  if (op_->kernel.starts_with("ref "))
    EXPECT_EQ(asked, 0U) << "a run asks for memory";
  else
    testing::Test::RecordProperty("allocations", static_cast<int>(asked));
}

} // namespace dlhost::conform
