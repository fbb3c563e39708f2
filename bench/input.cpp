// The speed of input: the feeder on a folder of JPEG files, with decoding, augmentation and batching, beside
// libjpeg-turbo alone, which decodes from memory on as many threads; and the feeder on samples that cost nothing to
// read. input_formats.cpp measures files without decoding (idx, CIFAR, csv, LMDB).
//
//   DLHOST_PLUGIN_PATH=build/plugins DLHOST_DATA=... build/bench/input
//
// The pictures are those of the first .tar in DLHOST_DATA/images, unpacked into a temporary folder, or those of the
// folder DLHOST_BENCH_IMAGES (with a folder for each class). Without either, the benchmarks of pictures are skipped.
#include <filesystem>
#include <fstream>
#include <thread>

#include <benchmark/benchmark.h>
#include <turbojpeg.h>

#include "input_run.h"

namespace dlhost::bench {
namespace {

namespace fs = std::filesystem;

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

Pictures& pictures() {
  static Pictures some;
  return some;
}

std::vector<std::vector<unsigned char>> packed_files() {
  std::vector<std::vector<unsigned char>> files;
  for (const auto& entry : fs::recursive_directory_iterator(pictures().folder())) {
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

// libjpeg-turbo alone, on the given number of threads.
void turbojpeg_alone(benchmark::State& state) {
  if (pictures().folder().empty()) return state.SkipWithError("no pictures: set DLHOST_DATA");
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

// A sample's side: 256 for pictures of at least 256, as for ImageNet in examples/; else 64.
std::int64_t sample_side(const std::vector<unsigned char>& file) {
  const tjhandle turbo = tjInitDecompress();
  int width = 0, height = 0, subsampling = 0, space = 0;
  tjDecompressHeader3(turbo, file.data(), file.size(), &width, &height, &subsampling, &space);
  tjDestroy(turbo);
  return std::min(width, height) >= 256 ? 256 : 64;
}

// All work on a JPEG folder: reading, decoding, cropping, mirroring, batching as bytes, or normalised to f32 as well.
void jpeg_folder(benchmark::State& state, bool normalized) {
  if (pictures().folder().empty()) return state.SkipWithError("no pictures: set DLHOST_DATA");
  const std::int64_t side = sample_side(packed_files().front());
  const auto source = open("images", {{{"train", value(pictures().folder())}, {"size", values(side)}}, {}});
  if (!source.ok()) return state.SkipWithError(source.status().message().c_str());
  std::vector<Part> augmentations{{"crop", {{{"size", values(side * 7 / 8)}}, {}}}, {"mirror", {}}};
  if (normalized) augmentations.push_back({"normalize", {{{"mean", values(120)}}, {}}});
  feed(state, **source, augmentations);
}

// The feeder's own cost: samples of MNIST's size, copied from a table.
void cheap_samples(benchmark::State& state) {
  const auto source = open("synthetic", {{{"shape", values(784)}, {"values", value("u8")}}, {}});
  if (!source.ok()) return state.SkipWithError(source.status().message().c_str());
  feed(state, **source, {});
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
} // namespace dlhost::bench

BENCHMARK_MAIN();
