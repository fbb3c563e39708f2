// Who gets which worker, whatever the order in which the members of several hosts have their ranks; and what is told of
// it.
#include "run/membership/members.h"

#include <gmock/gmock.h>

namespace dlhost::run {
namespace {

using testing::ElementsAre;

// Their ranks are 0, 1, 2, ...
std::vector<Member> members_of(const std::vector<std::string>& hosts) {
  std::vector<Member> members;
  for (const auto& host : hosts) members.push_back({.rank = static_cast<std::uint32_t>(members.size()), .host = host});
  return members;
}

TEST(MusterTest, HostsThatInterleaveHaveNeighbouringSeats) { // srun --distribution=cyclic, mpirun --map-by node
  const Assignment assignment = Assignment::of(members_of({"a", "b", "a", "b"}), 0, 4);
  EXPECT_THAT(assignment.ranks, ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(assignment.machines, ElementsAre(0, 0, 1, 1));
}

TEST(MusterTest, TheLeadersHostIsTheFirst) {
  const Assignment assignment = Assignment::of(members_of({"a", "b", "a", "b"}), 3, 8);
  EXPECT_THAT(assignment.ranks, ElementsAre(3, 3, 1, 1, 0, 0, 2, 2));
  EXPECT_THAT(assignment.machines, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

TEST(MusterTest, WithoutALostLeaderItsHostStaysOne) { // two processes a host, of which the second leads from now on
  auto members = members_of({"a", "a", "b", "b"});
  members.erase(members.begin());
  const Assignment assignment = Assignment::of(members, 2, 3);
  EXPECT_THAT(assignment.ranks, ElementsAre(2, 3, 1));
  EXPECT_THAT(assignment.machines, ElementsAre(0, 0, 1));
}

TEST(MusterTest, MachinesAreThoseThatHaveWorkers) {
  const Assignment assignment = Assignment::of(members_of({"a", "b", "c", "a"}), 0, 2);
  EXPECT_THAT(assignment.ranks, ElementsAre(0, 1));
  EXPECT_THAT(assignment.machines, ElementsAre(0, 1));
}

// Else the messages of those who heard it would be of another attempt.
TEST(MusterTest, ACallSaysOfWhichAttemptAllMessagesAre) {
  const AttemptPlan call{.job = "name = \"x\"", .assignment = {{0, 1}, {0, 0}}, .epoch = 0xFFFF'0003};
  const auto heard = AttemptPlan::read(call.to_text());
  ASSERT_TRUE(heard.ok());
  EXPECT_EQ(heard->epoch, 0xFFFF'0003);
  EXPECT_EQ(heard->job, call.job);
}

TEST(MusterTest, MachinesThatDoNotAscendAreNotTaken) {
  const auto heard = [](std::vector<std::uint32_t> machines) {
    const AttemptPlan call{.job = "", .assignment = {{0, 1, 2, 3}, std::move(machines)}};
    return AttemptPlan::read(call.to_text());
  };
  ASSERT_TRUE(heard({0, 0, 1, 1}).ok());
  EXPECT_THAT(heard({0, 0, 1, 1})->assignment.machines, ElementsAre(0, 0, 1, 1));
  for (const auto& machines : {std::vector<std::uint32_t>{0, 1, 0, 1}, {1, 1, 1, 1}, {0, 0, 2, 2}, {0, 0, 1}})
    EXPECT_EQ(heard(machines).status().code(), Code::corrupt);
}

} // namespace
} // namespace dlhost::run
