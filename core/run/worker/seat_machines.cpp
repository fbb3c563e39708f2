// A worker and the workers of other machines. Workers of one machine map each other's memory; the others have mirrors
// of it (param/message/remote_copy.h). The writer shows new bytes before it sends the message about them.
#include <algorithm>
#include <new>
#include <set>

#include "run/worker/seat.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds show_again = 100'000'000; // interval of showing the vitals
constexpr int last_looks = 20;                  // tries to send the last messages, and the duration of each
constexpr Nanoseconds last_look = 50'000'000;

} // namespace

// The network that the job names. Network libraries take a while to load.
Result<std::unique_ptr<Transport>> Seat::network() const {
  const dlhost::Part& named = session_.job().topology.network;
  DLHOST_ASSIGN(auto network,
                session_.registry().create<Transport>(named.type.empty() ? "fabric" : named.type, named.options));
  const auto capabilities = network->capabilities();
  if (!capabilities.one_sided || !capabilities.registers)
    return Status::unsupported("topology.network = '", named.type,
                               "' cannot put into other machines' memory with its options, but workers of different "
                               "machines need that: choose another one or other options (`dlhost inspect` lists the "
                               "capabilities of each provider), or leave it out");
  return network;
}

// Also true for a single worker: its server is beside it.
bool Seat::has_near() const { return seats_ == 1 || std::ranges::count(address_book_.machines(), machine()) > 1; }

std::optional<std::uint32_t> Seat::remote_masters_of(std::uint32_t server_group, std::uint32_t machine) const {
  for (std::uint32_t seat = home_of(server_group); seat < home_of(server_group + 1); ++seat)
    if (address_book_.machines()[seat] == machine) return seat;
  return {};
}

std::uint32_t Seat::server_group_of(std::uint32_t seat) const {
  std::uint32_t group = 0;
  while (seat >= home_of(group + 1)) ++group;
  return group;
}

std::size_t Seat::bytes_of(std::uint32_t seat) const {
  const std::uint32_t group = server_group_of(seat), server = seat - home_of(group);
  return memory_->exchanged + (server < servers_ ? table_plan_.exchanged_bytes(*memory_, group, server) : 0);
}

// Allocates mirrors only for the memory that is shown to this worker.
Status Seat::make_mirrors(Contact& contact) {
  if (number_ == 0 || exchange_.versions_outlive)
    for (std::uint32_t group = 1; group < place_.server_groups; ++group)
      other_masters_.push_back({{}, {}, table_plan_.masters(session_.store())});
  if (!has_far()) return {};
  contact.far_own = own_[number_].board.far_key();
  contact.mirrors.resize(seats_);
  contact.far_masters.resize(place_.server_groups);
  for (std::uint32_t seat = 0; seat < seats_; ++seat) {
    if (!post_->is_far(seat)) continue;
    DLHOST_ASSIGN(own_[seat].board, post_->allocate_mirror(bytes_of(seat)));
    own_[seat].bytes = own_[seat].board.bytes();
    new (own_[seat].bytes.data() + memory_->vitals) Vitals;
    contact.mirrors[seat] = own_[seat].board.far_key();
    post_->know(seat, own_[seat].bytes);
  }
  for (std::uint32_t group = 0; number_ == 0 && group < place_.server_groups; ++group) {
    if (remote_masters_of(group, machine())) continue;
    OtherMasters& other = other_masters_[group - 1]; // the first group is the leader's own
    DLHOST_ASSIGN(other.board, post_->allocate_mirror(std::max<std::size_t>(other.masters.bytes(), 1)));
    contact.far_masters[group] = other.board.far_key();
    post_->know(masters_number(group), other.board.bytes());
  }
  return {};
}

// Finds all mirrors of masters on other machines, including those that only the leader has.
Status Seat::find_mirrors() {
  for (std::uint32_t seat = 0; seat < seats_; ++seat) foreseen_.push_back(foreseen(seat));
  remote_masters_.resize(place_.server_groups);
  for (std::uint32_t seat = 0; seat < seats_; ++seat) {
    if (!post_->is_far(seat)) continue;
    DLHOST_ASSIGN(const Contact contact, address_book_.contact(seat));
    for (std::uint32_t group = 0; group < place_.server_groups; ++group)
      if (const std::string& key = contact.far_masters.at(group); !key.empty())
        remote_masters_[group].push_back(
            {address_book_.machines()[seat],
             {.seat = seat,
              .key = key,
              .number = masters_number(group),
              .shared = std::ranges::count(address_book_.machines(), address_book_.machines()[seat]) > 1}});
  }
  return {};
}

param::Post::Shown Seat::shown(std::uint32_t seat, std::size_t place, std::size_t bytes, record::Cargo cargo) {
  if (!post_->is_far(seat)) return {};
  return {own_[number_].bytes.subspan(place, bytes), &own_[seat].there, place, cargo};
}

Status Seat::show_to_owner(std::uint32_t seat, std::span<const std::byte> part) {
  if (!post_->is_far(seat)) return {};
  const auto place = static_cast<std::uint64_t>(part.data() - own_[seat].bytes.data());
  return post_->show({part, &own_[seat].origin, place, record::Cargo::state});
}

Result<param::Post::Shown> Seat::shown_masters(std::uint32_t server_group, std::uint32_t machine,
                                               std::span<const std::byte> part, record::Cargo cargo) const {
  if (machine == this->machine()) return param::Post::Shown();
  const auto lodging = std::ranges::find(remote_masters_[server_group], machine, &RemoteMasters::machine);
  if (lodging == remote_masters_[server_group].end())
    return Status::internal("machine ", machine, " has no params of server group ", server_group);
  const std::byte* begin = masters_of(server_group).memory().data();
  return param::Post::Shown{part, &lodging->there, static_cast<std::uint64_t>(part.data() - begin), cargo};
}

Status Seat::show_masters(std::uint32_t server_group, std::uint32_t machine, std::span<const std::byte> part,
                          record::Cargo cargo) {
  DLHOST_ASSIGN(const auto shown, shown_masters(server_group, machine, part, cargo));
  return post_->show(shown);
}

// The traffic of a worker's step; empty: it cannot be foreseen. Each contribution to a server on another machine
// crosses once, and each version crosses once to each machine that reads it. All workers have the same slices. Only a
// codec knows the size of its encodings.
std::optional<record::Freight> Seat::foreseen(std::uint32_t seat) const {
  if (!has_far() || !exchange_.sends_alike) return {};
  const std::uint32_t group = server_group_of(seat), home = home_of(group), mine = address_book_.machines()[seat];
  std::set<std::uint32_t> elsewhere;
  for (std::uint32_t other = home; other < home_of(group + 1); ++other)
    elsewhere.insert(address_book_.machines()[other]);
  elsewhere.erase(mine);
  record::Freight freight;
  for (const param::Slice& slice : memory_->slices.all()) {
    const std::uint32_t server = home + slice.server;
    const std::uint64_t bytes = static_cast<std::uint64_t>(slice.count) * sizeof(float);
    const auto& factors = session_.store().params()[slice.param]->factors; // each server needs all of them
    if (server == seat) freight.params += bytes * elsewhere.size();
    if (address_book_.machines()[server] != mine) freight.gradients += factors ? factors->bytes() : bytes;
  }
  return freight;
}

// The leader or a checkpoint has filled the masters and the workers' own values. Shows them to the other machines.
Status Seat::show_beginning(const param::StartPoint& beginning) {
  constexpr auto cargo = record::Cargo::state;
  for (std::uint32_t group = 0; exchange_.has_servers() && group < place_.server_groups; ++group) {
    const param::Masters& masters = masters_of(group);
    for (const RemoteMasters& lodging : remote_masters_[group])
      for (const auto& param : session_.store().params()) {
        const std::size_t number = param->number;
        DLHOST_TRY(show_masters(group, lodging.machine, masters.value(number, 0), cargo));
        for (std::size_t slot = 0; slot < param->slots; ++slot)
          DLHOST_TRY(show_masters(group, lodging.machine, masters.history(number, slot), cargo));
        for (std::size_t row = 0; param->updated && row < masters.copies().shared; ++row)
          DLHOST_TRY(show_masters(group, lodging.machine, masters.shared(number, row), cargo));
      }
  }
  const std::size_t states = memory_->states.empty() ? memory_->vitals : memory_->states.front();
  const std::size_t from = beginning.own_values ? memory_->sent : states;
  for (std::uint32_t seat = 0; seat < seats_; ++seat)
    DLHOST_TRY(show_to_owner(seat, own_[seat].bytes.subspan(from, memory_->vitals - from)));
  return {};
}

// Shows the leader the state that it saves or merges during a pause: progress, running state and own values.
Status Seat::show_rest() {
  DLHOST_TRY(await_shown()); // puts may arrive in any order: older bytes must not overwrite newer ones
  beat();
  DLHOST_TRY(
      post_->show(shown(0, memory_->sent, memory_->vitals + sizeof(Vitals) - memory_->sent, record::Cargo::state)));
  return await_shown();
}

Status Seat::await_shown() {
  if (!has_far()) return {};
  return table_->wait_until([this] { return post_->all_shown(); });
}

void Seat::await_sent() {
  if (!has_far()) return;
  for (int look = 0; look < last_looks && !post_->all_sent(); ++look)
    table_->progress(last_look).ignore("the run is over; a process that is gone needs nothing");
}

Status Seat::show_away() {
  if (!far_ || !put_) return {};
  showed_ = 0;
  show_vitals();
  return await_shown();
}

void Seat::show_vitals() {
  const Nanoseconds now = session_.host().clock().now();
  if (now - showed_ < show_again) return;
  showed_ = now;
  for (std::uint32_t seat = 0; seat < seats_; ++seat)
    if (post_->is_far(seat) && post_->shown_to(seat))
      post_->show(shown(seat, memory_->vitals, sizeof(Vitals), record::Cargo::control))
          .ignore("the worker that waits for a lost process reports it");
}

} // namespace dlhost::run
