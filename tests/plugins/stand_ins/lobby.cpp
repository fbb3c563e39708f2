// A rendezvous inside of one process: two members meet in a lobby. For the conformance suite of rendezvous.
#include <map>
#include <mutex>
#include <optional>

#include <dlhost/plugin.h>
#include <dlhost/rendezvous.h>

namespace {
using namespace dlhost;

constexpr std::uint32_t expected_members = 2;

struct Lobby {
  std::mutex mutex;
  std::unique_ptr<Waiter> waiter;
  std::uint32_t epoch = 0;
  std::map<std::uint32_t, Member> members;
  std::map<std::string, std::string, std::less<>> values;
  std::map<std::string, std::uint32_t, std::less<>> leaders;

  void change() { // with the lock held
    ++epoch;
    values.clear();
    waiter->notify_all();
  }
  Membership membership() const {
    Membership now{epoch, {}};
    for (const auto& [rank, member] : members) now.members.push_back(member);
    return now;
  }
};
Lobby lobby;

class Guest final : public Session {
 public:
  Guest(Host& host, const Member& self) : host_(host), rank_(self.rank) {}
  ~Guest() override {
    const std::lock_guard lock(lobby.mutex);
    lobby.members.erase(rank_);
    std::erase_if(lobby.leaders, [&](const auto& leader) { return leader.second == rank_; });
    lobby.change();
  }
  std::uint32_t rank() const override { return rank_; }
  std::uint32_t expected() const override { return expected_members; }

  Result<Membership> membership(std::uint32_t newer_than, Nanoseconds limit) override {
    return until<Membership>(limit, [&]() -> std::optional<Membership> {
      if (lobby.epoch <= newer_than) return std::nullopt;
      return lobby.membership();
    });
  }
  Status put(std::string_view key, std::string_view value) override {
    const std::lock_guard lock(lobby.mutex);
    if (!lobby.values.emplace(key, value).second) return Status::exists("'", key, "' is written once an epoch");
    lobby.waiter->notify_all();
    return {};
  }
  Result<std::string> get(std::string_view key, Nanoseconds limit) override {
    return until<std::string>(limit, [&]() -> std::optional<std::string> {
      const auto found = lobby.values.find(key);
      return found == lobby.values.end() ? std::nullopt : std::optional(found->second);
    });
  }
  Status report_gone(std::uint32_t rank) override {
    const std::lock_guard lock(lobby.mutex);
    if (lobby.members.erase(rank) != 0) lobby.change();
    return {};
  }
  Result<bool> try_lead(std::string_view what) override {
    const std::lock_guard lock(lobby.mutex);
    return lobby.leaders.emplace(what, rank_).first->second == rank_;
  }

  template <class T, class Look> Result<T> until(Nanoseconds limit, Look&& look) {
    const Nanoseconds end = host_.clock().now() + limit;
    for (;;) {
      const std::uint64_t ticket = lobby.waiter->ticket();
      {
        const std::lock_guard lock(lobby.mutex);
        if (auto found = look()) return *std::move(found);
      }
      const Nanoseconds left = end - host_.clock().now();
      if (left <= 0) return Status::timeout("nothing came");
      lobby.waiter->wait(ticket, left);
    }
  }

 private:
  Host& host_;
  std::uint32_t rank_;
};

class LobbyRendezvous final : public Rendezvous {
 public:
  static constexpr std::string_view name = "lobby";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Two members of one process."); }
  explicit LobbyRendezvous(Options) {}

  Capabilities capabilities() const override { return {.elastic = true, .survives_founder = true}; }
  bool detected(Host&) const override { return false; }
  Result<std::unique_ptr<Session>> join(Host& host, const Member& self, Nanoseconds limit) override {
    {
      const std::lock_guard lock(lobby.mutex);
      if (lobby.members.contains(self.rank)) return Status::exists("rank ", self.rank, " is in already");
      if (!lobby.waiter) lobby.waiter = host.tasks().waiter();
      lobby.members.emplace(self.rank, self);
      lobby.change();
    }
    auto guest = std::make_unique<Guest>(host, self);
    const auto all = guest->until<bool>(limit, []() -> std::optional<bool> {
      return lobby.members.size() == expected_members ? std::optional(true) : std::nullopt;
    });
    if (!all.ok()) return all.status();
    return std::unique_ptr<Session>(std::move(guest));
  }
};

void forget() noexcept { lobby.waiter.reset(); }
Status begin(Host&) { return {}; }

} // namespace

DLHOST_PLUGIN_WITH("1.0", begin, forget, LobbyRendezvous);
