// Where server groups gossip, the others go on while one is lost, and let in the processes that take its place: as the
// run's leader sees it, and as all do (docs/decisions/losses.md).
#include <algorithm>

#include "run/worker/seat.h"

namespace dlhost::run {

using param::Message;
using param::Word;

bool Seat::mends() const { return session_.exchange().groups_go_on && address_book_.admissions() && !far_; }

std::vector<std::uint32_t> Seat::seats_of(std::uint32_t server_group) const {
  std::vector<std::uint32_t> seats;
  for (std::uint32_t seat = home_of(server_group); seat < home_of(server_group + 1); ++seat) seats.push_back(seat);
  return seats;
}

bool Seat::has_lost(std::uint32_t server_group) const {
  const auto first = lost_.begin() + home_of(server_group), last = lost_.begin() + home_of(server_group + 1);
  return std::find(first, last, true) != last;
}

bool Seat::has_lost_all(std::uint32_t server_group) const {
  const auto first = lost_.begin() + home_of(server_group), last = lost_.begin() + home_of(server_group + 1);
  return std::find(first, last, false) == last;
}

// The leader's group cannot be lost: it has the state that the run continues with. A worker needs servers of its group.
Result<bool> Seat::lose(std::uint32_t seat) {
  const std::uint32_t group = server_group_of(seat);
  if (!mends() || !may_lose_ || group == 0 || group == place_.server_group) return false;
  if (lost_[seat]) return true;
  lost_[seat] = true;
  ++losses_;
  const std::uint32_t server = number_ - home_of(place_.server_group);
  if (shard_ && seat == home_of(group) + server) DLHOST_TRY(shard_->lose(group));
  if (number_ > 0) DLHOST_TRY(table_->send(0, {.word = Word::lost, .step = joins_[group], .place = seat}));
  return true;
}

// It may be out of the reach of that one alone. What is said of processes that others have replaced since is old.
Status Seat::hear_lost(const Message& message) {
  const auto seat = static_cast<std::uint32_t>(message.place);
  const std::uint32_t group = seat < seats_ ? server_group_of(seat) : 0;
  if (!mends() || number_ > 0 || group == 0)
    return Status::corrupt("seat ", message.seat, " says that seat ", message.place,
                           " is lost, which is not said of it, or not here");
  if (message.step == joins_[group] && !lost_[seat]) address_book_.end(seat);
  return {};
}

param::SurvivingVersions Seat::published_of(std::uint32_t server_group, const param::Slice& slice) const {
  const std::uint32_t home = home_of(server_group), next = home_of(server_group + 1);
  return param::SurvivingVersions(published(home + slice.server), next - home);
}

// Its server writes no more. Where its versions outlive it, the newest is what it had learned and what it had heard;
// else it said where the first of the two lies. A process that joined while it was lost has never seen its memory.
std::optional<Version> Seat::learned_by(std::uint32_t server_group, const param::Slice& slice,
                                        std::span<float> learned) const {
  if (own_[home_of(server_group) + slice.server].bytes.empty()) return {};
  const param::SurvivingVersions published = published_of(server_group, slice);
  if (!published.has(slice.id)) return {};
  const auto record = published.newest(slice.id);
  if (!exchange_.versions_outlive) {
    const auto memory = own_[home_of(server_group) + slice.server].bytes;
    if (learned.size_bytes() > memory.size() || record.value > memory.size() - learned.size_bytes()) return {};
    std::copy_n(reinterpret_cast<const float*>(memory.data() + record.value), learned.size(), learned.begin());
    return record.version;
  }
  const param::Masters& masters = masters_of(server_group);
  const auto row = [&](std::span<const std::byte> bytes) {
    return reinterpret_cast<const float*>(bytes.data()) + slice.first;
  };
  const float* value = row(masters.value(slice.param, record.value));
  const float* begun = row(masters.shared(slice.param, param::GroupSync::begun_row(*plugins_.sync().plugin)));
  const float* heard =
      row(masters.shared(slice.param, param::GroupSync::heard_row(*plugins_.sync().plugin, record.heard)));
  for (std::size_t i = 0; i < learned.size(); ++i)
    learned[i] = static_cast<float>(double{value[i]} - double{begun[i]} - double{heard[i]});
  return record.version;
}

// Where a slice has told nothing since its group began, the group goes on where that was.
void Seat::count_left(std::uint32_t server_group, param::StartPoint& at) const {
  const auto seats = seats_of(server_group);
  for (const std::uint32_t seat : seats) at.steps[seat] = ~std::uint64_t{0};
  for (const param::Slice& slice : memory_->slices.all()) {
    const param::SurvivingVersions published = published_of(server_group, slice);
    const bool told = published.has(slice.id);
    auto& there = at.slices[slice.id];
    there.others[server_group - 1] =
        told ? published.newest(slice.id).version : begun_.version_of(slice.id, server_group);
    for (const std::uint32_t seat : seats) {
      there.steps[seat] =
          told ? published.newest(slice.id).applied[seat - seats.front()] : begun_.steps_of(slice.id)[seat];
      at.steps[seat] = std::min(at.steps[seat], there.steps[seat]);
    }
  }
}

param::StartPoint Seat::left_by(std::uint32_t server_group) const {
  param::StartPoint left{.others = std::vector<Version>(place_.server_groups - 1),
                         .steps = std::vector<std::uint64_t>(seats_),
                         .origins = begun_.origins,
                         .ledger = begun_.ledger,
                         .ledger_of = begun_.ledger_of};
  for (std::uint32_t seat = 0; seat < seats_; ++seat)
    left.steps[seat] = std::max(begun_.steps[seat], vitals(seat).steps.load(std::memory_order_acquire));
  left.tell_each(memory_->slices.size());
  count_left(server_group, left);
  left.sum_up();
  return left;
}

// What is saved while a group is lost says where that will go on.
void Seat::count_lost_in(param::StartPoint& reached) const {
  for (std::uint32_t group = 1; group < place_.server_groups; ++group)
    if (has_lost(group)) count_left(group, reached);
}

Status Seat::admit(std::uint32_t server_group, param::Joining joining) {
  joining.times_aligned = times_aligned_;
  // Should it be lost before it has told anything, its next processes go on from where these did.
  param::StartPoint begun = begun_;
  begun.tell_each(memory_->slices.size());
  count_left(server_group, begun);
  begun_ = std::move(begun);
  admission_ = Admission{.server_group = server_group, .joining = joining, .reached = std::vector<bool>(seats_)};
  const Message join{.word = Word::join, .group = static_cast<std::uint16_t>(server_group), .step = joining.number};
  DLHOST_TRY(hear_join(join));
  std::erase_if(heads_of_lost_, [&](const auto& head) { return head.server / servers_ == server_group; });
  for (const std::uint32_t seat : seats_of(server_group)) {
    done_[seat] = begun_.steps[seat];
    admission_->reached[seat] = true;
  }
  for (std::uint32_t seat = 1; seat < seats_; ++seat)
    if (server_group_of(seat) != server_group && !lost_[seat]) DLHOST_TRY(table_->send(seat, join));
  return {};
}

// All of them are gone by now, whether word of it has come here or not; what they left is as it will be.
Status Seat::lose_group(std::uint32_t server_group) {
  for (const std::uint32_t seat : seats_of(server_group)) {
    if (lost_[seat]) continue;
    lost_[seat] = true;
    ++losses_;
    post_->forget(seat);
  }
  return shard_ ? shard_->lose(server_group) : Status();
}

Status Seat::reach(std::uint32_t seat, const Contact& contact) {
  DLHOST_TRY(post_->reconnect(seat, contact.addresses));
  DLHOST_ASSIGN(own_[seat].region, post_->map(seat, contact.own));
  own_[seat].bytes = own_[seat].region->bytes();
  if (own_[seat].bytes.size() < memory_->exchanged)
    return Status::internal("worker ", seat, " has a net of other params than worker ", number_);
  return {};
}

// One that cannot be reached has ended by now, which its leader sees as well.
void Seat::reach_or_lose(std::uint32_t seat, const Contact& contact) {
  lost_[seat] = !reach(seat, contact).ok();
  if (lost_[seat]) post_->forget(seat);
}

Status Seat::hear_join(const Message& message) {
  const std::uint32_t group = message.group;
  if (!mends() || message.seat != param::leading_seat || group == 0 || group >= place_.server_groups ||
      group == place_.server_group)
    return Status::corrupt(
        "seat ", message.seat, " says that server group ", group,
        " joins the run, which the leader alone says, and of other groups than its own and this one");
  DLHOST_TRY(lose_group(group));
  joins_[group] = message.step;
  for (const std::uint32_t seat : seats_of(group)) {
    DLHOST_ASSIGN(const Contact contact, address_book_.contact(seat));
    reach_or_lose(seat, contact);
    silences_[seat] = {};
  }
  const std::uint32_t counterpart = home_of(group) + number_ - home_of(place_.server_group);
  if (!has_lost(group) && (number_ == 0 || exchange_.versions_outlive) && !map_masters_of(group).ok()) {
    lost_[home_of(group)] = true;
    post_->forget(home_of(group));
  }
  if (shard_ && !lost_[counterpart])
    DLHOST_TRY(shard_->replace(group, own_[counterpart].bytes, static_cast<std::uint32_t>(message.step)));
  return number_ == 0 ? Status() : table_->send(0, {.word = Word::joined, .step = message.step});
}

// Of an admission that came to nothing more may be said.
Status Seat::hear_joined(const Message& message) {
  if (!admission_ || message.step != admission_->joining.number) return {};
  if (server_group_of(message.seat) == admission_->server_group)
    ++admission_->joined;
  else
    admission_->reached[message.seat] = true;
  return {};
}

bool Seat::is_reached() const {
  for (std::uint32_t seat = 1; seat < seats_; ++seat)
    if (!admission_->reached[seat] && !lost_[seat]) return false;
  return true;
}

param::Joining Seat::joining() const {
  param::Joining joining = admission_->joining;
  for (std::uint32_t group = 1; group < place_.server_groups; ++group)
    if (has_lost(group)) joining.lost.push_back(group);
  return joining;
}

bool Seat::has_joined() const { return admission_->joined == servers_; }

Status Seat::release() {
  const std::uint32_t released = admission_->server_group;
  admission_.reset();
  for (const std::uint32_t seat : seats_of(released)) DLHOST_TRY(table_->send(seat, {.word = Word::put}));
  for (std::uint32_t group = 1; others_free_ && group < place_.groups; ++group)
    if (const std::uint32_t seat = group * place_.workers; server_group_of(seat) == released)
      DLHOST_TRY(table_->send(seat, {.word = Word::free, .step = until_}));
  return {};
}

std::vector<std::uint64_t> Seat::steps_shown() const {
  std::vector<std::uint64_t> steps;
  for (std::uint32_t seat = 0; seat < seats_; ++seat)
    steps.push_back(vitals(seat).steps.load(std::memory_order_relaxed));
  return steps;
}

bool Seat::have_all_made(std::uint64_t steps) const {
  for (std::uint32_t group = 0; group < place_.groups; ++group)
    if (reached_.of_group(group, place_.workers) < steps) return false;
  return true;
}

// What all began with, what no worker updates, and what the first group's updater and layers keep, as these are now.
// The values come from the servers of the others.
Status Seat::bring_values() {
  DLHOST_ASSIGN(const Contact first, address_book_.contact(0));
  DLHOST_ASSIGN(const auto region, post_->map(0, first.masters));
  param::Masters theirs = table_plan_.masters(session_.store());
  if (region->bytes().size() < theirs.bytes())
    return Status::internal("worker 0 has a net of other params than worker ", number_);
  theirs.lie_at(region->bytes(), false);
  const auto copy = [](std::span<const std::byte> from, std::span<std::byte> to) {
    std::ranges::copy(from, to.begin());
  };
  const auto& params = session_.store().params();
  for (const auto& param : params)
    if (!param->updated && number_ == home_of(place_.server_group))
      copy(theirs.value(param->number, 0), lent_masters().value(param->number, 0));
  for (const param::Slice& slice : memory_->slices.all()) {
    if (!serves() || slice.server != number_ - home_of(place_.server_group)) continue;
    const auto bring = [&](std::span<const std::byte> from, std::span<std::byte> to) {
      const auto first_byte = static_cast<std::size_t>(slice.first) * sizeof(float);
      const auto bytes = static_cast<std::size_t>(slice.count) * sizeof(float);
      copy(from.subspan(first_byte, bytes), to.subspan(first_byte, bytes));
    };
    const std::size_t begun = param::GroupSync::begun_row(*plugins_.sync().plugin);
    bring(theirs.shared(slice.param, begun), lent_masters().shared(slice.param, begun));
    const std::size_t newest = exchange_.versions_outlive ? published_of(0, slice).newest(slice.id).history : 0;
    for (std::size_t slot = 0; slot < params[slice.param]->slots; ++slot)
      bring(theirs.history(slice.param, slot, newest), lent_masters().history(slice.param, slot, 0));
  }
  for (std::size_t place = 0; place < memory_->states.size(); ++place)
    std::ranges::copy(state_of(0, place), state_of(number_, place).begin());
  return {};
}

} // namespace dlhost::run
