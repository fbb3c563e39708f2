// The rendezvous without a service: one of the job's processes listens, and the others call.
#include <dlhost/plugin.h>

#include "founder.h"
#include "guest.h"
#include "secret.h"

namespace dlhost::plugins::rendezvous {

class Embedded final : public Rendezvous {
 public:
  static constexpr std::string_view name = "embedded";
  struct Options {
    std::string at, listen;
    std::int64_t members = 0;
    bool rank_0_founds = true;
    double silence = 10;
  };
  static Schema schema() {
    return SchemaOf<Options>(
               "Needs no other service: rank 0, or a launcher, listens at one place and keeps the membership.")
        .option("at", &Options::at, "the address of the founder, HOST:PORT, which all members reach")
        .option("listen", &Options::listen,
                "where the founder listens: an address of its machine, or a network that it has an address in, as "
                "10.0.0.0/8; "
                "empty: at the host of `at`")
        .option("members", &Options::members, "number of members to wait for; 0: do not wait", between(0, 100000))
        .option("rank_0_founds", &Options::rank_0_founds, "rank 0 listens; false: a launcher does")
        .option("silence", &Options::silence,
                "seconds without a message before a member, or the founder, counts as gone", between(0.2, 3600));
  }
  explicit Embedded(Options options) : options_(std::move(options)) {}

  Capabilities capabilities() const override { return {.elastic = true, .founds = true}; }
  bool detected(Host&) const override { return false; }

  Result<std::unique_ptr<Session>> join(Host& host, const Joining& who, Nanoseconds limit) override {
    std::unique_ptr<Place> place;
    if (who.self.rank == 0 && options_.rank_0_founds) {
      DLHOST_ASSIGN(place, found(host, who));
    }
    Joining asked = who;
    if (asked.expected == 0) asked.expected = static_cast<std::uint32_t>(options_.members);
    DLHOST_ASSIGN(std::string at, place_to_call());
    if (place) at = place->address();
    DLHOST_ASSIGN(auto guest, Guest::join(host, at, terms(who), asked, limit));
    guest->keep(std::move(place));
    return std::unique_ptr<Session>(std::move(guest));
  }

  Result<std::unique_ptr<Place>> found(Host& host, const Joining& who) override {
    DLHOST_ASSIGN(const std::string at, place_to_call());
    DLHOST_ASSIGN(auto where, meeting::Where::find(at));
    if (!options_.listen.empty()) {
      DLHOST_ASSIGN(where.host, meeting::own_address_in(options_.listen));
    }
    const auto expected = who.expected != 0 ? who.expected : static_cast<std::uint32_t>(options_.members);
    auto founder = Founder::open(host, where, terms(who), expected);
    if (!founder.ok())
      return std::move(founder).status().at("embedded: no place to meet can be founded (`at`, `listen`)");
    return std::unique_ptr<Place>(*std::move(founder));
  }

 private:
  Result<std::string> place_to_call() const {
    if (!options_.at.empty()) return options_.at;
    return Status::invalid(
        "embedded: the place where members meet is missing; give rendezvous = { type = \"embedded\", at = "
        "\"HOST:PORT\" }, the same for all of them");
  }
  meeting::Terms terms(const Joining& who) const {
    return {.protocol = std::string(name),
            .secret = secret_of(who),
            .own = {},
            .silence = static_cast<Nanoseconds>(options_.silence * 1e9)};
  }

  Options options_;
};

} // namespace dlhost::plugins::rendezvous

DLHOST_PLUGIN("1.0", dlhost::plugins::rendezvous::Embedded);
