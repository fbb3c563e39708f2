#include "run/memory/run_memory.h"

#include <algorithm>
#include <new>

namespace dlhost::run {

class RunMemory::Lender final : public param::Lender {
 public:
  explicit Lender(param::Masters laid_out) : masters(std::move(laid_out)) {}
  std::span<std::byte> lend(const param::Param& param, std::size_t which) override {
    return masters.lend(param, which);
  }
  bool fills() const override { return masters.fills(); }
  std::span<std::byte> lend_state(std::size_t place) override {
    return place < states.size() ? states[place] : std::span<std::byte>();
  }

  param::Masters masters;
  std::vector<std::span<std::byte>> states;
};

RunMemory::RunMemory(Session& session, const WorkerLayout& layout, std::uint32_t number, bool sees_others)
    : session_(session), layout_(layout), map_(layout.map), number_(number), own_group_(layout.place.server_group),
      sees_others_(sees_others), all_(map_.workers()) {}

RunMemory::~RunMemory() = default;

Status RunMemory::open(param::Post& post, AddressBook& address_book, Contact& contact) {
  post_ = &post;
  param::Store& store = session_.store();
  Seen& own = all_[number_];
  DLHOST_ASSIGN(own.board, post.allocate(lent_at(number_) + lent_bytes(number_)));
  own.bytes = own.board.bytes();
  new (own.bytes.data() + places_->vitals) Vitals;
  lender_ = std::make_unique<Lender>(layout_.table.masters(store));
  for (std::size_t s = 0; !states_apart() && s < places_->states.size(); ++s) lender_->states.push_back(own_state(s));
  contact.own = own.board.near_key();
  contact.bytes = places_->exchanged;
  DLHOST_TRY(make_mirrors(contact));
  DLHOST_TRY(open_masters(address_book, contact));
  store.borrow(*lender_);
  return {};
}

Status RunMemory::open_masters(AddressBook& address_book, Contact& contact) {
  const std::uint32_t maker = *map_.first_on(map_.machine_of(number_), own_group_);
  std::span<std::byte> masters;
  if (number_ == maker) {
    DLHOST_ASSIGN(masters_board_, post_->allocate(std::max<std::size_t>(lender_->masters.bytes(), 1)));
    contact.masters = masters_board_.near_key();
    if (map_.has_far(number_)) {
      contact.far_masters[own_group_] = masters_board_.far_key();
      post_->know(mirror_number(own_group_), masters_board_.bytes());
    }
    masters = masters_board_.bytes();
  } else {
    DLHOST_ASSIGN(const Contact first, address_book.contact(maker));
    DLHOST_TRY(post_->connect(maker, first.addresses));
    DLHOST_ASSIGN(masters_, post_->map(maker, first.masters));
    masters = masters_->bytes();
    if (masters.size() < lender_->masters.bytes())
      return Status::internal("worker ", number_, " has a net of other params than worker ", maker);
  }
  for (const auto memory : {own(), masters})
    if (session_.store().apart()) pin(memory);
  lender_->masters.lie_at(masters, number_ == 0 || !layout_.exchange.has_servers());
  return {};
}

void RunMemory::pin(std::span<std::byte> memory) {
  auto pinned = Pinned::make(session_.device(), memory);
  if (pinned.ok())
    pinned_.push_back(*std::move(pinned));
  else
    session_.host().log().write(LogLevel::warning, concat("worker ", number_,
                                                          "'s params and gradients cross in plain memory, "
                                                          "and slower: ",
                                                          pinned.status().message()));
}

Status RunMemory::see(std::uint32_t worker, const Contact& contact) {
  Seen& seen = all_[worker];
  if (is_far(worker)) {
    if (contact.bytes != places_->exchanged || contact.mirrors.size() != map_.workers() ||
        contact.far_masters.size() != map_.server_groups())
      return Status::internal("worker ", worker, " has a net of other params than worker ", number_);
    seen.there = {.seat = worker, .key = contact.mirrors.at(number_), .number = number_};
    seen.origin = {.seat = worker, .key = contact.far_own, .number = worker};
    return {};
  }
  DLHOST_ASSIGN(seen.region, post_->map(worker, contact.own));
  seen.bytes = seen.region->bytes();
  if (seen.bytes.size() < lent_at(worker) + lent_bytes(worker))
    return Status::internal("worker ", worker, " has a net of other params than worker ", number_);
  return {};
}

Status RunMemory::stand_in_for(std::uint32_t worker) {
  Seen& seen = all_[worker];
  DLHOST_ASSIGN(seen.board, post_->allocate(places_->bytes));
  seen.bytes = seen.board.bytes();
  new (seen.bytes.data() + places_->vitals) Vitals;
  return {};
}

Status RunMemory::see_masters_of(std::uint32_t server_group, AddressBook& address_book) {
  const auto maker = map_.first_on(map_.machine_of(number_), server_group);
  OtherMasters& other = this->other(server_group);
  if (maker) {
    DLHOST_ASSIGN(const Contact contact, address_book.contact(*maker));
    DLHOST_ASSIGN(other.region, post_->map(*maker, contact.masters));
  }
  const auto bytes = maker ? other.region->bytes() : other.board.bytes();
  if (bytes.size() < other.masters.bytes())
    return Status::internal("worker ", *maker, " has a net of other params than worker ", number_);
  other.masters.lie_at(bytes, false);
  return {};
}

void RunMemory::spread_first_values(bool own_values) {
  if (layout_.exchange.groups == plan::Exchange::Groups::one) return;
  const param::Masters& first = masters();
  const bool all_alike = !own_values || layout_.exchange.alike();
  const auto histories = layout_.table.shared_histories();
  const auto copy = [](std::span<const std::byte> from, std::span<std::byte> to) {
    std::ranges::copy(from, to.begin());
  };
  for (const auto& param : session_.store().params()) {
    if (!param->updated) continue;
    const std::size_t number = param->number;
    for (std::size_t slot = 0; all_alike && slot < histories.size(); ++slot) {
      const auto row = first.shared(number, 1 + slot);
      std::ranges::fill(std::span(reinterpret_cast<float*>(row.data()), row.size() / sizeof(float)),
                        histories[slot].initial);
    }
    for (const OtherMasters& other : other_masters_) {
      copy(first.value(number, 0), other.masters.value(number, 0));
      for (std::size_t slot = 0; all_alike && slot < param->slots; ++slot)
        copy(first.history(number, slot), other.masters.history(number, slot));
      for (std::size_t slot = 0; slot < histories.size(); ++slot)
        copy(first.shared(number, 1 + slot), other.masters.shared(number, 1 + slot));
    }
  }
}

param::Masters& RunMemory::masters() const { return lender_->masters; }

const param::Masters& RunMemory::masters_of(std::uint32_t server_group) const {
  if (server_group == own_group_) return masters();
  return other_masters_[server_group - (server_group > own_group_ ? 1 : 0)].masters;
}

bool RunMemory::sees_masters_of(std::uint32_t server_group) const {
  if (server_group == own_group_) return true;
  const OtherMasters& other = other_masters_[server_group - (server_group > own_group_ ? 1 : 0)];
  return other.region || other.board.made();
}

Vitals& RunMemory::vitals(std::uint32_t worker) const {
  return *std::launder(reinterpret_cast<Vitals*>(of(worker).data() + places_->vitals));
}

std::span<double> RunMemory::numbers(std::uint32_t worker) const {
  return {reinterpret_cast<double*>(of(worker).data() + places_->numbers), WorkerMemory::most_metrics * 2};
}

std::span<char> RunMemory::words(std::uint32_t worker) const {
  return {reinterpret_cast<char*>(of(worker).data() + places_->words), WorkerMemory::words_bytes};
}

std::span<float> RunMemory::state_of(std::uint32_t worker, std::size_t place) const {
  return {reinterpret_cast<float*>(of(worker).data() + places_->states[place]),
          session_.store().states()[place]->memory.size() / sizeof(float)};
}

std::span<std::byte> RunMemory::own_state(std::size_t place) const {
  const param::Store& store = session_.store();
  return own().subspan(places_->states[place], store.computing().device.bytes(store.states()[place]->desc));
}

bool RunMemory::states_apart() const {
  const param::Store& store = session_.store();
  return store.apart() || !store.computing().device.traits().host_memory;
}

std::span<std::byte> RunMemory::published(std::uint32_t worker) const {
  return of(worker).subspan(places_->published, places_->published_bytes);
}

param::SurvivingVersions RunMemory::published_of(std::uint32_t server_group, const param::Slice& slice) const {
  const std::uint32_t home = map_.home_of(server_group), next = map_.home_of(server_group + 1);
  return param::SurvivingVersions(published(home + slice.server), next - home);
}

} // namespace dlhost::run
