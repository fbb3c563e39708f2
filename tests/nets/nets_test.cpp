// Trains random nets for some steps on every device, in every format, fused or layer by layer, in micro-batches and by
// two workers. All reach the params of plain loops, layer by layer. This tests the combinations of layers, formats,
// fusion, sums of gradients and shared memory.
//
// DLHOST_SEED chooses the nets, DLHOST_NETS their number (24).
#include <algorithm>
#include <cmath>
#include <random>

#include "trained.h"

namespace dlhost::test {
namespace {

std::uint64_t number(const char* variable, std::uint64_t otherwise) {
  const char* value = std::getenv(variable);
  return value ? std::stoull(value) : otherwise;
}

class DrawnNet {
 public:
  explicit DrawnNet(std::uint64_t seed) : draw_(seed), size_(4 + below(3)) {
    text_ = concat("name = \"drawn\"\nseed = ", seed % 1000, R"(
[train]
batch = 6
threads = 1
stop = { steps = 4 }
[updater]
type = "sgd"
momentum = 0.9
rate = 0.01
[test]
at_end = false
)");
    const std::int64_t channels = pick({3, 8, 16});
    add("data", "synthetic", {},
        {"mode = \"learnable\"", "classes = 3", "train = 24", "test = 6",
         concat("shape = [", channels, ", ", size_, ", ", size_, "]")});
    images_.push_back({"data", channels});
    for (auto left = 4 + below(6); left > 0; --left) draw_layer();
    end();
  }

  const std::string& text() const { return text_; }
  bool has(std::string_view type) const { return text_.find(concat("\"", type, "\"")) != std::string::npos; }

 private:
  struct Image {
    std::string name;
    std::int64_t channels;
    bool read = false;
  };

  std::int64_t below(std::int64_t count) { return std::uniform_int_distribution<std::int64_t>(0, count - 1)(draw_); }
  std::int64_t pick(std::initializer_list<std::int64_t> of) {
    return of.begin()[below(static_cast<std::int64_t>(of.size()))];
  }
  void add(const std::string& name, const std::string& type, const std::vector<std::string>& src,
           const std::vector<std::string>& options) {
    text_ += concat("[[layer]]\nname = \"", name, "\"\ntype = \"", type, "\"\n");
    if (!src.empty()) text_ += concat("src = ", list(src), "\n");
    for (const auto& option : options) text_ += option + "\n";
    for (auto& image : images_) image.read = image.read || std::ranges::find(src, image.name) != src.end();
  }
  static std::string list(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names) text += concat(text.empty() ? "[\"" : ", \"", name, "\"");
    return text + "]";
  }

  // Prefers recent images.
  Image some_image() {
    const auto count = static_cast<std::int64_t>(images_.size());
    const std::int64_t back = std::min(below(count), below(count));
    return images_[static_cast<std::size_t>(count - 1 - back)];
  }
  void made(const std::string& name, std::int64_t channels) { images_.push_back({name, channels}); }

  void draw_layer() {
    const std::string name = concat("l", images_.size());
    switch (below(10)) {
    case 0:
    case 1:
    case 2: return convolve(name);
    case 3: return normalise(name);
    case 4: return act(name);
    case 5: return join(name);
    case 6: return gather(name);
    case 7:
    case 8: return go_around(name);
    default: return cut(name);
    }
  }
  void convolve(const std::string& name) {
    const Image from = some_image();
    const bool wide = below(2) == 1, bias = below(2) == 1, transposed = below(5) == 0;
    const std::int64_t filters = pick({5, 8, 16, 16, 32});
    const std::int64_t groups = from.channels % 2 == 0 && filters % 2 == 0 && below(4) == 0 ? 2 : 1;
    add(name, transposed ? "deconvolution" : "convolution", {from.name},
        {concat("filters = ", filters), concat("kernel = ", wide ? 3 : 1), concat("pad = ", wide ? 1 : 0),
         concat("bias = ", bias ? "true" : "false"), concat("groups = ", groups)});
    made(name, filters);
  }
  void normalise(const std::string& name) {
    const Image from = some_image();
    const std::int64_t channels = from.channels;
    switch (below(5)) {
    case 0: add(name, "lrn", {from.name}, {concat("size = ", pick({3, 5}))}); break;
    case 1: {
      const char* method = below(2) == 0 ? "method = \"max\"" : "method = \"average\"";
      add(name, "pooling", {from.name}, {method, "kernel = 3", "stride = 1", "pad = 1"});
      break;
    }
    case 2: {
      const int groups = channels % 4 == 0 ? 4 : channels % 3 == 0 ? 3 : 1;
      add(name, "group_norm", {from.name}, {concat("groups = ", groups)});
      break;
    }
    case 3: add(name, "rms_norm", {from.name}, {}); break;
    default: add(name, "batch_norm", {from.name}, {});
    }
    made(name, channels);
  }
  void act(const std::string& name) {
    const Image from = some_image();
    const std::int64_t channels = from.channels;
    constexpr std::array<const char*, 5> types{"relu", "tanh", "sigmoid", "elu", "dropout"};
    add(name, types[static_cast<std::size_t>(below(types.size()))], {from.name}, {});
    made(name, channels);
  }
  // Adds or multiplies two or three images with equal channels, if there are any.
  void join(const std::string& name) {
    const Image first = some_image();
    std::vector<std::string> names{first.name};
    for (const auto& other : images_)
      if (other.channels == first.channels && other.name != first.name && names.size() < 3 && below(3) > 0)
        names.push_back(other.name);
    if (names.size() == 1) return convolve(name);
    add(name, names.size() == 2 && below(5) == 0 ? "multiply" : "add", names, {});
    made(name, first.channels);
  }
  // A residual: adds a layer's output to its input.
  void go_around(const std::string& name) {
    const Image from = some_image();
    add(name + "_through", "convolution", {from.name}, {concat("filters = ", from.channels), "kernel = 3", "pad = 1"});
    add(name, "add", {from.name, name + "_through"}, {});
    made(name, from.channels);
  }
  void gather(const std::string& name) {
    const Image first = some_image(), second = some_image();
    if (first.name == second.name) return act(name);
    add(name, "concat", {first.name, second.name}, {});
    made(name, first.channels + second.channels);
  }
  void cut(const std::string& name) {
    const Image from = some_image();
    if (from.channels < 2) return convolve(name);
    const std::int64_t first = below(from.channels - 1), count = 1 + below(from.channels - first);
    add(name, "slice", {from.name}, {concat("first = ", first), concat("count = ", count)});
    made(name, count);
  }
  // Dense layers read the images without a reader.
  void end() {
    std::vector<std::string> heads;
    for (const auto& image : images_) {
      if (image.read) continue;
      heads.push_back(concat("head", heads.size()));
      add(heads.back(), "dense", {image.name}, {"units = 5"});
    }
    std::string last = heads.front();
    if (heads.size() > 1) {
      last = "heads";
      add(last, "concat", heads, {});
    }
    add("out", "dense", {last}, {"units = 3"});
    add("loss", "softmax_loss", {"out", "data:label"}, {});
  }

  std::mt19937_64 draw_;
  std::int64_t size_;
  std::string text_;
  std::vector<Image> images_;
};

struct Way {
  const char* device;
  std::vector<std::string> set;
  bool whole_batches = false; // otherwise batch statistics are of parts of batches
};

class NetsTest : public Bench {
 protected:
  // The largest error of a param, relative to its largest element.
  static double distance(const Trained& one, const Trained& other) {
    double most = 0;
    for (const auto& [name, values] : other.params) {
      double largest = 1e-2, off = 0;
      for (const float value : values) largest = std::max(largest, std::abs(static_cast<double>(value)));
      for (std::size_t i = 0; i < values.size(); ++i)
        off = std::max(off, std::abs(static_cast<double>(values[i]) - static_cast<double>(one.params.at(name).at(i))));
      most = std::max(most, off / largest);
    }
    return most;
  }
  bool has_device(const std::string& device) { return registry_->create<Device>(device, {}).ok(); }
};

TEST_F(NetsTest, AllWaysTrainThemAlike) {
  const std::vector<std::string> two_workers{"topology.workers_per_group=2", "topology.servers_per_group=2"},
      two_parts{"train.algorithm={ type = \"bp\", micro_batches = 2 }"};
  const Way ways[] = {
      {R"({ type = "ref" })", {}, true},
      {R"({ type = "ref", formats = "blocked" })", {}, true},
      {R"({ type = "ref", formats = "blocked" })", {"train.fuse=false"}, true},
      {R"({ type = "ref", far = true })", {}, true},
      {R"({ type = "ref", far = true, formats = "blocked" })", {"train.fuse=false"}, true},
      {R"({ type = "ref", formats = "blocked" })", two_parts},
      {R"({ type = "ref" })", two_workers},
      {R"({ type = "cpu" })", {}, true},
      {R"({ type = "cpu" })", {"train.fuse=false"}, true},
      {R"({ type = "cpu" })", two_parts},
      {R"({ type = "cpu" })", two_workers},
      {R"({ type = "cuda_on_host" })", {}, true},
      {R"({ type = "cuda_on_host", channels_last = true })", {}, true},
      {R"({ type = "cuda_on_host", channels_last = true })", {"train.fuse=false"}, true},
      {R"({ type = "cuda_on_host", channels_last = true, graphs = true })", {}, true},
  };
  const bool cpu = has_device("cpu"), cuda = has_device("cuda_on_host");
  const std::uint64_t first = number("DLHOST_SEED", 1), count = number("DLHOST_NETS", 24);
  std::uint64_t trained = 0;
  double farthest = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const DrawnNet net(seed);
    const auto plain = train(net.text(), {"train.device=ref", "train.fuse=false"});
    ASSERT_FALSE(plain.losses.empty()) << net.text();
    if (plain.losses.back() > 2 * plain.losses.front()) continue; // a diverging net amplifies rounding errors
    for (const Way& way : ways) {
      const std::string device = way.device;
      if ((device.find("\"cpu\"") != std::string::npos && !cpu) || (device.find("cuda") != std::string::npos && !cuda))
        continue;
      if (!way.whole_batches && net.has("batch_norm")) continue;
      auto set = way.set;
      set.push_back("train.device=" + device);
      SCOPED_TRACE(concat("seed ", seed, ", ", device, " ", ::testing::PrintToString(way.set), "\n", net.text()));
      const auto made = train(net.text(), set);
      if (HasFailure()) return;
      const double off = distance(made, plain);
      farthest = std::max(farthest, off);
      EXPECT_LT(off, 2e-4);
      if (HasFailure()) return;
      ++trained;
    }
  }
  std::cout << count << " nets from seed " << first << ", trained in " << trained << " ways: " << farthest
            << " of a param apart at most\n";
}

} // namespace
} // namespace dlhost::test
