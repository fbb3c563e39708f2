// Schemas: accepted values, stored values and messages.
#include <gtest/gtest.h>

#include <map>

#include <dlhost/nearest.h>
#include <dlhost/schema.h>

namespace dlhost {
namespace {

enum class Mode { slow, fast };

struct Options {
  std::int64_t units = 0;
  double rate = 0.5;
  bool bias = true;
  std::string name = "a \"b\"";
  Mode mode = Mode::fast;
  std::vector<std::int64_t> kernel{3};
  std::vector<double> means;
  std::vector<std::string> words{"x", "y"};
  Part schedule{"fixed", {}};
  std::vector<Part> steps;
  Table table;
};

Schema schema() {
  return SchemaOf<Options>("For tests.")
      .required("units", &Options::units, between(1, 10), "number of outputs")
      .option("rate", &Options::rate, "a rate", above(0))
      .option("bias", &Options::bias, "a bias")
      .option("name", &Options::name, "a name")
      .choice("mode", &Options::mode, {{"slow", Mode::slow}, {"fast", Mode::fast}}, "how")
      .option("kernel", &Options::kernel, "sizes", at_least(1))
      .option("means", &Options::means, "means", from_below(0, 1))
      .option("words", &Options::words, "words")
      .part("schedule", &Options::schedule, Kind::schedule, "a schedule", "fixed.base")
      .part("steps", &Options::steps, Kind::augmentation, "what to do")
      .option("table", &Options::table, "anything");
}

// A schedule "fixed" with one option, and a schedule "before" that holds another.
class Parts : public SchemaSource {
 public:
  Parts() {
    struct Fixed {
      double base = 0.1;
    };
    struct Before {
      Part then{"fixed", {}};
    };
    fixed_ = SchemaOf<Fixed>("Fixed.").option("base", &Fixed::base, "rate", above(0));
    before_ = SchemaOf<Before>("Before.").part("then", &Before::then, Kind::schedule, "then", "fixed.base");
  }
  const Schema* find(Kind kind, std::string_view name) override {
    if (kind != Kind::schedule) return nullptr;
    return name == "fixed" ? &fixed_ : name == "before" ? &before_ : nullptr;
  }
  std::vector<std::string> names(Kind kind) override {
    return kind == Kind::schedule ? std::vector<std::string>{"fixed", "before"} : std::vector<std::string>{};
  }

 private:
  Schema fixed_, before_;
};

Value value(Value::Data data) { return {std::move(data), {}}; }
Value text(std::string word) { return value(std::move(word)); }
Value integer(std::int64_t number) { return value(number); }

Table table(std::vector<std::pair<std::string, Value>> entries) {
  Table table;
  for (auto& [key, item] : entries) table.entries.emplace_back(key, item);
  return table;
}

// "key: message", one per line.
std::string problems(const Table& given, void* into = nullptr) {
  Parts parts;
  std::string lines;
  for (const auto& problem : schema().parse(given, into, &parts)) lines += problem.key + ": " + problem.message + "\n";
  return lines;
}
std::string problem(const std::string& key, Value given) {
  Options fresh;
  return problems(table({{"units", integer(1)}, {key, std::move(given)}}), &fresh);
}

TEST(Schema, StoresWhatIsRight) {
  Options options;
  EXPECT_EQ(problems(table({{"units", integer(7)},
                            {"rate", integer(2)},
                            {"bias", value(false)},
                            {"name", text("n")},
                            {"mode", text("slow")},
                            {"kernel", integer(5)},
                            {"means", value(List{integer(0), value(0.5)})},
                            {"words", value(List{text("z")})},
                            {"schedule", value(0.25)},
                            {"steps", value(List{})},
                            {"table", value(table({{"k", integer(1)}}))}}),
                     &options),
            "");
  EXPECT_EQ(options.units, 7);
  EXPECT_EQ(options.rate, 2.0);
  EXPECT_FALSE(options.bias);
  EXPECT_EQ(options.name, "n");
  EXPECT_EQ(options.mode, Mode::slow);
  EXPECT_EQ(options.kernel, std::vector<std::int64_t>{5}); // one value stands for a list of one
  EXPECT_EQ(options.means, (std::vector<double>{0, 0.5}));
  EXPECT_EQ(options.words, std::vector<std::string>{"z"});
  EXPECT_EQ(detail::written(options.schedule), "{ type = \"fixed\", base = 0.25 }");
  EXPECT_EQ(detail::written(options.table), "{ k = 1 }");
}

TEST(Schema, DefaultsAreWrittenAsInAJob) {
  const Schema all = schema();
  std::map<std::string, std::string> defaults;
  for (const auto& option : all.options()) defaults[option.name] = option.default_text;
  EXPECT_EQ(defaults["units"], "");
  EXPECT_EQ(defaults["rate"], "0.5");
  EXPECT_EQ(defaults["bias"], "true");
  EXPECT_EQ(defaults["name"], R"("a \"b\"")");
  EXPECT_EQ(defaults["mode"], "\"fast\"");
  EXPECT_EQ(defaults["kernel"], "[3]");
  EXPECT_EQ(defaults["words"], "[\"x\", \"y\"]");
  EXPECT_EQ(defaults["schedule"], "\"fixed\"");
  EXPECT_EQ(defaults["steps"], "[]");
}

TEST(Schema, WrongValuesLeaveTheDefault) {
  Options options;
  EXPECT_NE(problems(table({{"units", integer(11)}, {"rate", text("fast")}}), &options), "");
  EXPECT_EQ(options.units, 0);
  EXPECT_EQ(options.rate, 0.5);
}

TEST(Schema, AllProblemsAtOnce) {
  EXPECT_EQ(
      problems(table({{"unit", integer(3)}, {"bias", integer(1)}, {"rate", integer(0)}})),
      "unit: unknown option; did you mean 'units'? (known: bias, kernel, means, mode, name, rate, schedule, steps, "
      "table, units, words)\n"
      "bias: must be true or false, but is 1\n"
      "rate: must be above 0, but is 0\n");
  EXPECT_NE(problems(table({{"x", integer(3)}})).find("units: is required: number of outputs\n"), std::string::npos);
}

TEST(Schema, Types) {
  EXPECT_EQ(problem("units", value(1.0)), "units: must be an integer, but is 1.0\n");
  EXPECT_EQ(problem("rate", value(std::numeric_limits<double>::quiet_NaN())), "rate: must be a number, but is nan\n");
  EXPECT_EQ(problem("name", integer(3)), "name: must be a text in quotes, but is 3\n");
  EXPECT_EQ(problem("name", value(List{})), "name: must be a text in quotes, but is a list\n");
  EXPECT_EQ(problem("table", text("x")), "table: must be a table, but is \"x\"\n");
  EXPECT_EQ(
      problem("kernel", value(List{integer(1), text("x"), integer(0)})),
      "kernel[1]: must be an integer, but is \"x\"\nkernel[2]: must be at least 1 and at most 2147483647, but is 0\n");
  EXPECT_EQ(problem("means", value(1.0)), "means: must be at least 0 and below 1, but is 1.0\n");
  EXPECT_EQ(problem("mode", text("fats")), "mode: 'fats' is not allowed; did you mean 'fast'? (known: fast, slow)\n");
  EXPECT_EQ(problem("units", integer(11)), "units: must be at least 1 and at most 10, but is 11\n");
}

TEST(Schema, PartsAreCheckedByTheirOwnSchemas) {
  EXPECT_EQ(problem("schedule", text("fixd")),
            "schedule: unknown schedule 'fixd'; did you mean 'fixed'? (known: before, fixed)\n");
  EXPECT_EQ(problem("schedule", value(true)), "schedule.base: must be a number, but is true\n");
  EXPECT_EQ(problem("schedule", value(List{})),
            "schedule: must be the name of a schedule or a table { type = \"...\" }, but is a list\n");
  EXPECT_EQ(problem("schedule", value(table({{"base", integer(1)}}))),
            "schedule: needs a type: the name of a schedule (known: before, fixed)\n");
  EXPECT_EQ(problem("schedule", value(table({{"type", integer(1)}}))),
            "schedule.type: must be the name of a schedule, but is 1\n");
  EXPECT_EQ(problem("schedule", value(table({{"type", text("fixed")}, {"bse", integer(1)}}))),
            "schedule.bse: unknown option; did you mean 'base'? (known: base, type)\n");
  const Value inner = value(table({{"type", text("before")}, {"then", value(-1.0)}}));
  EXPECT_EQ(problem("schedule", value(table({{"type", text("before")}, {"then", inner}}))),
            "schedule.then.then.base: must be above 0, but is -1.0\n");
  EXPECT_EQ(problem("steps", text("crop")), "steps: unknown augmentation 'crop'; there are none\n");
  EXPECT_EQ(problem("steps", value(List{integer(3)})),
            "steps[0]: must be the name of an augmentation or a table { type = \"...\" }, but is 3\n");
}

TEST(Schema, WithoutASourceTheInsidesOfPartsAreLeftAlone) {
  Options options;
  const auto found = schema().parse(table({{"units", integer(1)}, {"schedule", text("anything")}}), &options);
  EXPECT_TRUE(found.empty());
  EXPECT_EQ(options.schedule.type, "anything");
}

TEST(Schema, PassesOverTheCallersKeys) {
  static constexpr std::string_view also[] = {"src", "name"};
  const auto found =
      schema().parse(table({{"units", integer(1)}, {"src", integer(3)}, {"scr", integer(1)}}), nullptr, nullptr, also);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].key, "scr");
  EXPECT_TRUE(found[0].message.starts_with("unknown option; did you mean 'src'?"));
}

TEST(Written, Numbers) {
  EXPECT_EQ(detail::written(1.0), "1.0");
  EXPECT_EQ(detail::written(0.1), "0.1");
  EXPECT_EQ(detail::written(1e300), "1e+300");
  EXPECT_EQ(detail::written(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(detail::written(std::string("a\\\n\x01")), "\"a\\\\\\n\\u0001\"");
  EXPECT_EQ(detail::written(table({{"a b", integer(1)}, {"c", value(List{text("d")})}})),
            "{ \"a b\" = 1, c = [\"d\"] }");
}

TEST(Nearest, FindsWhatWasMeant) {
  const std::vector<std::string> known = {"dense", "relu", "softmax_loss", "weight_decay"};
  EXPECT_EQ(nearest("dens", known), "dense");
  EXPECT_EQ(nearest("Dense", known), "dense");
  EXPECT_EQ(nearest("rleu", known), "relu"); // one swap
  EXPECT_EQ(nearest("softmax-loss", known), "softmax_loss");
  EXPECT_EQ(nearest("weight", known), "weight_decay");
  EXPECT_EQ(nearest("convolution", known), "");
  EXPECT_EQ(nearest("", known), "");
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("ab", "ba"), 1U);
}

TEST(Nearest, CutsLongLists) {
  std::vector<std::string> many;
  for (int i = 0; i < 50; ++i) many.push_back(concat("n", i));
  EXPECT_TRUE(suggestion("zzz", many).ends_with(" and 10 more"));
}

} // namespace
} // namespace dlhost
