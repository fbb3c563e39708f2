#include "env/temporary_folder.h"

#include <barrier>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

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

} // namespace
} // namespace dlhost::env
