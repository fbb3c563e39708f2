// Mirrors of the memory of workers on other machines.
#include <algorithm>
#include <new>

#include "run/memory/run_memory.h"

namespace dlhost::run {

std::size_t RunMemory::bytes_of(std::uint32_t worker) const {
  const std::uint32_t group = map_.server_group_of(worker), server = worker - map_.home_of(group);
  return places_->exchanged + (server < map_.servers() ? layout_.table.exchanged_bytes(*places_, group, server) : 0);
}

// Only of memory that is shown to this worker.
Status RunMemory::make_mirrors(Contact& contact) {
  if (sees_others_)
    for (std::uint32_t group = 1; group < map_.server_groups(); ++group)
      other_masters_.push_back({{}, {}, layout_.table.masters(session_.store())});
  if (!map_.has_far(number_)) return {};
  contact.far_own = all_[number_].board.far_key();
  contact.mirrors.resize(map_.workers());
  contact.far_masters.resize(map_.server_groups());
  for (std::uint32_t worker = 0; worker < map_.workers(); ++worker) {
    if (!is_far(worker)) continue;
    Seen& seen = all_[worker];
    DLHOST_ASSIGN(seen.board, post_->allocate_mirror(bytes_of(worker)));
    seen.bytes = seen.board.bytes();
    new (seen.bytes.data() + places_->vitals) Vitals;
    contact.mirrors[worker] = seen.board.far_key();
    post_->know(worker, seen.bytes);
  }
  for (std::uint32_t group = 0; number_ == 0 && group < map_.server_groups(); ++group) {
    if (map_.first_on(map_.machine_of(number_), group)) continue;
    OtherMasters& masters = other(group);
    DLHOST_ASSIGN(masters.board, post_->allocate_mirror(std::max<std::size_t>(masters.masters.bytes(), 1)));
    contact.far_masters[group] = masters.board.far_key();
    post_->know(mirror_number(group), masters.board.bytes());
  }
  return {};
}

// All mirrors of masters on other machines, including those that only the leader has.
Status RunMemory::find_mirrors(AddressBook& address_book) {
  remote_masters_.resize(map_.server_groups());
  for (std::uint32_t worker = 0; worker < map_.workers(); ++worker) {
    if (!is_far(worker)) continue;
    DLHOST_ASSIGN(const Contact contact, address_book.contact(worker));
    const std::uint32_t machine = map_.machine_of(worker);
    for (std::uint32_t group = 0; group < map_.server_groups(); ++group)
      if (const std::string& key = contact.far_masters.at(group); !key.empty())
        remote_masters_[group].push_back(
            {machine,
             {.seat = worker, .key = key, .number = mirror_number(group), .shared = map_.workers_on(machine) > 1}});
  }
  return {};
}

param::Post::Shown RunMemory::shown(std::uint32_t worker, std::size_t place, std::size_t bytes,
                                    record::Cargo cargo) const {
  if (!is_far(worker)) return {};
  return {own().subspan(place, bytes), &all_[worker].there, place, cargo};
}

Status RunMemory::show_to_owner(std::uint32_t worker, std::span<const std::byte> part) const {
  if (!is_far(worker)) return {};
  const auto place = static_cast<std::uint64_t>(part.data() - of(worker).data());
  return post_->show({part, &all_[worker].origin, place, record::Cargo::state});
}

Result<param::Post::Shown> RunMemory::shown_masters(std::uint32_t server_group, std::uint32_t machine,
                                                    std::span<const std::byte> part, record::Cargo cargo) const {
  if (machine == map_.machine_of(number_)) return param::Post::Shown();
  const auto& there = remote_masters_[server_group];
  const auto found = std::ranges::find(there, machine, &RemoteMasters::machine);
  if (found == there.end())
    return Status::internal("machine ", machine, " has no params of server group ", server_group);
  const std::byte* begin = masters_of(server_group).memory().data();
  return param::Post::Shown{part, &found->there, static_cast<std::uint64_t>(part.data() - begin), cargo};
}

Status RunMemory::show_masters(std::uint32_t server_group, std::uint32_t machine, std::span<const std::byte> part,
                               record::Cargo cargo) const {
  DLHOST_ASSIGN(const auto shown, shown_masters(server_group, machine, part, cargo));
  return post_->show(shown);
}

Status RunMemory::show_all(bool own_values) const {
  constexpr auto cargo = record::Cargo::state;
  for (std::uint32_t group = 0; layout_.exchange.has_servers() && group < map_.server_groups(); ++group) {
    const param::Masters& masters = masters_of(group);
    for (const RemoteMasters& remote : remote_masters_[group])
      for (const auto& param : session_.store().params()) {
        const std::size_t number = param->number;
        DLHOST_TRY(show_masters(group, remote.machine, masters.value(number, 0), cargo));
        for (std::size_t slot = 0; slot < param->slots; ++slot)
          DLHOST_TRY(show_masters(group, remote.machine, masters.history(number, slot), cargo));
        for (std::size_t row = 0; param->updated && row < masters.copies().shared; ++row)
          DLHOST_TRY(show_masters(group, remote.machine, masters.shared(number, row), cargo));
      }
  }
  const std::size_t states = places_->states.empty() ? places_->vitals : places_->states.front();
  const std::size_t from = own_values ? places_->sent : states;
  for (std::uint32_t worker = 0; worker < map_.workers(); ++worker)
    DLHOST_TRY(show_to_owner(worker, of(worker).subspan(from, places_->vitals - from)));
  return {};
}

} // namespace dlhost::run
