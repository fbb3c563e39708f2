// Delimited text, also gzipped: each row is a sample. The file is parsed once, in open; read copies a row.
#include <cstring>

#include <dlhost/plugin.h>
#include <dlhost/source.h>

#include "content.h"
#include "csv_text.h"
#include "phases.h"
#include "scaled.h"

namespace dlhost::input {
namespace {

class Csv : public Source {
 public:
  static constexpr std::string_view name = "csv";

  struct Options : PhaseOptions<std::string> {
    CsvLabel label = CsvLabel::klass;
    std::int64_t label_column = -1;
    std::vector<std::string> classes;
    std::vector<std::int64_t> shape;
    double mean = 0, scale = 1;
    std::string delimiter = ",";
    bool header = false;
    std::string unlabelled;
  };

  static Schema schema() {
    SchemaOf<Options> schema(
        "Rows of a delimited text file (csv, csv.gz). Outputs: data, f32 [columns]; label, i32 [].");
    add_phase_options(schema, "the file with the rows");
    add_unlabelled(schema, &Options::unlabelled, "a file");
    schema
        .choice("label", &Options::label,
                {{"class", CsvLabel::klass}, {"value", CsvLabel::value}, {"none", CsvLabel::none}},
                "the content of the label column: a class, a number to predict (f32 []), or none: no column has labels")
        .option("label_column", &Options::label_column, "number of the label's column from 0; -1 is the last")
        .option("classes", &Options::classes, "the classes' names, where labels are words; the first is class 0")
        .option("shape", &Options::shape, "shape of a sample, as [1, 8, 8]; default: [columns]", at_least(1))
        .option("mean", &Options::mean, "taken from each value before it is scaled")
        .option("scale", &Options::scale, "each value is multiplied by it")
        .option("delimiter", &Options::delimiter, "the character between columns; \"tab\" for the tabulator")
        .option("header", &Options::header, "the first row names the columns and is passed over");
    return schema;
  }

  explicit Csv(Options options) : options_(std::move(options)) {}

  Status open(Host& host, const std::string& folder) override {
    if (!options_.unlabelled.empty()) {
      DLHOST_ASSIGN(auto table, load(host, beside(folder, options_.unlabelled), CsvLabel::none, nullptr));
      phases_.open_alone(std::move(table));
      return {};
    }
    return phases_.open(options_, [&](const std::string& file, const CsvTable* first) {
      return load(host, beside(folder, file), options_.label, first);
    });
  }

  Status setup(Setup& s) override {
    Shape shape(std::span(options_.shape).first(std::min(options_.shape.size(), max_rank)));
    if (options_.shape.empty()) shape.push_back(phases_.first().columns);
    if (options_.shape.size() > max_rank || shape.count() != phases_.first().columns)
      return Status::invalid("shape has ", shape.count(), " elements, but a row has ", phases_.first().columns,
                             " values beside the label");
    s.output("data", TensorDesc{DType::f32, shape, {}});
    if (options_.label == CsvLabel::klass) s.output("label", TensorDesc{DType::i32, {}, {}});
    if (options_.label == CsvLabel::value) s.output("label", TensorDesc{DType::f32, {}, {}});
    s.has_gradient = false;
    return {};
  }

  std::int64_t count(Phase phase) const override { return phases_.count(phase); }

  Status read(Phase phase, std::int64_t index, std::span<std::byte* const> outputs) const override {
    const auto [table, row] = phases_.find(phase, index);
    const auto columns = static_cast<std::size_t>(table.columns), at = static_cast<std::size_t>(row);
    std::memcpy(outputs[0], table.values.data() + at * columns, columns * sizeof(float));
    if (options_.label == CsvLabel::none) return {};
    static_assert(sizeof(std::int32_t) == sizeof(float));
    if (!options_.unlabelled.empty())
      std::memset(outputs[1], 0, sizeof(float));
    else if (options_.label == CsvLabel::klass)
      std::memcpy(outputs[1], &table.classes[at], sizeof(std::int32_t));
    else
      std::memcpy(outputs[1], &table.targets[at], sizeof(float));
    return {};
  }

  std::vector<std::string> class_names() const override { return options_.classes; }
  std::optional<std::int64_t> class_of(Phase phase, std::int64_t index) const override {
    const auto [table, row] = phases_.find(phase, index);
    if (table.classes.empty()) return {};
    return table.classes[static_cast<std::size_t>(row)];
  }

 private:
  Result<char> delimiter() const {
    if (options_.delimiter == "tab") return '\t';
    if (options_.delimiter.size() == 1 && options_.delimiter != "\n") return options_.delimiter[0];
    return Status::invalid("delimiter is \"", options_.delimiter, "\", but must be one character or \"tab\"");
  }

  Result<CsvTable> load(Host& host, const std::string& path, CsvLabel label, const CsvTable* first) const {
    DLHOST_ASSIGN(const char between, delimiter());
    const CsvFormat format{between, options_.header, label, options_.label_column, options_.classes};
    DLHOST_ASSIGN(const auto content, Content::open(host.disk(), path));
    auto table = parse_csv(content.text(), format);
    if (!table.ok()) return std::move(table).status().at(path);
    if (first && table->columns != first->columns)
      return Status::invalid(path, ": ", table->columns, " values a row, but ",
                             options_.train.empty() ? options_.validate : options_.train, " has ", first->columns);
    const Scaling scaling{static_cast<float>(options_.mean), static_cast<float>(options_.scale)};
    to_float(table->values.data(), table->values.data(), table->values.size(), scaling);
    return table;
  }

  Options options_;
  Phases<CsvTable> phases_;
};

} // namespace
} // namespace dlhost::input

DLHOST_PLUGIN("1.0", dlhost::input::Csv);
