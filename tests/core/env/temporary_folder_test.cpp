#include "env/temporary_folder.h"

#include <barrier>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../../temporary_folder.h"

namespace dlhost::env {
namespace {

// As the workers of a run do whose leader was killed: all notice it at the same moment.
TEST(SharedFolder, OfSeveralWhoLeaveAtOnceTheLastRemovesIt) {
  const test::TemporaryFolder root;
  const auto path = std::filesystem::path(root.path()) / "shared";
  constexpr int rounds = 2000, users = 3;
  for (int round = 0; round < rounds; ++round) {
    std::filesystem::create_directory(path);
    std::ofstream(path / "in-use"); // its owner's, which is gone
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

} // namespace
} // namespace dlhost::env
