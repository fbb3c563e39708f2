// Measures the time until each of several nodes has the sum of all nodes' data: by dlhost's syncs and its parameter
// table, over its transport between machines, by size and number of nodes. All nodes are processes of this machine.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "env/hex.h"
#include "env/secret.h"
#include "exchange/node.h"
#include "exchange/report.h"
#include "need.h"
#include "transport/party.h"

namespace dlhost::bench {
namespace {

using Json = nlohmann::json;

struct Options {
  std::vector<std::uint32_t> nodes{2, 4};
  std::vector<std::size_t> sizes;
  Plan plan{.slice = 262144, .syncs = {std::string(table), "all_to_all", "halving", "hierarchical", "ring", "shares"}};
  double seconds = 0.5;
  int turns = 3;
  bool json = false, csv = false;
  std::string picture;
  bool is_node = false;
  int from = -1, to = -1;
};

class Nodes {
 public:
  Nodes(const std::string& program, Plan plan, std::uint32_t count) {
    plan.nodes = count;
    const auto secret = env::draw_secret();
    plan.secret = env::hex({reinterpret_cast<const char*>(secret.data()), secret.size()});
    for (plan.rank = 0; plan.rank < count; ++plan.rank) {
      nodes_.emplace_back(program, std::vector<std::string>{"--node"});
      nodes_.back().channel().say(text_of(plan));
    }
    Json addresses = Json::array();
    for (auto& node : nodes_) addresses.push_back(Json::parse(node.channel().hear()));
    tell(addresses);
  }

  void make_room(std::size_t bytes) {
    tell({{"bytes", bytes}});
    std::vector<Json> cards;
    for (auto& node : nodes_) cards.push_back(Json::parse(node.channel().hear()));
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      Json keys = Json::array();
      for (const Json& card : cards)
        keys.push_back({card.at("own"), card.at("mirrors").at(node), card.at("masters")[0], card.at("masters")[1]});
      nodes_[node].channel().say(keys.dump());
    }
    hear_all();
  }

  // Returns the times of the slowest node.
  Row measure(const std::string& sync, std::size_t bytes, double seconds) {
    tell({{"sync", sync}});
    hear_all();
    constexpr std::size_t first = 3, most = 100'000; // `first`: exchanges to estimate one's time
    constexpr std::size_t least = 3;
    run(1);
    const double one = run(first).at("seconds");
    const auto times = static_cast<std::size_t>(seconds / std::max(one, 1e-9));
    const Json slowest = run(std::clamp(times, least, most));
    return {bytes, slowest.at("seconds"), slowest.at("p50"), slowest.at("p99")};
  }

  void end() {
    for (auto& node : nodes_) node.channel().say("over");
    for (auto& node : nodes_) node.join();
  }

 private:
  void tell(const Json& what) {
    for (auto& node : nodes_) node.channel().say(what.dump());
  }
  std::vector<Json> hear_all() {
    std::vector<Json> said;
    for (auto& node : nodes_) said.push_back(Json::parse(node.channel().hear()));
    return said;
  }
  Json run(std::size_t times) {
    tell({{"times", times}});
    auto said = hear_all();
    for (const Json& node : said)
      if (!node.at("right").get<bool>() || node.at("bits") != said[0].at("bits"))
        throw std::runtime_error("a sum is wrong");
    return *std::ranges::max_element(said, {}, [](const Json& node) { return node.at("seconds").get<double>(); });
  }

  std::vector<Party> nodes_;
};

// Measures in turns, so that a temporary slowdown of the machine affects all; the best of each counts.
std::vector<Curve> measure_all(const std::string& program, const Options& options) {
  std::vector<Curve> curves;
  for (const std::uint32_t count : options.nodes) {
    Nodes nodes(program, options.plan, count);
    const std::size_t first = curves.size();
    for (const auto& sync : options.plan.syncs) curves.push_back({sync, count, {}});
    for (const std::size_t bytes : options.sizes) {
      nodes.make_room(bytes);
      for (int turn = 0; turn < options.turns; ++turn)
        for (std::size_t s = 0; s < options.plan.syncs.size(); ++s)
          curves[first + s].take(nodes.measure(options.plan.syncs[s], bytes, options.seconds));
    }
    nodes.end();
  }
  return curves;
}

int run(const std::string& program, const Options& options) {
  if (options.is_node) return be_party("exchange", options.from, options.to, be_a_node);
  const auto curves = measure_all(program, options);
  fmt::print("{}", options.json ? as_json(curves) : options.csv ? as_csv(curves) : as_text(curves));
  if (!options.picture.empty()) {
    std::ofstream picture(options.picture);
    picture << as_picture(curves);
    if (!picture.flush()) throw std::runtime_error("cannot write " + options.picture);
  }
  return 0;
}

} // namespace
} // namespace dlhost::bench

int main(int argc, char** argv) {
  dlhost::bench::Options options;
  for (std::size_t size = 1024; size <= 64 << 20; size *= 4) options.sizes.push_back(size);
  CLI::App app("Sums over several nodes: how long each exchange takes, by size and by the number of nodes.");
  app.add_option("--nodes", options.nodes, "how many; may be given several times")
      ->capture_default_str()
      ->check(CLI::Range(2, 64));
  app.add_option("--per-host", options.plan.per_host, "so many of them reach one another by shared memory")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  app.add_option("--size", options.sizes, "bytes that each has; may be given several times")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{4}, std::size_t{1} << 30));
  app.add_option("--sync", options.plan.syncs,
                 "only that one (may be repeated): what dlhost inspect --kind sync lists, but for "
                 "those that gossip; or table, the parameter table with a server beside each node");
  app.add_option("--codec", options.plan.codec,
                 "what goes from node to node goes through it: what dlhost inspect --kind codec lists");
  app.add_option("--provider", options.plan.provider, "of the fabric transport; left out, the one that it chooses");
  app.add_option("--slice", options.plan.slice, "elements of a slice at most; slices are exchanged beside one another")
      ->capture_default_str()
      ->check(CLI::Range(16, 1 << 28));
  app.add_option("--seconds", options.seconds, "for each sync, size and turn")->capture_default_str();
  app.add_option("--turns", options.turns, "measure all so often, and take the best of each")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", options.json, "a line of JSON for each row");
  app.add_flag("--csv", options.csv, "comma-separated values, with a head");
  app.add_option("--svg", options.picture, "also a picture: time by size, a plot for each number of nodes")
      ->type_name("FILE");
  app.add_flag("--node", options.is_node)->group("");
  app.add_option("--from", options.from)->group("");
  app.add_option("--to", options.to)->group("");
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGPIPE, SIG_IGN); // a write to a dead process gives an error, which is reported
  try {
    return dlhost::bench::run(std::filesystem::canonical("/proc/self/exe").string(), options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "exchange: {}\n", error.what());
    return 1;
  }
}
