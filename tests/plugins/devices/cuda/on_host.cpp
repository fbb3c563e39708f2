// A device made of the bodies of the cuda device's own kernels, as plain C++ on the host: the conformance suite and the
// layers' gradient checks test them on any machine. Products and convolutions are the direct ones; memory and streams
// are plain stand-ins.
#include <cstdlib>
#include <cstring>

#include <dlhost/plugin.h>

#include "host_stream.h"
#include "kernels/prepare.h"

namespace dlhost::test {
namespace {

using plugins::cuda::Prepared;

class HostEvent final : public Event {};

class OnHost final : public Device {
 public:
  static constexpr std::string_view name = "cuda_on_host";
  struct Options {
    bool channels_last = false;
    bool far = false;
    bool graphs = false;
  };
  static Schema schema() {
    return SchemaOf<Options>("The bodies of the cuda device's kernels, on the host.")
        .option("channels_last", &Options::channels_last, "convolutions choose that format, as on tensor cores")
        .option("far", &Options::far, "is used as a GPU is: behind the host, which leaves its memory alone")
        .option("graphs", &Options::graphs, "holds steps back and replays them, and is far");
  }
  explicit OnHost(const Options& options)
      : liked_(options.channels_last ? plugins::cuda::channels_last : Format::plain()),
        far_(options.far || options.graphs), graphs_(options.graphs) {}

  Traits traits() const override { return {.host_memory = !far_, .asynchronous = far_}; }
  std::string description() const override {
    return concat("kernels of the cuda device, as plain C++; graphs: ", counts_.made.load(), " made, ",
                  counts_.launched.load(), " launched, ", counts_.changed.load(), " pieces changed, ",
                  counts_.refused.load(), " refused");
  }
  Result<void*> allocate(std::size_t bytes) override {
    void* made = std::aligned_alloc(256, std::max<std::size_t>(256, (bytes + 255) / 256 * 256));
    if (!made) return Status::no_space("no memory for ", bytes, " bytes");
    return made;
  }
  void release(void* data) noexcept override { std::free(data); }
  Result<std::unique_ptr<Stream>> stream() override {
    return std::unique_ptr<Stream>(graphs_ ? std::make_unique<HostStream>(counts_) : std::make_unique<HostStream>());
  }
  Result<std::unique_ptr<Event>> event() override { return std::unique_ptr<Event>(std::make_unique<HostEvent>()); }
  Status copy(Stream& stream, void* dst, const void* src, std::size_t bytes, Direction direction) override {
    if (direction == Direction::within) return on(stream).move(dst, src, bytes);
    on(stream).native(); // begins held work
    if (bytes > 0) std::memmove(dst, src, bytes);
    return {};
  }
  Status fill_zero(Stream& stream, void* dst, std::size_t bytes) override {
    return on(stream).move(dst, nullptr, bytes);
  }
  std::size_t bytes(const TensorDesc& desc) const override { return desc.plain_bytes(); }
  std::int64_t rows_together(const TensorDesc&) const override { return 1; }
  std::string format_name(const TensorDesc& desc) const override { return plugins::cuda::name_of_format(desc); }
  Result<Format> format_named(const TensorDesc& plain, const std::string& wanted) override {
    return plugins::cuda::format_of_name(plain, wanted);
  }
  Result<std::unique_ptr<Op>> prepare(const OpSpec& spec, const Choice& choice) override {
    if (choice.block_samples > 0 && plugins::cuda::sums_over_samples(spec))
      return Status::unsupported("no sums in blocks yet");
    DLHOST_ASSIGN(auto op, std::visit([this](const auto& one) { return prepared(one); }, spec));
    if (!choice.kernel.empty() && choice.kernel != op->kernel)
      return Status::unsupported("no kernel '", choice.kernel, "'");
    return op;
  }

 private:
  static HostStream& on(Stream& stream) { return static_cast<HostStream&>(stream); }
  Prepared prepared(const GemmSpec& spec) const { return plugins::cuda::prepare_direct(spec); }
  Prepared prepared(const ConvSpec& spec) const { return plugins::cuda::prepare_direct(spec, liked_); }
  template <class Spec> Prepared prepared(const Spec& spec) const { return plugins::cuda::prepare_own(spec); }

  Format liked_;
  bool far_, graphs_;
  GraphCounts counts_;
};

} // namespace
} // namespace dlhost::test

DLHOST_PLUGIN("1.0", dlhost::test::OnHost);
