// What a run goes on with, told and saved while all stand still.
#include <algorithm>

#include "run/worker/seat.h"

namespace dlhost::run {

// What is saved while all stand still is what the next step begins with.
std::vector<std::vector<param::TensorPlace>> Seat::own_values() {
  std::vector<std::vector<param::TensorPlace>> all;
  kept_.clear();
  const bool codec_keeps = memory_->coding && memory_->coding->keeps();
  if (!exchange_.workers_keep() && !codec_keeps && !table_plan_.servers_keep()) return all;
  const auto rule = session_.updater().rule();
  for (std::uint32_t seat = 0; seat < seats_; ++seat) {
    auto& own = all.emplace_back();
    if (codec_keeps) own = kept_by_codec(seat);
    for (std::uint32_t group = 0; table_plan_.servers_keep() && group < place_.server_groups; ++group)
      if (seat == home_of(group)) std::ranges::move(kept_by_servers(group), std::back_inserter(own));
    if (!exchange_.workers_keep() || outlasted_) continue; // whoever has died was perhaps in the midst of an update
    for (const auto& param : session_.store().params()) {
      const std::string& name = param->declared.name;
      const auto& places = memory_->replica->of(param->number);
      if (places.bytes == 0) continue;
      own.push_back({name, param->master, own_[seat].bytes.data() + places.value});
      for (std::size_t slot = 0; slot < places.history.size(); ++slot)
        own.push_back(
            {name + "/" + rule.history[slot].name, param->master, own_[seat].bytes.data() + places.history[slot]});
    }
  }
  return all;
}

// Their servers said where the newest lie when they were aligned last. What they write on another machine this one need
// not have seen.
std::vector<std::vector<param::TensorPlace>> Seat::values_elsewhere() {
  std::vector<std::vector<param::TensorPlace>> all;
  for (std::uint32_t group = 0; group < aligned_.size(); ++group) {
    const auto servers = servers_of(group);
    const auto is_far = [this](std::uint32_t seat) { return address_book_.machines()[seat] != machine(); };
    if (group == place_.server_group || std::ranges::any_of(servers, is_far)) continue;
    auto& values = all.emplace_back();
    for (const auto& param : session_.store().params()) {
      if (!param->updated) continue;
      const auto where = [&](const param::Slice& slice) {
        return masters_of(group).value(param->number, aligned_[group][slice.id].place);
      };
      values.push_back({param->declared.name, param->master, gathered(param->number, where, kept_).data()});
    }
  }
  return all;
}

Status Seat::ask_what_is_undecided() {
  undecided_.assign(place_.groups, 0);
  unanswered_ = place_.groups;
  for (std::uint32_t group = 0; group < place_.server_groups; ++group)
    DLHOST_TRY(table_->send(home_of(group), {.word = param::Word::complete}));
  return table_->wait_until([this] { return is_over(unanswered_ == 0, on(Awaited::What::answers, Awaited::nobody)); });
}

// What a worker computes once more, because others of its group had not come that far, is in already; and so is, of
// some slices, what it was to compute once more from the beginning on, and has not come to yet. Where whole steps are
// chosen, what only some of a group have sent of one is in no version.
Status Seat::see_where_all_are() {
  DLHOST_TRY(until_answered(&param::Table::look));
  param::StartPoint reached{.others = std::vector<Version>(place_.server_groups - 1), .own_values = true};
  const auto done = [&](std::uint32_t seat) {
    return std::max(begun_.steps[seat], vitals(seat).steps.load(std::memory_order_acquire));
  };
  for (std::uint32_t seat = 0; seat < seats_; ++seat) reached.steps.push_back(done(seat));
  for (std::uint32_t group = 0; exchange_.by_step && group < place_.groups; ++group) {
    std::uint64_t steps = reached.of_group(group, place_.workers);
    if (!undecided_.empty()) steps = std::min(steps, undecided_[group]);
    std::fill_n(reached.steps.begin() + group * place_.workers, place_.workers, steps);
  }
  undecided_.clear();
  for (const param::Slice& slice : memory_->slices.all()) {
    auto& there = reached.slices.emplace_back(
        param::StartPoint::OfSlice{.version = table_->version(slice.id), .steps = reached.steps, .others = {}});
    for (std::uint32_t seat = 0; seat < seats_; ++seat)
      there.steps[seat] = std::max(there.steps[seat], begun_.steps_of(slice.id)[seat]);
    for (std::uint32_t group = 1; group < place_.server_groups; ++group)
      there.others.push_back(aligned_.empty() ? reached_.version_of(slice.id, group)
                                              : aligned_[group][slice.id].version);
  }
  if (has_lost()) count_lost_in(reached);
  reached.sum_up();
  if (!exchange_.has_servers()) reached.version = reached.of_group(0, place_.workers); // as servers would have made
  reached_ = std::move(reached);
  return {};
}

} // namespace dlhost::run
