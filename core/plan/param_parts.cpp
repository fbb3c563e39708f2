#include "plan/param_parts.h"

#include <algorithm>
#include <optional>

#include <dlhost/partition.h>

namespace dlhost::plan {
namespace {

// The rows of the batch that a worker's piece of a layer is computed of.
SampleRange rows_of(const net::Pieces& pieces, std::uint32_t rank, std::int64_t batch) {
  const auto units = pieces.units(pieces.of(rank));
  for (std::size_t c = 0; c < units.size(); ++c)
    if (pieces.cuts()[c].split.name == axis_name(0))
      return {static_cast<std::uint64_t>(units[c].first), static_cast<std::uint32_t>(units[c].last - units[c].first)};
  return {0, static_cast<std::uint32_t>(batch)};
}

// The elements of a box, if they lie one after another in the plain tensor.
std::optional<param::ParamPart> range_of(const net::Box& box, const Shape& shape) {
  if (box.count() == 0) return param::ParamPart();
  for (std::size_t axis = 1; axis < shape.rank(); ++axis)
    if (box.shape[axis] != shape[axis]) return std::nullopt;
  const std::int64_t row = shape.rank() == 0 ? 1 : shape.past(1);
  return param::ParamPart{.first = shape.rank() == 0 ? 0 : box.first[0] * row, .count = box.count(), .holders = {}};
}

void add(param::Holders& holders, const param::Holder& one) {
  const auto known = std::ranges::find(holders, one.rank, &param::Holder::rank);
  if (known == holders.end()) {
    holders.push_back(one);
    return;
  }
  const auto end = std::max(known->rows.first + known->rows.count, one.rows.first + one.rows.count);
  known->rows.first = std::min(known->rows.first, one.rows.first);
  known->rows.count = static_cast<std::uint32_t>(end - known->rows.first);
}

// Adds what the workers hold of a layer's param. False: it lies in strides, or ranges overlap without being equal.
bool add(param::ParamParts& parts, const net::Pieces& pieces, const Shape& shape, std::size_t number,
         std::int64_t batch) {
  for (std::uint32_t rank = 0; rank < pieces.workers(); ++rank) {
    const std::uint32_t piece = pieces.of(rank);
    if (piece == net::Pieces::none) continue;
    const auto range = range_of(pieces.part(shape, piece, number, &Split::params), shape);
    if (!range) return false;
    if (range->count == 0) continue;
    auto known = std::ranges::find_if(
        parts, [&](const param::ParamPart& part) { return part.first == range->first && part.count == range->count; });
    const bool overlaps = std::ranges::any_of(parts, [&](const param::ParamPart& part) {
      return part.first < range->first + range->count && range->first < part.first + part.count;
    });
    if (known == parts.end()) {
      if (overlaps) return false;
      known = parts.insert(parts.end(), *range);
    }
    add(known->holders, {rank, rows_of(pieces, rank, batch)});
  }
  return true;
}

// Workers that compute the same piece would each make all of its gradient.
bool has_copies(const net::Pieces& pieces) {
  std::vector<bool> seen(pieces.count());
  for (std::uint32_t rank = 0; rank < pieces.workers(); ++rank) {
    if (pieces.of(rank) == net::Pieces::none) continue;
    if (seen[pieces.of(rank)]) return true;
    seen[pieces.of(rank)] = true;
  }
  return false;
}

} // namespace

std::map<std::string, param::ParamParts> param_parts(const net::Graph& graph, const std::vector<LayerPart>& layers) {
  std::map<std::string, param::ParamParts> parts;
  std::map<std::string, bool> divided; // not by rows among all
  for (std::size_t n = 0; n < layers.size(); ++n)
    for (std::size_t p = 0; p < graph.nodes()[n].params.size(); ++p) {
      const net::ParamUse& param = graph.nodes()[n].params[p];
      add(parts[param.name], layers[n].pieces, param.spec.shape, p, graph.batch());
      divided[param.name] = divided[param.name] || layers[n].scheme != axis_name(0);
    }
  std::erase_if(parts, [&](const auto& of) { return !divided[of.first]; });
  for (auto& [name, all] : parts) {
    std::ranges::sort(all, {}, &param::ParamPart::first);
    for (param::ParamPart& part : all) std::ranges::sort(part.holders, {}, &param::Holder::rank);
  }
  return parts;
}

const char* why_no_parts(const net::Graph& graph, const std::vector<LayerPart>& layers, std::size_t node) {
  const auto& params = graph.nodes()[node].params;
  const auto learns = [](const net::ParamUse& param) { return !param.frozen; };
  if (params.empty()) return nullptr;
  if (has_copies(layers[node].pieces) && std::ranges::any_of(params, learns))
    return "so several workers compute the same part of it, and each would make all of its gradient: `dlhost check "
           "--plan` plans that, and no run does it yet; take \"batch\", or location = WORKER";
  for (const net::ParamUse& param : params) {
    param::ParamParts parts;
    for (std::size_t n = 0; n < layers.size(); ++n)
      for (std::size_t p = 0; p < graph.nodes()[n].params.size(); ++p)
        if (graph.nodes()[n].params[p].name == param.name &&
            !add(parts, layers[n].pieces, param.spec.shape, p, graph.batch()))
          return "which cuts its params along another axis than the first, or along axes that differ between the "
                 "layers "
                 "of a shared param: `dlhost check --plan` plans that, and no run does it yet; take \"batch\", "
                 "\"features\" if it has that split, or location = WORKER";
    std::vector<std::uint32_t> of;
    for (const param::ParamPart& part : parts)
      for (const param::Holder& holder : part.holders) of.push_back(holder.rank);
    std::ranges::sort(of);
    if (std::ranges::adjacent_find(of) != of.end())
      return "and one of its params is shared by layers that give a worker several parts of it: no run does this yet; "
             "cut these layers alike";
  }
  return nullptr;
}

} // namespace dlhost::plan
