// The speed of data sets without decoding: generated files in the formats of MNIST, CIFAR and others are opened and
// fed. For comparison: reading the files into memory alone, and copying their samples, shuffled, from memory into
// batches on as many threads.
#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>

#include <zlib.h>

#include "../tests/layers/input/datum_message.h"
#include "input_run.h"

namespace dlhost::bench {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string made = (fs::temp_directory_path() / "dlhost-bench-XXXXXX").string();
    path_ = ::mkdtemp(made.data());
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& file) const { return path_ / file; }

 private:
  fs::path path_;
};

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  std::mt19937 random(7);
  for (char& byte : bytes) byte = static_cast<char>(random() % 250);
  return bytes;
}

void write(const std::string& path, const std::string& content) {
  const gzFile file = gzopen(path.c_str(), path.ends_with(".gz") ? "wb1" : "wbT"); // T: uncompressed
  const bool written = file && gzwrite(file, content.data(), static_cast<unsigned>(content.size())) > 0;
  if (!file || gzclose(file) != Z_OK || !written) throw std::runtime_error(path + ": cannot be written");
}

std::string idx_head(std::initializer_list<std::uint32_t> shape) {
  std::string head{'\0', '\0', '\x08', static_cast<char>(shape.size())};
  for (const std::uint32_t count : shape)
    for (const unsigned shift : {24U, 16U, 8U, 0U}) head += static_cast<char>(count >> shift & 0xffU);
  return head;
}

struct Format {
  const char* name;
  const char* layer;
  std::uint32_t samples;
  std::size_t sample_bytes;                   // as fed
  std::vector<std::string> files;             // values of `train`
  void (*make)(const Format&, const Folder&); // writes the files
};

void make_idx(const Format& format, const Folder& folder) {
  write(folder / format.files[0], idx_head({format.samples, 28, 28}) + random_bytes(format.samples * 784));
  write(folder / format.files[1], idx_head({format.samples}) + std::string(format.samples, '\x03'));
}

void make_cifar(const Format& format, const Folder& folder) {
  std::string records = random_bytes(format.samples * 3073);
  for (std::size_t record = 0; record < format.samples; ++record) records[record * 3073] = '\x03';
  write(folder / format.files[0], records);
}

void make_csv(const Format& format, const Folder& folder) {
  const std::string numbers = random_bytes(format.samples * 64);
  std::string rows;
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    rows += std::to_string(static_cast<unsigned char>(numbers[at])) + ",";
    if (at % 64 == 63) rows += "3\n";
  }
  write(folder / format.files[0], rows);
}

void make_lmdb(const Format& format, const Folder& folder) {
  const std::vector<std::string> records(format.samples,
                                         test::shaped(3, 32, 32).bytes(4, random_bytes(3072)).number(5, 3).text());
  if (!test::write_database(folder / format.files[0], records, 128 << 20))
    throw std::runtime_error(folder / format.files[0] + ": cannot be written");
}

const std::vector<Format> formats{
    {"idx", "idx", 60000, 784, {"pixels.idx", "labels.idx"}, make_idx},
    {"idx_gz", "idx", 60000, 784, {"pixels.idx.gz", "labels.idx.gz"}, make_idx},
    {"cifar", "cifar", 20000, 3072, {"batch.bin"}, make_cifar},
    {"csv", "csv", 20000, 64 * sizeof(float), {"rows.csv"}, make_csv},
    {"lmdb", "lmdb", 20000, 3072, {"database"}, make_lmdb},
};

// Writes the files at the first call.
const Folder& folder_of(const Format& wanted) {
  static const Folder folder;
  static std::vector<bool> made(formats.size());
  const auto number = static_cast<std::size_t>(&wanted - formats.data());
  if (!made[number]) wanted.make(wanted, folder);
  made[number] = true;
  return folder;
}

Result<std::unique_ptr<Source>> opened(const Format& format) {
  List files;
  for (const auto& file : format.files) files.push_back(value(folder_of(format) / file));
  const bool listed = files.size() > 1 || format.layer == std::string_view("cifar");
  Value train = listed ? Value{std::move(files), {}} : files.front();
  return open(format.layer, {{{"train", std::move(train)}}, {}});
}

void count_items(benchmark::State& state, const Format& format) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(format.samples));
}

// Up to the first readable sample.
void opening(benchmark::State& state, const Format& format) {
  folder_of(format);
  for (auto _ : state)
    if (const auto source = opened(format); !source.ok()) return state.SkipWithError(source.status().message().c_str());
  count_items(state, format);
}

// zlib alone: it passes uncompressed files through.
void reading_files(benchmark::State& state, const Format& format) {
  const Folder& folder = folder_of(format);
  std::vector<char> part(1 << 20);
  for (auto _ : state)
    for (const auto& name : format.files) {
      const gzFile file = gzopen((folder / name).c_str(), "rb");
      while (gzread(file, part.data(), static_cast<unsigned>(part.size())) > 0) benchmark::DoNotOptimize(part.data());
      gzclose(file);
    }
  count_items(state, format);
}

void feeding(benchmark::State& state, const Format& format) {
  const auto source = opened(format);
  if (!source.ok()) return state.SkipWithError(source.status().message().c_str());
  feed(state, **source, {});
}

void copying_samples(benchmark::State& state, const Format& format) {
  const std::string samples = random_bytes(format.samples * format.sample_bytes);
  std::vector<std::uint32_t> order(format.samples);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::shuffle(order, std::mt19937(7));
  const auto threads = static_cast<std::size_t>(state.range(0));
  const auto copy_some = [&](std::size_t first) {
    std::vector<char> batch(64 * format.sample_bytes);
    for (std::size_t i = first; i < order.size(); i += threads) {
      std::memcpy(batch.data() + i / threads % 64 * format.sample_bytes,
                  samples.data() + order[i] * format.sample_bytes, format.sample_bytes);
      benchmark::ClobberMemory();
    }
  };
  for (auto _ : state) {
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(copy_some, i);
    copy_some(0);
    for (auto& other : others) other.join();
  }
  count_items(state, format);
}

using Measured = void (*)(benchmark::State&, const Format&);

benchmark::internal::Benchmark* add(const char* what, const Format& format, Measured measured) {
  return benchmark::RegisterBenchmark((std::string(what) + "/" + format.name).c_str(),
                                      [&format, measured](benchmark::State& state) { measured(state, format); })
      ->MeasureProcessCPUTime()
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

[[maybe_unused]] const bool registered = [] {
  for (const Format& format : formats) {
    if (format.make != make_lmdb) add("reading_files", format, reading_files); // a database is mapped
    add("opening", format, opening);
    add("copying_samples", format, copying_samples)->Arg(1)->Arg(2);
    add("feeding", format, feeding)->Arg(0)->Arg(1)->Arg(2);
  }
  return true;
}();

} // namespace
} // namespace dlhost::bench
