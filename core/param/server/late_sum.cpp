#include "param/server/late_sum.h"

#include <algorithm>
#include <array>

namespace dlhost::param {

Result<std::unique_ptr<LateSum>> LateSum::make(Store& store, std::int64_t elements, std::size_t most) {
  std::unique_ptr<LateSum> folded(new LateSum(store));
  const TensorDesc row{DType::f32, {elements}, Format::plain()};
  const auto prepare = [&](bool adds) {
    MapSpec spec{.expression = {}, .in = std::vector<TensorDesc>(adds ? 2 : 1, row), .out = {row}, .keeps_zeros = true};
    Term sum = spec.expression.scalar(0) * spec.expression.input(0);
    if (adds) sum = spec.expression.input(1) + sum;
    spec.expression.result(sum);
    return store.device().prepare(spec);
  };
  DLHOST_ASSIGN(folded->first_, prepare(false));
  DLHOST_ASSIGN(folded->next_, prepare(true));
  DLHOST_ASSIGN(folded->sum_, Memory::make(store.device(), static_cast<std::size_t>(elements) * sizeof(float)));
  const std::size_t scratch = std::max({std::size_t{1}, folded->first_->scratch_bytes, folded->next_->scratch_bytes});
  DLHOST_ASSIGN(folded->scratch_, Memory::make(store.device(), scratch));
  folded->parts_.reserve(most);
  return folded;
}

Status LateSum::add(const float* gradient, float weight, const Ledger::Part& part, double rate) {
  if (parts_.size() == parts_.capacity())
    return Status::internal("the consistency handler folds in more updates than ", parts_.capacity(),
                            " before it makes a version");
  const std::array<const void*, 2> in{gradient, sum_.data()};
  const std::array<void*, 1> out{sum_.data()};
  const std::array<float, 1> scalars{weight};
  Op& op = empty() ? *first_ : *next_;
  op.execute(store_.stream(), std::span(in).first(empty() ? 1 : 2), out, scratch_.data(), {.scalars = scalars});
  DLHOST_TRY(store_.stream().wait());
  parts_.push_back(part);
  weight_ += weight;
  rate_ = rate;
  return {};
}

} // namespace dlhost::param
