#include "device/case.h"

#include <cmath>

namespace dlhost::conform {

namespace {

using Names = std::vector<std::string>;

struct Inputs {
  bool taken;
  std::size_t count; // of the op

  Names linear(Role role, bool bias, const Epilogue& epilogue) const {
    Names names;
    if (role != Role::input_gradient) names.push_back("x");
    if (role != Role::feature) names.push_back("dy");
    if (role != Role::param_gradient) names.push_back("w");
    if (role == Role::feature && bias) names.push_back("b");
    if (taken && epilogue.add) names.push_back("addend");
    return names;
  }
  Names operator()(const GemmSpec& s) const { return linear(s.role, s.b.shape.rank() > 0, s.epilogue); }
  Names operator()(const ConvSpec& s) const { return linear(s.role, s.b.shape.rank() > 0, s.epilogue); }
  Names operator()(const PoolSpec& s) const { return {s.role == Role::feature ? "x" : "dy"}; }
  Names operator()(const NormSpec& s) const {
    const bool rms = s.kind == NormSpec::Kind::rms, feature = s.role == Role::feature;
    Names names = feature ? Names{"x", "scale"} : Names{"x", "dy", "scale"};
    if (!rms) names.push_back("shift");
    if (!rms && (!feature || s.given_statistics)) names.insert(names.end(), {"mean", "variance"});
    if (rms && !feature) names.push_back("square");
    if (feature && taken && s.epilogue.add) names.push_back("addend");
    if (!feature && taken && s.epilogue.pointwise && s.epilogue.pointwise->from_output && count > names.size())
      names.push_back("y");
    return names;
  }
  Names operator()(const LrnSpec& s) const { return s.role == Role::feature ? Names{"x"} : Names{"x", "dy"}; }
  Names operator()(const SoftmaxSpec& s) const { return s.role == Role::feature ? Names{"x"} : Names{"y", "dy"}; }
  Names operator()(const SoftmaxLossSpec& s) const {
    Names names{s.role == Role::feature ? "x" : "y", "labels"};
    if (s.class_weights) names.push_back("class_weights");
    return names;
  }
  Names operator()(const GatherSpec& s) const {
    return s.role == Role::feature ? Names{"table", "indices"} : Names{"indices", "dy"};
  }
  Names operator()(const MapSpec& s) const {
    Names names;
    for (std::size_t piece = 0; piece < std::max<std::size_t>(s.segments.size(), 1); ++piece)
      for (std::size_t i = 0; i < s.in.size(); ++i) names.push_back(concat("in", piece * s.in.size() + i));
    return names;
  }
  template <class Spec> Names operator()(const Spec&) const { return {"src"}; }
};

struct Outputs {
  bool taken;

  static Names linear(Role role, bool bias) {
    if (role == Role::feature) return {"y"};
    if (role == Role::input_gradient) return {"dx"};
    return bias ? Names{"dw", "db"} : Names{"dw"};
  }
  Names operator()(const GemmSpec& s) const { return linear(s.role, s.b.shape.rank() > 0); }
  Names operator()(const ConvSpec& s) const { return linear(s.role, s.b.shape.rank() > 0); }
  Names operator()(const NormSpec& s) const {
    const bool rms = s.kind == NormSpec::Kind::rms;
    if (s.role == Role::feature && rms) return {"y", "square"};
    if (s.role == Role::feature) return s.given_statistics ? Names{"y"} : Names{"y", "mean", "variance"};
    Names names{"dx", "dscale"};
    if (!rms) names.push_back("dshift");
    if (taken && s.epilogue.add) names.push_back("daddend");
    return names;
  }
  Names operator()(const SoftmaxLossSpec& s) const {
    return s.role == Role::feature ? Names{"y", "total"} : Names{"dx"};
  }
  Names operator()(const GatherSpec& s) const { return {s.role == Role::feature ? "y" : "dtable"}; }
  Names operator()(const MapSpec& s) const {
    Names names;
    for (std::size_t piece = 0; piece < std::max<std::size_t>(s.segments.size(), 1); ++piece)
      for (std::size_t i = 0; i < s.out.size(); ++i) names.push_back(concat("out", piece * s.out.size() + i));
    return names;
  }
  template <class Spec> Names operator()(const Spec& s) const {
    if constexpr (requires { s.role; })
      return {s.role == Role::feature ? "y" : "dx"};
    else
      return {"dst"};
  }
};

} // namespace

std::vector<std::string> input_names(const OpSpec& spec, const Op& op) {
  return std::visit(Inputs{op.epilogue_taken, op.in.size()}, spec);
}
std::vector<std::string> output_names(const OpSpec& spec, bool taken) { return std::visit(Outputs{taken}, spec); }

void set_role(OpSpec& spec, Role role) {
  std::visit(
      [&](auto& one) {
        if constexpr (requires { one.role; }) one.role = role;
      },
      spec);
}

void each_tensor(OpSpec& spec, const std::function<void(const std::string&, TensorDesc&)>& change) {
  std::visit(
      [&](auto& one) {
        if constexpr (requires { one.x; }) change("x", one.x);
        if constexpr (requires { one.y; }) change("y", one.y);
        if constexpr (requires { one.w; }) {
          change("w", one.w);
          if (one.b.shape.rank() > 0) change("b", one.b);
        }
        if constexpr (requires { one.table; }) change("table", one.table);
        if constexpr (requires { one.src; }) {
          change("src", one.src);
          change("dst", one.dst);
        }
        if constexpr (requires { one.segments; }) {
          for (auto& desc : one.in) change("in", desc);
          for (auto& desc : one.out) change("out", desc);
        }
      },
      spec);
}

const Epilogue* epilogue_of(const OpSpec& spec) {
  return std::visit(
      [](const auto& one) -> const Epilogue* {
        if constexpr (requires { one.epilogue; })
          return &one.epilogue;
        else
          return nullptr;
      },
      spec);
}

void drop_epilogue(OpSpec& spec) {
  std::visit(
      [](auto& one) {
        if constexpr (requires { one.epilogue; }) one.epilogue = {};
      },
      spec);
}

void add_to_result(OpSpec& spec) {
  std::visit(
      [](auto& one) {
        if constexpr (requires { one.epilogue; }) one.epilogue.add = true;
      },
      spec);
}

Fill distinct() {
  return [](std::int64_t index, double) { return static_cast<double>(index * 37 % 256 * 2 - 255) / 128; };
}

Fill integers_below(std::int64_t count) {
  return [count](std::int64_t, double draw) { return std::floor(draw * static_cast<double>(count)); };
}

Fill between_numbers(double low, double high) {
  return [low, high](std::int64_t, double draw) { return low + draw * (high - low); };
}

} // namespace dlhost::conform
