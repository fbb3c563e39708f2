#include <zlib.h>

#include "csv_text.h"
#include "sources.h"

namespace dlhost::test {
namespace {

using input::CsvFormat;
using input::CsvLabel;
using input::parse_csv;

std::string why(std::string_view text, const CsvFormat& format = {}) {
  return parse_csv(text, format).status().message();
}

TEST(CsvText, NumbersAndLabels) {
  const auto table = parse_csv("1,2.5,0\r\n\n -3 ,\"4e2\",1\n", {});
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->rows, 2);
  EXPECT_EQ(table->columns, 2);
  EXPECT_EQ(table->values, (std::vector<float>{1, 2.5F, -3, 400}));
  EXPECT_EQ(table->classes, (std::vector<std::int32_t>{0, 1}));
}

TEST(CsvText, LabelColumnsClassesAndValues) {
  const std::vector<std::string> names{"cat", "dog"};
  const auto named = parse_csv("kind;x\ndog;1\ncat;2", {';', true, CsvLabel::klass, 0, names});
  ASSERT_TRUE(named.ok()) << named.status().message();
  EXPECT_EQ(named->classes, (std::vector<std::int32_t>{1, 0}));
  const auto targets = parse_csv("1 0.5\n2 1.5", {' ', false, CsvLabel::value, -1, {}});
  ASSERT_TRUE(targets.ok()) << targets.status().message();
  EXPECT_EQ(targets->targets, (std::vector<float>{0.5F, 1.5F}));
  EXPECT_EQ(parse_csv("1,2\n3,4", {',', false, CsvLabel::none, -1, {}})->columns, 2);
  EXPECT_EQ(parse_csv("\xef\xbb\xbf\x31,2\n", {',', false, CsvLabel::none, -1, {}})->values[0], 1);
}

TEST(CsvText, ErrorsNameRowAndColumn) {
  EXPECT_THAT(why("1,2\nx,1"), testing::HasSubstr("row 2, column 1: 'x' is not a number"));
  EXPECT_THAT(why("a,b\n1,2"), testing::HasSubstr("header = true"));
  EXPECT_THAT(why("1,2\n1"), testing::HasSubstr("row 2 has 1 columns, but the first row has 2"));
  EXPECT_THAT(why("1,2\n1,2,3"), testing::HasSubstr("row 2 has more than the 2 columns"));
  EXPECT_THAT(why("1,2\n1,2,"), testing::HasSubstr("row 2 has more than the 2 columns"));
  EXPECT_THAT(why("1,2\n,2"), testing::HasSubstr("row 2, column 1: '' is not a number"));
  EXPECT_THAT(why("1,-2"), testing::HasSubstr("row 1, column 2: label '-2' is not a class number"));
  EXPECT_THAT(why("1,0\n1e99,0"), testing::HasSubstr("not a finite 32-bit number"));
  EXPECT_THAT(why("1,0\nnan,0"), testing::HasSubstr("not a finite 32-bit number"));
  EXPECT_THAT(why("1\n2"), testing::HasSubstr("one column only"));
  EXPECT_THAT(why("1,2", {',', false, CsvLabel::klass, 5, {}}), testing::HasSubstr("label_column = 5"));
  EXPECT_THAT(why(" \n\n"), testing::HasSubstr("no rows"));
}

using Csv = SourceTest;

TEST_F(Csv, DealsRowsToPhases) {
  write("a.csv", "0,0\n1,1\n2,2\n3,3\n4,4\n5,5\n6,6\n7,7\n");
  auto csv = open("csv", {{"train", value("a.csv")}, {"test_every", value(4)}, {"validate_every", value(3)}});
  ASSERT_TRUE(csv.status.ok()) << csv.status.message();
  EXPECT_EQ(csv.source->count(Phase::test), 2);
  EXPECT_EQ(csv.label(Phase::test, 1), 7);
  EXPECT_EQ(csv.source->count(Phase::validate), 2);
  EXPECT_EQ(csv.label(Phase::validate, 0), 2);
  EXPECT_EQ(csv.label(Phase::validate, 1), 6);
  EXPECT_EQ(csv.source->count(Phase::train), 4);
  EXPECT_EQ(csv.label(Phase::train, 3), 5);
}

TEST_F(Csv, PackedScaledAndShaped) {
  const std::string path = folder / "a.csv.gz";
  gzFile packed = gzopen(path.c_str(), "wb");
  gzputs(packed, "2,4,6,8,3\n");
  gzclose(packed);
  auto csv = open("csv", {{"train", value("a.csv.gz")},
                          {"test", value(path)},
                          {"mean", value(2.0)},
                          {"scale", value(0.5)},
                          {"shape", value({1, 2, 2})}});
  ASSERT_TRUE(csv.status.ok()) << csv.status.message();
  EXPECT_EQ(csv.outputs[0].desc.shape, (Shape{1, 2, 2}));
  EXPECT_EQ(csv.values<float>(Phase::train, 0), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(csv.label(Phase::test, 0), 3);
}

TEST_F(Csv, SaysWhatIsWrong) {
  EXPECT_THAT(open("csv", {{"train", value("none.csv")}}).status.message(), testing::HasSubstr("none.csv"));
  write("a.csv", "1,2,0\n");
  write("b.csv", "1,0\n");
  EXPECT_THAT(open("csv", {{"train", value("a.csv")}, {"test", value("b.csv")}}).status.message(),
              testing::HasSubstr("b.csv: 1 values a row, but a.csv has 2"));
  EXPECT_THAT(open("csv", {{"train", value("a.csv")}, {"shape", value({3, 3})}}).status.message(),
              testing::HasSubstr("shape has 9 elements, but a row has 2"));
  write("c.csv.gz", std::string("\x1f\x8b\x08\0\0\0\0\0", 8));
  EXPECT_THAT(open("csv", {{"train", value("c.csv.gz")}}).status.message(), testing::HasSubstr("c.csv.gz: the gzip"));
}

} // namespace
} // namespace dlhost::test
