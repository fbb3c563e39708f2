#include "exchange/node.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>

#include <nlohmann/json.hpp>

#include "env/hex.h"
#include "env/real_host.h"
#include "exchange/rows.h"
#include "exchange/table_row.h"
#include "need.h"
#include "param/message/post.h"
#include "plugin/registry.h"
#include "plugin/search.h"

namespace dlhost::bench {
namespace {

using Json = nlohmann::json;
// A slice of a job's exchanges has this many times the elements from which a table cuts a param.
constexpr std::int64_t flowing_slices = 16;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Node final : public param::MessageHandler {
 public:
  Node(const Plan& plan, Channel& channel) : plan_(plan), channel_(channel) {
    for (std::uint32_t node = 0; node < plan_.nodes; ++node) machines_.push_back(node / plan_.per_host);
    dlhost::Table options;
    if (!plan_.provider.empty()) options.entries.emplace_back("provider", Value{plan_.provider});
    network_ = need(registry_.create<Transport>("fabric", options));
    if (plan_.per_host > 1) near_ = need(registry_.create<Transport>("shm", {}));
    post_ = need(param::Post::open({.host = &host_,
                                    .near = near_.get(),
                                    .far = network_.get(),
                                    .seat = plan_.rank,
                                    .machines = machines_,
                                    .secret = std::as_bytes(std::span(secret_)),
                                    .credit = 100'000}));
    for (const auto& sync : plan_.syncs)
      if (sync != table) syncs_[sync] = need(registry_.create<Sync>(sync, {}));
    if (plan_.codec.empty()) return;
    codec_ = need(registry_.create<Codec>(plan_.codec, {}));
    encoded_ = {codec_.get(), plugin::remember("codec", "", plan_.codec, "")};
  }

  void run() {
    meet();
    for (std::string word = channel_.hear(); word != "over"; word = channel_.hear()) {
      const Json wanted = Json::parse(word);
      if (wanted.contains("bytes"))
        make_room(wanted.at("bytes").get<std::int64_t>() / static_cast<std::int64_t>(sizeof(float)));
      else if (wanted.contains("sync"))
        take_up(wanted.at("sync"));
      else
        measure(wanted.at("times"));
    }
  }

  Status take(std::uint32_t from, const param::Body& message) override {
    if (!std::holds_alternative<param::ToWorker>(message)) return exchanged_->hear(from, message);
    if (!param::find_message<param::to_worker::Alive>(message))
      return Status::corrupt("a message for a worker of a run, and this node runs none");
    ++arrived_;
    return {};
  }

 private:
  void meet() {
    const auto own = post_->addresses();
    channel_.say(Json{own.near, own.far}.dump());
    const Json all = Json::parse(channel_.hear());
    for (std::uint32_t node = 0; node < plan_.nodes; ++node)
      if (node != plan_.rank) need(post_->connect(node, {all[node][0], all[node][1]}));
  }

  std::unique_ptr<Exchanged> make(const std::string& sync) {
    const auto nodes = plan_.nodes;
    if (sync == table)
      return std::make_unique<TableRow>(registry_, *net_, nodes, encoded_, plan_.slice / flowing_slices, *this);
    return std::make_unique<SlicedRow>(*net_, *syncs_.at(sync), machines_, encoded_, plan_.slice);
  }

  // Allocates memory for the exchanged data, and mirrors of other nodes' memory.
  void make_room(std::int64_t elements) {
    exchanged_.reset();
    net_.emplace(registry_, elements);
    std::size_t bytes = 1, masters_bytes = 1;
    for (const auto& sync : plan_.syncs) {
      const auto exchanged = make(sync);
      bytes = std::max(bytes, exchanged->bytes());
      masters_bytes = std::max(masters_bytes, exchanged->masters_bytes());
    }
    boards_.clear();
    mapped_.clear();
    site_ = {.rank = plan_.rank,
             .machines = machines_,
             .memories = std::vector<std::span<std::byte>>(plan_.nodes),
             .has_masters = lodging(plan_.rank) == plan_.rank,
             .post = post_.get(),
             .mirrors = &there_,
             .masters_there = &masters_there_,
             .host = &host_,
             .activity = &activity_};
    boards_.push_back(need(post_->allocate(bytes)));
    site_.own = boards_[0].bytes();
    Json card{{"own", env::hex(boards_[0].near_key())}, {"mirrors", Json::array()}};
    for (std::uint32_t node = 0; node < plan_.nodes; ++node) {
      std::string key;
      if (!site_.is_near(node)) {
        boards_.push_back(need(post_->allocate_mirror(bytes)));
        site_.memories[node] = boards_.back().bytes();
        post_->know(node, boards_.back().bytes());
        key = boards_.back().far_key();
      }
      card["mirrors"].push_back(env::hex(key));
    }
    std::string near_masters, far_masters;
    if (site_.has_masters) {
      boards_.push_back(need(post_->allocate(masters_bytes)));
      site_.masters = boards_.back().bytes();
      post_->know(plan_.nodes, site_.masters);
      near_masters = boards_.back().near_key();
      far_masters = boards_.back().far_key();
    }
    card["masters"] = {env::hex(near_masters), env::hex(far_masters)};
    channel_.say(card.dump());
    see(Json::parse(channel_.hear()));
    channel_.say(Json("ready").dump());
  }
  // For each node: the keys of its memory, of its mirror of this node's memory, and of its machine's masters.
  void see(const Json& all) {
    there_.assign(plan_.nodes, {});
    masters_there_.assign(plan_.nodes, {});
    for (std::uint32_t node = 0; node < plan_.nodes; ++node) {
      if (!site_.is_near(node)) {
        const std::uint32_t lodging = this->lodging(node);
        there_[node] = {.seat = node, .key = bytes_of(all[node][1]), .number = plan_.rank};
        masters_there_[node] = {
            .seat = lodging, .key = bytes_of(all[lodging][3]), .number = plan_.nodes, .shared = plan_.per_host > 1};
      } else if (node != plan_.rank) {
        mapped_.push_back(need(post_->map(node, bytes_of(all[node][0]))));
        site_.memories[node] = mapped_.back()->bytes();
      } else {
        site_.memories[node] = site_.own;
      }
    }
    if (site_.has_masters) return;
    mapped_.push_back(need(post_->map(lodging(plan_.rank), bytes_of(all[lodging(plan_.rank)][2]))));
    site_.masters = mapped_.back()->bytes();
  }
  // The node with the masters for the machine of `node`.
  std::uint32_t lodging(std::uint32_t node) const { return node - node % plan_.per_host; }
  static std::string bytes_of(const std::string& hex) { return env::from_hex(hex).value(); }

  void take_up(const std::string& sync) {
    exchanged_ = make(sync);
    exchanged_->join(site_);
    channel_.say(Json("ready").dump());
  }

  void wait_until(const std::function<bool()>& done) {
    const double end = now() + static_cast<double>(patience) * 1e-9;
    while (!done()) {
      need(post_->progress(*this, patience / 10));
      if (now() > end) throw std::runtime_error("an exchange does not end");
    }
  }

  // Waits for all nodes.
  void meet_all() {
    for (std::uint32_t node = 0; node < plan_.nodes; ++node)
      if (node != plan_.rank) need(post_->send(node, param::to_worker::Alive()));
    wait_until([&] { return arrived_ >= plan_.nodes - 1; });
    arrived_ -= plan_.nodes - 1;
  }

  void measure(std::size_t times) {
    std::vector<double> took;
    meet_all();
    const double begin = now();
    for (double last = begin; took.size() < times;) {
      wait_until([&] { return exchanged_->go_on(); });
      const double end = now();
      took.push_back(end - std::exchange(last, end));
    }
    const double all = now() - begin;
    wait_until([&] { return post_->all_sent() && exchanged_->is_read(); });
    std::ranges::sort(took);
    const Json measured{{"seconds", all / static_cast<double>(times)},
                        {"p50", took[took.size() / 2]},
                        {"p99", took[took.size() * 99 / 100]},
                        {"right", encoded_.codec ? is_finite() : is_right()},
                        {"bits", hash()}};
    channel_.say(measured.dump());
  }

  bool is_right() const {
    for (const auto& [first, values] : exchanged_->made())
      for (std::size_t i = 0; i < values.size(); ++i) {
        float sum = 0;
        for (std::uint32_t rank = 0; rank < plan_.nodes; ++rank) sum += value_at(first + i, rank);
        if (values[i] != sum * exchanged_->times_sum()) return false;
      }
    return true;
  }
  bool is_finite() const {
    return std::ranges::all_of(exchanged_->made(), [](const Exchanged::Part& part) {
      return std::ranges::all_of(part.values, [](float value) { return std::isfinite(value); });
    });
  }
  // Through a codec, all nodes get the same bits, but not the exact sum.
  std::size_t hash() const {
    std::size_t hash = 0;
    for (const auto& [first, values] : exchanged_->made()) {
      const auto bytes = std::as_bytes(values);
      hash = hash * 31 + std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    return hash;
  }

  const Plan plan_;
  const std::string secret_ = bytes_of(plan_.secret);
  Channel& channel_;
  std::vector<std::uint32_t> machines_; // of each node
  env::RealHost host_{LogLevel::warning};
  plugin::Registry registry_{plugin::entries_of(plugin::settings_of_process({})), host_};
  plugin::Activity activity_;
  std::unique_ptr<Transport> near_, network_;
  std::unique_ptr<param::Post> post_;
  std::map<std::string, std::unique_ptr<Sync>> syncs_;
  std::unique_ptr<Codec> codec_;
  Encoded encoded_;
  std::optional<Net> net_;                  // of the measured size
  std::vector<param::SharedMemory> boards_; // this node's memory, masters, and mirrors
  std::vector<std::unique_ptr<Region>> mapped_;
  std::vector<param::RemoteCopy> there_, masters_there_; // at each node
  Site site_;
  std::unique_ptr<Exchanged> exchanged_;
  std::size_t arrived_ = 0;
};

} // namespace

std::string text_of(const Plan& plan) {
  return Json{{"rank", plan.rank},   {"nodes", plan.nodes}, {"per_host", plan.per_host}, {"provider", plan.provider},
              {"slice", plan.slice}, {"syncs", plan.syncs}, {"codec", plan.codec},       {"secret", plan.secret}}
      .dump();
}

Plan plan_of(const std::string& text) {
  const Json json = Json::parse(text);
  return {json.at("rank"),  json.at("nodes"), json.at("per_host"), json.at("provider"),
          json.at("slice"), json.at("syncs"), json.at("codec"),    json.at("secret")};
}

void be_a_node(Channel& channel) { Node(plan_of(channel.hear()), channel).run(); }

} // namespace dlhost::bench
