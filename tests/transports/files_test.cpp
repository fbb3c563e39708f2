// A process may have few open files: endpoints keep few, and report a lack of files instead of waiting.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>

#include "env/real_host.h"
#include "shm/endpoint.h"

namespace dlhost::test {
namespace {

using plugins::shm::ShmEndpoint;

std::size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

class ShmFilesTest : public testing::Test {
 protected:
  std::unique_ptr<Endpoint> open() {
    auto made = ShmEndpoint::open(host_, "files", {.cells = 8, .block = 1024});
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
  }
  env::RealHost host_{LogLevel::error};
};

TEST_F(ShmFilesTest, AreKeptForEachAndNotForEachPair) {
  constexpr std::size_t count = 12;
  const std::size_t before = open_files();
  std::vector<std::unique_ptr<Endpoint>> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(open());
  Completion made[4];
  for (const auto& one : all)
    for (const auto& other : all) ASSERT_TRUE(one == other || one->connect(other->address()).ok());
  for (const auto& one : all) ASSERT_TRUE(one->progress(made, 0).ok());
  EXPECT_LE(open_files(), before + 2 * count);
}

TEST_F(ShmFilesTest, ThatAreMissingEndTheWait) {
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer)
  GTEST_SKIP() << "the sanitizer looks at each object through a pipe, and takes it for none where no file is left";
#endif
#endif
  auto one = open(), other = open();
  const auto peer = one->connect(other->address());
  ASSERT_TRUE(peer.ok()) << peer.status().message();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{std::min<rlim_t>(before.rlim_cur, 1024), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<int> taken;
  for (int file; (file = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken.push_back(file);
  Completion made[4];
  const auto told = other->progress(made, 10 * Nanoseconds{1'000'000'000});
  for (const int file : taken) close(file);
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(told.ok());
  EXPECT_THAT(told.status().message(), testing::HasSubstr("ulimit -n"));
}

} // namespace
} // namespace dlhost::test
