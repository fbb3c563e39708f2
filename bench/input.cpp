// How fast samples come in: a folder of JPEG files decoded, augmented and put into batches by the feeder, beside what
// libjpeg-turbo alone decodes on as many threads from memory; and the feeder on samples that cost nothing to read.
//
//   DLHOST_PLUGIN_PATH=build/plugins DLHOST_DATA=... build/bench/input
//
// The pictures are those of the first .tar in DLHOST_DATA/images, unpacked into a temporary folder, or those of the
// folder that DLHOST_BENCH_IMAGES names (a folder for each class). Without either there is nothing to measure.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <benchmark/benchmark.h>
#include <turbojpeg.h>

#include "env/real_host.h"
#include "plugin/registry.h"
#include "run/feeder.h"

namespace dlhost {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The folder with the pictures' classes; unpacked once and removed at the end.
class Pictures {
 public:
  Pictures() : folder_(variable("DLHOST_BENCH_IMAGES")) {
    const fs::path images = fs::path(variable("DLHOST_DATA")) / "images";
    if (!folder_.empty() || !fs::is_directory(images)) return;
    for (const auto& entry : fs::directory_iterator(images)) {
      if (entry.path().extension() != ".tar") continue;
      std::string made = (fs::temp_directory_path() / "dlhost-bench-XXXXXX").string();
      unpacked_ = ::mkdtemp(made.data());
      const std::string unpack = "tar -xf '" + entry.path().string() + "' -C '" + unpacked_ + "'";
      if (std::system(unpack.c_str()) != 0) return;
      for (const auto& below : fs::recursive_directory_iterator(unpacked_))
        if (below.path().filename() == "train") folder_ = below.path().string();
      return;
    }
  }
  ~Pictures() {
    if (!unpacked_.empty()) fs::remove_all(unpacked_);
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string unpacked_, folder_;
};

class Bench : public env::RealHost {
 public:
  Bench() {
    set_maker([this](Kind kind, const Part& part) { return registry_.make(kind, part.type, part.options); });
  }
  Pictures pictures;

 private:
  std::vector<plugin::SearchEntry> folders_{{variable("DLHOST_PLUGIN_PATH"), "DLHOST_PLUGIN_PATH"}};
  plugin::Registry registry_{folders_, *this};
};

Bench& bench() {
  static Bench one;
  return one;
}

std::vector<std::vector<unsigned char>> packed_files() {
  std::vector<std::vector<unsigned char>> files;
  for (const auto& entry : fs::recursive_directory_iterator(bench().pictures.folder())) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return files;
}

void decode_some(const std::vector<std::vector<unsigned char>>& files, std::size_t first, std::size_t step) {
  const tjhandle turbo = tjInitDecompress();
  std::vector<unsigned char> pixels;
  for (std::size_t i = first; i < files.size(); i += step) {
    int width = 0, height = 0, subsampling = 0, space = 0;
    if (tjDecompressHeader3(turbo, files[i].data(), files[i].size(), &width, &height, &subsampling, &space)) continue;
    pixels.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
    tjDecompress2(turbo, files[i].data(), files[i].size(), pixels.data(), width, 0, height, TJPF_RGB, 0);
  }
  tjDestroy(turbo);
}

// What libjpeg-turbo alone does, threads given.
void turbojpeg_alone(benchmark::State& state) {
  if (bench().pictures.folder().empty()) return state.SkipWithError("no pictures: set DLHOST_DATA");
  const auto files = packed_files();
  const auto threads = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back([&, i] { decode_some(files, i, threads); });
    decode_some(files, 0, threads);
    for (auto& other : others) other.join();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(files.size()));
}

Value value(std::int64_t number) { return {number, {}}; }
Value value(std::string text) { return {std::move(text), {}}; }
Value values(std::int64_t number) { return {List{value(number)}, {}}; }

// Feeds whole epochs of `source`; the first one, which fills caches, is not measured.
void feed(benchmark::State& state, Source& source, std::span<const Part> augmentations) {
  Setup setup;
  if (const Status status = source.setup(setup); !status.ok()) return state.SkipWithError(status.message().c_str());
  auto augment = net::Augment::make(bench(), augmentations, setup.outputs[0].desc);
  if (!augment.ok()) return state.SkipWithError(augment.status().message().c_str());
  auto feeder = run::Feeder::make(bench(), source, setup.outputs, *augment,
                                  {.sampling = {.batch = 64}, .readers = static_cast<int>(state.range(0))});
  if (!feeder.ok()) return state.SkipWithError(feeder.status().message().c_str());
  const std::uint64_t steps = (*feeder)->sampling().steps(1);
  const auto epoch = [&] {
    for (std::uint64_t i = 0; i < steps; ++i)
      if (auto batch = (*feeder)->next(); !batch.ok()) return state.SkipWithError(batch.status().message().c_str());
  };
  epoch();
  for (auto _ : state) epoch();
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(steps) * 64);
}

Result<std::unique_ptr<Plugin>> made(const std::string& type, Table options) {
  return bench().make(Kind::layer, Part{type, std::move(options)});
}

// What a sample is made of: pictures of at least 256 give 256, as ImageNet's do in examples/, smaller ones 64.
std::int64_t sample_side(const std::vector<unsigned char>& file) {
  const tjhandle turbo = tjInitDecompress();
  int width = 0, height = 0, subsampling = 0, space = 0;
  tjDecompressHeader3(turbo, file.data(), file.size(), &width, &height, &subsampling, &space);
  tjDestroy(turbo);
  return std::min(width, height) >= 256 ? 256 : 64;
}

// The whole way of a JPEG folder: read, decoded, cropped, mirrored, in batches of bytes, or normalised to f32 as well.
void jpeg_folder(benchmark::State& state, bool normalized) {
  if (bench().pictures.folder().empty()) return state.SkipWithError("no pictures: set DLHOST_DATA");
  const std::int64_t side = sample_side(packed_files().front());
  auto source = made("images", {{{"train", value(bench().pictures.folder())}, {"size", values(side)}}, {}});
  if (!source.ok()) return state.SkipWithError(source.status().message().c_str());
  auto& images = dynamic_cast<Source&>(**source);
  if (const Status status = images.open(bench(), ""); !status.ok())
    return state.SkipWithError(status.message().c_str());
  std::vector<Part> augmentations{{"crop", {{{"size", values(side * 7 / 8)}}, {}}}, {"mirror", {}}};
  if (normalized) augmentations.push_back({"normalize", {{{"mean", values(120)}}, {}}});
  feed(state, images, augmentations);
}

// The feeder's own cost: samples of MNIST's size that are copied from a table.
void cheap_samples(benchmark::State& state) {
  auto source = made("synthetic", {{{"shape", values(784)}, {"values", value("u8")}}, {}});
  if (!source.ok()) return state.SkipWithError(source.status().message().c_str());
  auto& synthetic = dynamic_cast<Source&>(**source);
  if (const Status status = synthetic.open(bench(), ""); !status.ok())
    return state.SkipWithError(status.message().c_str());
  feed(state, synthetic, {});
}

BENCHMARK(turbojpeg_alone)->Arg(1)->Arg(2)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(jpeg_folder, bytes, false)
    ->Arg(1)
    ->Arg(2)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(jpeg_folder, f32, true)
    ->Arg(1)
    ->Arg(2)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(cheap_samples)->Arg(0)->Arg(1)->Arg(2)->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);

} // namespace
} // namespace dlhost

BENCHMARK_MAIN();
