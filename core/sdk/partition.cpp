#include <dlhost/partition.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <dlhost/layer.h>

namespace dlhost {

Split::Range Split::Operand::elements(Range units, std::int64_t length) const {
  if (need == Need::same) return {units.first * each, units.last * each};
  return {std::max<std::int64_t>(units.first * step - low, 0), std::min((units.last - 1) * step + high + 1, length)};
}

std::string axis_name(std::size_t axis) {
  constexpr std::array<std::string_view, 4> names{"batch", "features", "height", "width"};
  return axis < names.size() ? std::string(names[axis]) : concat("axis ", axis);
}

Split split_along(const Setup& setup, std::size_t axis) {
  return {.name = axis_name(axis),
          .length = setup.outputs.at(0).desc.shape[axis],
          .inputs = std::vector(setup.inputs.size(), along(axis)),
          .params = {},
          .outputs = std::vector(setup.outputs.size(), along(axis))};
}

Peers::~Peers() = default;

void Peers::sum_rows(Stream& stream, std::span<const Row> rows) {
  for (const Row& row : rows) sum(stream, row.values, row.count);
}

Result<bool> Peers::ready() { return true; }

void Peers::abandon() noexcept {}

} // namespace dlhost
