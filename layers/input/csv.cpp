// Delimited text, packed by gzip or not: a sample a row. The file is parsed once, in open; read copies a row.
#include <cstring>

#include <dlhost/plugin.h>
#include <dlhost/source.h>

#include "content.h"
#include "csv_text.h"

namespace dlhost::input {
namespace {

class Csv : public Source {
 public:
  static constexpr std::string_view name = "csv";

  struct Options {
    std::string train, validate, test;
    std::int64_t test_every = 0, validate_every = 0;
    CsvLabel label = CsvLabel::klass;
    std::int64_t label_column = -1;
    std::vector<std::string> classes;
    std::vector<std::int64_t> shape;
    double mean = 0, scale = 1;
    std::string delimiter = ",";
    bool header = false;
  };

  static Schema schema() {
    return SchemaOf<Options>(
               "Rows of a delimited text file (csv, csv.gz). Outputs: data, f32 [columns]; label, i32 [].")
        .required("train", &Options::train, "the file with the training rows, relative to the job file")
        .option("validate", &Options::validate, "the file with the validation rows")
        .option("test", &Options::test, "the file with the test rows")
        .option("test_every", &Options::test_every,
                "without a test file: every so many-th training row tests instead; 0: none", at_least(0))
        .option("validate_every", &Options::validate_every,
                "without a validation file: every so many-th remaining row validates instead; 0: none", at_least(0))
        .choice("label", &Options::label,
                {{"class", CsvLabel::klass}, {"value", CsvLabel::value}, {"none", CsvLabel::none}},
                "what the label column holds: a class, a number to predict (f32 []), or that there is none")
        .option("label_column", &Options::label_column, "number of the label's column from 0; -1 is the last")
        .option("classes", &Options::classes, "the classes' names, where labels are words; the first is class 0")
        .option("shape", &Options::shape, "shape of a sample, as [1, 8, 8]; default: [columns]", at_least(1))
        .option("mean", &Options::mean, "taken from each value before it is scaled")
        .option("scale", &Options::scale, "each value is multiplied by it")
        .option("delimiter", &Options::delimiter, "the character between columns; \"tab\" for the tabulator")
        .option("header", &Options::header, "the first row names the columns and is passed over");
  }

  explicit Csv(Options options) : options_(std::move(options)) {}

  Status open(Host& host, const std::string& folder) override {
    if (!options_.test.empty() && options_.test_every > 0)
      return Status::invalid("test and test_every exclude each other: leave one out");
    if (!options_.validate.empty() && options_.validate_every > 0)
      return Status::invalid("validate and validate_every exclude each other: leave one out");
    if (options_.test_every == 1 || options_.validate_every == 1)
      return Status::invalid("test_every = 1 or validate_every = 1 would leave no row to train on");
    DLHOST_TRY(load(host, beside(folder, options_.train), train_));
    if (!options_.validate.empty()) DLHOST_TRY(load(host, beside(folder, options_.validate), validate_));
    if (!options_.test.empty()) DLHOST_TRY(load(host, beside(folder, options_.test), test_));
    deal();
    return {};
  }

  Status setup(Setup& s) override {
    Shape shape(std::span(options_.shape).first(std::min(options_.shape.size(), max_rank)));
    if (options_.shape.empty()) shape.push_back(train_.columns);
    if (options_.shape.size() > max_rank || shape.count() != train_.columns)
      return Status::invalid("shape has ", shape.count(), " elements, but a row has ", train_.columns,
                             " values beside the label");
    s.output("data", TensorDesc{DType::f32, shape, {}});
    if (options_.label == CsvLabel::klass) s.output("label", TensorDesc{DType::i32, {}, {}});
    if (options_.label == CsvLabel::value) s.output("label", TensorDesc{DType::f32, {}, {}});
    s.has_gradient = false;
    return {};
  }

  std::int64_t count(Phase phase) const override {
    return static_cast<std::int64_t>(rows_[static_cast<std::size_t>(phase)].size());
  }

  Status read(Phase phase, std::int64_t index, std::span<std::byte* const> outputs) const override {
    const auto row = rows_[static_cast<std::size_t>(phase)][static_cast<std::size_t>(index)];
    const CsvTable& table = of(phase);
    const auto columns = static_cast<std::size_t>(table.columns);
    std::memcpy(outputs[0], table.values.data() + row * columns, columns * sizeof(float));
    if (options_.label == CsvLabel::klass) std::memcpy(outputs[1], &table.classes[row], sizeof(std::int32_t));
    if (options_.label == CsvLabel::value) std::memcpy(outputs[1], &table.targets[row], sizeof(float));
    return {};
  }

 private:
  Status load(Host& host, const std::string& path, CsvTable& into) const {
    CsvFormat format{',', options_.header, options_.label, options_.label_column, options_.classes};
    if (options_.delimiter == "tab")
      format.delimiter = '\t';
    else if (options_.delimiter.size() == 1 && options_.delimiter != "\n")
      format.delimiter = options_.delimiter[0];
    else
      return Status::invalid("delimiter is \"", options_.delimiter, "\", but must be one character or \"tab\"");
    DLHOST_ASSIGN(const auto content, Content::open(host.disk(), path));
    auto table = parse_csv(content.text(), format);
    if (!table.ok()) return std::move(table).status().at(path);
    if (&into != &train_ && table->columns != train_.columns)
      return Status::invalid(path, ": ", table->columns, " values a row, but ", options_.train, " has ",
                             train_.columns);
    into = *std::move(table);
    const auto mean = static_cast<float>(options_.mean), scale = static_cast<float>(options_.scale);
    for (float& value : into.values) value = (value - mean) * scale;
    return {};
  }

  // Says which rows each phase has.
  void deal() {
    auto& [train, validate, test] = rows_;
    const auto one_in = [](std::int64_t every, std::size_t place) {
      return every > 0 && place % static_cast<std::size_t>(every) == static_cast<std::size_t>(every) - 1;
    };
    std::size_t kept = 0;
    for (std::size_t row = 0; row < static_cast<std::size_t>(train_.rows); ++row) {
      if (one_in(options_.test_every, row))
        test.push_back(row);
      else if (one_in(options_.validate_every, kept++))
        validate.push_back(row);
      else
        train.push_back(row);
    }
    for (std::size_t row = 0; row < static_cast<std::size_t>(validate_.rows); ++row) validate.push_back(row);
    for (std::size_t row = 0; row < static_cast<std::size_t>(test_.rows); ++row) test.push_back(row);
  }

  // Phases without a file of their own take their rows from the training file.
  const CsvTable& of(Phase phase) const {
    if (phase == Phase::validate && !options_.validate.empty()) return validate_;
    if (phase == Phase::test && !options_.test.empty()) return test_;
    return train_;
  }

  Options options_;
  CsvTable train_, validate_, test_;
  std::array<std::vector<std::size_t>, 3> rows_; // by phase
};

} // namespace
} // namespace dlhost::input

DLHOST_PLUGIN("1.0", dlhost::input::Csv);
