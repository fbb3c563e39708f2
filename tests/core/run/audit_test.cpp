// A ledger is written as a shard writes it, and read as an audit reads it.
#include "run/audit.h"

#include <gmock/gmock.h>

#include "../../temporary_folder.h"
#include "env/real_host.h"

namespace dlhost::run {

namespace {

using param::Ledger;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

MATCHER_P2(IsPart, contributor, step, "") { return arg.contributor == contributor && arg.step == step; }

class AuditTest : public testing::Test {
 protected:
  AuditTest() { restart({.version = 0, .steps = {0, 0}}); }

  // The server dies, and another begins there.
  void restart(const param::Beginning& beginning) {
    ledger_.reset();
    ledger_ = std::make_unique<Ledger>(*disk_.open_log(file()), std::vector<Ledger::Owned>{{&slice_, "fc.weight"}}, 2);
    EXPECT_TRUE(ledger_->begin(beginning).ok());
  }
  void made(std::initializer_list<Ledger::Part> parts) {
    EXPECT_TRUE(ledger_->made(0, std::vector<Ledger::Part>(parts)).ok());
  }
  void sync() { EXPECT_TRUE(ledger_->sync().ok()); }
  void add(std::string_view line) { EXPECT_TRUE((*disk_.open_log(file()))->append(line).ok()); }
  std::string file() const { return Ledger::file_in(folder_.path(), 0); }
  std::string text() { return *disk_.read_text(file()); }
  Audit audited() {
    auto audit = run::audit(disk_, folder_.path());
    EXPECT_TRUE(audit.ok()) << audit.status().message();
    return audit.ok() ? *std::move(audit) : Audit{.slices = {{}}};
  }

  env::RealHost host_{LogLevel::warning};
  Disk& disk_ = host_.disk();
  test::TemporaryFolder folder_;
  param::Slice slice_{.id = 0, .param = 0, .server = 0, .first = 0, .count = 10};
  std::unique_ptr<Ledger> ledger_;
};

TEST_F(AuditTest, WhatRepeatsIsOneWord) {
  for (std::uint64_t step = 0; step < 1000; ++step) made({{0, step}, {1, step}});
  sync();
  EXPECT_THAT(text(), HasSubstr(R"("made_of":"0+1*1000"})"));
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
  EXPECT_THAT(text(), HasSubstr(R"("made_of":"0 1 0 1:2*2"})"));
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

TEST_F(AuditTest, SaysWhatIsWrong) {
  made({{0, 0}});
  made({{0, 1}});
  sync();
  add("{\"slice\":0,\"version\":3,\"made_of\":\"0:1\"}\n");
  EXPECT_THAT(audited().faults, ElementsAre(HasSubstr("step 1 of worker 0 counts twice in slice 0 (fc.weight)")));
  add("{\"slice\":0,\"version\":6,\"made_of\":\"1\"}\n");
  EXPECT_THAT(audited().faults[0], HasSubstr("versions 4 to 5 of slice 0 (fc.weight) are not written down"));
  add("{\"slice\":0,\"version\":7,\"made_of\":\"0*x\"}\n");
  EXPECT_THAT(run::audit(disk_, folder_.path()).status().message(), HasSubstr("server-0.jsonl:5: '0*x' is not what"));
  EXPECT_THAT(run::audit(disk_, folder_.path() + "/none").status().message(), HasSubstr("holds no ledger"));
}

} // namespace
} // namespace dlhost::run
