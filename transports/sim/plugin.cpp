#include <optional>
#include <sstream>

#include <dlhost/plugin.h>

#include "endpoint.h"

namespace dlhost::plugins::sim {

class Sim final : public Transport {
 public:
  static constexpr std::string_view name = "sim";
  struct Options {
    std::int64_t seed = 0;
    double least = 2e-6;
    double most = 2e-4;
    double notice = 0.05;
    double lost = 0, doubled = 0, reordered = 0;
    std::vector<std::string> cut, outage;
  };
  static Schema schema() {
    return SchemaOf<Options>("Between the tasks of one process, which stand for processes: for simulations and tests. "
                             "Each message takes a random time.")
        .option("seed", &Options::seed, "of the draws")
        .option("least", &Options::least, "seconds that a message takes at least", at_least(0))
        .option("most", &Options::most, "seconds that it takes at most, unless one before it takes longer", at_least(0))
        .option("notice", &Options::notice, "seconds after which the end of a peer is seen", at_least(0))
        .option("lost", &Options::lost, "share of messages that never arrive, against a transport's promises",
                between(0, 0.5))
        .option("doubled", &Options::doubled, "share of messages that arrive twice", between(0, 0.5))
        .option("reordered", &Options::reordered,
                "share of messages that arrive `most` later than they would, after later messages to the same peer",
                between(0, 0.5))
        .option("cut", &Options::cut,
                "links that are cut: \"ONE OTHER SECONDS\", the names of two endpoints and how long after they met")
        .option("outage", &Options::outage,
                "links that are cut for a while: \"ONE OTHER FROM TO\", the names and two moments of the clock");
  }
  explicit Sim(const Options& options) : options_(options) {}

  Capabilities capabilities() const override {
    return {.maps = true,
            .one_sided = true,
            .registers = true,
            .reports_gone = true,
            .largest_message = largest_message,
            .alignment = 64};
  }

  Result<std::unique_ptr<Endpoint>> open(Host& host, const Opening& opening) override {
    if (options_.least > options_.most)
      return Status::invalid("sim: a message takes at least ", options_.least, " s and at most ", options_.most);
    if (options_.lost + options_.doubled + options_.reordered > 1)
      return Status::invalid("sim: lost, doubled and reordered are shares of all messages, and come to ",
                             options_.lost + options_.doubled + options_.reordered, " together; lower them");
    Weather weather{.seed = static_cast<std::uint64_t>(options_.seed),
                    .least = nanoseconds(options_.least),
                    .most = nanoseconds(options_.most),
                    .notice = nanoseconds(options_.notice),
                    .lost = options_.lost,
                    .doubled = options_.doubled,
                    .reordered = options_.reordered,
                    .cuts = {},
                    .outages = {}};
    for (const auto& text : options_.cut) {
      const auto cut = fault_of(text, 1);
      if (!cut) return Status::invalid("sim: cut: '", text, "' is not \"ONE OTHER SECONDS\"");
      weather.cuts.push_back({cut->one, cut->other, cut->times[0]});
    }
    for (const auto& text : options_.outage) {
      const auto outage = fault_of(text, 2);
      if (!outage) return Status::invalid("sim: outage: '", text, "' is not \"ONE OTHER FROM TO\"");
      weather.outages.push_back({outage->one, outage->other, outage->times[0], outage->times[1]});
    }
    return std::unique_ptr<Endpoint>(std::make_unique<SimEndpoint>(host, opening.name, std::move(weather)));
  }

 private:
  struct Fault {
    std::string one, other;
    std::vector<Nanoseconds> times;
  };
  static Nanoseconds nanoseconds(double seconds) { return static_cast<Nanoseconds>(seconds * 1e9); }

  // Parses two names and `numbers` times in seconds.
  static std::optional<Fault> fault_of(const std::string& text, std::size_t numbers) {
    std::istringstream words(text);
    Fault fault;
    words >> fault.one >> fault.other;
    for (double seconds = 0; words >> seconds && seconds >= 0;) fault.times.push_back(nanoseconds(seconds));
    return words.eof() && fault.times.size() == numbers ? std::optional(fault) : std::nullopt;
  }

  Options options_;
};

} // namespace dlhost::plugins::sim

DLHOST_PLUGIN("1.0", dlhost::plugins::sim::Sim);
