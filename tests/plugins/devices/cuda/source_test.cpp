// Runs the text of expressions as plain C++, after a shim for the GPU compiler's own words, and compares it with the
// interpreted map.
#include "kernels/source.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include <dlfcn.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "host_stream.h"
#include "kernels/prepare.h"
#include "maps.h"

namespace dlhost::test {
namespace {

using plugins::cuda::ElementArguments;
using plugins::cuda::ElementCompiler;
using plugins::cuda::ElementKernel;
using plugins::cuda::ElementRun;
using plugins::cuda::ElementSource;
using plugins::cuda::prepare_own;

constexpr std::string_view shim = R"(
#include <cmath>
#include <cstring>
#include <dlhost/half.h>
#define __device__
#define __global__
#define __launch_bounds__(threads)
#define __grid_constant__
struct Index { unsigned int x; };
static Index blockIdx, threadIdx;
template <class To, class From> To bits_as(From from) { To to; std::memcpy(&to, &from, sizeof to); return to; }
static float __uint_as_float(unsigned int bits) { return bits_as<float>(bits); }
static unsigned int __float_as_uint(float value) { return bits_as<unsigned int>(value); }
static double __longlong_as_double(long long bits) { return bits_as<double>(bits); }
static long long __double_as_longlong(double value) { return bits_as<long long>(value); }
#define float_of_f16 dlhost::float_of_f16
#define f16_of_float dlhost::f16_of_float
)";

using Kernel = void (*)(void* arguments, unsigned blocks);

// Keeps texts in the order of their arrival; after build() their kernels can run.
class HostCompiler final : public ElementCompiler {
 public:
  ~HostCompiler() override {
    if (library_) dlclose(library_);
    std::filesystem::remove_all(folder_);
  }

  Result<std::unique_ptr<ElementKernel>> compile(const ElementSource& source) override {
    texts.push_back(source.text);
    return std::unique_ptr<ElementKernel>(std::make_unique<Compiled>(*this, source, texts.size() - 1));
  }

  void build() {
    std::string made = (std::filesystem::temp_directory_path() / "dlhost-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    folder_ = made;
    std::ofstream file(folder_ / "maps.cpp");
    file << shim;
    for (std::size_t i = 0; i < texts.size(); ++i)
      file << "namespace map" << i << " {\n#define map_elements map_elements_" << i << texts[i]
           << "extern \"C\" void run_" << i << "(void* arguments, unsigned blocks) {\n"
           << "  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)\n"
           << "    for (threadIdx.x = 0; threadIdx.x < " << ElementSource::threads << "; ++threadIdx.x)\n"
           << "      map_elements(*static_cast<Arguments*>(arguments));\n}\n#undef map_elements\n}\n";
    file.close();
    const std::string command =
        concat(HOST_COMPILER, " -std=c++20 -O1 -fno-strict-aliasing -ffp-contract=off -w -shared -fPIC -I", SDK_FOLDER,
               " -o ", (folder_ / "maps.so").string(), " ", (folder_ / "maps.cpp").string());
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    library_ = dlopen((folder_ / "maps.so").c_str(), RTLD_NOW);
    ASSERT_NE(library_, nullptr) << dlerror();
  }

  std::vector<std::string> texts;

 private:
  class Compiled final : public ElementKernel {
   public:
    Compiled(HostCompiler& owner, const ElementSource& source, std::size_t number)
        : owner_(owner), arguments_(source), name_(concat("run_", number)) {}
    void launch(plugins::cuda::WorkStream&, const ElementRun& run) override {
      const auto kernel = reinterpret_cast<Kernel>(dlsym(owner_.library_, name_.c_str()));
      ASSERT_NE(kernel, nullptr);
      kernel(arguments_.data(), static_cast<unsigned>(arguments_.fill(run)));
    }

   private:
    HostCompiler& owner_;
    ElementArguments arguments_;
    std::string name_;
  };

  std::filesystem::path folder_;
  void* library_ = nullptr;
};

// The bytes of each tensor of each piece.
struct Tensors {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<void*> pointers;
  void add(const TensorDesc& desc, std::int64_t count, std::size_t offset) {
    bytes.emplace_back(static_cast<std::size_t>(count) * size_of(desc.dtype) + 64 + offset);
    const auto at = reinterpret_cast<std::uintptr_t>(bytes.back().data());
    pointers.push_back(bytes.back().data() + (32 - at % 32) % 32 + offset);
  }
};

void draw(void* to, DType type, std::int64_t count, std::mt19937& engine) {
  const std::array<float, 8> odd{NAN, INFINITY, -INFINITY, 0.0F, -0.0F, 1e30F, -300, 127.5F};
  std::uniform_real_distribution<float> even(-4, 4);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = engine() % 5 == 0 ? odd[engine() % odd.size()] : even(engine);
  const TensorDesc desc{DType::f32, {count}, {}};
  HostStream stream;
  const void* from = values.data();
  const auto op = *prepare_own(ReorderSpec{desc, desc.as(type)});
  op->execute(stream, {&from, 1}, {&to, 1}, nullptr, {});
}

// `offset`: elements from a place where four elements move together to a tensor's start. NaNs become 12345: their bits
// do not matter.
std::vector<std::vector<float>> results_of(Op& op, const MapSpec& spec, std::size_t offset) {
  std::mt19937 engine(11);
  Tensors in, out;
  std::vector<std::int64_t> pieces = spec.segments;
  if (pieces.empty()) pieces.push_back(-1);
  std::vector<TensorDesc> seen;
  for (const auto piece : pieces) {
    const auto count_of = [&](const TensorDesc& desc) { return piece < 0 ? desc.count() : piece; };
    for (const auto& desc : spec.in) {
      in.add(desc, count_of(desc), offset * size_of(desc.dtype));
      draw(in.pointers.back(), desc.dtype, count_of(desc), engine);
    }
    for (const auto& desc : spec.out) {
      out.add(desc, count_of(desc), offset * size_of(desc.dtype));
      seen.push_back({desc.dtype, {count_of(desc)}, {}});
    }
  }
  const std::vector<const void*> from(in.pointers.begin(), in.pointers.end());
  const float scalar = 0.75F;
  std::vector<std::byte> scratch(op.scratch_bytes + 64);
  HostStream stream;
  op.execute(stream, from, out.pointers, scratch.data(), {.scalars = {&scalar, 1}});
  EXPECT_TRUE(stream.wait().ok());
  std::vector<std::vector<float>> results;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    results.emplace_back(static_cast<std::size_t>(seen[i].count()));
    const void* made = out.pointers[i];
    void* to = results.back().data();
    (*prepare_own(ReorderSpec{seen[i], seen[i].as(DType::f32)}))->execute(stream, {&made, 1}, {&to, 1}, nullptr, {});
    for (float& value : results.back())
      if (value != value) value = 12345;
  }
  return results;
}

TEST(CudaSource, ComputesAsTheStepsDo) {
  HostCompiler compiler;
  std::vector<std::unique_ptr<Op>> compiled, interpreted;
  const auto all = maps_of_all_kinds();
  for (const auto& spec : all) {
    compiled.push_back(*prepare_own(spec, &compiler));
    interpreted.push_back(*prepare_own(spec));
    EXPECT_EQ(compiled.back()->kernel, "cuda map, compiled") << compiled.back()->remark;
  }
  ASSERT_EQ(compiler.texts.size(), all.size());
  compiler.build();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const std::size_t offset : {0, 1})
      EXPECT_TRUE(results_of(*compiled[i], all[i], offset) == results_of(*interpreted[i], all[i], offset))
          << "map " << i << " of " << name_of(all[i].in[0].dtype) << ", " << offset;
}

TEST(CudaSource, DrawsAreInterpreted) {
  HostCompiler compiler;
  MapSpec spec;
  spec.expression.result(spec.expression.uniform());
  spec.out = {{DType::f32, {8, 4}, {}}};
  const auto op = *prepare_own(spec, &compiler);
  EXPECT_TRUE(compiler.texts.empty());
  EXPECT_NE(op->remark.find("interpreted"), std::string::npos);
}

} // namespace
} // namespace dlhost::test
