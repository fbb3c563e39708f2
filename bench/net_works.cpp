#include "net_works.h"

#include <utility>

namespace dlhost::bench {
namespace {

class Builder {
 public:
  Builder(std::string name, DType type, std::int64_t batch, Shape sample) : type_(type), batch_(batch), at_(sample) {
    net_.name = std::move(name);
  }

  Builder& dense(std::int64_t units, const std::optional<Pointwise>& activation, int times = 1) {
    GemmSpec spec;
    Shape x{batch_}, w{units};
    for (auto dim : at_) {
      x.push_back(dim);
      w.push_back(dim);
    }
    spec.x = open(x);
    spec.w = open(w);
    spec.b = {DType::f32, {units}, {}};
    spec.y = open({batch_, units});
    spec.epilogue.pointwise = activation;
    net_.params += static_cast<double>(times * (w.count() + units));
    at_ = {units};
    return push(concat("dense ", units), spec, times);
  }

  Builder& conv(std::int64_t out, std::int64_t side, std::int64_t stride, std::int64_t pad,
                const std::optional<Pointwise>& activation, int times = 1, bool bias = true) {
    ConvSpec spec;
    const auto size = (at_[1] + 2 * pad - side) / stride + 1;
    spec.x = open(image(at_[0], at_[1]));
    spec.w = open({out, at_[0], side, side});
    if (bias) spec.b = {DType::f32, {out}, {}};
    spec.y = open(image(out, size));
    spec.stride = {stride, stride};
    spec.pad_low = spec.pad_high = {pad, pad};
    spec.dilation = {1, 1};
    spec.epilogue.pointwise = activation;
    net_.params += static_cast<double>(times * spec.w.shape.count());
    const auto name = concat("conv ", side, "x", side, "/", stride, " ", at_[0], "-", out, " @", at_[1]);
    at_ = {out, size, size};
    return push(name, spec, times);
  }

  Builder& pool(PoolSpec::Kind kind, std::int64_t side, std::int64_t stride, std::int64_t pad, std::int64_t more = 0) {
    PoolSpec spec;
    const auto size = (at_[1] + 2 * pad + more - side) / stride + 1;
    spec.kind = kind;
    spec.x = open(image(at_[0], at_[1]));
    spec.y = open(image(at_[0], size));
    spec.window = {side, side};
    spec.stride = {stride, stride};
    spec.pad_low = {pad, pad};
    spec.pad_high = {pad + more, pad + more};
    const auto name =
        concat(kind == PoolSpec::Kind::max ? "max" : "average", " pool ", side, "/", stride, " @", at_[1]);
    at_ = {at_[0], size, size};
    return push(name, spec, 1, false);
  }

  Builder& norm(const std::optional<Pointwise>& activation, bool add, int times) {
    NormSpec spec;
    spec.x = spec.y = open(image(at_[0], at_[1]));
    spec.epilogue = {add, activation};
    return push(concat(add          ? "norm add relu "
                       : activation ? "norm relu "
                                    : "norm ",
                       at_[0], " @", at_[1]),
                spec, times, false);
  }

  Builder& lrn() {
    LrnSpec spec;
    spec.x = spec.y = open(image(at_[0], at_[1]));
    spec.size = 3;
    return push(concat("lrn @", at_[1]), spec, 1, false);
  }

  Builder& loss() {
    SoftmaxLossSpec spec;
    spec.x = {type_, {batch_, at_[0]}, {}};
    return push(concat("softmax loss ", at_[0]), spec, 1, false);
  }

  Builder& at(Shape sample) {
    at_ = sample;
    return *this;
  }

  NetWorks take() {
    net_.works.front().input_gradient = false;
    MapSpec update; // momentum, weight decay; with bf16 features, one more result
    auto& e = update.expression;
    const auto gradient = e.input(1) * e.scalar(2) + 0.0005 * e.scalar(1) * e.input(0);
    const auto momentum = e.scalar(3) * e.input(2) + gradient;
    const auto value = e.input(0) - e.scalar(0) * momentum;
    e.result(value);
    e.result(momentum);
    const TensorDesc flat{DType::f32, {static_cast<std::int64_t>(net_.params)}, {}};
    update.in = {flat, flat, flat};
    update.out = {flat, flat};
    if (type_ != DType::f32) {
      e.result(value);
      update.out.push_back(flat.as(type_));
    }
    push("update", update, 1, false);
    net_.works.back().input_gradient = false;
    return std::move(net_);
  }

 private:
  TensorDesc open(Shape shape) const { return {type_, shape, Format::any()}; }
  Shape image(std::int64_t channels, std::int64_t side) const { return {batch_, channels, side, side}; }
  Builder& push(std::string layer, OpSpec spec, int times, bool params = true) {
    net_.works.push_back({std::move(layer), std::move(spec), times, true, params});
    return *this;
  }

  DType type_;
  std::int64_t batch_;
  Shape at_;
  NetWorks net_;
};

Pointwise known(Known which) {
  Pointwise function;
  function.known = which;
  function.from_output = true;
  const auto x = function.feature.input(0), y = function.gradient.input(0);
  switch (which) {
  case Known::relu:
    function.feature.result(max(x, 0.0));
    function.gradient.result(greater(y, 0.0));
    break;
  case Known::tanh:
    function.feature.result(tanh(x));
    function.gradient.result(1.0 - y * y);
    break;
  default:
    function.feature.result(logistic(x));
    function.gradient.result(y * (1.0 - y));
    break;
  }
  return function;
}

NetWorks resnet20(DType type, const Pointwise& relu) {
  Builder net("ResNet-20 b128", type, 128, {3, 32, 32});
  net.conv(16, 3, 1, 1, {}, 1, false).conv(16, 3, 1, 1, {}, 6, false).norm(relu, false, 4).norm(relu, true, 3);
  net.conv(32, 3, 2, 1, {}, 1, false).conv(32, 3, 1, 1, {}, 5, false).norm(relu, false, 3).norm(relu, true, 3);
  net.conv(64, 3, 2, 1, {}, 1, false).conv(64, 3, 1, 1, {}, 5, false).norm(relu, false, 3).norm(relu, true, 3);
  return net.pool(PoolSpec::Kind::average, 8, 8, 0).dense(10, {}).loss().take();
}

NetWorks resnet50(DType type, const Pointwise& relu) {
  Builder net("ResNet-50 b16", type, 16, {3, 224, 224});
  net.conv(64, 7, 2, 3, {}, 1, false).norm(relu, false, 1).pool(PoolSpec::Kind::max, 3, 2, 1);
  const std::int64_t widths[] = {64, 128, 256, 512};
  const int counts[] = {3, 4, 6, 3};
  std::int64_t in = 64, side = 56;
  for (int stage = 0; stage < 4; ++stage) {
    const auto width = widths[stage], out = 4 * width, stride = std::int64_t{stage == 0 ? 1 : 2};
    const auto small = side / stride;
    const int rest = counts[stage] - 1;
    net.at({in, side, side}).conv(width, 1, 1, 0, {}, 1, false).norm(relu, false, 1);
    net.conv(width, 3, stride, 1, {}, 1, false);
    net.at({in, side, side}).conv(out, 1, stride, 0, {}, 1, false).norm({}, false, 1);
    net.at({out, small, small}).conv(width, 1, 1, 0, {}, rest, false);
    net.conv(width, 3, 1, 1, {}, rest, false).norm(relu, false, 2 * counts[stage] - 1);
    net.conv(out, 1, 1, 0, {}, counts[stage], false).norm(relu, true, counts[stage]);
    in = out;
    side = small;
  }
  return net.pool(PoolSpec::Kind::average, 7, 7, 0).dense(1000, {}).loss().take();
}

} // namespace

std::vector<NetWorks> net_works(DType type) {
  const auto relu = known(Known::relu), tanh_of = known(Known::tanh), sigmoid = known(Known::logistic);
  constexpr auto max = PoolSpec::Kind::max, average = PoolSpec::Kind::average;
  std::vector<NetWorks> nets;
  nets.push_back(Builder("MLP 784-500-10 b64", type, 64, {784}).dense(500, tanh_of).dense(10, {}).loss().take());
  Builder deep("MLP 784-2500-2000-1500-1000-500-10 b100", type, 100, {784});
  for (const std::int64_t units : {2500, 2000, 1500, 1000, 500}) deep.dense(units, tanh_of);
  nets.push_back(deep.dense(10, {}).loss().take());
  Builder cuda("CIFAR cuda-convnet b256", type, 256, {3, 32, 32});
  cuda.conv(32, 5, 1, 2, {}).pool(max, 3, 2, 0, 1).lrn();
  cuda.conv(32, 5, 1, 2, relu).pool(average, 3, 2, 0, 1).lrn();
  nets.push_back(cuda.conv(64, 5, 1, 2, relu).pool(average, 3, 2, 0, 1).dense(10, {}).loss().take());
  Builder alex("AlexNet b64", type, 64, {3, 224, 224});
  alex.conv(64, 11, 4, 2, relu).pool(max, 3, 2, 0).conv(192, 5, 1, 2, relu).pool(max, 3, 2, 0);
  alex.conv(384, 3, 1, 1, relu).conv(256, 3, 1, 1, relu).conv(256, 3, 1, 1, relu).pool(max, 3, 2, 0);
  nets.push_back(alex.dense(4096, relu).dense(4096, relu).dense(1000, {}).loss().take());
  nets.push_back(resnet20(type, relu));
  nets.push_back(resnet50(type, relu));
  Builder speech("speech-net 1100-8x2048-9000 b256", type, 256, {1100});
  nets.push_back(speech.dense(2048, sigmoid).dense(2048, sigmoid, 7).dense(9000, {}).loss().take());
  return nets;
}

} // namespace dlhost::bench
