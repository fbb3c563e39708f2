#include "map.h"

#include <algorithm>

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

// Formats that the spec leaves open become the first one that is settled.
void settle(MapSpec& spec) {
  Format settled = Format::plain();
  for (auto* list : {&spec.out, &spec.in})
    for (const auto& desc : *list)
      if (!desc.format.is_any()) settled = desc.format;
  for (auto* list : {&spec.in, &spec.out})
    for (auto& desc : *list)
      if (desc.format.is_any()) desc.format = settled;
}

bool all_alike(const MapSpec& spec) {
  const auto& first = spec.out.front();
  const auto alike = [&](const TensorDesc& desc) { return desc.shape == first.shape && desc.format == first.format; };
  return std::ranges::all_of(spec.in, alike) && std::ranges::all_of(spec.out, alike);
}

} // namespace

Result<std::unique_ptr<Op>> make_map(const MapSpec& wanted, const MapKernels& kernels, int threads) {
  DLHOST_TRY(check(wanted));
  MapSpec spec = wanted;
  settle(spec);
  if (all_alike(spec)) {
    if (spec.expression.draws() && !spec.out.front().format.is_plain())
      return Status::unsupported("map: draws are made in plain tensors only");
    return make_flat_map(spec, kernels, threads);
  }
  if (!spec.segments.empty()) return Status::unsupported("map: segments with broadcasting");
  for (const auto* list : {&spec.in, &spec.out})
    for (const auto& desc : *list)
      if (!desc.format.is_plain()) return Status::unsupported("map: broadcasting needs plain tensors");
  return make_broadcast_map(spec, kernels, threads);
}

Prepared prepare(const MapSpec& spec, const Request& request) { return make_map(spec, map_kernels(), request.threads); }

} // namespace dlhost::plugins::cpu
