// Processes of a PMIx launcher (srun --mpi=pmix, mpirun, prterun) find each other through it: rank 0 founds an embedded
// place and hands over its address and the job's secret through PMIx.
#include <dlhost/plugin.h>

#include <atomic>

#include <sodium.h>

#include "founder.h"
#include "guest.h"
#include "pmix_client.h"
#include "secret.h"

namespace dlhost::plugins::rendezvous {
namespace {

std::string hex_of(const JobSecret& secret) {
  std::string hex(secret.size() * 2 + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), secret.data(), secret.size());
  hex.pop_back();
  return hex;
}

Result<JobSecret> secret_in(const std::string& hex) {
  JobSecret secret{};
  std::size_t size = 0;
  if (sodium_hex2bin(secret.data(), secret.size(), hex.data(), hex.size(), nullptr, &size, nullptr) == 0 &&
      size == secret.size())
    return secret;
  return Status::corrupt("the value that rank 0 handed over is not a secret");
}

// A member that also learns of others' ends from PMIx.
class PmixSession final : public Session {
 public:
  PmixSession(Host& host, PmixClient& client, std::unique_ptr<Guest> guest)
      : client_(client), guest_(std::move(guest)), task_(host.tasks().start("pmix events", [this] { run(); })) {}
  ~PmixSession() override {
    ends_ = true;
    client_.bell().notify_all();
    task_.reset();
  }

  std::uint32_t rank() const override { return guest_->rank(); }
  std::uint32_t expected() const override { return guest_->expected(); }
  JobSecret secret() const override { return guest_->secret(); }
  Result<Membership> membership(std::uint32_t newer_than, Nanoseconds limit) override {
    return guest_->membership(newer_than, limit);
  }
  Status put(std::string_view key, std::string_view value) override { return guest_->put(key, value); }
  Result<std::string> get(std::string_view key, Nanoseconds limit) override { return guest_->get(key, limit); }
  Status report_gone(std::uint32_t rank, std::string_view why) override { return guest_->report_gone(rank, why); }
  Result<bool> try_lead(std::string_view what) override { return guest_->try_lead(what); }
  void leave(std::string_view why) override { guest_->leave(why); }

 private:
  void run() {
    while (!ends_) {
      const auto ticket = client_.bell().ticket();
      for (const auto& [rank, why] : client_.take_lost())
        guest_->report_gone(rank, concat("PMIx: ", why)).ignore("it is known already, or this member is out itself");
      if (!ends_) client_.bell().wait(ticket, 1'000'000'000);
    }
  }

  PmixClient& client_;
  std::unique_ptr<Guest> guest_;
  std::atomic<bool> ends_{false};
  std::unique_ptr<Task> task_; // last: uses all members above
};

} // namespace

class Pmix final : public Rendezvous {
 public:
  static constexpr std::string_view name = "pmix";
  struct Options {
    std::string listen;
    double silence = 10;
  };
  static Schema schema() {
    return SchemaOf<Options>("Processes started by srun --mpi=pmix, mpirun or prterun: PMIx assigns ranks, and hands "
                             "over the job's secret.")
        .option("listen", &Options::listen,
                "where rank 0 listens: an address of its machine, or a network that it has an address in, as "
                "10.0.0.0/8; empty: "
                "127.0.0.1 if all are on one host, else the address of the host's name")
        .option("silence", &Options::silence, "seconds without a message before a member counts as gone",
                between(0.2, 3600));
  }
  explicit Pmix(Options options) : options_(std::move(options)) {}

  Capabilities capabilities() const override { return {.hands_over_secret = true}; }
  bool detected(Host&) const override { return PmixClient::detected(); }

  Result<std::unique_ptr<Session>> join(Host& host, const Joining& who, Nanoseconds limit) override {
    auto joined = enter(host, who, host.clock().now() + limit);
    return joined.ok() ? std::move(joined) : std::move(joined).status().at("pmix");
  }

 private:
  struct Handed {
    std::string at;
    JobSecret secret{};
  };

  Result<std::unique_ptr<Session>> enter(Host& host, const Joining& who, Nanoseconds end) {
    DLHOST_ASSIGN(PmixClient* const client, PmixClient::of_process(host));
    DLHOST_TRY(check(*client, who));
    const std::string prefix = concat("dlhost.", client->next_meeting(), ".");
    std::unique_ptr<Place> place;
    if (client->rank() == 0) {
      DLHOST_TRY(hand_over(host, *client, who, prefix, place));
    }
    DLHOST_TRY(client->fence(end));
    DLHOST_ASSIGN(const Handed handed, take_over(*client, prefix, end));
    if (who.secret && *who.secret != handed.secret)
      return Status::invalid("this process was given another secret than rank 0; give it to all of them, or to none");
    Joining self = who;
    self.self.rank = client->rank();
    self.expected = client->size();
    if (self.self.host.empty()) self.self.host = client->host();
    DLHOST_ASSIGN(auto guest, Guest::join(host, handed.at, terms(handed.secret), self, end - host.clock().now()));
    guest->keep(std::move(place));
    return std::unique_ptr<Session>(std::make_unique<PmixSession>(host, *client, std::move(guest)));
  }

  static Status check(const PmixClient& client, const Joining& who) {
    if (who.self.rank != any_rank && who.self.rank != client.rank())
      return Status::invalid("this process has rank ", client.rank(), " by its launcher, and not ", who.self.rank);
    if (who.expected != 0 && who.expected != client.size())
      return Status::invalid("this job has ", client.size(), " processes by its launcher, and ", who.expected,
                             " are expected; start as many");
    return {};
  }

  // Errors are handed over as well, so that no process waits for rank 0.
  Status hand_over(Host& host, PmixClient& client, const Joining& who, const std::string& prefix,
                   std::unique_ptr<Place>& place) {
    const JobSecret secret = who.secret ? *who.secret : drawn_secret();
    auto founder = found_by(host, client, secret);
    DLHOST_TRY(client.put(prefix + "problem", founder.ok() ? "none" : founder.status().message()));
    if (!founder.ok()) return {};
    DLHOST_TRY(client.put(prefix + "at", (*founder)->address()));
    DLHOST_TRY(client.put(prefix + "secret", hex_of(secret)));
    place = *std::move(founder);
    return {};
  }

  static Result<Handed> take_over(PmixClient& client, const std::string& prefix, Nanoseconds end) {
    DLHOST_ASSIGN(const std::string problem, client.get(0, prefix + "problem", end));
    if (problem != "none") return Status::io("rank 0 founds no place to meet: ", problem);
    Handed handed;
    DLHOST_ASSIGN(handed.at, client.get(0, prefix + "at", end));
    DLHOST_ASSIGN(const std::string hex, client.get(0, prefix + "secret", end));
    DLHOST_ASSIGN(handed.secret, secret_in(hex));
    return handed;
  }

  Result<std::unique_ptr<Founder>> found_by(Host& host, const PmixClient& client, const JobSecret& secret) const {
    DLHOST_ASSIGN(const std::string own, address(client));
    return Founder::open(host, {own, 0}, terms(secret), client.size());
  }

  Result<std::string> address(const PmixClient& client) const {
    if (!options_.listen.empty()) return meeting::own_address_in(options_.listen);
    if (client.one_host()) return std::string("127.0.0.1");
    const std::string remedy = "; say where it listens: rendezvous = { type = \"pmix\", listen = \"10.0.0.0/8\" }";
    auto where = meeting::Where::find(client.host() + ":0");
    if (!where.ok()) return Status::not_found(where.status().message(), remedy);
    if (where->host.starts_with("127.") || where->host == "::1")
      return Status::invalid("the host's name '", client.host(), "' is the address ", where->host,
                             ", which other machines cannot reach", remedy);
    return where->host;
  }

  meeting::Terms terms(const JobSecret& secret) const {
    return {.protocol = std::string(name),
            .secret = secret,
            .own = {},
            .silence = static_cast<Nanoseconds>(options_.silence * 1e9)};
  }

  Options options_;
};

namespace {
Status begin_pmix(Host&) { return {}; }
} // namespace

} // namespace dlhost::plugins::rendezvous

DLHOST_PLUGIN_WITH("1.0", dlhost::plugins::rendezvous::begin_pmix, dlhost::plugins::rendezvous::PmixClient::finish,
                   dlhost::plugins::rendezvous::Pmix);
