// A ledger is written as a shard writes it, and read as an audit reads it.
#include "run/audit.h"

#include <gmock/gmock.h>

#include "../../temporary_folder.h"
#include "env/real_host.h"

namespace dlhost::run {

namespace {

using param::Ledger;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

MATCHER_P2(IsPart, contributor, step, "") { return arg.contributor == contributor && arg.step == step; }

class AuditTest : public testing::Test {
 protected:
  AuditTest() { restart({.version = 0, .steps = {0, 0}}); }

  // Where they write, since it began for that time.
  std::string begun() {
    const std::string folder = folder_ / concat("begun-", times_);
    EXPECT_TRUE(disk_.make_directory(folder).ok());
    return folder;
  }

  // The server dies, and another begins there.
  void restart(const param::StartPoint& beginning) {
    ++times_;
    ledger_.reset();
    ledger_ = begun_by(0, beginning);
  }
  std::unique_ptr<Ledger> begun_by(std::uint32_t server, param::StartPoint beginning) {
    beginning.ledger_of.attempt = times_;
    auto ledger = std::make_unique<Ledger>(*disk_.open_log(Ledger::file_in(begun(), server)),
                                           std::vector<Ledger::Owned>{{&slice_, "fc.weight"}}, 2,
                                           Ledger::Keeping{.server = server, .at_once = false, .summed = false});
    EXPECT_TRUE(ledger->begin(beginning).ok());
    return ledger;
  }
  void made(std::initializer_list<Ledger::Part> parts) {
    EXPECT_TRUE(ledger_->made(0, std::vector<Ledger::Part>(parts)).ok());
  }
  void sync() { EXPECT_TRUE(ledger_->sync().ok()); }
  void add_torn(std::string_view text) { EXPECT_TRUE((*disk_.open_log(file()))->append(text).ok()); }
  // As a server would write it.
  void add(std::string line) {
    param::LedgerChain chain;
    for (const std::string& before : lines()) EXPECT_TRUE(chain.takes(before));
    chain.close(line);
    add_torn(line);
  }
  std::vector<std::string> lines() {
    std::vector<std::string> all;
    const std::string whole = text();
    for (std::size_t at = 0, end = 0; (end = whole.find('\n', at)) != std::string::npos; at = end + 1)
      all.push_back(whole.substr(at, end - at));
    return all;
  }
  // In place of what was written.
  void write(const std::vector<std::string>& all) {
    std::string whole;
    for (const std::string& line : all) whole += line + "\n";
    EXPECT_TRUE(disk_.write_text(file(), whole).ok());
  }
  std::string file() { return Ledger::file_in(begun(), 0); }
  std::string text() { return *disk_.read_text(file()); }
  Audit audited(std::int64_t servers_per_group = 1) {
    auto audit = run::audit(disk_, folder_.path(), {}, servers_per_group);
    EXPECT_TRUE(audit.ok()) << audit.status().message();
    return audit.ok() ? *std::move(audit) : Audit{.slices = {{}}};
  }

  env::RealHost host_{LogLevel::warning};
  Disk& disk_ = host_.disk();
  test::TemporaryFolder folder_;
  param::Slice slice_{.id = 0, .param = 0, .server = 0, .first = 0, .count = 10};
  std::unique_ptr<Ledger> ledger_;
  std::uint64_t times_ = 0;
};

TEST_F(AuditTest, WhatRepeatsIsOneWord) {
  for (std::uint64_t step = 0; step < 1000; ++step) made({{0, step}, {1, step}});
  sync();
  EXPECT_THAT(text(), HasSubstr(R"("made_of":"0+1*1000")"));
  const auto audit = audited();
  EXPECT_THAT(audit.faults, IsEmpty());
  EXPECT_EQ(audit.slices[0].last, 1000U);
  EXPECT_THAT(audit.slices[0].parts_of(700), ElementsAre(IsPart(0U, 699U), IsPart(1U, 699U)));
  EXPECT_THAT(audit.slices[0].parts_of(1001), IsEmpty());
  EXPECT_EQ(Audit::contributions(audit.slices[0], 1), 1000U);
}

TEST_F(AuditTest, StepsAreToldWhereTheyAreNotTheNext) {
  made({{0, 0}});
  made({{1, 0}});
  made({{0, 1}});
  EXPECT_TRUE(ledger_->dropped({1, 1}).ok());
  made({{1, 2}});
  made({{1, 3}});
  sync();
  EXPECT_THAT(text(), HasSubstr(R"("made_of":"0 1 0 1:2*2")"));
  const auto audit = audited();
  EXPECT_THAT(audit.faults, IsEmpty());
  EXPECT_THAT(audit.slices[0].parts_of(3), ElementsAre(IsPart(0U, 1U)));
  EXPECT_THAT(audit.slices[0].parts_of(5), ElementsAre(IsPart(1U, 3U)));
  EXPECT_THAT(audit.dropped, ElementsAre(IsPart(1U, 1U)));
}

TEST_F(AuditTest, WhatIsRolledBackIsVoid) {
  for (std::uint64_t step = 0; step < 10; ++step) made({{0, step}, {1, step}});
  restart({.version = 4, .steps = {4, 4}});
  made({{0, 4}});
  made({{1, 4}});
  sync();
  const auto audit = audited();
  EXPECT_THAT(audit.faults, IsEmpty());
  EXPECT_EQ(audit.begun, 2U);
  EXPECT_EQ(audit.slices[0].last, 6U);
  EXPECT_THAT(audit.slices[0].parts_of(4), ElementsAre(IsPart(0U, 3U), IsPart(1U, 3U)));
  EXPECT_THAT(audit.slices[0].parts_of(5), ElementsAre(IsPart(0U, 4U)));
}

// Of the first time, when the run has begun once more: by a process that was given up, and did not know.
TEST_F(AuditTest, WhatIsWrittenTooLateIsVoid) {
  for (std::uint64_t step = 0; step < 4; ++step) made({{0, step}, {1, step}});
  auto given_up = std::move(ledger_);
  restart({.version = 2, .steps = {2, 2}});
  made({{1, 2}});
  sync();
  EXPECT_TRUE(given_up->made(0, std::vector<Ledger::Part>{{0, 4}, {1, 4}}).ok());
  given_up.reset();
  const auto audit = audited();
  EXPECT_THAT(audit.faults, IsEmpty());
  EXPECT_THAT(audit.slices[0].parts_of(2), ElementsAre(IsPart(0U, 1U), IsPart(1U, 1U)));
  EXPECT_THAT(audit.slices[0].parts_of(3), ElementsAre(IsPart(1U, 2U)));
  EXPECT_EQ(audit.slices[0].last, 3U);
}

TEST_F(AuditTest, LongLinesAreWrittenInBetween) {
  for (std::uint64_t step = 0; step < 4000; ++step) {
    made({{0, step}});
    made({{1, step}});
  }
  EXPECT_GT(text().size(), 8000U);
  sync();
  const auto audit = audited();
  EXPECT_THAT(audit.faults, IsEmpty());
  EXPECT_THAT(audit.slices[0].parts_of(7999), ElementsAre(IsPart(0U, 3999U)));
}

// Two server groups have a slice each; the fixture's ledger is the first one's.
class ExchangedAuditTest : public AuditTest {
 protected:
  ExchangedAuditTest() { begin_other({.version = 0, .steps = {0, 0}}); }
  void begin_other(const param::StartPoint& beginning) {
    other_.reset();
    other_ = begun_by(1, beginning);
  }
  void sync_both() {
    sync();
    EXPECT_TRUE(other_->sync().ok());
  }
  std::unique_ptr<Ledger> other_;
};

TEST_F(ExchangedAuditTest, WhatAnExchangeBroughtIsInFromItsEndOn) {
  for (std::uint64_t step = 0; step < 10; ++step) made({{0, step}});
  EXPECT_TRUE(ledger_->exchanged(0, 1, 4, 6).ok());
  EXPECT_TRUE(other_->exchanged(0, 1, 5, 5).ok());
  EXPECT_TRUE(ledger_->exchanged(0, 2, 9, 9).ok());
  EXPECT_TRUE(other_->exchanged(0, 2, 12, 13).ok());
  sync_both();
  const auto audit = audited();
  EXPECT_THAT(audit.faults, IsEmpty());
  EXPECT_THAT(audit.learned(audit.slices[0], 5), ElementsAre(5U, 0U));
  EXPECT_THAT(audit.learned(audit.slices[0], 6), ElementsAre(6U, 5U));
  EXPECT_THAT(audit.learned(audit.slices[0], 10), ElementsAre(10U, 12U));
  EXPECT_THAT(audit.learned(audit.slices[1], 12), ElementsAre(4U, 12U));
  EXPECT_THAT(audit.learned(audit.slices[1], 13), ElementsAre(9U, 13U));
}

TEST_F(ExchangedAuditTest, WhereTheRunBeginsOnceMoreAllAreOne) {
  for (std::uint64_t step = 0; step < 10; ++step) made({{0, step}});
  EXPECT_TRUE(ledger_->exchanged(0, 1, 4, 6).ok());
  EXPECT_TRUE(other_->exchanged(0, 1, 5, 5).ok());
  EXPECT_TRUE(ledger_->exchanged(0, 2, 9, 9).ok()); // rolled back
  sync_both();
  restart({.version = 7, .steps = {7, 0}});
  begin_other({.version = 6, .steps = {7, 0}});
  EXPECT_TRUE(ledger_->exchanged(0, 1, 8, 8).ok());
  EXPECT_TRUE(other_->exchanged(0, 1, 9, 9).ok());
  sync_both();
  const auto audit = audited();
  EXPECT_THAT(audit.learned(audit.slices[0], 6), ElementsAre(6U, 5U));
  EXPECT_THAT(audit.learned(audit.slices[0], 7), ElementsAre(7U, 6U));
  EXPECT_THAT(audit.learned(audit.slices[0], 8), ElementsAre(8U, 9U));
}

// The same two servers, of one group: one of them has what is the other's.
TEST_F(ExchangedAuditTest, ASliceHasOneServerInAGroup) {
  made({{0, 0}});
  EXPECT_TRUE(other_->made(0, std::vector<Ledger::Part>{{1, 0}}).ok());
  sync_both();
  EXPECT_THAT(audited(1).faults, IsEmpty());
  EXPECT_THAT(audited(2).faults,
              ElementsAre(HasSubstr("servers 0 and 1 of server group 0 both have slice 0 (fc.weight) in begun-1")));
}

TEST_F(AuditTest, WhoHasASliceAfterAnotherIsNoSecondOwner) {
  made({{0, 0}});
  sync();
  ++times_; // the run begins once more
  const auto next = begun_by(1, {.version = 0, .steps = {0, 0}});
  EXPECT_THAT(audited(2).faults, IsEmpty());
}

TEST_F(ExchangedAuditTest, GossipIsFollowedToWhereItCameFrom) {
  const auto third = begun_by(2, {.version = 0, .steps = {0, 0}});
  using Heard = Ledger::Heard;
  EXPECT_TRUE(third->told(0, 1, 1, 8, {}).ok());
  EXPECT_TRUE(other_->heard(0, std::vector<Heard>{{2, 1}}, 3).ok());
  EXPECT_TRUE(other_->told(0, 0, 1, 2, {}).ok()); // before it had heard that
  EXPECT_TRUE(other_->told(0, 0, 2, 4, std::vector<Heard>{{2, 1}}).ok());
  EXPECT_TRUE(ledger_->heard(0, std::vector<Heard>{{1, 1}}, 5).ok());
  EXPECT_TRUE(ledger_->heard(0, std::vector<Heard>{{1, 2}}, 7).ok());
  sync_both();
  EXPECT_TRUE(third->sync().ok());
  const auto audit = audited();
  EXPECT_THAT(audit.learned(audit.slices[0], 4), ElementsAre(4U, 0U, 0U));
  EXPECT_THAT(audit.learned(audit.slices[0], 6), ElementsAre(6U, 2U, 0U));
  EXPECT_THAT(audit.learned(audit.slices[0], 7), ElementsAre(7U, 4U, 8U));
  EXPECT_THAT(audit.learned(audit.slices[1], 3), ElementsAre(0U, 3U, 8U));
}

TEST_F(AuditTest, WhatAmendsAVersionIsInItUnlessItIsRolledBack) {
  const auto amended = [&](std::initializer_list<Ledger::Part> parts) {
    EXPECT_TRUE(ledger_->amended(0, std::vector<Ledger::Part>(parts)).ok());
  };
  made({{0, 0}});
  made({{0, 1}, {0, 2}});
  amended({{0, 3}, {1, 0}});
  sync(); // a point to go on from: four steps of worker 0, one of worker 1
  amended({{1, 1}});
  made({{0, 4}});
  EXPECT_TRUE(ledger_->dropped(0, {1, 2}).ok());
  restart({.version = 2, .steps = {4, 1}});
  made({{1, 1}});
  EXPECT_TRUE(ledger_->dropped(0, {0, 4}).ok());
  sync();
  const auto audit = audited();
  EXPECT_THAT(audit.faults, IsEmpty());
  const Audit::Slice& slice = audit.slices[0];
  EXPECT_THAT(slice.parts_of(1), ElementsAre(IsPart(0U, 0U)));
  EXPECT_THAT(slice.parts_of(2),
              testing::UnorderedElementsAre(IsPart(0U, 1U), IsPart(0U, 2U), IsPart(0U, 3U), IsPart(1U, 0U)));
  EXPECT_THAT(slice.parts_of(3), ElementsAre(IsPart(1U, 1U)));
  EXPECT_EQ(Audit::contributions(slice, 0), 4U);
  EXPECT_EQ(Audit::contributions(slice, 1), 2U);
  EXPECT_EQ(audit.dropped_from(slice, 0), 1U);
  EXPECT_EQ(audit.dropped_from(slice, 1), 0U) << "it was rolled back";
  add("{\"slice\":0,\"version\":3,\"amended_by\":\"1:1\"}");
  EXPECT_THAT(audited().faults, ElementsAre(HasSubstr("step 1 of worker 1 counts twice in slice 0")));
}

TEST_F(AuditTest, ATornEndIsToldUntilTheRunBeginsOnceMore) {
  made({{0, 0}, {1, 0}});
  sync();
  EXPECT_THAT(audited().torn, IsEmpty());
  add_torn("{\"slice\":0,\"version\":2,\"ma");
  EXPECT_THAT(audited().torn, ElementsAre(HasSubstr("begun-1/server-0.jsonl")));
  EXPECT_THAT(audited().faults, IsEmpty());
  restart({.version = 1, .steps = {1, 1}});
  EXPECT_THAT(audited().torn, IsEmpty());
  EXPECT_THAT(audited().faults, IsEmpty());
}

TEST_F(AuditTest, ARunThatBeginsBehindWhatIsThereHasAGap) {
  made({{0, 0}, {1, 0}});
  restart({.version = 3, .steps = {3, 3}});
  EXPECT_THAT(audited().faults,
              ElementsAre(HasSubstr("with version 3 of slice 0 (fc.weight), and those behind version 1 are not")));
}

TEST_F(AuditTest, SaysWhatIsWrong) {
  made({{0, 0}});
  made({{0, 1}});
  sync();
  add("{\"slice\":0,\"version\":3,\"made_of\":\"0:1\"}");
  EXPECT_THAT(audited().faults, ElementsAre(HasSubstr("step 1 of worker 0 counts twice in slice 0 (fc.weight)")));
  add("{\"slice\":0,\"version\":6,\"made_of\":\"1\"}");
  EXPECT_THAT(audited().faults[0], HasSubstr("versions 4 to 5 of slice 0 (fc.weight) are not written down"));
  add("{\"slice\":0,\"version\":7,\"made_of\":\"0*x\"}");
  EXPECT_THAT(audited().faults, Contains(HasSubstr("server-0.jsonl:5: '0*x' is not what")));
  EXPECT_THAT(run::audit(disk_, folder_.path() + "/none", {}, 1).status().message(), HasSubstr("holds no ledger"));
}

TEST_F(AuditTest, DamageIsToldWithoutTheParsersWords) {
  for (const char* line : {"{\"slice\":0,\"version\":}", "{\"slice\":\"x\",\"version\":1,\"made_of\":\"0\"}",
                           "{\"version\":1}", "{\"begin\":0,\"steps\":[0,0],\"origins\":[],\"slices\":[]}"}) {
    write({lines().front()});
    add(line);
    const auto faults = audited().faults;
    ASSERT_EQ(faults.size(), 1U) << line;
    EXPECT_THAT(faults[0],
                AllOf(HasSubstr("server-0.jsonl:2: "), Not(HasSubstr("json.exception")), Not(HasSubstr("::"))));
  }
}

// Each line is bound to all before it.
TEST_F(AuditTest, ALineThatIsNotAsItWasWrittenIsNamed) {
  for (std::uint64_t step = 0; step < 6; ++step) {
    made({{0, step}, {1, step}});
    sync();
  }
  const auto written = lines();
  ASSERT_EQ(written.size(), 7U);
  EXPECT_THAT(audited().faults, IsEmpty());
  const auto fault_of = [&](const std::vector<std::string>& all) {
    write(all);
    const auto faults = audited().faults;
    return faults.empty() ? std::string() : faults.front();
  };
  for (std::size_t line = 0; line < written.size(); ++line) {
    for (std::size_t at = 0; at < written[line].size(); ++at) {
      if (std::isdigit(static_cast<unsigned char>(written[line][at])) == 0) continue;
      auto changed = written;
      changed[line][at] = changed[line][at] == '9' ? '0' : static_cast<char>(changed[line][at] + 1);
      EXPECT_THAT(fault_of(changed), HasSubstr(concat("server-0.jsonl:", line + 1, ": "))) << changed[line];
    }
    auto doubled = written;
    doubled.insert(doubled.begin() + static_cast<std::ptrdiff_t>(line), written[line]);
    EXPECT_THAT(fault_of(doubled), HasSubstr(concat("server-0.jsonl:", line + 2, ": ")));
    if (line + 1 == written.size()) continue; // its end is what checkpoints hold
    auto removed = written;
    removed.erase(removed.begin() + static_cast<std::ptrdiff_t>(line));
    EXPECT_THAT(fault_of(removed), HasSubstr(concat("server-0.jsonl:", line + 1, ": ")));
    auto swapped = written;
    std::swap(swapped[line], swapped[line + 1]);
    EXPECT_THAT(fault_of(swapped), HasSubstr(concat("server-0.jsonl:", line + 1, ": ")));
  }
}

TEST_F(AuditTest, AFileOfAnotherServerOrAttemptIsNamed) {
  made({{0, 0}, {1, 0}});
  sync();
  const std::string own = file();
  EXPECT_TRUE(disk_.write_text(Ledger::file_in(begun(), 1), text()).ok());
  EXPECT_THAT(audited().faults, ElementsAre(HasSubstr("server-1.jsonl:1: this is server 0's of /1/1, and lies where")));
  EXPECT_TRUE(disk_.remove(Ledger::file_in(begun(), 1)).ok());
  ++times_;
  EXPECT_TRUE(disk_.write_text(file(), *disk_.read_text(own)).ok());
  EXPECT_THAT(audited().faults, ElementsAre(HasSubstr("of server 0 of /1/2 (run, arrangement, attempt) was")));
}

} // namespace
} // namespace dlhost::run
