// CIFAR-10 and CIFAR-100 in their binary form (data_batch_1.bin, ...; train.bin), also gzipped.
#include <algorithm>
#include <cstring>

#include <dlhost/plugin.h>
#include <dlhost/source.h>

#include "cifar_file.h"
#include "content.h"
#include "phases.h"
#include "scaled.h"

namespace dlhost::input {
namespace {

class Cifar : public Source {
 public:
  static constexpr std::string_view name = "cifar";

  struct Options : PhaseOptions<std::vector<std::string>> {
    bool hundred = false;
    double mean = 0, scale = 1;
  };

  static Schema schema() {
    SchemaOf<Options> schema("CIFAR's binary files. Outputs: data, u8 [3, 32, 32]; label, i32 []; for cifar100 also "
                             "coarse, i32 [].");
    add_phase_options(schema, "the .bin files");
    schema.choice("kind", &Options::hundred, {{"cifar10", false}, {"cifar100", true}}, "which of the two sets it is")
        .option("mean", &Options::mean, "taken from each pixel before it is scaled; makes data f32")
        .option("scale", &Options::scale, "each pixel is multiplied by it; makes data f32");
    return schema;
  }

  explicit Cifar(Options options) : options_(std::move(options)) {}

  Status open(Host& host, const std::string& folder) override {
    scaling_ = {static_cast<float>(options_.mean), static_cast<float>(options_.scale)};
    return phases_.open(
        options_, [&](const std::vector<std::string>& names, const Set*) { return load(host.disk(), folder, names); });
  }

  Status setup(Setup& s) override {
    s.output("data", TensorDesc{scaling_.any() ? DType::f32 : DType::u8, {3, 32, 32}, {}});
    s.output("label", TensorDesc{DType::i32, {}, {}});
    if (options_.hundred) s.output("coarse", TensorDesc{DType::i32, {}, {}});
    s.has_gradient = false;
    return {};
  }

  std::int64_t count(Phase phase) const override { return phases_.count(phase); }
  std::optional<std::int64_t> class_of(Phase phase, std::int64_t index) const override {
    const auto [set, row] = phases_.find(phase, index);
    const Piece& piece = piece_of(set, row);
    return piece.file.label(row - piece.first, classes().size() - 1);
  }

  Status read(Phase phase, std::int64_t index, std::span<std::byte* const> outputs) const override {
    const auto [set, row] = phases_.find(phase, index);
    const Piece& piece = piece_of(set, row);
    const std::int64_t record = row - piece.first;
    const auto pixels = piece.file.pixels(record);
    if (scaling_.any())
      to_float(reinterpret_cast<const std::uint8_t*>(pixels.data()), reinterpret_cast<float*>(outputs[0]),
               pixels.size(), scaling_);
    else
      std::memcpy(outputs[0], pixels.data(), pixels.size());
    for (std::size_t which = 0; which < classes().size(); ++which) {
      const std::int32_t label = piece.file.label(record, which);
      // The last label byte is output 1.
      std::memcpy(outputs[classes().size() - which], &label, sizeof label);
    }
    return {};
  }

 private:
  struct Piece {
    Content content;
    CifarFile file;
    std::int64_t first; // its first record's row
  };
  struct Set {
    std::vector<Piece> pieces;
    std::int64_t count() const { return pieces.back().first + pieces.back().file.records(); }
  };

  static const Piece& piece_of(const Set& set, std::int64_t row) {
    return *(std::ranges::upper_bound(set.pieces, row, {}, &Piece::first) - 1);
  }

  std::span<const std::uint8_t> classes() const {
    return options_.hundred ? std::span<const std::uint8_t>(cifar100_classes) : cifar10_classes;
  }

  Result<Set> load(Disk& disk, const std::string& folder, const std::vector<std::string>& names) const {
    Set set;
    for (const std::string& each : names) {
      const std::string path = beside(folder, each);
      DLHOST_ASSIGN(auto content, Content::open(disk, path));
      auto file = CifarFile::parse(content.bytes(), classes());
      if (!file.ok()) return std::move(file).status().at(path);
      set.pieces.push_back({std::move(content), *file, set.pieces.empty() ? 0 : set.count()});
    }
    return set;
  }

  Options options_;
  Scaling scaling_;
  Phases<Set> phases_;
};

} // namespace
} // namespace dlhost::input

DLHOST_PLUGIN("1.0", dlhost::input::Cifar);
