#include "run/membership/members.h"

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "env/digest.h"
#include "env/json_text.h"
#include "env/secret.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds to_meet = 120'000'000'000, to_look = 10'000'000'000, to_leave = 15'000'000'000;
constexpr Nanoseconds to_go = 10'000'000'000; // the time in which a member must leave when its workers are not needed
constexpr Nanoseconds pause_in_leaving = 20'000'000;
constexpr std::size_t piece = dlhost::Session::largest_value;
constexpr std::size_t most_pieces = 4096;

std::string name_of_piece(const std::string& name, std::size_t number) { return concat(name, "#", number); }

} // namespace

Members::~Members() = default;

Result<std::unique_ptr<Members>> Members::join(Host& host, plugin::Registry& registry, const Part& rendezvous,
                                               Joining who) {
  DLHOST_ASSIGN(auto plugin, registry.create<Rendezvous>(rendezvous.type, rendezvous.options));
  DLHOST_ASSIGN(auto session, plugin->join(host, who, to_meet));
  std::unique_ptr<Members> members(new Members(std::move(session), who.self.host));
  members->rendezvous_ = std::move(plugin);
  DLHOST_TRY(members->look());
  return members;
}

std::string Members::name() const {
  if (!rendezvous_->capabilities().survives_founder) return {};
  const std::string text = concat("dlhost membership\n", env::to_text(secret()));
  return env::digest(std::as_bytes(std::span(text)), 16);
}

template <class T> T Members::noted(T told) const {
  const auto named = [this](Status status) {
    out_ = true;
    return std::move(status).at("process ", rank(), " of the run, on ", host_);
  };
  if constexpr (std::is_same_v<T, Status>)
    return told.code() == Code::gone ? named(std::move(told)) : std::move(told);
  else
    return told.status().code() == Code::gone ? T(named(told.status())) : std::move(told);
}

Status Members::look() {
  DLHOST_ASSIGN(auto now, noted(session_->membership(0, to_look)));
  if (now.members.empty()) return Status::gone("this run has no members any more");
  lost_ = !now.departures.empty();
  members_ = std::move(now.members);
  if (now.epoch != epoch_) attempts_ = 0;
  changed_ = false;
  epoch_ = now.epoch;
  return {};
}

// The pieces come first. The text under the plain name, sent last, is their number.
Status Members::tell(const std::string& name, std::string_view text) {
  const std::size_t pieces = (text.size() + piece - 1) / piece;
  if (pieces > most_pieces)
    return Status::unsupported("a text of ", text.size(), " bytes is too long for a rendezvous");
  for (std::size_t number = 0; number < pieces; ++number)
    DLHOST_TRY(noted(session_->put(name_of_piece(name, number), text.substr(number * piece, piece))));
  return noted(session_->put(name, concat(pieces)));
}

Result<std::string> Members::hear(const std::string& name, Nanoseconds limit) {
  DLHOST_ASSIGN(const std::string count, noted(session_->get(name, limit)));
  std::size_t pieces = 0;
  for (const char digit : count) {
    pieces = 10 * pieces + static_cast<std::size_t>(digit - '0');
    if (digit < '0' || digit > '9' || pieces > most_pieces) return Status::corrupt("'", name, "' is damaged");
  }
  std::string text;
  for (std::size_t number = 0; number < pieces; ++number) {
    DLHOST_ASSIGN(const std::string part, session_->get(name_of_piece(name, number), to_look));
    text += part;
  }
  return text;
}

Status Members::await_change(Nanoseconds limit) {
  const auto heard = noted(session_->get(Told::leaving, limit));
  if (heard.ok() || heard.status().code() == Code::cancelled) changed_ = true;
  return changed_ || heard.status().code() == Code::timeout ? Status() : heard.status();
}

void Members::announce_leave() {
  if (std::exchange(announced_, epoch_) == epoch_) return;
  tell(Told::leaving, "").ignore("another member was first, or another epoch has begun");
}

Status Members::await_leavers(Clock& clock) {
  for (const Nanoseconds end = clock.now() + to_go; clock.now() < end;) {
    DLHOST_TRY(look());
    const auto said = noted(session_->get(Told::leaving, glance));
    if (said.status().code() == Code::timeout) return {};
    if (!said.ok() && said.status().code() != Code::cancelled) return said.status();
    if (said.ok()) clock.sleep(pause_in_leaving);
  }
  return look();
}

Status Members::try_to_lead() {
  DLHOST_ASSIGN(leads_, session_->try_lead("run"));
  return {};
}

// Announces the end until no other member is left. A departure begins a new epoch, whose members do not know of earlier
// announcements.
void Members::dismiss(Clock& clock, std::string_view why) {
  for (const Nanoseconds end = clock.now() + to_leave; clock.now() < end; clock.sleep(pause_in_leaving)) {
    if (!look().ok() || members_.size() <= 1) break;
    tell(Told::end, why).ignore("the end is announced already, or another epoch has begun");
  }
}

// Sorts the members by host, in any order of ranks, so that machine numbers ascend with the seats. The leader is first.
Assignment Assignment::of(std::vector<Member> members, std::uint32_t leader, std::uint32_t seats) {
  const auto first = std::ranges::find(members, leader, &Member::rank);
  if (first != members.end()) std::rotate(members.begin(), first, first + 1);
  for (auto next = members.begin(); next != members.end();) // hosts in the order of their first members
    next = std::stable_partition(next, members.end(),
                                 [host = next->host](const Member& member) { return member.host == host; });
  Assignment assignment;
  const Member* last = nullptr;
  std::uint32_t machine = 0;
  for (std::size_t seat = 0; seat < seats; ++seat) {
    const Member& member = members[seat * members.size() / seats];
    if (last && member.host != last->host) ++machine;
    last = &member;
    assignment.ranks.push_back(member.rank);
    assignment.machines.push_back(machine);
  }
  return assignment;
}

std::vector<std::uint32_t> Assignment::seats_of(std::uint32_t rank) const {
  std::vector<std::uint32_t> seats;
  for (std::uint32_t seat = 0; seat < ranks.size(); ++seat)
    if (ranks[seat] == rank) seats.push_back(seat);
  return seats;
}

std::string Takeover::to_text() const { return env::json_text(nlohmann::json{{"run", run}, {"mark", mark}}); }

Result<Takeover> Takeover::read(const std::string& text) {
  try {
    const auto said = env::parse_json(text);
    return Takeover{.run = said.at("run"), .mark = said.at("mark")};
  } catch (const nlohmann::json::exception&) {
    return Status::corrupt("the leader's message about the run's folder is damaged");
  }
}

std::string AttemptPlan::to_text() const {
  return env::json_text(nlohmann::json{{"job", job},
                                       {"ranks", assignment.ranks},
                                       {"machines", assignment.machines},
                                       {"epoch", epoch},
                                       {"run", takeover.run},
                                       {"mark", takeover.mark}});
}

Result<AttemptPlan> AttemptPlan::read(const std::string& text) {
  try {
    const auto said = env::parse_json(text);
    AttemptPlan call{.job = said.at("job"),
                     .assignment = {.ranks = said.at("ranks").get<std::vector<std::uint32_t>>(),
                                    .machines = said.at("machines").get<std::vector<std::uint32_t>>()},
                     .epoch = said.at("epoch"),
                     .takeover = {.run = said.at("run"), .mark = said.at("mark")}};
    const auto& [ranks, machines] = call.assignment;
    const bool begins = !machines.empty() && machines.size() == ranks.size() && machines.front() == 0;
    const auto leaps = [](std::uint32_t one, std::uint32_t next) { return next - one > 1; };
    if (begins && std::ranges::adjacent_find(machines, leaps) == machines.end()) return call;
  } catch (const nlohmann::json::exception&) {
  }
  return Status::corrupt("the leader's message about an attempt is damaged");
}

} // namespace dlhost::run
