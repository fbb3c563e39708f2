#include "program/build/fusions.h"

#include <algorithm>

#include <fmt/format.h>

namespace dlhost::program {
namespace {

// True if this worker computes all layers of the fusion, in the same parts. An addend of another worker is borrowed
// only at the visit of the sum.
bool is_in_one_place(const net::Fusion& fusion, const GroupPart& part, const Bridges& bridges) {
  if (!part.nodes[fusion.producer].computes) return false;
  for (const std::size_t input : {0U, 1U})
    if (fusion.add && bridges.connector(*fusion.add, input)) return false;
  return !fusion.pointwise || !bridges.connector(*fusion.pointwise, 0);
}

} // namespace

Fusions::Fusions(const BuildRequest& request, const Bridges& bridges)
    : graph_(*request.graph), looked_(true), training_(request.training), of_(graph_.nodes().size()) {
  const auto asked = [&](std::size_t node) {
    return std::ranges::any_of(request.kept, [&](const std::string& name) {
      return name.substr(0, name.find(':')) == graph_.nodes()[node].name;
    });
  };
  for (const auto& fusion : net::find_fusions(graph_, training_))
    if (!asked(fusion.producer) && !(fusion.add && fusion.pointwise && asked(*fusion.add)) &&
        is_in_one_place(fusion, request.part, bridges))
      of_[fusion.producer] = fusion;
}

bool Fusions::settle(Unit& unit, const Preparation& preparation) const {
  const net::Fusion* const fusion = of(unit.node);
  if (!fusion) {
    if (looked_) unit.fusion_remark = net::why_apart(graph_, unit.node, training_);
    return false;
  }
  std::string names;
  if (fusion->add) names = graph_.nodes()[*fusion->add].name;
  if (fusion->pointwise) names += (names.empty() ? "" : " + ") + graph_.nodes()[*fusion->pointwise].name;
  if (!preparation.epilogue_passed || !preparation.epilogue_taken) {
    unit.fusion_remark = fmt::format("not fused with {}: {}", names,
                                     !preparation.epilogue_passed          ? "the layer takes no epilogue"
                                     : preparation.epilogue_remark.empty() ? "the device refused"
                                                                           : preparation.epilogue_remark);
    return false;
  }
  unit.fusion_remark = "fused with " + names;
  if (fusion->add) unit.epilogue_addend = unit.described->setup.inputs.size();
  unit.reads_output = preparation.output_read;
  return true;
}

} // namespace dlhost::program
