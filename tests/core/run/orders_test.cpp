// Whose word a worker goes by.
#include "run/worker/orders.h"

#include <gmock/gmock.h>

namespace dlhost::run {
namespace {

using param::Word;

TEST(OrdersTest, WorkersGoByTheirLeaderAlone) {
  const Orders of_second_group{.leader = 4};
  for (const Word word : {Word::go, Word::free, Word::hold}) {
    EXPECT_TRUE(of_second_group.may_come(word, 4));
    for (const std::uint32_t other : {0U, 3U, 5U}) EXPECT_FALSE(of_second_group.may_come(word, other));
  }
}

TEST(OrdersTest, TheRunsLeaderStopsAllAndSaysThatWhatTheyBeginWithIsThere) {
  const Orders of_second_group{.leader = 4};
  EXPECT_TRUE(of_second_group.may_come(Word::stop, 0));
  EXPECT_TRUE(of_second_group.may_come(Word::stop, 4));
  EXPECT_FALSE(of_second_group.may_come(Word::stop, 5));
  EXPECT_TRUE(of_second_group.may_come(Word::put, 0));
  EXPECT_FALSE(of_second_group.may_come(Word::put, 4));
}

TEST(OrdersTest, WhatIsSaidOfOneselfIsAnyones) {
  for (const Word word :
       {Word::done, Word::idle, Word::failed, Word::alive, Word::aligned, Word::attested, Word::undecided})
    EXPECT_TRUE(Orders().may_come(word, 7));
}

} // namespace
} // namespace dlhost::run
