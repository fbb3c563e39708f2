// Transports between processes: a party killed at any moment is reported gone, and leaves nothing behind.
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <functional>
#include <random>
#include <thread>

#include <gmock/gmock.h>

#include <dlhost/random.h>

#include "env/real_host.h"
#include "shm/inbox.h"
#include "shm/segment.h"
#include "ways.h"

extern char** environ;

namespace dlhost::test {

std::string party_program;

namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;

constexpr Nanoseconds second = 1'000'000'000;
constexpr std::size_t largest = 100000;
constexpr std::size_t more_than_there_is = std::size_t{1} << 50;

class Party {
 public:
  explicit Party(std::string way) {
    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    char* arguments[] = {party_program.data(), way.data(), nullptr};
    if (posix_spawn(&process, party_program.c_str(), &actions, nullptr, arguments, environ) != 0)
      throw std::runtime_error("cannot start " + party_program);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    for (char c = 0; read(pipe_ends[0], &c, 1) == 1 && c != '\n';) address += c;
    close(pipe_ends[0]);
  }
  ~Party() { kill(); }
  void kill() {
    if (process <= 0) return;
    ::kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
    process = 0;
  }

  pid_t process = 0;
  std::string address;
};

std::vector<std::byte> message(Random& random) {
  std::vector<std::byte> bytes(random.below(4) == 0 ? random.below(largest) : random.below(200));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 31 + bytes.size());
  return bytes;
}

// A party killed with one of libfabric's locks leaves the other side spinning for it inside that library for ever
// (docs/transports.md). So the test kills such a party while it rests.
bool keeps_locks_in_memory_of_both(const std::string& way) { return way == "fabric-shm"; }

class ProcessesTest : public testing::TestWithParam<std::string> {
 protected:
  // Exchanges messages until the party is gone; every answer equals its message.
  long exchange(Endpoint& endpoint, PeerId peer, Random& random, const std::function<void(long)>& after) {
    long answers = 0;
    for (;;) {
      const auto sent = message(random);
      EXPECT_TRUE(endpoint.post_recv(back_, 1).ok());
      if (const Status posted = endpoint.post_send(peer, 5, sent, 2); posted.code() == Code::gone) return answers;
      const Nanoseconds end = host_.clock().now() + 20 * second;
      for (bool answered = false; !answered;) {
        Completion made[2];
        const auto count = endpoint.progress(made, second / 10);
        if (!count.ok()) throw std::runtime_error(count.status().message());
        for (std::size_t i = 0; i < *count; ++i) {
          if (made[i].kind == Completion::Kind::gone) return answers;
          if (made[i].kind != Completion::Kind::received) continue;
          answered = true;
          if (!std::equal(sent.begin(), sent.end(), back_.begin()) || made[i].bytes != sent.size())
            throw std::runtime_error("another message came back");
        }
        if (host_.clock().now() > end) throw std::runtime_error("no answer, and nobody is said to be gone");
      }
      after(++answers);
    }
  }

  env::RealHost host_{LogLevel::error};
  std::vector<std::byte> back_ = std::vector<std::byte>(largest); // outlives the endpoints that write to it
};

TEST_P(ProcessesTest, AKilledPartyIsReported) {
  Random random({std::random_device{}(), 1}, 0, 0);
  for (int round = 0; round < 20; ++round) {
    Party party(GetParam());
    auto endpoint = open_endpoint(host_, GetParam(), "test");
    ASSERT_TRUE(endpoint.ok()) << endpoint.status().message();
    const auto peer = (*endpoint)->connect(party.address);
    ASSERT_TRUE(peer.ok()) << peer.status().message();
    const Nanoseconds begin = host_.clock().now();
    Nanoseconds killed = 0;
    const auto kill_after = [&](Nanoseconds moment) {
      host_.clock().sleep(moment);
      killed = host_.clock().now();
      party.kill();
    };
    const auto moment = static_cast<Nanoseconds>(random.below(20'000'000));
    if (keeps_locks_in_memory_of_both(GetParam())) {
      const long last = 1 + static_cast<long>(random.below(200));
      exchange(**endpoint, *peer, random, [&](long answers) {
        if (answers == last) kill_after(second / 100 + moment);
      });
    } else {
      auto killer = host_.tasks().start("killer", [&] { kill_after(moment); });
      exchange(**endpoint, *peer, random, [](long) {});
      killer->join();
    }
    const Nanoseconds noticed = host_.clock().now();
    EXPECT_LT(noticed - killed, 5 * second) << "round " << round << ", " << killed - begin << " ns after its start";
  }
}

TEST_P(ProcessesTest, APartyThatLeavesIsReported) {
  Party party(GetParam());
  auto endpoint = open_endpoint(host_, GetParam(), "test");
  ASSERT_TRUE(endpoint.ok());
  const auto peer = (*endpoint)->connect(party.address);
  ASSERT_TRUE(peer.ok());
  Random random({7, 1}, 0, 0);
  long most = 0;
  exchange(**endpoint, *peer, random, [&](long answers) {
    most = answers;
    if (answers != 200) return;
    if (keeps_locks_in_memory_of_both(GetParam())) host_.clock().sleep(second / 100);
    party.kill();
  });
  EXPECT_GE(most, 200);
}

void no_segment_of_a_party_is_left() {
  for (const auto& name : plugins::shm::segments_with(plugins::shm::prefix_of_user()))
    EXPECT_EQ(name.find("-party"), std::string::npos) << name << " is still there";
}

// The next process cleans up after dead ones.
TEST(ShmProcessesTest, AKilledPartyLeavesNothing) {
  env::RealHost host(LogLevel::error);
  for (int round = 0; round < 3; ++round) Party("shm").kill();
  const auto next = open_endpoint(host, "shm", "next");
  no_segment_of_a_party_is_left();
}

// A process that outlives others cleans up after them at its own end, because no other process may follow.
TEST(ShmProcessesTest, TheLastToEndLeavesNothingOfAKilledParty) {
  env::RealHost host(LogLevel::error);
  {
    const auto last = open_endpoint(host, "shm", "last");
    Party("shm").kill();
  }
  no_segment_of_a_party_is_left();
}

// Killed as soon as its inbox exists, before that has memory.
TEST(ShmProcessesTest, KilledAsItBeginsNothingIsLeft) {
  const std::string name = concat(plugins::shm::prefix_of_user(), getpid(), "-begun", plugins::shm::inbox_suffix);
  const int file = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  ASSERT_GE(file, 0);
  close(file);
  plugins::shm::remove_leftovers();
  EXPECT_TRUE(plugins::shm::segments_with(name).empty());
}

// Another process that cleans up meanwhile does not take an inbox that is being made for a dead process's.
TEST(ShmProcessesTest, WhoBeginsKeepsItsInbox) {
  const std::string name = concat(plugins::shm::prefix_of_user(), getpid(), "-kept", plugins::shm::inbox_suffix);
  std::atomic<bool> over = false;
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i)
    others.emplace_back([&] {
      while (!over) plugins::shm::remove_leftovers();
    });
  for (int round = 0; round < 2000; ++round) {
    const auto made = plugins::shm::Segment::make_owned(name, 64);
    if (!made.ok()) ADD_FAILURE() << made.status().message();
    if (plugins::shm::segments_with(name).empty()) ADD_FAILURE() << "round " << round;
  }
  over = true;
  for (auto& other : others) other.join();
}

// A region may outlive its endpoint.
TEST(ShmProcessesTest, KilledBetweenAnEndpointAndItsRegionNothingIsLeft) {
  const pid_t process = fork();
  if (process == 0) {
    env::RealHost host(LogLevel::error);
    auto endpoint = *open_endpoint(host, "shm", "going");
    const auto region = *endpoint->allocate(5000);
    endpoint.reset();
    kill(getpid(), SIGKILL);
  }
  ASSERT_GT(process, 0);
  waitpid(process, nullptr, 0);
  const std::string prefix = concat(plugins::shm::prefix_of_user(), process, "-");
  EXPECT_FALSE(plugins::shm::segments_with(prefix).empty());
  env::RealHost host(LogLevel::error);
  { const auto next = open_endpoint(host, "shm", "next"); }
  EXPECT_TRUE(plugins::shm::segments_with(prefix).empty());
}

TEST_P(ProcessesTest, FullMemoryIsAnError) {
  auto endpoint = open_endpoint(host_, GetParam(), "test");
  ASSERT_TRUE(endpoint.ok());
  const auto all = (*endpoint)->allocate(more_than_there_is);
  ASSERT_FALSE(all.ok());
  EXPECT_THAT(all.status().message(), HasSubstr(concat(more_than_there_is, " bytes"))) << "how much was wanted";
}

// The error names the full place, its free bytes and a remedy; no partial segment is left.
TEST(ShmProcessesTest, FullMemoryIsToldWithItsRemedy) {
  env::RealHost host(LogLevel::error);
  const auto endpoint = open_endpoint(host, "shm", "full");
  ASSERT_TRUE(endpoint.ok()) << endpoint.status().message();
  const auto own = [] { return plugins::shm::segments_with(concat(plugins::shm::prefix_of_user(), getpid(), "-")); };
  const auto before = own();
  const auto all = (*endpoint)->allocate(more_than_there_is);
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.status().code(), Code::no_space);
  EXPECT_THAT(all.status().message(),
              ContainsRegex("shared memory is full: 1125899906842624 bytes are wanted for '.*-full.*', [0-9]+ are free "
                            "in /dev/shm; make it larger .mount -o remount,size=.*, or use fewer workers"));
  EXPECT_THAT(own(), UnorderedElementsAreArray(before));
}

INSTANTIATE_TEST_SUITE_P(Ways, ProcessesTest, testing::ValuesIn(ways()), [](const auto& way) {
  std::string name = way.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

} // namespace
} // namespace dlhost::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 2) return 2;
  dlhost::test::party_program = argv[1];
  return RUN_ALL_TESTS();
}
