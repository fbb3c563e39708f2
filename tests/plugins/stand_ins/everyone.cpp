// A sync in which everyone tells everyone, for the conformance suite of syncs.
#include <dlhost/plugin.h>
#include <dlhost/sync.h>

namespace {
using namespace dlhost;

class Telling final : public Exchange {
 public:
  Telling(std::uint32_t rank, std::uint32_t count, std::int64_t elements)
      : rank_(rank), count_(count), elements_(elements), missing_(count - 1) {}

  void begin(std::vector<SyncStep>& out) override {
    for (const auto act : {SyncStep::Act::send, SyncStep::Act::add}) // what is sent is not yet added to
      for (std::uint32_t peer = 0; peer < count_; ++peer)
        if (peer != rank_) out.push_back({.act = act, .peer = peer, .first = 0, .count = elements_});
    if (missing_ == 0) out.push_back({});
  }
  void arrived(std::uint32_t, std::uint32_t, std::vector<SyncStep>& out) override {
    if (--missing_ == 0) out.push_back({});
  }
  void gone(std::uint32_t, std::vector<SyncStep>&) override {}

 private:
  std::uint32_t rank_, count_;
  std::int64_t elements_;
  std::uint32_t missing_;
};

class Everyone final : public Sync {
 public:
  static constexpr std::string_view name = "everyone";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Each sends all it has to all others."); }
  explicit Everyone(Options) {}

  Traits traits() const override { return {}; }
  std::unique_ptr<Exchange> start(std::uint32_t rank, std::uint32_t count, std::int64_t elements) override {
    return std::make_unique<Telling>(rank, count, elements);
  }
};

} // namespace

DLHOST_PLUGIN("1.0", Everyone);
