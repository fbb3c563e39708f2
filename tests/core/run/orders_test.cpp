// The senders whose orders a worker follows.
#include "run/worker/orders.h"

#include <gmock/gmock.h>

namespace dlhost::run {
namespace {

using param::ToWorker;
namespace to_worker = param::to_worker;

TEST(OrdersTest, WorkersGoByTheirLeaderAlone) {
  const Orders of_second_group{.leader = 4};
  for (const ToWorker& order : {ToWorker(to_worker::Go()), ToWorker(to_worker::Free()), ToWorker(to_worker::Hold())}) {
    EXPECT_TRUE(of_second_group.may_come(order, 4));
    for (const std::uint32_t other : {0U, 3U, 5U}) EXPECT_FALSE(of_second_group.may_come(order, other));
  }
}

TEST(OrdersTest, TheRunsLeaderStopsAllAndSaysThatWhatTheyBeginWithIsThere) {
  const Orders of_second_group{.leader = 4};
  EXPECT_TRUE(of_second_group.may_come(to_worker::Stop(), 0));
  EXPECT_TRUE(of_second_group.may_come(to_worker::Stop(), 4));
  EXPECT_FALSE(of_second_group.may_come(to_worker::Stop(), 5));
  for (const ToWorker& order : {ToWorker(to_worker::Put()), ToWorker(to_worker::Join())}) {
    EXPECT_TRUE(of_second_group.may_come(order, 0));
    EXPECT_FALSE(of_second_group.may_come(order, 4));
  }
}

TEST(OrdersTest, WhatIsSaidOfOneselfIsAnyones) {
  for (const ToWorker& report :
       {ToWorker(to_worker::Done()), ToWorker(to_worker::Idle()), ToWorker(to_worker::Failed()),
        ToWorker(to_worker::Alive()), ToWorker(to_worker::Aligned()), ToWorker(to_worker::Attested()),
        ToWorker(to_worker::Undecided())})
    EXPECT_TRUE(Orders().may_come(report, 7));
}

} // namespace
} // namespace dlhost::run
