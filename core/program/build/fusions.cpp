#include "program/build/fusions.h"

#include <algorithm>

#include <fmt/format.h>

namespace dlhost::program {

Fusions::Fusions(const net::Graph& graph, bool training, const std::vector<std::string>& kept)
    : graph_(graph), looked_(true), training_(training), of_(graph.nodes().size()) {
  const auto asked = [&](std::size_t node) {
    return std::ranges::any_of(
        kept, [&](const std::string& name) { return name.substr(0, name.find(':')) == graph.nodes()[node].name; });
  };
  for (const auto& fusion : net::find_fusions(graph, training))
    if (!asked(fusion.producer) && !(fusion.add && fusion.pointwise && asked(*fusion.add)))
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
