// Sinks: a pass writes every sample once, in order, for any division into batches. The file appears whole or never.
#include <filesystem>

#include <gtest/gtest.h>

#include <dlhost/sink.h>

#include "../../temporary_folder.h"
#include "kinds/samples.h"
#include "layer/bench.h"

namespace dlhost::conform {

namespace {

namespace fs = std::filesystem;
constexpr std::int64_t samples = 7;

// A temporary folder for one sink at a time.
class SinkPass {
 public:
  explicit SinkPass(const Context& context) : context_(context) {}

  // Writes `brought` samples, of `promised`, in batches of `batch`; the last batch may be shorter.
  Status run(const LayerCase& of, std::int64_t batch, std::int64_t brought = samples, std::int64_t promised = samples) {
    LayerCase cut = of;
    for (auto& input : cut.inputs) input.shape[0] = batch;
    const auto device = context_.make<Device>("ref", {});
    LayerBench bench(context_, *device, cut, Ask{.phase = Phase::test});
    auto& sink = dynamic_cast<Sink&>(bench.layer());
    DLHOST_TRY(sink.open(context_.host, folder_.path(), promised));
    for (std::int64_t first = 0; first < brought; first += batch) {
      LayerRun run(bench, rows(of, first, batch), {.valid = std::min(batch, brought - first)});
      run.feature();
    }
    before_close_ = files();
    return sink.close();
  }

  // The files' contents by name.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
      if (entry.is_regular_file()) found[entry.path().filename()] = need(context_.host.disk().read_text(entry.path()));
    return found;
  }
  const std::map<std::string, std::string>& before_close() const { return before_close_; }

 private:
  // Each row's values depend only on its number.
  Tensors rows(const LayerCase& of, std::int64_t first, std::int64_t count) const {
    Tensors made;
    for (std::size_t i = 0; i < of.inputs.size(); ++i) {
      InputCase all = of.inputs[i];
      all.shape[0] = 2 * samples;
      const Values values = values_of(all, context_.seed, concat("in", i));
      const auto width = values.size() / static_cast<std::size_t>(2 * samples);
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(width) * first;
      made[concat("in", i)] = Values(begin, begin + static_cast<std::ptrdiff_t>(width) * count);
    }
    return made;
  }

  const Context& context_;
  test::TemporaryFolder folder_;
  std::map<std::string, std::string> before_close_;
};

void batches_change_nothing(const Context& context, const LayerCase& of) {
  SinkPass whole(context), cut(context);
  need(whole.run(of, samples));
  need(cut.run(of, 3));
  ASSERT_FALSE(whole.files().empty()) << "a pass over the test samples leaves no file";
  EXPECT_EQ(whole.files(), cut.files());
}

void appears_when_it_is_whole(const Context& context, const LayerCase& of) {
  SinkPass pass(context);
  need(pass.run(of, 4));
  const auto finished = pass.files();
  for (const auto& [name, text] : finished)
    EXPECT_FALSE(pass.before_close().contains(name)) << name << " can be read before it is whole";
  need(pass.run(of, 4));
  EXPECT_EQ(pass.files(), finished) << "a second pass leaves something else";
}

void a_pass_that_ends_early_is_told(const Context& context, const LayerCase& of) {
  SinkPass pass(context);
  EXPECT_FALSE(pass.run(of, 4, samples - 2).ok()) << "of " << samples << " samples two never came, and all is well";
  EXPECT_TRUE(pass.files().empty()) << pass.files().begin()->first << " is there, though it is not whole";
}

} // namespace

void add_sink_case(const Context& context, const LayerCase& of) {
  add_layer_check(of, "batches_change_nothing", context, batches_change_nothing);
  add_layer_check(of, "appears_when_it_is_whole", context, appears_when_it_is_whole);
  add_layer_check(of, "a_pass_that_ends_early_is_told", context, a_pass_that_ends_early_is_told);
}

} // namespace dlhost::conform
