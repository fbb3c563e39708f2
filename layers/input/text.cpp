// Raw text as windows of symbols. A symbol is a byte; the bytes of the training text are numbered 0, 1, ... in the
// order of their codes.
#include <algorithm>
#include <array>

#include <dlhost/plugin.h>
#include <dlhost/source.h>

#include "content.h"
#include "phases.h"

namespace dlhost::input {
namespace {

class Text : public Source {
 public:
  static constexpr std::string_view name = "text";

  struct Options : PhaseOptions<std::string> {
    std::int64_t length = 0;
  };

  static Schema schema() {
    SchemaOf<Options> schema(
        "Windows of a raw text, one after another, and for each symbol the next one. Outputs: data, "
        "i32 [length]; label, i32 [length]: the symbols' numbers.");
    add_phase_options(schema, "the text (plain, or packed by gzip)");
    schema.required("length", &Options::length, at_least(1), "symbols in a window");
    return schema;
  }

  explicit Text(Options options) : options_(std::move(options)) {}

  Status open(Host& host, const std::string& folder) override {
    if (options_.train.empty())
      return Status::invalid(
          "train names no file: it numbers the symbols of all phases, also in jobs that only evaluate");
    DLHOST_TRY(phases_.open(options_, [&](const std::string& file, const Set* first) {
      return load(host.disk(), beside(folder, file), first);
    }));
    host.log().write(LogLevel::info, concat(options_.train, ": ", symbols_, " symbols"));
    return {};
  }

  Status setup(Setup& s) override {
    s.output("data", TensorDesc{DType::i32, {options_.length}, {}});
    s.output("label", TensorDesc{DType::i32, {options_.length}, {}});
    s.has_gradient = false;
    return {};
  }

  std::int64_t count(Phase phase) const override { return phases_.count(phase); }

  Status read(Phase phase, std::int64_t index, std::span<std::byte* const> outputs) const override {
    const auto [set, window] = phases_.find(phase, index);
    const auto length = static_cast<std::size_t>(options_.length);
    const std::byte* text = set.content.bytes().data() + static_cast<std::size_t>(window) * length;
    auto* data = reinterpret_cast<std::int32_t*>(outputs[0]);
    auto* label = reinterpret_cast<std::int32_t*>(outputs[1]);
    for (std::size_t i = 0; i < length; ++i) {
      data[i] = number(text[i]);
      label[i] = number(text[i + 1]);
    }
    return {};
  }

 private:
  struct Set {
    Content content;
    std::int64_t windows;
    std::int64_t count() const { return windows; }
  };

  std::int32_t number(std::byte symbol) const { return numbers_[static_cast<std::size_t>(symbol)]; }

  Result<Set> load(Disk& disk, const std::string& path, const Set* first) {
    DLHOST_ASSIGN(auto content, Content::open(disk, path));
    const auto size = static_cast<std::int64_t>(content.bytes().size());
    if (size <= options_.length)
      return Status::invalid(path, ": has ", size, " symbols, but a window and the symbol after it take ",
                             options_.length + 1, "; make length smaller");
    if (!first) number_symbols(content.bytes());
    const auto unknown = std::ranges::find_if(content.bytes(), [&](std::byte symbol) { return number(symbol) < 0; });
    if (unknown != content.bytes().end())
      return Status::invalid(path, ": byte ", unknown - content.bytes().begin(), " is the symbol ",
                             static_cast<int>(*unknown), ", which the training text does not have");
    return Set{std::move(content), (size - 1) / options_.length};
  }

  void number_symbols(std::span<const std::byte> text) {
    numbers_.fill(-1);
    for (const std::byte symbol : text) numbers_[static_cast<std::size_t>(symbol)] = 0;
    symbols_ = 0;
    for (auto& each : numbers_)
      if (each == 0) each = symbols_++;
  }

  Options options_;
  Phases<Set> phases_;
  std::array<std::int32_t, 256> numbers_{};
  std::int32_t symbols_ = 0;
};

} // namespace
} // namespace dlhost::input

DLHOST_PLUGIN("1.0", dlhost::input::Text);
