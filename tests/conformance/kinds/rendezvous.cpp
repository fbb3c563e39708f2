// Rendezvous: two members find each other, share keys, and elect a leader. Each member is a task of this process; if
// the plugin's own launcher started this process, each is a process.
#include <array>

#include <dlhost/rendezvous.h>

#include "device/lab.h"
#include "kinds/kinds.h"

namespace dlhost::conform {

namespace {

struct Part {
  const Rendezvous::Capabilities& can;
  std::unique_ptr<Session>& session;
  std::uint32_t rank() const { return session->rank(); }
  // Returns once both members are here. Keys are of this epoch.
  void meet(std::string_view at) const {
    need(session->put(concat(at, " ", rank()), "here"));
    need(session->get(concat(at, " ", 1 - rank()), patience));
  }
  // The first member to leave ends the epoch in which the other still waits.
  void end() const {
    session->put(concat("end ", rank()), "here").ignore("the other has gone");
    session->get(concat("end ", 1 - rank()), patience).status().ignore("or goes meanwhile");
  }
};

// Runs one member's part; an error ends it.
template <class Body> void take_part(const Context& context, const std::string& name, std::uint32_t rank, Body&& body) {
  try {
    const auto plugin = usable<Rendezvous>(context, name);
    const Rendezvous::Capabilities can = plugin->capabilities();
    auto session = need(plugin->join(
        context.host, {.self = {.rank = rank, .address = concat("address ", rank), .host = "here"}, .expected = 2},
        patience));
    body(Part{can, session});
  } catch (const std::exception& wrong) {
    ADD_FAILURE() << "rank " << rank << ": " << wrong.what();
  }
}

template <class Body> void both(const Context& context, const std::string& name, Body&& body) {
  if (usable<Rendezvous>(context, name)->detected(context.host)) return take_part(context, name, any_rank, body);
  std::vector<std::unique_ptr<Task>> tasks;
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    tasks.push_back(context.host.tasks().start("member", [&, rank] { take_part(context, name, rank, body); }));
  for (auto& task : tasks) task->join();
}

void members_find_each_other(const Context& context, const std::string& name) {
  both(context, name, [](const Part& me) {
    const Membership seen = need(me.session->membership(0, patience));
    ASSERT_EQ(seen.members.size(), 2U);
    for (std::uint32_t rank = 0; rank < 2; ++rank) EXPECT_EQ(seen.members[rank].rank, rank) << "by rank";
    EXPECT_LT(me.rank(), 2U);
    EXPECT_EQ(me.session->expected(), 2U);
    for (const Member& one : seen.members) {
      EXPECT_TRUE(one.address.starts_with("address ")) << one.address;
      EXPECT_LE(one.since, seen.epoch);
    }
    // Both have the same secret, and it is not the empty one.
    const JobSecret own = me.session->secret();
    need(me.session->put(concat("secret ", me.rank()), {reinterpret_cast<const char*>(own.data()), own.size()}));
    EXPECT_NE(own, JobSecret{});
    EXPECT_EQ(need(me.session->get(concat("secret ", 1 - me.rank()), patience)),
              std::string(reinterpret_cast<const char*>(own.data()), own.size()));
    EXPECT_EQ(me.session->membership(seen.epoch, 1'000'000).status().code(), Code::timeout) << "nothing changes";
    me.end();
  });
}

void what_is_put_is_seen(const Context& context, const std::string& name) {
  both(context, name, [](const Part& me) {
    const std::string value("a value\0with a zero", 19), large(Session::largest_value, '\x80');
    if (me.rank() == 0) need(me.session->put("key", value));
    EXPECT_EQ(need(me.session->get("key", patience)), value);
    EXPECT_EQ(me.session->get("no such key", 1'000'000).status().code(), Code::timeout);
    EXPECT_EQ(me.session->put("key", "another").code(), Code::exists) << "a key is written once an epoch";
    EXPECT_EQ(me.session->put("too large", large + "x").code(), Code::invalid);
    EXPECT_EQ(me.session->put("", "x").code(), Code::invalid);
    if (me.rank() == 1) need(me.session->put("large", large));
    EXPECT_EQ(need(me.session->get("large", patience)), large);
    me.end();
  });
}

void one_leads(const Context& context, const std::string& name) {
  both(context, name, [](const Part& me) {
    // The member that leaves; the other must survive it.
    const std::uint32_t goes = me.can.survives_founder ? 0 : 1;
    const std::string_view it = "checkpoint";
    if (me.rank() == goes) {
      EXPECT_TRUE(need(me.session->try_lead(it)));
      EXPECT_TRUE(need(me.session->try_lead(it))) << "it leads already";
      me.meet("led");
      need(me.session->get("go", patience));
      if (!me.can.elastic) return me.end();
      me.session->leave("the suite is over");
      EXPECT_EQ(me.session->put("too", "late").code(), Code::gone);
      return;
    }
    me.meet("led");
    EXPECT_FALSE(need(me.session->try_lead(it)));
    EXPECT_TRUE(need(me.session->try_lead("something else")));
    const auto epoch = need(me.session->membership(0, patience)).epoch;
    need(me.session->put("go", "now"));
    if (!me.can.elastic) return me.end();
    const Membership left = need(me.session->membership(epoch, patience));
    EXPECT_GT(left.epoch, epoch);
    ASSERT_EQ(left.members.size(), 1U);
    EXPECT_EQ(left.members.front().rank, me.rank());
    ASSERT_EQ(left.departures.size(), 1U);
    EXPECT_EQ(left.departures.front().who.rank, goes);
    EXPECT_TRUE(left.departures.front().why.find("the suite is over") != std::string::npos)
        << left.departures.front().why;
    EXPECT_TRUE(need(me.session->try_lead(it))) << "ends with its holder's life";
  });
}

// A member that was reported gone gets an error, and its calls are refused, though it lives.
void who_is_out_is_fenced(const Context& context, const std::string& name) {
  both(context, name, [](const Part& me) {
    const std::uint32_t goes = me.can.survives_founder ? 0 : 1;
    const auto epoch = need(me.session->membership(0, patience)).epoch;
    if (me.rank() != goes) {
      need(me.session->get("it is in", patience));
      EXPECT_TRUE(me.session->report_gone(7, "never was").ok());
      need(me.session->report_gone(goes, "it makes no steps"));
      EXPECT_EQ(me.session->put("of the old epoch", "x").code(), Code::cancelled);
      const Membership left = need(me.session->membership(epoch, patience));
      ASSERT_EQ(left.members.size(), 1U);
      ASSERT_EQ(left.departures.size(), 1U);
      EXPECT_TRUE(left.departures.front().why.find("it makes no steps") != std::string::npos)
          << left.departures.front().why;
      need(me.session->put("of the new epoch", "x"));
    } else {
      need(me.session->put("it is in", "yes"));
      // Its wait for a key of its epoch ends with an error: that it is out, or that the epoch is over. A further call
      // gives the former.
      EXPECT_FALSE(me.session->get("what nobody puts", patience).ok());
      EXPECT_EQ(me.session->membership(epoch, patience).status().code(), Code::gone);
      const Status refused = me.session->put("of the new epoch", "from who is out");
      EXPECT_EQ(refused.code(), Code::gone);
      EXPECT_TRUE(refused.message().find("it makes no steps") != std::string::npos) << refused.message();
      EXPECT_EQ(me.session->try_lead("anything").status().code(), Code::gone);
    }
  });
}

} // namespace

void register_rendezvous_suite(const Context& context, const std::string& name) {
  add_product_check(context, Kind::rendezvous, name, "members_find_each_other", members_find_each_other);
  add_product_check(context, Kind::rendezvous, name, "what_is_put_is_seen", what_is_put_is_seen);
  add_product_check(context, Kind::rendezvous, name, "one_leads", one_leads);
  add_product_check(context, Kind::rendezvous, name, "who_is_out_is_fenced", who_is_out_is_fenced);
}

} // namespace dlhost::conform
