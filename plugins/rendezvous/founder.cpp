#include "founder.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include <sodium.h>

namespace dlhost::plugins::rendezvous {

using meeting::Link, meeting::Socket;

namespace {

constexpr Nanoseconds millisecond = 1'000'000, second = 1'000 * millisecond;
constexpr Nanoseconds between_progress = 250 * millisecond; // reported while members are missing
constexpr std::size_t most_waiting = 1024;                  // gets of one member
constexpr std::size_t most_unsaid = std::size_t{64} << 20;  // unsent bytes for a member
constexpr std::size_t most_guests = 1U << 16;
constexpr Nanoseconds farewell = 200 * millisecond;

} // namespace

Founder::Founder(Host& host, const meeting::Terms& terms, meeting::Door door, std::string address,
                 std::uint32_t expected)
    : host_(host), terms_(terms), door_(std::move(door)), waker_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      address_(std::move(address)), roll_(expected) {}

Result<std::unique_ptr<Founder>> Founder::open(Host& host, const meeting::Where& where, const meeting::Terms& terms,
                                               std::uint32_t expected) {
  if (sodium_init() < 0) return Status::internal("libsodium does not start");
  DLHOST_ASSIGN(auto door, meeting::Door::open(where));
  const std::string address = meeting::Where{where.host, door.port()}.text();
  meeting::Terms own = terms;
  own.own = founder_name;
  std::unique_ptr<Founder> made(new Founder(host, own, std::move(door), address, expected));
  if (made->waker_.get() < 0) return Status::system(errno, "making an event file");
  made->task_ = host.tasks().start("rendezvous", [founder = made.get()] { founder->run(); });
  return made;
}

Founder::~Founder() {
  ends_ = true;
  eventfd_write(waker_.get(), 1);
}

void Founder::run() {
  while (!ends_) {
    sleep();
    const Nanoseconds now = host_.clock().now();
    admit(now);
    const std::uint32_t before = roll_.epoch();
    for (auto guest = guests_.begin(); guest != guests_.end();) {
      const Status status = hear(*guest, now);
      const auto next = std::next(guest);
      if (!status.ok()) {
        end(*guest, status);
        guests_.erase(guest);
      }
      guest = next;
    }
    complete_ = roll_.complete();
    const bool tells = roll_.complete() || now - told_progress_ >= between_progress;
    if (tells) told_progress_ = now;
    for (Guest& guest : guests_) {
      if (roll_.epoch() != before) answer_waiting(guest);
      if (tells) tell_membership(guest);
      if (now - guest.said > terms_.silence / beats_in_silence) say(guest, {.kind = Words::Kind::beat});
      guest.link->send().ignore("its end is seen in the next round");
    }
  }
  const Nanoseconds until = host_.clock().now() + farewell; // for members that have not yet received everything
  const auto has_more = [](const Guest& guest) { return guest.link->unsaid() > 0; };
  while (std::ranges::any_of(guests_, has_more) && host_.clock().now() < until) {
    host_.clock().sleep(millisecond);
    std::erase_if(guests_, [](Guest& guest) { return !guest.link->turn().ok(); });
  }
}

void Founder::sleep() {
  std::vector<pollfd> files{{waker_.get(), POLLIN, 0}, {door_.socket(), POLLIN, 0}};
  for (const int caller : door_.sockets()) files.push_back({caller, POLLIN, 0});
  for (const Guest& guest : guests_)
    files.push_back(
        {guest.link->socket(), static_cast<short>(guest.link->unsaid() > 0 ? POLLIN | POLLOUT : POLLIN), 0});
  const Nanoseconds longest =
      std::min(terms_.silence / beats_in_silence, roll_.complete() && !door_.has_callers() ? second : between_progress);
  poll(files.data(), files.size(), static_cast<int>(std::max<Nanoseconds>(1, longest / millisecond)));
}

void Founder::admit(Nanoseconds now) {
  for (auto& link : door_.turn(host_, terms_)) {
    if (guests_.size() >= most_guests) continue; // the caller tries again
    link->welcome({.number = 0, .token = 0});
    guests_.emplace_back(std::move(link), now);
  }
  door_.take_new();
  strangers_ = door_.strangers();
}

Status Founder::hear(Guest& guest, Nanoseconds now) {
  Status status = guest.link->turn(); // messages before its end count
  for (;;) {
    DLHOST_ASSIGN(const auto bytes, guest.frames.open(guest.link->heard()));
    if (!bytes) break;
    guest.heard = now;
    DLHOST_ASSIGN(const Words words, decode(*bytes));
    if (!guest.leaves) DLHOST_TRY(take(guest, words));
  }
  if (guest.leaves && guest.link->unsaid() == 0) return Status::gone("it was told to leave");
  if (now - guest.heard > terms_.silence)
    return Status::gone("it has sent nothing for ", static_cast<double>(now - guest.heard) / 1e9, " s");
  if (guest.link->unsaid() > most_unsaid)
    return Status::gone("it does not read its messages: ", guest.link->unsaid() >> 20, " MiB wait for it");
  return status;
}

Status Founder::take(Guest& guest, const Words& words) {
  using Kind = Words::Kind;
  if (words.kind == Kind::beat) return {};
  if (words.kind == Kind::join) return join(guest, words), Status();
  if (!guest.rank) return Status::corrupt("it sends requests before it has joined");
  switch (words.kind) {
  case Kind::put: {
    answer(guest, words.number, roll_.put(words.epoch, words.key, words.value));
    for (Guest& other : guests_) answer_waiting(other);
    return {};
  }
  case Kind::get:
    if (guest.waiting.size() >= most_waiting) return Status::corrupt("it asks for too many keys at once");
    guest.waiting.push_back(words);
    answer_waiting(guest);
    return {};
  case Kind::forget:
    std::erase_if(guest.waiting, [&](const Words& one) { return one.number == words.number; });
    return {};
  case Kind::lead: answer(guest, words.number, {}, roll_.lead(*guest.rank, words.key) ? "yes" : "no"); return {};
  case Kind::report: {
    const bool was_in = roll_.report(*guest.rank, words.rank, words.epoch, words.value);
    answer(guest, words.number, {});
    const auto is_meant = [&](const Guest& other) { return other.rank == words.rank; };
    const auto meant = std::ranges::find_if(guests_, is_meant);
    if (was_in && meant != guests_.end())
      dismiss(*meant, concat("rank ", *guest.rank, " reported it gone: ", words.value.substr(0, 1000)));
    return {};
  }
  case Kind::leave:
    roll_.go(*guest.rank, words.value);
    guest.rank.reset();
    guest.leaves = true;
    return {};
  default: return Status::corrupt("it sends a message that only a founder sends");
  }
}

void Founder::join(Guest& guest, const Words& words) {
  if (guest.rank || words.members.size() != 1)
    return answer(guest, words.number, Status::invalid("it joins twice, or does not identify itself"));
  const auto rank = roll_.join(words.members.front(), words.epoch);
  if (!rank.ok()) return answer(guest, words.number, rank.status());
  guest.rank = *rank;
  say(guest, {.kind = Words::Kind::answer, .number = words.number, .rank = *rank, .epoch = roll_.expected()});
}

void Founder::answer(Guest& guest, std::uint32_t number, const Status& status, std::string value) {
  say(guest, {.kind = Words::Kind::answer,
              .code = status.code(),
              .number = number,
              .value = status.ok() ? std::move(value) : status.message()});
}

void Founder::answer_waiting(Guest& guest) {
  std::erase_if(guest.waiting, [&](const Words& get) {
    const auto value = roll_.get(get.epoch, get.key);
    if (value.ok() && !*value) return false;
    answer(guest, get.number, value.status(), value.ok() ? **value : "");
    return true;
  });
}

void Founder::say(Guest& guest, const Words& words) {
  std::string out;
  if (const Status status = guest.frames.seal(encode(words), out); !status.ok())
    return host_.log().write(LogLevel::error, concat(terms_.protocol, ": ", status.message()));
  guest.link->say(out);
  guest.said = host_.clock().now();
}

void Founder::tell_membership(Guest& guest) {
  if (!guest.rank || (guest.told == roll_.epoch() && guest.told_complete == roll_.complete())) return;
  Membership now = roll_.membership(guest.told);
  say(guest, {.kind = Words::Kind::membership,
              .code = roll_.complete() ? Code::ok : Code::cancelled,
              .rank = roll_.expected(),
              .epoch = now.epoch,
              .members = std::move(now.members),
              .departures = std::move(now.departures)});
  guest.told = now.epoch;
  guest.told_complete = roll_.complete();
}

void Founder::dismiss(Guest& guest, std::string_view why) {
  guest.rank.reset();
  guest.leaves = true;
  say(guest, {.kind = Words::Kind::out, .epoch = roll_.epoch(), .value = std::string(why)});
}

void Founder::end(Guest& guest, const Status& why) {
  if (!guest.rank) return;
  host_.log().write(LogLevel::warning,
                    concat(terms_.protocol, ": rank ", *guest.rank, " is out of the job: ", why.message()));
  roll_.go(*guest.rank, why.message());
}

} // namespace dlhost::plugins::rendezvous
