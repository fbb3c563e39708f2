// Keys by their names in the previous version: they have the meaning of the new names, with a remark.
#include "config/dump.h"
#include "fixture.h"

namespace dlhost::config {
namespace {

class Renamed : public LoadTest {};

constexpr const char* labelled_net = R"(
[[layer]]
name = "data"
type = "csv"
train = "rows.csv"
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["data", "data:label"]
)";

const std::string named_net = concat("name = \"x\"", labelled_net);

TEST_F(Renamed, OldKeysMeanWhatThePresentOnesDo) {
  const std::string old = R"(name = "x"
data_from = "the attic"
[train]
last = "wrap"
start = { from = "first", keep = ["a"], ignore = "b" }
[topology]
copy = "sync"
factors = "off"
shares = [2, 1]
workers_per_group = 2
codec_of = "exchanges"
data = "bootstrap"
device_workers = 1
[recovery]
silence = 30
[checkpoint]
best = "none"
)";
  const std::string present = R"(name = "x"
get_data = "the attic"
[train]
last_batch = "wrap"
init_from = { path = "first", except = ["a"], unused = "b" }
[topology]
device_copies = "sync"
gradient_factors = "off"
batch_shares = [2, 1]
workers_per_group = 2
codec_for = "exchanges"
group_data = "bootstrap"
workers_on_device = 1
[recovery]
timeout = 30
[checkpoint]
best_by = "none"
)";
  const Job before = job(old + labelled_net), now = job(present + labelled_net);
  EXPECT_EQ(to_toml(before, ""), to_toml(now, ""));
  EXPECT_TRUE(now.remarks.empty());
  ASSERT_EQ(before.remarks.size(), 14U);
  EXPECT_EQ(before.remarks[0], "job.toml:2:1: data_from is called get_data now; this version still takes the old name");
}

TEST_F(Renamed, OverridesToo) {
  const Job before = job(
      named_net, {"train.last=wrap", "train.start.from=first", "topology={ copy = \"sync\" }", "recovery.silence=3"});
  const Job now = job(named_net, {"train.last_batch=wrap", "train.init_from.path=first",
                                  "topology={ device_copies = \"sync\" }", "recovery.timeout=3"});
  EXPECT_EQ(to_toml(before, ""), to_toml(now, ""));
  ASSERT_EQ(before.remarks.size(), 5U);
  EXPECT_EQ(before.remarks[0],
            "--set train.last: train.last is called train.last_batch now; this version still takes the old name");
}

// Only for layers that had the option; others may have an option of that name. (The tests' loss has no options.)
TEST_F(Renamed, AnOptionOfLosses) {
  const std::string dense = "[[layer]]\nname = \"own\"\ntype = \"dense\"\nsrc = \"data\"\nunits = 2\nignored = 3\n";
  const std::string said = problems(concat(named_net, "ignored = 3\n", dense));
  EXPECT_NE(said.find("layer 'loss': ignore_label: unknown option"), std::string::npos) << said;
  EXPECT_NE(said.find("layer 'own': ignored: unknown option"), std::string::npos) << said;
}

} // namespace
} // namespace dlhost::config
