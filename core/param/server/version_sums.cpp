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
  const Message norm{.word = Word::norm, .version = sums_.version(), .rate = sum};
  const auto own = std::ranges::find(peers_, setup_.server) - peers_.begin();
  DLHOST_TRY(sums_.put(norm.version, static_cast<std::size_t>(own), 0, sum));
  for (const std::uint32_t peer : peers_)
    if (peer != setup_.server) DLHOST_TRY((*setup_.send)(setup_.seats[peer], norm));
  return {};
}

Status GradientNorm::take(const Message& message) {
  const auto peer = std::ranges::find(peers_, message.seat, [&](std::uint32_t one) { return setup_.seats[one]; });
  if (peer == peers_.end() || *peer == setup_.server)
    return Status::corrupt("a norm from seat ", message.seat, ", which is not expected");
  return sums_.put(message.version, static_cast<std::size_t>(peer - peers_.begin()), 0, message.rate);
}

float GradientNorm::take_factor() {
  const double norm = std::sqrt(sums_.take()[0]);
  last_ = norm;
  due_ = 0;
  return norm > setup_.largest ? static_cast<float>(setup_.largest / norm) : 1.0F;
}

Status ParamSums::say(std::span<const double> partials) {
  Message message{.word = Word::sums, .slice = setup_.slice->id, .version = sums_.version()};
  for (message.place = 0; message.place < partials.size(); ++message.place) {
    message.rate = partials[message.place];
    DLHOST_TRY(sums_.put(message.version, setup_.slice->id - setup_.pieces.front().id, message.place, message.rate));
    for (const Slice& piece : setup_.pieces)
      if (piece.server != setup_.slice->server) DLHOST_TRY((*setup_.send)(setup_.seats[piece.server], message));
  }
  return {};
}

Status ParamSums::take(const Message& message) {
  if (message.slice == setup_.slice->id ||
      setup_.seats[setup_.pieces[message.slice - setup_.pieces.front().id].server] != message.seat)
    return Status::corrupt("sums of slice ", message.slice, " from seat ", message.seat, ", which are not expected");
  return sums_.put(message.version, message.slice - setup_.pieces.front().id, message.place, message.rate);
}

} // namespace dlhost::param
