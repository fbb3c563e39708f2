// Plugins that crash, throw or hang: while they are loaded, in init, and in a step.
#include <csignal>

#include "corpus.h"

namespace dlhost::plugin {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using CorpusDeathTest = CorpusTest;

TEST_F(CorpusDeathTest, CrashInAStaticConstructor) {
  const auto path = copy_of("static_crash");
  EXPECT_DEATH((install_fault_handlers(), told()),
               AllOf(HasSubstr(concat("dlhost: plugin 'bad' (", path.string(), ") crashed with SIGSEGV in loading")),
                     HasSubstr("null pointer"), Not(HasSubstr("checkpoint"))));
  EXPECT_DEATH((install_fault_handlers(), tell_checkpoint(no_checkpoint_yet), told()), HasSubstr("none is damaged"));
}

TEST_F(CorpusDeathTest, HangInAStaticConstructor) {
  const auto path = copy_of("static_hang");
  EXPECT_EXIT((install_fault_handlers(), told()), testing::ExitedWithCode(fault_exit_code),
              HasSubstr(concat("plugin 'bad' (", path.string(), ") hangs in loading: not back after 300 ms")));
}

TEST_F(CorpusDeathTest, ThrowInAStaticConstructor) {
  copy_of("static_throw");
  EXPECT_DEATH((install_fault_handlers(), told()),
               AllOf(HasSubstr("plugin 'bad' ("), HasSubstr("in loading"), HasSubstr("thrown by a static object")));
}

TEST_F(CorpusTest, ThrowInInit) {
  copy_of("init_throw");
  EXPECT_THAT(told(), AllOf(HasSubstr("plugin 'bad' ("), HasSubstr("init threw an exception: no licence")));
}

TEST_F(CorpusTest, FailureInInit) {
  copy_of("init_fail");
  EXPECT_THAT(told(), HasSubstr("init failed: there is no such card"));
}

TEST_F(CorpusDeathTest, CrashInInit) {
  copy_of("init_crash");
  EXPECT_DEATH((install_fault_handlers(), told()), HasSubstr("crashed with SIGFPE in init"));
}

TEST_F(CorpusDeathTest, HangInInit) {
  copy_of("init_hang");
  EXPECT_EXIT((install_fault_handlers(), told()), testing::ExitedWithCode(fault_exit_code),
              HasSubstr("hangs in init: not back after 300 ms"));
}

// Wraps each call of a plugin as a run does.
class StepTest : public CorpusTest {
 protected:
  void make(const char* how) {
    entry_ = entry_with("plugins", built("step"), "step.so");
    registry_ = std::make_unique<Registry>(std::span(&entry_, 1), host_, short_limit);
    Table options;
    options.entries.emplace_back("how", Value{std::string(how), {}});
    auto made = registry_->create<Initializer>("step", options);
    ASSERT_TRUE(made.ok()) << made.status().message();
    step_ = *std::move(made);
    const auto actor = registry_->actor(Kind::initializer, "step", "weights");
    ASSERT_TRUE(actor.ok());
    actor_ = *actor;
  }
  // noexcept, like a task, which has no handler outside.
  void run() {
    install_fault_handlers();
    tell_checkpoint("runs/digits/step-7");
    Activity activity;
    [&]() noexcept { step(activity); }();
  }
  void step(Activity& activity) {
    Random random({}, 0, 0);
    activity.enter(actor_, "fill", 12);
    step_->fill({}, {}, random).ignore("it never comes back");
    activity.leave();
  }

  std::unique_ptr<Registry> registry_; // outlives its product
  std::unique_ptr<Initializer> step_;
  const Actor* actor_ = nullptr;
};
using StepDeathTest = StepTest;

TEST_F(StepDeathTest, Crash) {
  make("crashes");
  EXPECT_DEATH(run(),
               AllOf(HasSubstr(concat("dlhost: plugin 'step' (", entry_.path,
                                      "/step.so) crashed with SIGSEGV in initializer 'weights', fill, step 12")),
                     HasSubstr("-fsanitize=address"), HasSubstr("the last checkpoint, runs/digits/step-7, is whole")));
}

TEST_F(StepDeathTest, Throw) {
  make("throws");
  EXPECT_DEATH(run(), AllOf(HasSubstr("by an uncaught exception in initializer 'weights', fill, step 12"),
                            HasSubstr("out of ideas")));
}

TEST_F(StepDeathTest, Terminate) {
  make("ends");
  EXPECT_DEATH(run(), HasSubstr("in initializer 'weights', fill, step 12"));
}

TEST_F(StepDeathTest, Hang) {
  make("hangs");
  EXPECT_EXIT((watch_progress(200'000'000), run()), testing::ExitedWithCode(fault_exit_code),
              AllOf(HasSubstr("hangs in initializer 'weights', fill, step 12: not back after 200 ms"),
                    HasSubstr("the last checkpoint, runs/digits/step-7, is whole")));
}

TEST_F(StepDeathTest, CrashInATaskOfItsOwnNamesWhoWasAtWork) {
  make("crashes");
  const auto crash = [] {
    Activity other;
    other.enter(remember("layer", "bystander", "dense", "/plugins/dense.so"), "compute_gradient", 3);
    std::raise(SIGSEGV);
  };
  EXPECT_DEATH((install_fault_handlers(), crash()), HasSubstr("layer 'bystander', compute_gradient, step 3"));
}

TEST_F(StepDeathTest, TouchOfDeviceMemoryIsExplained) {
  static const auto touch = [] {
    install_fault_handlers();
    auto* const far = reinterpret_cast<volatile char*>(0x10'0000);
    const FarMemory memory(const_cast<char*>(far), 4096);
    far[17] = 1;
  };
  EXPECT_DEATH(touch(), HasSubstr("it touched the address 0x100011, memory of a device, which the host cannot reach"));
}

TEST_F(CorpusTest, ThrowInAConstructor) {
  entry_ = entry_with("plugins", built("step"), "step.so");
  Registry registry({&entry_, 1}, host_);
  Table options;
  options.entries.emplace_back("at_once", Value{true, {}});
  const auto made = registry.create<Initializer>("step", options);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.status().message(),
              AllOf(HasSubstr("plugin 'step' ("),
                    HasSubstr("construction of the initializer 'step' threw an exception: out of ideas")));
}

} // namespace
} // namespace dlhost::plugin
