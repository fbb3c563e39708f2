#include <charconv>

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
    std::vector<std::string> cut;
  };
  static Schema schema() {
    return SchemaOf<Options>("Between the tasks of one process, which stand for processes: for simulations and tests. "
                             "Each message takes a drawn while.")
        .option("seed", &Options::seed, "of the draws")
        .option("least", &Options::least, "seconds that a message takes at least", at_least(0))
        .option("most", &Options::most, "seconds that it takes at most, unless one before it takes longer", at_least(0))
        .option("notice", &Options::notice, "seconds after which the end of a peer is seen", at_least(0))
        .option("cut", &Options::cut,
                "links that are cut: \"ONE OTHER SECONDS\", the names of two endpoints and how long after they met");
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

  Result<std::unique_ptr<Endpoint>> open(Host& host, std::string_view who) override {
    if (options_.least > options_.most)
      return Status::invalid("sim: a message takes at least ", options_.least, " s and at most ", options_.most);
    Weather weather{.seed = static_cast<std::uint64_t>(options_.seed),
                    .least = nanoseconds(options_.least),
                    .most = nanoseconds(options_.most),
                    .notice = nanoseconds(options_.notice),
                    .cuts = {}};
    for (const auto& text : options_.cut) {
      DLHOST_ASSIGN(auto cut, cut_of(text));
      weather.cuts.push_back(std::move(cut));
    }
    return std::unique_ptr<Endpoint>(std::make_unique<SimEndpoint>(host, who, std::move(weather)));
  }

 private:
  static Nanoseconds nanoseconds(double seconds) { return static_cast<Nanoseconds>(seconds * 1e9); }

  static Result<Cut> cut_of(const std::string& text) {
    const auto first = text.find(' '), second = text.rfind(' ');
    double seconds = -1;
    if (first != std::string::npos && first < second)
      std::from_chars(text.data() + second + 1, text.data() + text.size(), seconds);
    if (seconds < 0) return Status::invalid("sim: cut: '", text, "' is not \"ONE OTHER SECONDS\"");
    return Cut{text.substr(0, first), text.substr(first + 1, second - first - 1), nanoseconds(seconds)};
  }

  Options options_;
};

} // namespace dlhost::plugins::sim

DLHOST_PLUGIN("1.0", dlhost::plugins::sim::Sim);
