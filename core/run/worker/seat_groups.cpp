// Several server groups, seen from a seat: whose servers are whose, what they exchange, and the masters of them all,
// which the run's leader fills.
#include <algorithm>

#include "run/worker/seat.h"

namespace dlhost::run {

std::vector<std::uint32_t> Seat::servers_of(std::uint32_t server_group) const {
  std::vector<std::uint32_t> seats;
  for (std::uint32_t server = 0; server < servers_; ++server) seats.push_back(home_of(server_group) + server);
  return seats;
}

std::optional<param::GroupSync::Setup> Seat::sync_setup() {
  if (exchange_.groups == Groups::one || exchange_.groups == Groups::contributions) return {};
  const auto cargo = exchange_.groups == Groups::gradients ? record::Cargo::gradients : record::Cargo::params;
  param::GroupSync::Setup setup{
      .neighbours = {.rank = place_.server_group,
                     .all = {},
                     .memory = own_[number_].bytes,
                     .place = memory_->exchanged,
                     .sync = plugins_.sync().plugin.get(),
                     .actor = plugins_.sync().actor,
                     .activity = &session_.activity(),
                     .codec = exchange_.encodes == Encodes::exchanges ? codec_use() : param::CodecUse(),
                     .seed = static_cast<std::uint64_t>(session_.job().seed),
                     .traffic = &exchanged_,
                     .send =
                         [this, cargo](std::uint32_t seat, const param::Message& message,
                                       std::span<const std::byte> part) {
                           return table_->send(seat, message, shown(seat, message.place, part.size(), cargo));
                         }},
      .in_step = exchange_.in_step,
      .outlived = exchange_.versions_outlive,
      .rows_bound = table_plan_.rows_bound(),
      .mends = mends(),
      .masters = &lent_masters(),
      .store = &session_.store(),
      .outlived_by = [this](std::uint32_t group, const param::Slice& slice,
                            std::span<float> learned) { return learned_by(group, slice, learned); },
      .publish = nullptr};
  for (std::uint32_t group = 0; group < place_.server_groups; ++group) {
    const std::uint32_t seat = home_of(group) + number_ - home_of(place_.server_group);
    setup.neighbours.all.push_back({seat, own_[seat].bytes, address_book_.machines()[seat]});
  }
  return setup;
}

Status Seat::map_other_masters() {
  for (std::uint32_t group = 0; group < place_.server_groups; ++group)
    if (group != place_.server_group && !has_lost(group)) DLHOST_TRY(map_masters_of(group));
  return {};
}

Status Seat::map_masters_of(std::uint32_t server_group) {
  const auto lodging = remote_masters_of(server_group, machine());
  OtherMasters& other = other_masters_[server_group - (server_group > place_.server_group ? 1 : 0)];
  if (lodging) {
    DLHOST_ASSIGN(const Contact contact, address_book_.contact(*lodging));
    DLHOST_ASSIGN(other.region, post_->map(*lodging, contact.masters));
  }
  const auto bytes = lodging ? other.region->bytes() : other.board.bytes();
  if (bytes.size() < other.masters.bytes())
    return Status::internal("worker ", *lodging, " has a net of other params than worker ", number_);
  other.masters.lie_at(bytes, false);
  return {};
}

const param::Masters& Seat::masters_of(std::uint32_t server_group) const {
  if (server_group == place_.server_group) return lent_masters();
  return other_masters_[server_group - (server_group > place_.server_group ? 1 : 0)].masters;
}

// All begin with the first group's values. Histories are their own, where a checkpoint brought them.
void Seat::fill_other_masters(const param::StartPoint& beginning) {
  if (exchange_.groups == Groups::one) return;
  const param::Masters& first = lent_masters();
  const bool all_alike = !beginning.own_values || exchange_.alike();
  const auto histories = table_plan_.shared_histories();
  for (const auto& param : session_.store().params()) {
    if (!param->updated) continue;
    const std::size_t number = param->number;
    for (std::size_t slot = 0; all_alike && slot < histories.size(); ++slot) {
      const auto row = first.shared(number, 1 + slot);
      std::ranges::fill(std::span(reinterpret_cast<float*>(row.data()), row.size() / sizeof(float)),
                        histories[slot].initial);
    }
    const auto copy = [](std::span<const std::byte> from, std::span<std::byte> to) {
      std::copy(from.begin(), from.end(), to.begin());
    };
    for (const OtherMasters& other : other_masters_) {
      copy(first.value(number, 0), other.masters.value(number, 0));
      for (std::size_t slot = 0; all_alike && slot < param->slots; ++slot)
        copy(first.history(number, slot), other.masters.history(number, slot));
      for (std::size_t slot = 0; slot < histories.size(); ++slot)
        copy(first.shared(number, 1 + slot), other.masters.shared(number, 1 + slot));
    }
  }
}

// The first group's histories are the checkpoint's own; the histories of the common values are the same in all groups.
std::vector<param::TensorPlace> Seat::kept_by_servers(std::uint32_t server_group) {
  std::vector<param::TensorPlace> kept;
  const auto histories = session_.updater().rule().history;
  const auto common = table_plan_.shared_histories();
  for (const auto& param : session_.store().params()) {
    if (!param->updated) continue;
    const std::string& name = param->declared.name;
    const auto keep = [&](const std::string& what, std::span<std::byte> row) {
      kept.push_back({concat(name, "/", what), param->master, row.data()});
    };
    for (std::size_t slot = 0; server_group > 0 && slot < param->slots; ++slot)
      keep(concat("servers.", histories[slot].name), newest_history(server_group, param->number, slot));
    for (std::size_t slot = 0; server_group == 0 && slot < common.size(); ++slot)
      keep(concat("common.", common[slot].name), lent_masters().shared(param->number, 1 + slot));
  }
  return kept;
}

// There are several where versions outlive their servers, each of which has written down which is its newest.
std::span<std::byte> Seat::newest_history(std::uint32_t server_group, std::size_t param, std::size_t slot) {
  const param::Masters& masters = masters_of(server_group);
  return gathered(
      param,
      [&](const param::Slice& slice) {
        const auto published = published_by(server_group, slice);
        const bool begun = published && published->has(slice.id);
        return masters.history(param, slot, begun ? published->newest(slice.id).history : 0);
      },
      kept_);
}

// What was folded is in the values, replicas become one, and each server group's versions are known.
Status Seat::align() {
  if (!mends()) return align_those_left();
  // Those that were to tell a group that is lost meanwhile tell others instead: all say anew that they are aligned.
  std::uint64_t losses = 0;
  std::optional<Nanoseconds> lost_at;
  do {
    losses = losses_;
    DLHOST_TRY(align_those_left());
    if (losses != losses_ && !lost_at) lost_at = session_.host().clock().now();
  } while (losses != losses_);
  if (lost_at) stood_still_ += session_.host().clock().now() - *lost_at;
  return {};
}

Status Seat::align_those_left() {
  const std::uint64_t losses = losses_;
  ++times_aligned_;
  aligned_.assign(place_.server_groups, std::vector<Aligned>(memory_->slices.size()));
  unaligned_ = 0;
  for (std::uint32_t group = 0; group < place_.server_groups; ++group) {
    if (has_lost(group)) continue;
    unaligned_ += memory_->slices.size();
    if (exchange_.by_step && !exchange_.chooses_steps)
      DLHOST_TRY(table_->send(home_of(group), {.word = param::Word::complete}));
    else
      DLHOST_TRY(tell(servers_of(group), {.word = param::Word::align}));
  }
  const auto answered = [&] {
    return is_over(unaligned_ == 0 || losses != losses_, on(Awaited::What::answers, Awaited::nobody));
  };
  DLHOST_TRY(table_->wait_until(answered));
  DLHOST_TRY(align_exchanges());
  return table_->wait_until(answered);
}

// Of two groups that begin an exchange to be aligned one may have been in the other's already: then it has begun one
// more, which the other need not have heard of when it answered.
Status Seat::align_exchanges() {
  for (const param::Slice& slice : memory_->slices.all()) {
    std::uint64_t most = 0;
    for (const auto& group : aligned_) most = std::max(most, group[slice.id].exchanges);
    for (std::uint32_t group = 0; group < place_.server_groups; ++group) {
      if (has_lost(group) || aligned_[group][slice.id].exchanges == most) continue;
      ++unaligned_;
      DLHOST_TRY(table_->send(home_of(group) + slice.server,
                              {.word = param::Word::align, .slice = slice.id, .version = most}));
    }
  }
  return {};
}

} // namespace dlhost::run
