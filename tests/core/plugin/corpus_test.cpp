// Every way in which a plugin can be wrong, and what its user is told.
#include <cstring>
#include <fstream>
#include <functional>

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlhost/parts.h>
#include <dlhost/random.h>

#include "fake_host.h"
#include "folder.h"
#include "plugin/faults.h"
#include "plugin/registry.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dlhost::plugin {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr Nanoseconds short_limit = 300'000'000;

class CorpusTest : public FolderTest {
 protected:
  static std::string built(const std::string& name) { return DLHOST_BAD_PLUGINS "/" + name + ".so"; }

  // A copy of a bad plugin as the only one; `change` may spoil it further.
  fs::path copy_of(const std::string& name, const std::function<void(std::string& bytes)>& change = {}) {
    entry_ = entry_with("plugins", built(name), "bad.so");
    const fs::path path = fs::path(entry_.path) / "bad.so";
    if (change) {
      std::ifstream in(path, std::ios::binary);
      std::string bytes{std::istreambuf_iterator<char>(in), {}};
      change(bytes);
      std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    }
    return path;
  }

  // What whoever asks for it is told; empty when it loads.
  std::string told() {
    Registry registry({&entry_, 1}, host_, short_limit);
    const auto factory = registry.factory(Kind::initializer, "bad");
    return factory.ok() ? "" : factory.status().message();
  }

  static void change_stamp(std::string& bytes, const std::function<void(Stamp&)>& change) {
    const auto magic = stamp_magic;
    const auto at = bytes.find(std::string_view(reinterpret_cast<const char*>(&magic), sizeof magic));
    ASSERT_NE(at, std::string::npos);
    Stamp stamp;
    std::memcpy(&stamp, bytes.data() + at, sizeof stamp);
    change(stamp);
    std::memcpy(bytes.data() + at, &stamp, sizeof stamp);
  }

  SearchEntry entry_;
  FakeHost host_;
};

TEST_F(CorpusTest, SoundOneLoads) {
  copy_of("plain");
  EXPECT_EQ(told(), "");
}

TEST_F(CorpusTest, OldEpoch) {
  copy_of("plain", [](std::string& bytes) { change_stamp(bytes, [](Stamp& stamp) { stamp.epoch = 0; }); });
  EXPECT_THAT(told(), AllOf(HasSubstr("plugin 'bad' ("), HasSubstr("epoch 0"), HasSubstr("build it again")));
}

TEST_F(CorpusTest, NewerEpoch) {
  copy_of("plain", [](std::string& bytes) { change_stamp(bytes, [](Stamp& stamp) { stamp.epoch = 999; }); });
  EXPECT_THAT(told(), AllOf(HasSubstr("epoch 999"), HasSubstr("wants a newer dlhost")));
}

TEST_F(CorpusTest, OldStrings) {
  copy_of("old_strings");
  EXPECT_THAT(told(), AllOf(HasSubstr("old strings of libstdc++"), HasSubstr("remove -D_GLIBCXX_USE_CXX11_ABI=0")));
}

TEST_F(CorpusTest, DebugContainers) {
  copy_of("debug_containers");
  EXPECT_THAT(told(), AllOf(HasSubstr("_GLIBCXX_DEBUG"), HasSubstr("remove -D_GLIBCXX_DEBUG")));
}

TEST_F(CorpusTest, NewerInstructions) {
  copy_of("plain",
          [](std::string& bytes) { change_stamp(bytes, [](Stamp& stamp) { stamp.isa = ~std::uint64_t{0}; }); });
  EXPECT_THAT(told(), AllOf(HasSubstr("instructions that this CPU lacks"), HasSubstr("without -march")));
}

TEST_F(CorpusTest, OtherMachine) {
  copy_of("plain", [](std::string& bytes) {
    bytes[offsetof(Elf64_Ehdr, e_machine)] = static_cast<char>(EM_RISCV);
    bytes[offsetof(Elf64_Ehdr, e_machine) + 1] = 0;
  });
  EXPECT_THAT(told(), HasSubstr("it was built for riscv, this machine is "));
}

TEST_F(CorpusTest, Everything_AtOnce) {
  copy_of("plain", [](std::string& bytes) {
    change_stamp(bytes, [](Stamp& stamp) {
      stamp.epoch = 0;
      stamp.flags ^= stamp_cxx11_strings | stamp_glibcxx_debug | stamp_libcxx;
      stamp.isa = ~std::uint64_t{0};
    });
  });
  EXPECT_THAT(told(), AllOf(HasSubstr("epoch 0"), HasSubstr("old strings"), HasSubstr("_GLIBCXX_DEBUG"),
                            HasSubstr("libc++"), HasSubstr("instructions that this CPU lacks")));
}

TEST_F(CorpusTest, EverythingAtOnce_WhatOnlyItsSymbolsShowAsWell) {
  copy_of("no_alias", [](std::string& bytes) { change_stamp(bytes, [](Stamp& stamp) { stamp.epoch = 0; }); });
  EXPECT_THAT(told(), AllOf(HasSubstr("epoch 0"), HasSubstr("does not define the alias")));
}

TEST_F(CorpusTest, OtherCompilerIsAWarning) {
  copy_of("plain", [](std::string& bytes) {
    change_stamp(bytes, [](Stamp& stamp) { std::strcpy(stamp.compiler.data(), "gcc 99.1.0"); });
  });
  EXPECT_EQ(told(), "");
  EXPECT_THAT(host_.logged, AllOf(HasSubstr("warning: plugin 'bad' ("), HasSubstr("it was built by gcc 99.1.0")));
}

TEST_F(CorpusTest, Truncated) {
  const auto path = copy_of("plain");
  fs::resize_file(path, fs::file_size(path) / 2);
  EXPECT_THAT(told(), AllOf(HasSubstr(path.string()), HasSubstr("the file is truncated")));
}

TEST_F(CorpusTest, NotElf) {
  copy_of("plain", [](std::string& bytes) { bytes = "#!/bin/sh\necho hello\n"; });
  EXPECT_THAT(told(), HasSubstr("it is not a shared object"));
}

TEST_F(CorpusTest, Empty) {
  copy_of("plain", [](std::string& bytes) { bytes.clear(); });
  EXPECT_THAT(told(), HasSubstr("it is not a shared object"));
}

TEST_F(CorpusTest, NoPlugin) {
  copy_of("no_plugin");
  EXPECT_THAT(told(), AllOf(HasSubstr("not a dlhost plugin"), HasSubstr("DLHOST_PLUGIN(")));
}

TEST_F(CorpusTest, NoAlias) {
  copy_of("no_alias");
  EXPECT_THAT(told(), HasSubstr("does not define the alias 'dlhost_plugin': DLHOST_PLUGIN must stand"));
}

TEST_F(CorpusTest, AliasInALibraryThatItLinks) {
  copy_of("alias_elsewhere");
  EXPECT_THAT(told(), AllOf(HasSubstr("does not define the alias 'dlhost_plugin' itself"),
                            HasSubstr("libholds_alias.so"), HasSubstr("does not count")));
}

TEST_F(CorpusTest, UndefinedSymbol) {
  copy_of("undefined_symbol");
  EXPECT_THAT(told(), AllOf(HasSubstr("undefined symbol"), HasSubstr("(nowhere::function(int))"),
                            HasSubstr("link the library that has it")));
}

TEST_F(CorpusTest, UniqueSymbol) {
  if (!fs::exists(built("unique_symbol"))) GTEST_SKIP() << "this compiler makes no unique symbols";
  copy_of("unique_symbol");
  EXPECT_THAT(told(), AllOf(HasSubstr("1 unique symbol(s) (_ZN6SharedIiE5countE)"), HasSubstr("-fno-gnu-unique")));
}

TEST_F(CorpusTest, Sanitizers) {
  for (const auto& [file, name] : {std::pair{"address", "AddressSanitizer"},
                                   {"thread", "ThreadSanitizer"},
                                   {"undefined", "UndefinedBehaviorSanitizer"}}) {
    if (!fs::exists(built(file))) GTEST_SKIP() << "this build has a sanitizer itself";
    copy_of(file);
    EXPECT_THAT(told(), AllOf(HasSubstr(name), HasSubstr(concat("without -fsanitize=", file))));
    fs::remove_all(entry_.path);
  }
}

TEST_F(CorpusTest, FastMathIsUndone) {
  copy_of("fast_math");
  EXPECT_EQ(told(), "");
  EXPECT_THAT(host_.logged, AllOf(HasSubstr("warning: plugin 'bad' ("), HasSubstr("-ffast-math")));
  volatile float small = 1e-38F;
  EXPECT_GT(small / 16, 0) << "denormal numbers are still flushed to zero";
}

using CorpusDeathTest = CorpusTest;

TEST_F(CorpusDeathTest, CrashInAStaticConstructor) {
  const auto path = copy_of("static_crash");
  EXPECT_DEATH((install_fault_handlers(), told()),
               AllOf(HasSubstr(concat("dlhost: plugin 'bad' (", path.string(), ") crashed with SIGSEGV in loading")),
                     HasSubstr("null pointer"), HasSubstr("none is damaged")));
}

TEST_F(CorpusDeathTest, HangInAStaticConstructor) {
  const auto path = copy_of("static_hang");
  EXPECT_EXIT((install_fault_handlers(), told()), testing::ExitedWithCode(hang_exit_code),
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
  EXPECT_EXIT((install_fault_handlers(), told()), testing::ExitedWithCode(hang_exit_code),
              HasSubstr("hangs in init: not back after 300 ms"));
}

TEST_F(CorpusTest, ClassesOfOneNameShareNothing) {
  const SearchEntry entries[] = {entry_with("a", built("twin_a"), "a.so"), entry_with("b", built("twin_b"), "b.so")};
  Registry registry(entries, host_);
  float first[1], second[1];
  auto a = registry.create<Initializer>("twin_a", {}), b = registry.create<Initializer>("twin_b", {});
  ASSERT_TRUE(a.ok() && b.ok());
  Random random({}, 0, 0);
  EXPECT_TRUE((*a)->fill(first, {}, random).ok());
  EXPECT_TRUE((*a)->fill(first, {}, random).ok());
  EXPECT_TRUE((*b)->fill(second, {}, random).ok());
  EXPECT_EQ(first[0], 2);
  EXPECT_EQ(second[0], 1);
}

// What a run does around each call of a plugin.
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
  // noexcept: as a task, which nothing catches for.
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
  EXPECT_DEATH(run(), AllOf(HasSubstr("by an exception that nobody caught in initializer 'weights', fill, step 12"),
                            HasSubstr("out of ideas")));
}

TEST_F(StepDeathTest, Terminate) {
  make("ends");
  EXPECT_DEATH(run(), HasSubstr("in initializer 'weights', fill, step 12"));
}

TEST_F(StepDeathTest, Hang) {
  make("hangs");
  EXPECT_EXIT((watch_progress(200'000'000), run()), testing::ExitedWithCode(hang_exit_code),
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

TEST_F(CorpusTest, WrongOwner) {
  const auto path = copy_of("plain");
  if (chown(path.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "only root can give a file to somebody else";
  if (trusted_by_process().program_owner == 12345) GTEST_SKIP() << "this test program belongs to user 12345";
  EXPECT_THAT(told(), AllOf(HasSubstr(path.string()), HasSubstr("neither root nor you nor the owner of dlhost")));
}

TEST_F(CorpusTest, FileThatEveryoneCanChange) {
  const auto path = copy_of("plain");
  chmod(path.c_str(), 0666);
  EXPECT_THAT(told(), HasSubstr(concat("the file ", path.string(), " can be changed by everyone: chmod o-w")));
}

TEST_F(CorpusTest, FileThatAForeignGroupCanChange) {
  const auto path = copy_of("plain");
  if (chown(path.c_str(), 0, 12345) != 0) GTEST_SKIP() << "only root can give a file to a foreign group";
  chmod(path.c_str(), 0664);
  EXPECT_THAT(told(), HasSubstr("by a group that is not its owner's own: chmod g-w"));
}

TEST_F(CorpusTest, FolderThatEveryoneCanChange) {
  copy_of("plain");
  chmod(entry_.path.c_str(), 0777);
  EXPECT_THAT(told(), HasSubstr("unknown initializer 'bad'"));
  EXPECT_THAT(host_.logged, AllOf(HasSubstr(concat("the plugin folder ", entry_.path, " (test) is not used")),
                                  HasSubstr("can be changed by everyone")));
}

TEST_F(CorpusTest, LinkIntoAFolderThatEveryoneCanChange) {
  const auto path = copy_of("plain");
  const std::filesystem::path open = folder_ / "open";
  fs::create_directory(open);
  fs::rename(path, open / "bad.so");
  fs::create_symlink(open / "bad.so", path);
  EXPECT_EQ(told(), "");
  chmod(open.c_str(), 0777);
  EXPECT_THAT(told(), HasSubstr(concat("the folder ", open.string(), " can be changed by everyone")));
}

TEST_F(CorpusTest, LinkThroughAFolderThatIsALink) {
  const auto path = copy_of("plain");
  const std::filesystem::path open = folder_ / "open";
  fs::create_directories(open / "inner");
  fs::copy_file(path, open / "bad.so");
  fs::rename(path, folder_ / "bad.so"); // where the words of the link seem to lead
  fs::create_directory_symlink(open / "inner", folder_ / "sub");
  fs::create_symlink(concat(folder_ / "sub", "/../bad.so"), path);
  EXPECT_EQ(told(), "");
  chmod(open.c_str(), 0777);
  EXPECT_THAT(told(), HasSubstr(concat("the folder ", open.string(), " can be changed by everyone")));
}

TEST_F(CorpusTest, LinksThatLeadNowhere) {
  const auto path = copy_of("plain");
  fs::remove(path);
  fs::create_symlink("missing.so", path);
  EXPECT_THAT(told(), AllOf(HasSubstr("where the link leads"), HasSubstr("No such file")));
  fs::remove(path);
  fs::create_symlink("bad.so", path);
  EXPECT_THAT(told(), HasSubstr("leads round in a circle"));
}

TEST_F(CorpusTest, NoRegularFile) {
  const auto path = copy_of("plain");
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(told(), HasSubstr("it is not a regular file"));
}

} // namespace
} // namespace dlhost::plugin
