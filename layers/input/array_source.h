// The source behind idx and npy: a file of samples and optionally a file of labels, for each phase.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dlhost/source.h>

#include "array_file.h"
#include "content.h"
#include "phases.h"

namespace dlhost::input {

struct ArrayOptions : PhaseOptions<std::vector<std::string>> {
  double mean = 0, scale = 1;
  std::string unlabelled;
};

SchemaOf<ArrayOptions> array_schema(const std::string& doc);

class ArraySource : public Source {
 public:
  using Parse = Result<ArrayFile> (*)(std::span<const std::byte>);
  using Options = ArrayOptions;

  ArraySource(Options options, Parse parse) : options_(std::move(options)), parse_(parse) {}
  Status open(Host&, const std::string& folder) override;
  Status setup(Setup&) override;
  std::int64_t count(Phase phase) const override { return phases_.count(phase); }
  Status read(Phase, std::int64_t index, std::span<std::byte* const> outputs) const override;
  std::optional<std::int64_t> class_of(Phase, std::int64_t index) const override;

 private:
  struct Array {
    Content content;
    ArrayFile file;
  };
  struct Set {
    std::vector<Array> arrays; // data, and labels if there are any
    std::int64_t count() const { return arrays[0].file.rows(); }
  };
  struct Label {
    DType type = DType::i32;
    Shape shape;
  };
  static Label label_of(const ArrayFile& labels);
  Result<Array> load(Disk&, const std::string& path) const;
  Result<Set> load_set(Disk&, const std::string& folder, const std::vector<std::string>& names, const Set* first) const;
  Status open_unlabelled(Disk&, const std::string& folder);

  Options options_;
  Scaling scaling_;
  Parse parse_;
  Phases<Set> phases_;
  std::optional<Label> label_; // none: no labels
};

} // namespace dlhost::input
