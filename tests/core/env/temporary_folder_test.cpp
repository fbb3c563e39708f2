#include "env/temporary_folder.h"

#include <barrier>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "../../temporary_folder.h"

namespace dlhost::env {
namespace {

// Like workers whose leader was killed: all leave at the same moment.
TEST(SharedFolder, OfSeveralWhoLeaveAtOnceTheLastRemovesIt) {
  const test::TemporaryFolder root;
  const auto path = std::filesystem::path(root.path()) / "shared";
  constexpr int rounds = 2000, users = 3;
  for (int round = 0; round < rounds; ++round) {
    std::filesystem::create_directory(path);
    std::ofstream(path / "in-use"); // of the owner, which is gone
    {
      std::barrier joined(users);
      std::vector<std::jthread> all;
      for (int user = 0; user < users; ++user)
        all.emplace_back([&] {
          const auto used = SharedFolder::join(path);
          EXPECT_TRUE(used.ok()) << used.status().message();
          joined.arrive_and_wait();
        });
    }
    ASSERT_FALSE(std::filesystem::exists(path)) << "round " << round;
  }
}

TEST(SharedFolder, IsThereWhileOneUsesIt) {
  const test::TemporaryFolder root;
  const auto path = std::filesystem::path(root.path()) / "shared";
  std::filesystem::create_directory(path);
  auto first = SharedFolder::join(path);
  ASSERT_TRUE(first.ok()) << first.status().message();
  { const auto second = SharedFolder::join(path); }
  EXPECT_TRUE(std::filesystem::exists(path));
  { const auto moved = *std::move(first); }
  EXPECT_FALSE(std::filesystem::exists(path));
}

// A folder that is not locked yet may be cleared as an abandoned one; its maker then makes another.
TEST(TemporaryFolder, WhatOthersDiedOverIsClearedWhileSomeAreMade) {
  const test::TemporaryFolder root;
  setenv("TMPDIR", root.path().c_str(), 1);
  constexpr int rounds = 300, makers = 4;
  for (int round = 0; round < rounds; ++round) {
    const auto left = std::filesystem::path(root.path()) / "new-made-ABCDEF";
    std::filesystem::create_directory(left);
    std::ofstream(left / "in-use");
    {
      std::vector<std::jthread> all;
      for (int maker = 0; maker < makers; ++maker)
        all.emplace_back([] {
          const auto made = TemporaryFolder::make("made-");
          ASSERT_TRUE(made.ok()) << made.status().message();
          EXPECT_TRUE(std::filesystem::exists(made->path() + "/in-use"));
        });
    }
    ASSERT_TRUE(std::filesystem::is_empty(root.path())) << "round " << round;
  }
  unsetenv("TMPDIR");
}

// A process that was killed while it removed its folder may have removed the lock file before.
TEST(TemporaryFolder, OneWhoseRemovalWasCutShortIsCleared) {
  const test::TemporaryFolder root;
  setenv("TMPDIR", root.path().c_str(), 1);
  const auto left = std::filesystem::path(root.path()) / "made-ABCDEF";
  std::filesystem::create_directory(left);
  std::ofstream(left / "leader.json");
  { const auto made = TemporaryFolder::make("made-"); }
  EXPECT_TRUE(std::filesystem::is_empty(root.path()));
  unsetenv("TMPDIR");
}

// A maker that was killed between mkdtemp and its lock leaves an empty folder.
TEST(TemporaryFolder, OneWhoseMakerWasKilledBeforeItLockedItIsClearedAtOnce) {
  const test::TemporaryFolder root;
  setenv("TMPDIR", root.path().c_str(), 1);
  const pid_t maker = fork();
  if (maker == 0) _exit(0);
  ASSERT_EQ(waitpid(maker, nullptr, 0), maker);
  const auto place = std::filesystem::path(root.path());
  const auto left = place / ("new-made-" + std::to_string(maker) + "-ABCDEF");
  const auto being_made = place / ("new-made-" + std::to_string(getpid()) + "-ABCDEF");
  std::filesystem::create_directory(left);
  std::filesystem::create_directory(being_made);
  const auto made = TemporaryFolder::make("made-");
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(being_made));
  unsetenv("TMPDIR");
}

} // namespace
} // namespace dlhost::env
