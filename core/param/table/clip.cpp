#include "param/table/clip.h"

#include <algorithm>
#include <cmath>

#include "param/store/rule_op.h"

namespace dlhost::param {
namespace {

Expression scaled() {
  Expression scaled;
  scaled.result(scaled.scalar(0) * scaled.input(0));
  return scaled;
}

} // namespace

Result<std::unique_ptr<Clip>> Clip::prepare(Store& store, const Gradients& gradients, std::span<std::byte> memory,
                                            double largest_norm) {
  std::unique_ptr<Clip> clip(new Clip(store, largest_norm));
  Device& device = store.device();
  std::size_t scratch = 1;
  for (std::size_t param = 0; param < gradients.elements().size(); ++param) {
    const std::int64_t elements = gradients.elements()[param];
    if (elements == 0) continue;
    const TensorDesc row{DType::f32, {elements}, Format::plain()};
    Part part{.gradient = memory.data() + gradients.offset(param), .square = {}, .scale = {}};
    DLHOST_ASSIGN(part.square, device.prepare(squared_sum_spec(1, row)));
    DLHOST_ASSIGN(part.scale, device.prepare(MapSpec{.expression = scaled(), .in = {row}, .out = {row}}));
    scratch = std::max({scratch, part.square->scratch_bytes, part.scale->scratch_bytes});
    clip->parts_.push_back(std::move(part));
  }
  DLHOST_ASSIGN(clip->sums_, Sums::make(device, store.stream(), std::max<std::size_t>(clip->parts_.size(), 1)));
  DLHOST_ASSIGN(clip->scratch_, Memory::make(device, scratch));
  return clip;
}

Status Clip::run() {
  Stream& stream = store_.stream();
  const auto places = sums_.places(parts_.size());
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const void* gradient = parts_[p].gradient;
    parts_[p].square->execute(stream, {&gradient, 1}, places.subspan(p, 1), scratch_.data(), {});
  }
  DLHOST_ASSIGN(const auto squares, sums_.read(parts_.size()));
  double sum = 0;
  for (const double square : squares) sum += square;
  const double norm = std::sqrt(sum);
  last_norm_ = norm;
  if (!(norm > largest_norm_)) return {};
  const float factor = static_cast<float>(largest_norm_ / norm);
  for (const Part& part : parts_) {
    const void* from = part.gradient;
    void* to = part.gradient;
    part.scale->execute(stream, {&from, 1}, {&to, 1}, scratch_.data(), {.scalars = {&factor, 1}});
  }
  return stream.wait();
}

} // namespace dlhost::param
