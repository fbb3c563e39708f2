#include "exchange/node.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <nlohmann/json.hpp>

#include "env/hex.h"
#include "env/real_host.h"
#include "exchange/rows.h"
#include "need.h"
#include "param/post.h"
#include "plugin/registry.h"
#include "plugin/search.h"

namespace dlhost::bench {
namespace {

using Json = nlohmann::json;
constexpr Nanoseconds patience = 10'000'000'000;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Node final : public param::Taker {
 public:
  Node(const Plan& plan, Channel& channel) : plan_(plan), channel_(channel) {
    for (std::uint32_t node = 0; node < plan_.nodes; ++node) machines_.push_back(node / plan_.per_host);
    Table options;
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

  Status take(const param::Message& message) override {
    if (message.word == param::Word::alive) {
      ++arrived_;
      return {};
    }
    return row_->hear(message);
  }

 private:
  bool is_near(std::uint32_t node) const { return machines_[node] == machines_[plan_.rank]; }

  void meet() {
    const auto own = post_->addresses();
    channel_.say(Json{own.near, own.far}.dump());
    const Json all = Json::parse(channel_.hear());
    for (std::uint32_t node = 0; node < plan_.nodes; ++node)
      if (node != plan_.rank) need(post_->connect(node, {all[node][0], all[node][1]}));
  }

  // Memory for rows, and mirrors of that of the others.
  void make_room(std::int64_t elements) {
    row_.reset();
    elements_ = elements;
    const std::size_t bytes = SlicedRow::bytes(elements, plan_.slice);
    boards_.clear();
    mapped_.clear();
    theirs_.assign(plan_.nodes, {});
    there_.assign(plan_.nodes, {});
    boards_.push_back(need(post_->allocate(bytes)));
    Json card{{"own", env::hex(boards_[0].near_key())}, {"mirrors", Json::array()}};
    for (std::uint32_t node = 0; node < plan_.nodes; ++node) {
      std::string key;
      if (!is_near(node)) {
        boards_.push_back(need(post_->allocate_mirror(bytes)));
        theirs_[node] = boards_.back().bytes();
        post_->know(node, boards_.back().bytes());
        key = boards_.back().far_key();
      }
      card["mirrors"].push_back(env::hex(key));
    }
    channel_.say(card.dump());
    const Json all = Json::parse(channel_.hear()); // of each: its own key, and that of its mirror of this one's
    for (std::uint32_t node = 0; node < plan_.nodes; ++node) {
      if (!is_near(node)) {
        there_[node] = {.seat = node, .key = bytes_of(all[node][1]), .number = plan_.rank};
      } else if (node != plan_.rank) {
        mapped_.push_back(need(post_->map(node, bytes_of(all[node][0]))));
        theirs_[node] = mapped_.back()->bytes();
      }
    }
    channel_.say(Json("ready").dump());
  }
  static std::string bytes_of(const std::string& hex) { return env::from_hex(hex).value(); }

  void take_up(const std::string& sync) {
    sync_ = need(registry_.create<Sync>(sync, {}));
    param::Neighbours neighbours{
        .rank = plan_.rank,
        .all = {},
        .memory = boards_[0].bytes(),
        .activity = &activity_,
        .send = [this](std::uint32_t seat, const param::Message& message, std::span<const std::byte> part) {
          if (part.empty() || is_near(seat)) return post_->send(seat, message);
          return post_->send(seat, message, {part, &there_[seat], message.place, record::Cargo::gradients});
        }};
    for (std::uint32_t node = 0; node < plan_.nodes; ++node)
      neighbours.all.push_back({node, theirs_[node], machines_[node]});
    row_ = std::make_unique<SlicedRow>(neighbours, *sync_, elements_, plan_.slice);
    row_->fill();
    channel_.say(Json("ready").dump());
  }

  void wait_until(const std::function<bool()>& done) {
    const double end = now() + static_cast<double>(patience) * 1e-9;
    while (!done()) {
      need(post_->progress(*this, patience / 10));
      if (now() > end) throw std::runtime_error("an exchange does not end");
    }
  }

  // All are here.
  void meet_all() {
    for (std::uint32_t node = 0; node < plan_.nodes; ++node)
      if (node != plan_.rank) need(post_->send(node, {.word = param::Word::alive}));
    wait_until([&] { return arrived_ >= plan_.nodes - 1; });
    arrived_ -= plan_.nodes - 1;
  }

  void measure(std::size_t times) {
    std::vector<double> took;
    meet_all();
    const double begin = now();
    for (double last = begin; took.size() < times;) {
      wait_until([&] { return row_->go_on(); });
      const double end = now();
      took.push_back(end - std::exchange(last, end));
    }
    const double all = now() - begin;
    wait_until([&] { return post_->all_sent() && row_->is_read(); });
    std::ranges::sort(took);
    channel_.say(Json{{"seconds", all / static_cast<double>(times)},
                      {"p50", took[took.size() / 2]},
                      {"p99", took[took.size() * 99 / 100]},
                      {"right", row_->is_right()}}
                     .dump());
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
  std::int64_t elements_ = 0;
  std::vector<param::Board> boards_; // its own, and mirrors
  std::vector<std::unique_ptr<Region>> mapped_;
  std::vector<std::span<std::byte>> theirs_;
  std::vector<param::Mirror> there_;
  std::unique_ptr<Sync> sync_;
  std::unique_ptr<SlicedRow> row_;
  std::size_t arrived_ = 0;
};

} // namespace

std::string text_of(const Plan& plan) {
  return Json{{"rank", plan.rank},         {"nodes", plan.nodes}, {"per_host", plan.per_host},
              {"provider", plan.provider}, {"slice", plan.slice}, {"secret", plan.secret}}
      .dump();
}

Plan plan_of(const std::string& text) {
  const Json json = Json::parse(text);
  return {json.at("rank"),     json.at("nodes"), json.at("per_host"),
          json.at("provider"), json.at("slice"), json.at("secret")};
}

void be_a_node(Channel& channel) { Node(plan_of(channel.hear()), channel).run(); }

} // namespace dlhost::bench
