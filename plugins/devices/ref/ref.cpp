// The ref device: plain loops on one thread, in f32 or f64. It is the oracle of all tests, and simulation computes with
// it. Far, it acts as a GPU for code that forgets where memory is and when work is done.
#include <unistd.h>

#include <fstream>

#include <dlhost/device.h>
#include <dlhost/plugin.h>

#include "make.h"
#include "memory.h"
#include "peers.h"
#include "stream.h"

namespace dlhost::plugins::ref {

namespace {

Host* host = nullptr; // init sets it, before the first device is made

enum class Formats { plain, blocked };

class Ref : public Device {
 public:
  static constexpr std::string_view name = "ref";

  struct Options {
    bool wide = false;
    bool far = false;
    std::int64_t memory = 0;
    double rate = 0;
    Formats formats = Formats::plain;
    std::string lost_with;
  };
  static Schema schema() {
    return SchemaOf<Options>("Plain loops on one thread: the reference of tests, and the device of simulations.")
        .option("wide", &Options::wide, "compute in f64 instead of f32")
        .option("far", &Options::far, "memory that the host cannot touch, and streams that run late, as on a GPU")
        .option("memory", &Options::memory, "MiB of far memory; 0: as many as the host", between(0, 1 << 20))
        .option("rate", &Options::rate, "GFLOP/s for which the clock is charged; 0: none", at_least(0))
        .choice("formats", &Options::formats, {{"plain", Formats::plain}, {"blocked", Formats::blocked}},
                "the format that ops ask for if they may choose")
        .option("lost_with", &Options::lost_with,
                "a file with the number of a process: once it exists, that process has lost its device, to test how a "
                "run handles a lost GPU");
  }

  explicit Ref(const Options& options)
      : options_(options), manner_{options.wide, options.formats == Formats::blocked},
        pool_(Pool::make(options.far, static_cast<std::size_t>(options.memory) << 20)) {}

  Traits traits() const override {
    return {.host_memory = !options_.far, .asynchronous = options_.far, .alignment = 64};
  }
  std::string description() const override {
    return concat("plain loops in ", options_.wide ? "f64" : "f32", options_.far ? ", far" : "", ", 1 thread");
  }

  std::optional<Room> room() const override {
    const auto total = static_cast<std::uint64_t>(options_.memory) << 20;
    if (!options_.far || total == 0 || !pool_.ok()) return {};
    return Room{total, (*pool_)->free()};
  }
  Result<void*> allocate(std::size_t bytes) override {
    DLHOST_TRY(there());
    DLHOST_TRY(pool_.status());
    return (*pool_)->allocate(bytes);
  }
  void release(void* address) noexcept override { (*pool_)->release(address); }
  Result<std::unique_ptr<Stream>> stream() override {
    DLHOST_TRY(pool_.status());
    return std::unique_ptr<Stream>(
        std::make_unique<RefStream>(**pool_, options_.far ? &late_ : nullptr, host, options_.rate));
  }
  Result<std::unique_ptr<Event>> event() override { return std::unique_ptr<Event>(std::make_unique<RefEvent>()); }

  Status copy(Stream& stream, void* dst, const void* src, std::size_t size, Direction direction) override {
    DLHOST_TRY(there());
    static_cast<RefStream&>(stream).copy(dst, src, size, direction);
    return {};
  }
  Status fill_zero(Stream& stream, void* dst, std::size_t size) override {
    DLHOST_TRY(there());
    static_cast<RefStream&>(stream).zero(dst, size);
    return {};
  }

  std::size_t bytes(const TensorDesc& desc) const override {
    return static_cast<std::size_t>(stored_count(desc)) * size_of(desc.dtype);
  }
  std::int64_t rows_together(const TensorDesc& desc) const override { return desc.shape.rank() > 0 ? 1 : 0; }
  std::string format_name(const TensorDesc& desc) const override { return name_of_format(desc); }
  Result<Format> format_named(const TensorDesc& plain, const std::string& word) override {
    return format_of_name(plain, word);
  }
  Result<std::unique_ptr<Op>> prepare(const OpSpec& spec, const Choice& choice) override;
  Result<std::string> convene() override {
    DLHOST_TRY(there());
    DLHOST_ASSIGN(convened_, Convened::make());
    return convened_->name();
  }
  Result<std::unique_ptr<Peers>> join(const std::string& convened, int rank, int count) override {
    DLHOST_TRY(there());
    DLHOST_TRY(pool_.status());
    return RefPeers::join(**pool_, convened, rank, count);
  }

 private:
  Status there() const {
    if (options_.lost_with.empty()) return {};
    long loser = 0;
    std::ifstream(options_.lost_with) >> loser;
    return loser == ::getpid() ? Status::gone("ref: the device is lost, as '", options_.lost_with, "' says") : Status();
  }

  Options options_;
  Manner manner_;
  std::mutex late_;
  Result<std::unique_ptr<Pool>> pool_;
  std::unique_ptr<Convened> convened_;
};

Result<std::unique_ptr<Op>> Ref::prepare(const OpSpec& spec, const Choice& choice) {
  const std::string kernel = concat("ref ", name_of(spec), manner_.wide ? " f64" : " f32");
  if (!choice.kernel.empty() && choice.kernel != kernel)
    return Status::unsupported("ref has kernel '", kernel, "', but '", choice.kernel, "' is asked for");
  DLHOST_ASSIGN(auto op, std::visit([&](const auto& one) { return make_op(one, manner_, choice); }, spec));
  for (const auto* list : {&op->in, &op->out})
    for (const auto& desc : *list) DLHOST_TRY(check_format(desc).at(name_of(spec)));
  op->kernel = kernel;
  return std::unique_ptr<Op>(std::move(op));
}

Status remember(Host& given) {
  host = &given;
  return {};
}

void forget() noexcept { host = nullptr; }

} // namespace
} // namespace dlhost::plugins::ref

DLHOST_PLUGIN_WITH("1.0", dlhost::plugins::ref::remember, dlhost::plugins::ref::forget, dlhost::plugins::ref::Ref);
