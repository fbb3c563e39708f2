// Converts format and dtype: plain tensors by the map kernels, other formats by oneDNN.
#include <cmath>
#include <limits>

#include <dlhost/parallel.h>

#include "formats.h"
#include "map/map.h"
#include "prepare.h"
#include "primitive.h"

namespace dlhost::plugins::cpu {

namespace {

using From = PrimitiveOp::From;

constexpr std::int64_t grain_elements = 16 * 1024;

bool is_whole(DType type) { return !is_float(type); }

// Whether a conversion must not go through f32.
bool is_exact(DType from, DType to) { return from == to || (is_whole(from) && is_whole(to)); }

// Converts element by element, for dtypes without a vector kernel: f64 and integers.
class Conversion final : public Op {
 public:
  Conversion(const TensorDesc& src, const TensorDesc& dst) : elements_(elements_of(src)) {
    in = {src};
    out = {dst};
    kernel = src.dtype == dst.dtype ? "copy" : "convert";
  }
  void execute(Stream&, std::span<const void* const> inputs, std::span<void* const> outputs, void*,
               const Dynamic&) override {
    const auto from = in[0].dtype, to = out[0].dtype;
    if (from == to) {
      if (inputs[0] != outputs[0])
        copy_bytes(outputs[0], inputs[0], static_cast<std::size_t>(elements_) * size_of(from));
      return;
    }
    parallel_ranges(elements_, grain_elements, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) {
        if (is_whole(from) && is_whole(to))
          put_whole(to, outputs[0], i, whole(from, inputs[0], i));
        else
          put(to, outputs[0], i, number(from, inputs[0], i));
      }
    });
  }

 private:
  template <class T> static T at(const void* data, std::int64_t i) { return static_cast<const T*>(data)[i]; }
  static std::int64_t whole(DType type, const void* data, std::int64_t i) {
    switch (type) {
    case DType::i64: return at<std::int64_t>(data, i);
    case DType::i32: return at<std::int32_t>(data, i);
    case DType::i8: return at<std::int8_t>(data, i);
    default: return at<std::uint8_t>(data, i);
    }
  }
  static double number(DType type, const void* data, std::int64_t i) {
    if (type == DType::f64) return at<double>(data, i);
    if (is_whole(type)) return static_cast<double>(whole(type, data, i));
    float value = 0;
    map_kernels().load(type, static_cast<const std::byte*>(data) + i * static_cast<std::int64_t>(size_of(type)), &value,
                       1);
    return static_cast<double>(value);
  }
  template <class T, class From> static void keep(void* data, std::int64_t i, From value) {
    constexpr auto low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    T kept = 0;
    if (value <= static_cast<From>(low))
      kept = low;
    else if (value >= static_cast<From>(high))
      kept = high;
    else if (value == value)
      kept = static_cast<T>(value);
    static_cast<T*>(data)[i] = kept;
  }
  template <class From> static void put_whole(DType type, void* data, std::int64_t i, From value) {
    switch (type) {
    case DType::i64: return keep<std::int64_t>(data, i, value);
    case DType::i32: return keep<std::int32_t>(data, i, value);
    case DType::i8: return keep<std::int8_t>(data, i, value);
    default: return keep<std::uint8_t>(data, i, value);
    }
  }
  static void put(DType type, void* data, std::int64_t i, double value) {
    if (type == DType::f64) {
      static_cast<double*>(data)[i] = value;
    } else if (is_whole(type)) {
      put_whole(type, data, i, std::nearbyint(value));
    } else {
      const auto rounded = static_cast<float>(value);
      map_kernels().store(type, &rounded, static_cast<std::byte*>(data) + i * static_cast<std::int64_t>(size_of(type)),
                          1);
    }
  }

  std::int64_t elements_;
};

} // namespace

Prepared prepare(const ReorderSpec& spec, const Request& request) {
  TensorDesc src = spec.src, dst = spec.dst;
  if (src.format.is_any() || dst.format.is_any() || src.shape != dst.shape)
    return Status::invalid("reorder: from ", to_string(src.shape), " to ", to_string(dst.shape),
                           ": both need one shape and a settled format");
  if (src.format == dst.format && (is_exact(src.dtype, dst.dtype) || !has_dtype(src.dtype) || !has_dtype(dst.dtype)))
    return std::unique_ptr<Op>(std::make_unique<Conversion>(src, dst));
  if (src.format == dst.format) {
    MapSpec same;
    same.expression.result(same.expression.input(0));
    same.in = {src};
    same.out = {dst};
    return make_map(same, map_kernels(), request.threads);
  }
  if (!has_dtype(src.dtype) || !has_dtype(dst.dtype))
    return Status::unsupported("reorder: the cpu device has no formats for ", name_of(src.dtype), " to ",
                               name_of(dst.dtype));
  const bool flat = is_flat(src.format) || is_flat(dst.format);
  if (flat && !(is_flat(src.format) || src.format.is_plain()) && !(is_flat(dst.format) || dst.format.is_plain()))
    return Status::unsupported("reorder: from ", name_of_format(src), " to ", name_of_format(dst),
                               " needs a plain tensor between them");
  if (flat) {
    src = as_matrix(src);
    dst = as_matrix(dst);
  }
  const auto groups = std::max(groups_of(src.format), groups_of(dst.format));
  const auto from = describe_grouped(src, groups), to = describe_grouped(dst, groups);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc chosen(engine(), from, engine(), to, attributes);
  auto op = std::make_unique<PrimitiveOp>(dnnl::reorder(chosen), request.threads);
  op->in = {spec.src};
  op->out = {spec.dst};
  op->add(DNNL_ARG_FROM, from, From::input, 0);
  op->add(DNNL_ARG_TO, to, From::output, 0);
  op->add(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc(), From::scratch);
  op->scratch_bytes = chosen.scratchpad_desc().get_size();
  op->kernel = kernel_of(chosen);
  return std::unique_ptr<Op>(std::move(op));
}

} // namespace dlhost::plugins::cpu
