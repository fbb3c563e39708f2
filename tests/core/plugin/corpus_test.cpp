// Every kind of fault in a plugin's file, and the message for its user.
#include "corpus.h"

#include <csignal>

#include <elf.h>

namespace dlhost::plugin {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

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
  EXPECT_THAT(told(), AllOf(HasSubstr("epoch 999"), HasSubstr("needs a newer dlhost")));
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

TEST_F(CorpusTest, HandlersOfSignalsArePutBack) {
  struct sigaction before {
  }, now{};
  ASSERT_EQ(sigaction(SIGSEGV, nullptr, &before), 0);
  copy_of("static_handler");
  EXPECT_EQ(told(), "");
  ASSERT_EQ(sigaction(SIGSEGV, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, before.sa_handler);
  EXPECT_THAT(host_.logged, AllOf(HasSubstr("debug: plugin 'bad' ("), HasSubstr("changed signal handlers")));
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

} // namespace
} // namespace dlhost::plugin
