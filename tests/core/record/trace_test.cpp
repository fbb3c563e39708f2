#include "record/trace.h"

#include <nlohmann/json.hpp>

#include "fake_host.h"

namespace dlhost::record {
namespace {

class TraceTest : public RecordTest {};

TEST_F(TraceTest, EventsKeepTheirTimesAndTracks) {
  const TraceEvent events[] = {{"conv \"1\"", "forward", 5'000'000'250, 1'500, 1},
                               {"fc", "update", 5'000'000'000, 1, 0}};
  const std::string tracks[] = {"worker 0", "worker 1"};
  ASSERT_TRUE(write_trace(host_.disk(), folder_ / "trace.json", events, tracks).ok());
  const auto text = host_.disk().read_text(folder_ / "trace.json");
  ASSERT_TRUE(text.ok());
  const auto all = nlohmann::json::parse(*text)["traceEvents"];
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[2],
            nlohmann::json::parse(R"({"name":"thread_name","ph":"M","pid":1,"tid":1,"args":{"name":"worker 1"}})"));
  EXPECT_EQ(all[3], nlohmann::json::parse(
                        R"({"name":"conv \"1\"","cat":"forward","ph":"X","ts":0.25,"dur":1.5,"pid":1,"tid":1})"));
  EXPECT_EQ(all[4]["ts"], 0.0);
  EXPECT_EQ(all[4]["dur"], 0.001);
}

TEST_F(TraceTest, NoEventsAreATraceToo) {
  ASSERT_TRUE(write_trace(host_.disk(), folder_ / "trace.json", {}, {}).ok());
  EXPECT_EQ(nlohmann::json::parse(*host_.disk().read_text(folder_ / "trace.json"))["traceEvents"].size(), 1u);
}

} // namespace
} // namespace dlhost::record
