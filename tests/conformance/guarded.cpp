#include "guarded.h"

#include <cstdio>
#include <memory>

#include <gtest/gtest.h>

#include "env/printable.h"
#include "plugin/activity.h"
#include "plugin/contained.h"

namespace dlhost::conform {
namespace {

// Forwards all events; the text of failures may come from a plugin.
class CutPrinter final : public testing::TestEventListener {
 public:
  explicit CutPrinter(std::unique_ptr<testing::TestEventListener> to) : to_(std::move(to)) {}

  void OnTestProgramStart(const testing::UnitTest& all) override { to_->OnTestProgramStart(all); }
  void OnTestIterationStart(const testing::UnitTest& all, int turn) override { to_->OnTestIterationStart(all, turn); }
  void OnEnvironmentsSetUpStart(const testing::UnitTest& all) override { to_->OnEnvironmentsSetUpStart(all); }
  void OnEnvironmentsSetUpEnd(const testing::UnitTest& all) override { to_->OnEnvironmentsSetUpEnd(all); }
  void OnTestSuiteStart(const testing::TestSuite& suite) override { to_->OnTestSuiteStart(suite); }
  void OnTestStart(const testing::TestInfo& test) override { to_->OnTestStart(test); }
  void OnTestPartResult(const testing::TestPartResult& part) override {
    const std::string text = env::printable(part.message(), env::longest_message);
    to_->OnTestPartResult({part.type(), part.file_name(), part.line_number(), text.c_str()});
  }
  void OnTestEnd(const testing::TestInfo& test) override { to_->OnTestEnd(test); }
  void OnTestSuiteEnd(const testing::TestSuite& suite) override { to_->OnTestSuiteEnd(suite); }
  void OnEnvironmentsTearDownStart(const testing::UnitTest& all) override { to_->OnEnvironmentsTearDownStart(all); }
  void OnEnvironmentsTearDownEnd(const testing::UnitTest& all) override { to_->OnEnvironmentsTearDownEnd(all); }
  void OnTestIterationEnd(const testing::UnitTest& all, int turn) override { to_->OnTestIterationEnd(all, turn); }
  void OnTestProgramEnd(const testing::UnitTest& all) override { to_->OnTestProgramEnd(all); }
#ifndef GTEST_REMOVE_LEGACY_TEST_CASEAPI_
  void OnTestCaseStart(const testing::TestSuite& suite) override { to_->OnTestCaseStart(suite); }
  void OnTestCaseEnd(const testing::TestSuite& suite) override { to_->OnTestCaseEnd(suite); }
#endif

 private:
  std::unique_ptr<testing::TestEventListener> to_;
};

std::string suite_of(Kind kind, const std::string& product) {
  std::string suite(name_of(kind));
  suite[0] = static_cast<char>(suite[0] - 'a' + 'A');
  return suite + "_" + product;
}

class Check final : public testing::Test {
 public:
  explicit Check(std::function<void()> body) : body_(std::move(body)) {}
  void TestBody() override {
    try {
      body_();
    } catch (...) {
      FAIL() << "an exception ended the test: " << plugin::text_of_exception();
    }
  }

 private:
  std::function<void()> body_;
};

} // namespace

void guarded(const Context& context, Kind kind, const std::string& product, const std::string& what,
             const std::function<void()>& body) {
  plugin::Activity activity;
  // A product whose library cannot be loaded runs no code.
  if (const auto actor = context.registry.actor(kind, product, product); actor.ok())
    activity.enter(*actor, plugin::immortal(what));
  body();
}

void add_test(const Context& context, Kind kind, const std::string& product, const std::string& name,
              std::function<void()> body) {
  const auto run = [&context, kind, product, name, body = std::move(body)] {
    guarded(context, kind, product, name, body);
  };
  testing::RegisterTest(suite_of(kind, product).c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                        [run]() -> testing::Test* { return new Check(run); });
}

void print_failures_cut() {
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  std::unique_ptr<testing::TestEventListener> printer(listeners.Release(listeners.default_result_printer()));
  if (printer) listeners.Append(new CutPrinter(std::move(printer))); // GoogleTest deletes it
}

void say(const std::string& error) {
  std::fprintf(stderr, "dlhost-conform: %s\n", env::printable(error, env::longest_message).c_str());
}

} // namespace dlhost::conform
