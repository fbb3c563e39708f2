#include "param/server/version_sums.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dlhost::param {
namespace {

// Servers without slices send no norm.
std::vector<std::uint32_t> servers_of(std::span<const Slice> slices) {
  std::vector<std::uint32_t> servers;
  for (const Slice& slice : slices) servers.push_back(slice.server);
  std::ranges::sort(servers);
  servers.erase(std::unique(servers.begin(), servers.end()), servers.end());
  return servers;
}

} // namespace

GradientNorm::GradientNorm(Setup setup)
    : setup_(std::move(setup)), peers_(servers_of(setup_.slices)), sums_(peers_.size(), 1),
      squares_(static_cast<std::size_t>(std::ranges::count(setup_.slices, setup_.server, &Slice::server))) {}

Status GradientNorm::add(std::size_t which, double square) {
  squares_[which] = square;
  if (++due_ < squares_.size()) return {};
  double sum = 0;
  for (const double one : squares_) sum += one;
  const to_server::Norm norm{.version = sums_.version(), .squares = sum};
  const auto own = std::ranges::find(peers_, setup_.server) - peers_.begin();
  DLHOST_TRY(sums_.put(norm.version, static_cast<std::size_t>(own), 0, sum));
  for (const std::uint32_t peer : peers_)
    if (peer != setup_.server) DLHOST_TRY((*setup_.send)(setup_.seats[peer], norm));
  return {};
}

Status GradientNorm::take(std::uint32_t from, const to_server::Norm& norm) {
  const auto peer = std::ranges::find(peers_, from, [&](std::uint32_t one) { return setup_.seats[one]; });
  if (peer == peers_.end() || *peer == setup_.server)
    return Status::corrupt("a norm from seat ", from, ", which is not expected");
  return sums_.put(norm.version, static_cast<std::size_t>(peer - peers_.begin()), 0, norm.squares);
}

float GradientNorm::take_factor() {
  const double norm = std::sqrt(sums_.take()[0]);
  last_ = norm;
  due_ = 0;
  return norm > setup_.largest ? static_cast<float>(setup_.largest / norm) : 1.0F;
}

Status ParamSums::say(std::span<const double> partials) {
  to_server::Sum sum{.slice = setup_.slice->id, .version = sums_.version()};
  for (; sum.which < partials.size(); ++sum.which) {
    sum.value = partials[sum.which];
    DLHOST_TRY(sums_.put(sum.version, setup_.slice->id - setup_.pieces.front().id, sum.which, sum.value));
    for (const Slice& piece : setup_.pieces)
      if (piece.server != setup_.slice->server) DLHOST_TRY((*setup_.send)(setup_.seats[piece.server], sum));
  }
  return {};
}

Status ParamSums::take(std::uint32_t from, const to_server::Sum& sum) {
  if (sum.slice == setup_.slice->id || setup_.seats[setup_.pieces[sum.slice - setup_.pieces.front().id].server] != from)
    return Status::corrupt("sums of slice ", sum.slice, " from seat ", from, ", which are not expected");
  return sums_.put(sum.version, sum.slice - setup_.pieces.front().id, sum.which, sum.value);
}

} // namespace dlhost::param
