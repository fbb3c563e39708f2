#include "record/table.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace dlhost::record {
namespace {

// Class 0: four samples, one taken for 1. Class 1: three, one taken for 2. Class 2: none.
const Table small{"confusion", 3, 3, {3, 1, 0, 0, 2, 1, 0, 0, 0}};

TEST(Table, ScoresOfEachClass) {
  const auto scores = class_scores(small);
  EXPECT_EQ(scores.precision[0], 1);
  EXPECT_DOUBLE_EQ(scores.precision[1], 2.0 / 3);
  EXPECT_EQ(scores.precision[2], 0);
  EXPECT_EQ(scores.recall[0], 0.75);
  EXPECT_DOUBLE_EQ(scores.recall[1], 2.0 / 3);
  EXPECT_TRUE(std::isnan(scores.recall[2]));
}

TEST(Table, ASmallOneIsShownWhole) {
  EXPECT_EQ(table_text(small), "  confusion: the class (row) and the predicted class (column)\n"
                               "            0    1    2   recall\n"
                               "       0    3    1    0    75.0%\n"
                               "       1    0    2    1    66.7%\n"
                               "       2    0    0    0        -\n"
                               "   prec. 100%  67%   0%\n");
  EXPECT_EQ(table_json(small).dump(), "[[3,1,0],[0,2,1],[0,0,0]]");
}

TEST(Table, OfALargeOneTheWorstMistakes) {
  Table large{"confusion", 100, 100, std::vector<double>(10000)};
  for (std::size_t c = 0; c < 100; ++c) large.counts[c * 101] = 8;
  large.counts[3 * 100 + 5] = 2;
  large.counts[7 * 100 + 1] = 24;
  const auto text = table_text(large);
  EXPECT_THAT(text, testing::HasSubstr("7 for 1          24 times; 25.0% of class 7 found\n"
                                       "       3 for 5           2 times; 80.0% of class 3 found\n"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
}

} // namespace
} // namespace dlhost::record
