// Throws, crashes or hangs in a step, or already in the constructor; options choose.
#include <stdexcept>

#include <unistd.h>

#include <dlhost/parts.h>
#include <dlhost/plugin.h>

namespace {

enum class How { throws, crashes, hangs, ends };

class Step : public dlhost::Initializer {
 public:
  static constexpr std::string_view name = "step";
  struct Options {
    How how = How::throws;
    bool at_once = false;
  };
  static dlhost::Schema schema() {
    return dlhost::SchemaOf<Options>("Never comes back well.")
        .choice("how", &Options::how,
                {{"throws", How::throws}, {"crashes", How::crashes}, {"hangs", How::hangs}, {"ends", How::ends}},
                "what")
        .option("at_once", &Options::at_once, "already in the constructor");
  }
  explicit Step(Options options) : how_(options.how) {
    if (options.at_once) misbehave();
  }
  dlhost::Status fill(std::span<float>, const Target&, dlhost::Random&) const override {
    misbehave();
    return {};
  }

 private:
  void misbehave() const {
    volatile int* const nothing = nullptr;
    switch (how_) {
    case How::throws: throw std::runtime_error("out of ideas");
    case How::crashes: *nothing = 1; break;
    case How::hangs:
      for (;;) pause();
    case How::ends: std::terminate();
    }
  }

  How how_;
};

} // namespace

DLHOST_PLUGIN("1.0", Step);
