// The device suite: each case, in each dtype and with formats given or chosen, against the same case in f64.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "context.h"
#include "device/experiment.h"
#include "device/tests.h"

namespace dlhost::conform {

namespace {

std::string_view name_of(Role role) {
  return role == Role::feature ? "feature" : role == Role::input_gradient ? "input gradient" : "param gradient";
}

double tolerance(const Case& of, DType dtype, const Values& wanted) {
  const double sums = 16 * epsilon_of(DType::f32) * std::sqrt(of.terms);
  const double stores = dtype == DType::f32 ? 0 : 4 * epsilon_of(dtype);
  return (sums + stores) * std::max(largest(wanted), 1e-3);
}

// The feature as one number, whose gradient the gradient ops compute.
double objective(const Case& of, Experiment& feature, Board& filled) {
  feature.run(false);
  if (std::holds_alternative<SoftmaxLossSpec>(of.spec))
    return feature.results().at("total").at(0) * static_cast<double>(of.scalars.at(0));
  const Values &y = feature.results().at("y"), &dy = filled.at("dy");
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
  return sum;
}

// Compares the oracle's gradients with differences of its features, for a few elements of each operand.
void check_differences(const Context& context, const Case& of, const Board& gradients, const Board& operands) {
  const auto oracle = context.oracle();
  for (const auto& [name, gradient] : gradients) {
    const std::string operand = name.substr(1);
    if (name[0] != 'd' || !operands.contains(operand) || name == "dy") continue;
    const std::size_t count = gradient.size();
    for (std::size_t i = 0; i < count; i += count / 7 + 1) {
      const auto at = [&](double shift) {
        Board moved = operands;
        moved[operand][i] += shift;
        Experiment feature(*oracle, of, spec_for_oracle(of), context.seed, moved);
        need(feature.prepare(Role::feature));
        return objective(of, feature, moved);
      };
      // A total is an f32 number: its rounding would hide small steps.
      const double h = std::holds_alternative<SoftmaxLossSpec>(of.spec) ? 0x1p-4 : 0x1p-9;
      const double slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
      EXPECT_NEAR(gradient[i], slope, 3e-3 * std::max(largest(gradient), 1e-2)) << name << "[" << i << "]";
    }
  }
}

class CaseTest {
 public:
  CaseTest(const Context& context, std::string device, Case of, Manner manner)
      : context_(context), name_(std::move(device)), case_(std::move(of)), manner_(manner) {}

  void run() {
    const auto device = context_.make<Device>(name_, context_.options);
    const Status known = settle_format(*device);
    if (!known.ok()) GTEST_SKIP() << known.message();
    const auto oracle = context_.oracle();
    Board filled;
    Experiment ours(*device, case_, spec_for(case_, manner_), context_.seed, filled);
    std::optional<Experiment> theirs;
    Board gradients;
    for (const Role role : case_.roles) {
      SCOPED_TRACE(name_of(role));
      const Status refused = ours.prepare(role, manner_.choice);
      const bool optional =
          manner_.dtype != DType::f32 || manner_.choice.block_samples || context_.may_decline(case_.spec);
      if (refused.code() == Code::unsupported && optional) GTEST_SKIP() << refused.message();
      ASSERT_TRUE(refused.ok()) << refused.message();
      if (role == Role::input_gradient && case_.adds && !ours.op().epilogue_taken) GTEST_SKIP() << ours.op().remark;
      check_choice(*device, role, ours.op());
      ours.run(true);
      Case expected = case_;
      if (!ours.op().epilogue_taken) drop_epilogue(expected.spec);
      if (!theirs) theirs.emplace(*oracle, case_copy_ = expected, spec_for_oracle(expected), context_.seed, filled);
      need(theirs->prepare(role));
      theirs->run(false);
      for (const auto& output : ours.outputs()) {
        const Values& wanted = theirs->results().at(output);
        expect_near(ours.results().at(output), wanted, tolerance(case_, manner_.dtype, wanted), output);
        if (role != Role::feature) gradients[output] = wanted;
      }
      if (role == Role::feature) check_epilogue(*device, ours, filled);
    }
    if (name_ == "ref" && case_.smooth && manner_.dtype == DType::f32 && !manner_.chooses)
      check_differences(context_, case_copy_, gradients, filled);
  }

 private:
  // Gives an image's tensors the wanted format; some devices lack it.
  Status settle_format(Device& device) {
    Status settled;
    if (manner_.format.empty()) return settled;
    each_tensor(case_.spec, [&](const std::string& name, TensorDesc& desc) {
      if (name != "x" && name != "y") return;
      auto format = device.format_named(desc, manner_.format);
      if (format.ok())
        desc.format = *format;
      else
        settled = std::move(format).status();
    });
    return settled;
  }

  // An op's kernel can be chosen by name; an unknown name is refused.
  void check_choice(Device& device, Role role, const Op& op) {
    Board unused;
    Experiment again(device, case_, spec_for(case_, manner_), context_.seed, unused);
    if (role != Role::feature) return;
    Choice choice = manner_.choice;
    choice.kernel = op.kernel;
    EXPECT_FALSE(op.kernel.empty());
    const Status same = again.prepare(role, choice);
    EXPECT_TRUE(same.ok()) << same.message();
    choice.kernel = "no such kernel";
    EXPECT_FALSE(again.prepare(role, choice).ok());
  }

  // A taken epilogue equals the op followed by the pointwise function.
  void check_epilogue(Device& device, Experiment& ours, Board& filled) {
    const Epilogue* epilogue = epilogue_of(case_.spec);
    if (!epilogue || epilogue->empty() || !ours.op().epilogue_taken) return;
    Case bare = case_;
    drop_epilogue(bare.spec);
    Experiment plain(device, bare, spec_for(bare, manner_), context_.seed, filled);
    need(plain.prepare(Role::feature, manner_.choice));
    plain.run(false);
    Lab lab(device);
    const TensorDesc y = plain.output_desc("y").as(Format::plain());
    MapSpec map{.in = {y}, .out = {y}};
    Term sum = map.expression.input(0);
    std::vector<Held> in;
    in.push_back(lab.put(y, plain.results().at("y")));
    if (epilogue->add) {
      sum = sum + map.expression.input(1);
      map.in.push_back(y);
      in.push_back(lab.put(y, filled.at("addend")));
    }
    map.expression.result(epilogue->pointwise ? epilogue->pointwise->feature.inlined(map.expression, {sum})[0] : sum);
    const Held out = lab.blank(y);
    auto op = need(device.prepare(map));
    std::vector<const void*> from;
    for (const auto& held : in) from.push_back(held.memory.data());
    void* to = out.memory.data();
    need(lab.run(*op, from, {&to, 1}));
    const Values wanted = lab.get(out);
    expect_near(ours.results().at("y"), wanted, 2 * tolerance(case_, manner_.dtype, wanted), "y after its epilogue");
  }

  const Context& context_;
  std::string name_;
  Case case_;
  Case case_copy_; // for the oracle
  Manner manner_;
};

void add_case(const Context& context, const std::string& device, const Case& of, const Manner& manner,
              const std::string& how) {
  add_test(context, Kind::device, device, of.name + "." + how,
           [&context, device, of, manner] { CaseTest(context, device, of, manner).run(); });
}

} // namespace

void expect_near(const Values& got, const Values& wanted, double bound, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(std::abs(got[i] - wanted[i]) <= bound)
        << what << "[" << i << "] is " << got[i] << ", but should be " << wanted[i] << " within " << bound;
}

void register_device_suite(const Context& context, const std::string& name) {
  for (const auto& list : {linear_cases(), window_cases(), norm_cases(), map_cases()})
    for (const auto& one : list) {
      add_case(context, name, one, {}, "f32");
      if (one.chooses) add_case(context, name, one, {.chooses = true}, "f32_any");
      for (const DType type : {DType::bf16, DType::f16})
        if (one.narrow)
          add_case(context, name, one, {.dtype = type, .chooses = one.chooses},
                   concat(name_of(type), one.chooses ? "_any" : ""));
      for (const std::string format : {"aBcd16b", "acdb"})
        for (const DType type : {DType::f32, DType::bf16, DType::f16})
          if (one.in_formats)
            add_case(context, name, one, {.dtype = type, .format = format}, std::string(name_of(type)) + "_" + format);
      if (one.in_blocks) add_case(context, name, one, {.choice = {.block_samples = 2}}, "f32_blocks");
    }
  add_memory_tests(context, name);
  add_element_tests(context, name);
  add_peers_tests(context, name);
}

} // namespace dlhost::conform
