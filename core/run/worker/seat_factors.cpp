// Whose gradients leave as their factors, and what servers take to multiply them.
#include <algorithm>

#include "run/coordinator/balance.h"
#include "run/worker/seat.h"

namespace dlhost::run {
namespace {

constexpr std::int64_t least_pieces = 4; // of a param, for each server: one may have a piece more than others

} // namespace

std::optional<param::Factors> Seat::factors(const param::Param& param, const param::Factors& own,
                                            const param::Pieces& pieces) const {
  const config::Job& job = session_.job();
  const config::Topology& topology = job.topology;
  if (topology.factors == config::Factors::off) return std::nullopt;
  const std::int64_t elements = param.declared.shape.count();
  // What else is done with gradients, before they are a slice's: that takes them as they are.
  const bool encoded = codec_ && !encodes_exchanges() && elements >= topology.codec_elements;
  const bool summed = job.largest_norm() > 0 || !session_.updater().rule().partials.results().empty();
  if (encoded || summed || sums_gradients() || job.train.reproducible || agreement_->of(param).traits.folds ||
      first_plan_.update_locally || first_plan_.send_delta)
    return std::nullopt;
  param::Factors all = own; // some workers have fewer rows
  for (auto* factor : {&all.x, &all.dy}) factor->shape[0] = std::ranges::max(rows_of(job));
  if (topology.factors == config::Factors::on) return all;
  // Where servers are fewer than workers, or each contribution makes a version of its own where it belongs, or a param
  // has but few pieces, some would multiply for others. And each server reads the inputs of all.
  const auto contributors = static_cast<std::int64_t>(place_.served) * place_.workers;
  const std::int64_t pieces_each = param.declared.shape[0] / pieces.rows / contributors;
  const bool shared_out = in_step_ && servers_ == contributors && !is_whole(param) &&
                          elements >= topology.slice_elements && pieces_each >= least_pieces;
  return shared_out && 2 * (contributors * all.x.count() + all.dy.count()) <= elements ? std::optional(all)
                                                                                       : std::nullopt;
}

std::size_t Seat::multiplying_bytes(const param::Store& store, const param::Slices& slices) const {
  const std::size_t contributors = std::size_t{place_.served} * place_.workers;
  std::size_t most = 0;
  for (const param::Slice& slice : slices.all()) {
    const param::Param& param = *store.params()[slice.param];
    if (!param.factors) continue;
    most = std::max(most, param::FactoredUpdate::room(param, slice, contributors));
  }
  return most;
}

} // namespace dlhost::run
