#include "param/store/factored_update.h"

#include <algorithm>

#include "param/table/table_memory.h"

namespace dlhost::param {

FactoredUpdate::Cut FactoredUpdate::Cut::of(const Param& param, const Slice& slice, std::int64_t part_bytes) {
  const Pieces& piece = param.pieces;
  const std::int64_t pieces = (slice.count + piece.elements - 1) / piece.elements;
  const std::int64_t most =
      std::max<std::int64_t>(1, part_bytes / (piece.elements * static_cast<std::int64_t>(sizeof(float))));
  Cut cut{.first = slice.first / piece.elements * piece.rows, .count = (pieces + most - 1) / most};
  const std::int64_t together = (pieces + cut.count - 1) / cut.count;
  cut.count = (pieces + together - 1) / together;
  cut.rows = together * piece.rows;
  cut.elements = together * piece.elements;
  cut.last_rows = std::min(pieces * piece.rows, param.master.shape[0] - cut.first) - (cut.count - 1) * cut.rows;
  cut.last_elements = slice.count - (cut.count - 1) * cut.elements;
  return cut;
}

FactoredUpdate::Places FactoredUpdate::Places::of(const Factors& factors, const Cut& cut, std::size_t contributions) {
  const std::int64_t rows = std::max(cut.rows, cut.last_rows), elements = std::max(cut.elements, cut.last_elements);
  const auto columns = static_cast<std::size_t>(factors.dy.shape[0] * rows) * size_of(factors.dy.dtype);
  Places places;
  if (!factors.of_rows) {
    places.x = take_lines(places.end, contributions > 1 ? contributions * factors.x.plain_bytes() : 0);
    places.dy = take_lines(places.end, contributions * columns);
  }
  places.gradient = take_lines(places.end, static_cast<std::size_t>(elements) * sizeof(float));
  places.scratch = places.end;
  return places;
}

std::size_t FactoredUpdate::room(const Param& param, const Slice& slice, std::size_t contributions) {
  return Places::of(*param.factors, Cut::of(param, slice, usual_part_bytes), contributions).end;
}

Result<std::unique_ptr<FactoredUpdate>> FactoredUpdate::prepare(Setup setup) {
  const Cut cut = Cut::of(*setup.param, *setup.slice, setup.part_bytes);
  const Places places = Places::of(*setup.param->factors, cut, setup.contributions);
  std::unique_ptr<FactoredUpdate> update(new FactoredUpdate(*setup.store, *setup.param, cut, places));
  if (cut.count > 1) {
    DLHOST_ASSIGN(update->parts_.emplace_back(), update->prepare_part(setup, cut.rows, cut.elements));
  }
  if (cut.count == 1 || cut.last_rows != cut.rows) { // it may be filled up to as many elements
    DLHOST_ASSIGN(update->parts_.emplace_back(), update->prepare_part(setup, cut.last_rows, cut.last_elements));
  }
  std::size_t scratch = 1;
  for (const Part& part : update->parts_) {
    if (part.columns) scratch = std::max(scratch, part.columns->scratch_bytes);
    for (const auto& product : part.products) scratch = std::max(scratch, product->scratch_bytes);
  }
  take_lines(update->places_.end, scratch);
  return update;
}

Result<FactoredUpdate::Part> FactoredUpdate::prepare_part(const Setup& setup, std::int64_t rows,
                                                          std::int64_t elements) {
  Part part{.rows = rows, .elements = elements, .columns = {}, .products = {}, .update = {}};
  if (!factors_.of_rows) DLHOST_TRY(prepare_products(setup, part));
  DLHOST_ASSIGN(part.update, SliceUpdate::prepare(store_, *setup.param, elements, setup.histories, 1, *setup.updater,
                                                  *setup.rule, setup.settings));
  return part;
}

Status FactoredUpdate::prepare_products(const Setup& setup, Part& part) {
  Device& device = store_.device();
  const Shape box{factors_.dy.shape[0], part.rows};
  TensorDesc columns = factors_.dy;
  columns.shape = box;
  DLHOST_ASSIGN(part.columns,
                device.prepare(BoxSpec{.src = factors_.dy, .dst = columns, .from = {0, 0}, .to = {0, 0}, .box = box}));
  TensorDesc dw = setup.param->master;
  dw.shape = dw.shape.with(0, part.rows);
  for (std::size_t contributions = 1; contributions <= setup.contributions; ++contributions) {
    DLHOST_ASSIGN(part.products.emplace_back(), device.prepare(factors_.product(dw, contributions)));
  }
  return {};
}

// What all read, their rows behind one another.
Result<const void*> FactoredUpdate::gather(std::span<const float* const> contributions) {
  if (contributions.size() == 1 || factors_.of_rows) return contributions.front();
  const std::size_t bytes = factors_.x.plain_bytes();
  std::byte* x = room_.data() + places_.x;
  for (std::size_t c = 0; c < contributions.size(); ++c)
    DLHOST_TRY(store_.device().copy(store_.stream(), x + c * bytes, contributions[c], bytes, Direction::within));
  return x;
}

Status FactoredUpdate::run(const SliceUpdate::Run& whole) {
  DLHOST_ASSIGN(const void* x, gather(whole.gradients));
  for (std::int64_t number = 0; number < cut_.count; ++number) {
    Part& part = number + 1 < cut_.count ? parts_.front() : parts_.back();
    SliceUpdate::Run run = whole;
    run.first = number * cut_.elements;
    run.from += run.first;
    run.to += run.first;
    DLHOST_TRY(this->run(part, cut_.first + number * cut_.rows, x, run));
  }
  return {};
}

Status FactoredUpdate::run(Part& part, std::int64_t row, const void* x, const SliceUpdate::Run& run) {
  auto* gradient = reinterpret_cast<float*>(room_.data() + places_.gradient);
  if (factors_.of_rows)
    add_rows(part, row, run.gradients, gradient);
  else
    multiply(part, row, x, run.gradients, gradient);
  SliceUpdate::Run made = run;
  const float* const only = gradient;
  made.gradients = {&only, 1};
  return part.update->run(made, {});
}

void FactoredUpdate::add_rows(const Part& part, std::int64_t row, std::span<const float* const> contributions,
                              float* gradient) const {
  std::fill_n(gradient, part.elements, 0.0F);
  for (const float* contribution : contributions)
    factors_.add_rows(reinterpret_cast<const std::byte*>(contribution), row, part.rows, gradient);
}

void FactoredUpdate::multiply(Part& part, std::int64_t row, const void* x, std::span<const float* const> contributions,
                              float* gradient) {
  void* scratch = room_.data() + places_.scratch;
  std::byte* dy = room_.data() + places_.dy;
  const std::size_t element = size_of(factors_.dy.dtype);
  const auto first = static_cast<std::size_t>(row) * element;
  const auto bytes = static_cast<std::size_t>(factors_.dy.shape[0] * part.rows) * element;
  for (std::size_t c = 0; c < contributions.size(); ++c) {
    const auto* all = reinterpret_cast<const std::byte*>(contributions[c]) + factors_.dy_at();
    part.columns->run(store_.stream(), {all + first}, {dy + c * bytes}, scratch);
  }
  part.products[contributions.size() - 1]->run(store_.stream(), {x, dy}, {gradient}, scratch);
}

} // namespace dlhost::param
