// Rendezvous: two members of one process find each other, share what is put, and agree on who leads.
#include <array>

#include <dlhost/rendezvous.h>

#include "device/lab.h"
#include "kinds/kinds.h"

namespace dlhost::conform {

namespace {

constexpr Nanoseconds patience = 20'000'000'000;

// Each joins on a task of its own, since joining may wait for the other.
struct Both {
  Both(const Context& context, const std::string& name) {
    std::vector<std::unique_ptr<Task>> tasks;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      plugins[rank] = usable<Rendezvous>(context, name);
      tasks.push_back(context.host.tasks().start("member", [&, rank] {
        auto joined = plugins[rank]->join(context.host, {rank, concat("address ", rank), "here"}, patience);
        if (joined.ok())
          sessions[rank] = *std::move(joined);
        else
          problem[rank] = joined.status().message();
      }));
    }
    for (auto& task : tasks) task->join();
  }
  std::array<std::unique_ptr<Rendezvous>, 2> plugins;
  std::array<std::unique_ptr<Session>, 2> sessions;
  std::array<std::string, 2> problem;
};

void members_find_each_other(const Context& context, const std::string& name) {
  Both both(context, name);
  for (std::size_t i = 0; i < 2; ++i) ASSERT_NE(both.sessions[i], nullptr) << both.problem[i];
  EXPECT_NE(both.sessions[0]->rank(), both.sessions[1]->rank());
  for (const auto& session : both.sessions) {
    Membership seen;
    while (seen.members.size() < 2) seen = need(session->membership(seen.epoch, patience));
    ASSERT_EQ(seen.members.size(), 2U);
    for (std::uint32_t rank = 0; rank < 2; ++rank) EXPECT_EQ(seen.members[rank].rank, rank) << "by rank";
    const Member& own = seen.members.at(session->rank());
    EXPECT_TRUE(own.address.starts_with("address ")) << own.address;
  }
}

void what_is_put_is_seen(const Context& context, const std::string& name) {
  Both both(context, name);
  for (std::size_t i = 0; i < 2; ++i) ASSERT_NE(both.sessions[i], nullptr) << both.problem[i];
  const std::string value("a value\0with a zero", 19);
  need(both.sessions[0]->put("key", value));
  EXPECT_EQ(need(both.sessions[1]->get("key", patience)), value);
  EXPECT_EQ(both.sessions[1]->get("no such key", 1'000'000).status().code(), Code::timeout);
  EXPECT_FALSE(both.sessions[1]->put("key", "another").ok()) << "a key is written once an epoch";
}

void one_leads(const Context& context, const std::string& name) {
  Both both(context, name);
  for (std::size_t i = 0; i < 2; ++i) ASSERT_NE(both.sessions[i], nullptr) << both.problem[i];
  const bool first = need(both.sessions[0]->try_lead("checkpoint"));
  const bool second = need(both.sessions[1]->try_lead("checkpoint"));
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
  EXPECT_TRUE(need(both.sessions[1]->try_lead("something else")));
  if (!both.plugins[0]->capabilities().elastic) return;
  const auto epoch = need(both.sessions[1]->membership(0, patience)).epoch;
  both.sessions[0].reset();
  const Membership left = need(both.sessions[1]->membership(epoch, patience));
  EXPECT_EQ(left.members.size(), 1U);
  EXPECT_GT(left.epoch, epoch);
  EXPECT_TRUE(need(both.sessions[1]->try_lead("checkpoint"))) << "ends with its holder's life";
}

} // namespace

void register_rendezvous_suite(const Context& context, const std::string& name) {
  add_product_check(context, Kind::rendezvous, name, "members_find_each_other", members_find_each_other);
  add_product_check(context, Kind::rendezvous, name, "what_is_put_is_seen", what_is_put_is_seen);
  add_product_check(context, Kind::rendezvous, name, "one_leads", one_leads);
}

} // namespace dlhost::conform
