#include "guest.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>

#include <sodium.h>

#include "founder.h"

namespace dlhost::plugins::rendezvous {

using meeting::Frames, meeting::Link, meeting::Terms, meeting::Where;

namespace {

constexpr Nanoseconds tick = 1'000'000, moment = 1'000 * tick;
constexpr Nanoseconds between_tries = 50 * tick;    // while the founder is missing, or a rank is taken
constexpr Nanoseconds time_to_answer = 10 * moment; // for requests without a limit of their own
constexpr Nanoseconds time_to_leave = 500 * tick;
constexpr std::size_t most_remembered = 64; // departures

double seconds(Nanoseconds time) { return static_cast<double>(time / 1'000'000) / 1e3; }

Status check(std::string_view key, std::string_view value = {}) {
  if (key.empty() || key.size() > Session::largest_key)
    return Status::invalid("a key of ", key.size(), " bytes; it has 1 to ", Session::largest_key);
  if (value.size() > Session::largest_value)
    return Status::invalid("a value of ", value.size(), " bytes under '", key, "'; at most ", Session::largest_value);
  return {};
}

} // namespace

Guest::Guest(Host& host, std::string at, const Terms& terms, std::unique_ptr<Link> link)
    : host_(host), at_(std::move(at)), terms_(terms), waker_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      changed_(host.tasks().waiter()), link_(std::move(link)), frames_(Frames::of_caller(*link_)),
      heard_(host.clock().now()) {}

Result<std::unique_ptr<Guest>> Guest::join(Host& host, const std::string& at, const Terms& terms, const Joining& who,
                                           Nanoseconds limit) {
  if (sodium_init() < 0) return Status::internal("libsodium does not start");
  if (who.self.address.size() > largest_value)
    return Status::invalid(terms.protocol, ": an address of ", who.self.address.size(), " bytes; at most ",
                           largest_value);
  if (who.self.host.size() > largest_host)
    return Status::invalid(terms.protocol, ": a host's name of ", who.self.host.size(), " bytes; at most ",
                           largest_host);
  const Nanoseconds end = host.clock().now() + limit;
  Terms own = terms;
  own.own = member_name;
  auto link = meet(host, at, own, end);
  if (!link.ok()) return std::move(link).status().at(terms.protocol, ": no way to the founder at ", at);
  std::unique_ptr<Guest> guest(new Guest(host, at, own, *std::move(link)));
  if (guest->waker_.get() < 0) return Status::system(errno, "making an event file");
  guest->task_ = host.tasks().start("member", [member = guest.get()] { member->run(); });
  DLHOST_TRY(guest->enter(who, end).at(terms.protocol));
  return guest;
}

// Calls until a founder that knows the secret answers.
Result<std::unique_ptr<Link>> Guest::meet(Host& host, const std::string& at, const Terms& terms, Nanoseconds end) {
  const Nanoseconds begin = host.clock().now();
  Status why = Status::timeout("nothing was tried");
  do {
    auto where = Where::find(at);
    auto link = where.ok() ? Link::call(terms, *where, std::string(founder_name)) : std::move(where).status();
    if (link.ok()) {
      Status status;
      Nanoseconds left = 0;
      while ((status = (*link)->turn()).ok() && !(*link)->has_met() && (left = end - host.clock().now()) > 0) {
        pollfd file{(*link)->socket(), POLLIN, 0};
        poll(&file, 1, static_cast<int>(std::clamp<Nanoseconds>(left / tick, 1, 100)));
      }
      if ((*link)->has_met()) return *std::move(link);
      if (status.code() == Code::corrupt)
        return std::move(status).at("the process that listens there is not a founder of this job");
      why = status.ok() ? Status::timeout("it does not answer") : std::move(status);
    } else {
      why = link.status();
      if (why.code() == Code::invalid) return why;
    }
    if (host.clock().now() + between_tries < end) host.clock().sleep(between_tries);
  } while (host.clock().now() + between_tries < end);
  return Status::timeout("for ", seconds(end - begin), " s: ", why.message());
}

Status Guest::enter(const Joining& who, Nanoseconds end) {
  const Nanoseconds begin = host_.clock().now();
  Status taken; // why it was refused so far: the rank's holder may be leaving
  for (;;) {
    auto answer =
        ask({.kind = Words::Kind::join, .epoch = who.expected, .members = {who.self}}, end - host_.clock().now());
    if (answer.ok()) {
      rank_ = answer->rank;
      expected_ = answer->epoch;
      break;
    }
    if (answer.status().code() == Code::timeout && !taken.ok()) return taken;
    if (answer.status().code() != Code::exists || host_.clock().now() + between_tries >= end)
      return std::move(answer).status();
    taken = std::move(answer).status();
    host_.clock().sleep(between_tries);
  }
  for (;;) {
    const auto ticket = changed_->ticket();
    {
      const std::scoped_lock lock(mutex_);
      if (!over_.ok()) return over_;
      if (complete_) {
        seen_ = now_.epoch;
        return {};
      }
    }
    const Nanoseconds left = end - host_.clock().now();
    if (left <= 0) return missing(end - begin);
    changed_->wait(ticket, left);
  }
}

// The timeout error, with the missing ranks.
Status Guest::missing(Nanoseconds limit) {
  const std::scoped_lock lock(mutex_);
  std::string ranks;
  int named = 0;
  for (std::uint32_t rank = 0; rank < expected_ && named <= 10; ++rank) {
    if (std::ranges::find(now_.members, rank, &Member::rank) != now_.members.end()) continue;
    ranks += ++named > 10 ? ", ..." : concat(ranks.empty() ? "" : ", ", rank);
  }
  return Status::timeout("after ", seconds(limit), " s ", now_.members.size(), " of ", expected_,
                         " members have come to ", at_, "; missing: rank ", ranks);
}

Guest::~Guest() {
  leave("its process has ended or let go");
  task_.reset();
}

void Guest::leave(std::string_view why) {
  const Nanoseconds end = host_.clock().now() + time_to_leave;
  std::unique_lock lock(mutex_);
  if (leaves_) return;
  leaves_ = true;
  if (over_.ok() && rank_ != any_rank)
    say({.kind = Words::Kind::leave, .value = std::string(why.substr(0, 1000))}).ignore("it goes in any case");
  if (over_.ok()) over_ = Status::gone(terms_.protocol, ": this member has left");
  eventfd_write(waker_.get(), 1);
  while (link_ && link_->unsaid() > 0 && link_->turn().ok() && host_.clock().now() < end) {
    lock.unlock();
    host_.clock().sleep(tick);
    lock.lock();
  }
  link_.reset();
  changed_->notify_all();
}

Status Guest::say(const Words& words) {
  if (!over_.ok()) return over_;
  std::string out;
  DLHOST_TRY(frames_.seal(encode(words), out));
  link_->say(out);
  said_ = host_.clock().now();
  eventfd_write(waker_.get(), 1);
  return {};
}

Result<Words> Guest::ask(Words words, Nanoseconds limit) {
  const Nanoseconds end = host_.clock().now() + limit;
  {
    const std::scoped_lock lock(mutex_);
    words.number = ++number_;
    DLHOST_TRY(say(words));
    answers_[words.number];
  }
  for (;;) {
    const auto ticket = changed_->ticket();
    const Nanoseconds left = end - host_.clock().now();
    {
      const std::scoped_lock lock(mutex_);
      const auto answer = answers_.find(words.number);
      if (answer->second || left <= 0 || !over_.ok()) {
        const std::optional<Words> taken = std::move(answer->second);
        answers_.erase(answer);
        if (taken && taken->code == Code::ok) return *taken;
        if (taken) return Status(taken->code, taken->value);
        if (!over_.ok()) return over_;
        say({.kind = Words::Kind::forget, .number = words.number})
            .ignore("without a connection, the founder forgets it anyway");
        return Status::timeout("the founder at ", at_, " has not answered in ", seconds(limit), " s");
      }
    }
    changed_->wait(ticket, left);
  }
}

std::uint32_t Guest::current() const {
  const std::scoped_lock lock(mutex_);
  return seen_;
}

Result<Membership> Guest::membership(std::uint32_t newer_than, Nanoseconds limit) {
  const Nanoseconds end = host_.clock().now() + limit;
  for (;;) {
    const auto ticket = changed_->ticket();
    {
      const std::scoped_lock lock(mutex_);
      if (!over_.ok()) return over_;
      if (now_.epoch > newer_than) {
        seen_ = now_.epoch;
        Membership now = now_;
        std::erase_if(now.departures, [&](const Departure& one) { return one.epoch <= newer_than; });
        return now;
      }
    }
    const Nanoseconds left = end - host_.clock().now();
    if (left <= 0)
      return Status::timeout(terms_.protocol, ": no epoch newer than ", newer_than, " has begun in ", seconds(limit),
                             " s");
    changed_->wait(ticket, left);
  }
}

Status Guest::put(std::string_view key, std::string_view value) {
  DLHOST_TRY(check(key, value).at(terms_.protocol));
  return ask({.kind = Words::Kind::put, .epoch = current(), .key = std::string(key), .value = std::string(value)},
             time_to_answer)
      .status()
      .at(terms_.protocol, ": putting '", key, "'");
}

Result<std::string> Guest::get(std::string_view key, Nanoseconds limit) {
  DLHOST_TRY(check(key).at(terms_.protocol));
  auto answer = ask({.kind = Words::Kind::get, .epoch = current(), .key = std::string(key)}, limit);
  if (answer.ok()) return std::move(answer->value);
  if (answer.status().code() == Code::timeout)
    return Status::timeout(terms_.protocol, ": no member has put '", key, "' in ", seconds(limit), " s");
  return std::move(answer).status().at(terms_.protocol, ": getting '", key, "'");
}

Status Guest::report_gone(std::uint32_t rank, std::string_view why) {
  return ask({.kind = Words::Kind::report, .rank = rank, .epoch = current(), .value = std::string(why.substr(0, 1000))},
             time_to_answer)
      .status()
      .at(terms_.protocol, ": reporting rank ", rank);
}

Result<bool> Guest::try_lead(std::string_view what) {
  DLHOST_TRY(check(what).at(terms_.protocol));
  auto answer = ask({.kind = Words::Kind::lead, .key = std::string(what)}, time_to_answer);
  if (!answer.ok()) return std::move(answer).status().at(terms_.protocol, ": trying to lead '", what, "'");
  return answer->value == "yes";
}

void Guest::run() {
  for (;;) {
    sleep();
    const std::scoped_lock lock(mutex_);
    if (leaves_ || !link_) return;
    const Nanoseconds now = host_.clock().now();
    if (const Status status = hear(now); !status.ok()) return is_over(status);
    if (now - said_ > terms_.silence / beats_in_silence)
      say({.kind = Words::Kind::beat}).ignore("it is over, and seen in the next round");
  }
}

void Guest::sleep() {
  pollfd files[2] = {{waker_.get(), POLLIN, 0}, {-1, POLLIN, 0}};
  Nanoseconds longest = terms_.silence / beats_in_silence;
  {
    const std::scoped_lock lock(mutex_);
    if (leaves_ || !link_) return;
    files[1].fd = link_->socket();
    if (link_->unsaid() > 0) files[1].events |= POLLOUT;
  }
  // leave() rings before it closes the socket; at worst another file with its number is polled once, in vain.
  poll(files, 2, static_cast<int>(std::max<Nanoseconds>(1, longest / tick)));
  eventfd_t times = 0;
  if ((files[0].revents & POLLIN) != 0) eventfd_read(waker_.get(), &times);
}

Status Guest::hear(Nanoseconds now) {
  Status status = link_->turn(); // messages before its end count
  for (;;) {
    DLHOST_ASSIGN(const auto bytes, frames_.open(link_->heard()));
    if (!bytes) break;
    heard_ = now;
    DLHOST_ASSIGN(Words words, decode(*bytes));
    if (words.kind == Words::Kind::out)
      return Status::gone("this member is out since epoch ", words.epoch, ", says the founder at ", at_, ": ",
                          words.value);
    take(std::move(words));
  }
  if (!status.ok()) return std::move(status).at("the founder at ", at_);
  if (now - heard_ > terms_.silence)
    return Status::gone("the founder at ", at_, " has sent nothing for ", seconds(now - heard_), " s");
  return {};
}

void Guest::take(Words words) {
  if (words.kind == Words::Kind::answer) {
    const auto asked = answers_.find(words.number);
    if (asked != answers_.end()) asked->second = std::move(words);
  } else if (words.kind == Words::Kind::membership) {
    now_.epoch = words.epoch;
    now_.members = std::move(words.members);
    now_.departures.insert(now_.departures.end(), words.departures.begin(), words.departures.end());
    if (now_.departures.size() > most_remembered)
      now_.departures.erase(now_.departures.begin(),
                            now_.departures.end() - static_cast<std::ptrdiff_t>(most_remembered));
    complete_ = complete_ || words.code == Code::ok;
  } else {
    return;
  }
  changed_->notify_all();
}

void Guest::is_over(const Status& why) {
  if (over_.ok()) over_ = Status(Code::gone, concat(terms_.protocol, ": ", why.message()));
  changed_->notify_all();
}

} // namespace dlhost::plugins::rendezvous
