#include "map.h"

#include <algorithm>

#include "../formats.h"
#include "../prepare.h"

namespace dlhost::plugins::cpu {
namespace {

Status check(const MapSpec& spec) {
  const auto& expression = spec.expression;
  if (spec.out.empty() || expression.results().size() != spec.out.size())
    return Status::invalid("map: ", expression.results().size(), " results, but ", spec.out.size(), " outputs");
  if (expression.input_count() > spec.in.size())
    return Status::invalid("map: the expression reads ", expression.input_count(), " inputs, but there are ",
                           spec.in.size());
  if (std::max(spec.in.size(), spec.out.size()) > max_operands)
    return Status::unsupported("map: more than ", max_operands, " inputs or outputs");
  return {};
}

// Open formats of the spec become the first settled one.
void settle(MapSpec& spec) {
  Format settled = Format::plain();
  for (auto* list : {&spec.out, &spec.in})
    for (const auto& desc : *list)
      if (!desc.format.is_any()) settled = desc.format;
  for (auto* list : {&spec.in, &spec.out})
    for (auto& desc : *list)
      if (desc.format.is_any()) desc.format = settled;
}

// A 16-bit result may also have pairs of rows interleaved: an update's result for the next step's products.
bool all_alike(const MapSpec& spec) {
  const auto& first = spec.out.front();
  const auto alike = [&](const TensorDesc& desc) { return desc.shape == first.shape && desc.format == first.format; };
  const auto paired = [&](const TensorDesc& desc) {
    const bool narrow = desc.dtype == DType::bf16 || desc.dtype == DType::f16;
    const auto found = narrow && spec.keeps_zeros ? pairing(first, desc) : std::nullopt;
    return found && found->width % 16 == 0 && chunk % (2 * found->width) == 0 && found->rows_piece % chunk == 0;
  };
  return std::ranges::all_of(spec.in, alike) &&
         std::ranges::all_of(spec.out, [&](const TensorDesc& desc) { return alike(desc) || paired(desc); });
}

// Segments in which some tensors are broadcast (such as single elements): an op for each segment.
class SegmentedMap final : public Op {
 public:
  static Result<std::unique_ptr<Op>> make(const MapSpec& spec, const MapKernels& kernels, int threads) {
    auto made = std::make_unique<SegmentedMap>();
    made->in = spec.in;
    made->out = spec.out;
    const Shape longest{*std::ranges::max_element(spec.segments)};
    for (const auto count : spec.segments) {
      MapSpec piece = spec;
      piece.segments.clear();
      for (auto* list : {&piece.in, &piece.out})
        for (auto& desc : *list)
          if (desc.shape == longest) desc.shape = {count};
      DLHOST_ASSIGN(auto op, make_map(piece, kernels, threads));
      made->scratch_bytes = std::max(made->scratch_bytes, op->scratch_bytes);
      made->operations += op->operations;
      made->kernel = op->kernel;
      made->pieces_.push_back(std::move(op));
    }
    return std::unique_ptr<Op>(std::move(made));
  }
  void execute(Stream& stream, std::span<const void* const> inputs, std::span<void* const> outputs, void* scratch,
               const Dynamic& dynamic) override {
    for (std::size_t i = 0; i < pieces_.size(); ++i)
      pieces_[i]->execute(stream, inputs.subspan(i * in.size(), in.size()), outputs.subspan(i * out.size(), out.size()),
                          scratch, dynamic);
  }

 private:
  std::vector<std::unique_ptr<Op>> pieces_;
};

} // namespace

Result<std::unique_ptr<Op>> make_map(const MapSpec& wanted, const MapKernels& kernels, int threads) {
  DLHOST_TRY(check(wanted));
  MapSpec spec = wanted;
  settle(spec);
  if (all_alike(spec)) {
    const auto& first = spec.out.front();
    if (spec.expression.draws() && !first.format.is_plain() && Placement(first).elements_of_a_sample().empty())
      return Status::unsupported("map: draws need samples that lie one after another, not as in ",
                                 name_of_format(first));
    return make_flat_map(spec, kernels, threads);
  }
  if (!spec.segments.empty()) return SegmentedMap::make(spec, kernels, threads);
  for (const auto* list : {&spec.in, &spec.out})
    for (const auto& desc : *list)
      if (!desc.format.is_plain()) return Status::unsupported("map: broadcasting needs plain tensors");
  return make_broadcast_map(spec, kernels, threads);
}

Prepared prepare(const MapSpec& spec, const Request& request) { return make_map(spec, map_kernels(), request.threads); }

} // namespace dlhost::plugins::cpu
