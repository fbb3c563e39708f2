// Layers that add their gradients to existing ones.
#include "proofs.h"

namespace dlhost::test {
namespace {

class Adding : public Proofs {};
INSTANTIATE_TEST_SUITE_P(Ref, Adding, near_and_far(), near_or_far);

std::string layer(const std::string& name, const std::string& type, const std::string& src, const std::string& more) {
  return "[[layer]]\nname = \"" + name + "\"\ntype = \"" + type + "\"\nsrc = " + src + "\n" + more + "\n";
}

// A reader reads a feature directly, or through a view of its own, which hands its gradient on.
std::string reader(bool through_view, const std::string& of, const std::string& name, const std::string& type,
                   const std::string& more) {
  if (!through_view) return layer(name, type, "\"" + of + "\"", more);
  return layer("view_" + name, "reshape", "\"" + of + "\"", of == "fc1" ? "shape = [9]" : "shape = [4, 5, 5]") +
         layer(name, type, "\"view_" + name + "\"", more);
}

std::string job_of(const std::string& shape, const std::string& layers, const std::string& last) {
  return R"(name = "adding"
seed = 3
[train]
batch = 12
threads = 1
stop = { steps = 20 }
[updater]
type = "sgd"
rate = 0.1
[[layer]]
name = "data"
type = "synthetic"
mode = "learnable"
classes = 3
train = 50
test = 20
shape = )" +
         shape + "\n" + layers + layer("fc2", "dense", "\"" + last + "\"", "units = 3") +
         layer("loss", "softmax_loss", R"(["fc2", "data:label"])", "");
}

// Two slices and an addition read a feature: its gradient has three contributions, and `a` hands one tensor to two.
std::string cut_job(bool through_views) {
  return job_of("[7]",
                layer("fc1", "dense", R"("data")", "units = 9") + layer("g", "dense", R"("data")", "units = 9") +
                    reader(through_views, "fc1", "s1", "slice", "first = 2\ncount = 4") +
                    reader(through_views, "fc1", "s2", "slice", "first = 0\ncount = 3") +
                    layer("a", "add", R"(["fc1", "g"])", "") + layer("cat", "concat", R"(["s1", "s2", "a"])", ""),
                "cat");
}

// Three products read a feature.
std::string product_job(bool through_views) {
  const std::string window = "filters = 3\nkernel = 3\npad = 1";
  return job_of("[2, 5, 5]",
                layer("image", "convolution", R"("data")", "filters = 4\nkernel = 3\npad = 1") +
                    reader(through_views, "image", "c", "convolution", window) +
                    reader(through_views, "image", "d", "deconvolution", window) +
                    reader(through_views, "image", "f", "dense", "units = 6") +
                    layer("flat_c", "flatten", R"("c")", "") + layer("flat_d", "flatten", R"("d")", "") +
                    layer("cat", "concat", R"(["flat_c", "flat_d", "f"])", ""),
                "cat");
}

TEST_P(Adding, AGradientIsAddedToWhereItLies) {
  for (const auto& job_with : {cut_job, product_job})
    for (const char* fuse : {"train.fuse=true", "train.fuse=false"}) {
      const auto added = train(job_with(false), with({fuse})), summed = train(job_with(true), with({fuse}));
      EXPECT_LT(added.losses.back(), 0.7 * added.losses.front());
      for (const auto& [name, values] : summed.params)
        for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], added.params.at(name)[i], 1e-5) << name;
    }
}

// A sum fused into another layer's op gets its gradient in that op's format; its summands keep their own.
TEST_P(Adding, AFusedSumHandsItsGradientOnAsItsSummandsLie) {
  const std::string image = "filters = 8\nkernel = 1";
  const std::string job =
      job_of("[3, 4, 4]",
             layer("a", "convolution", R"("data")", image) + layer("b", "convolution", R"("data")", image) +
                 layer("cat", "concat", R"(["a", "b"])", "") +
                 layer("c", "convolution", R"("cat")", "filters = 16\nkernel = 3\npad = 1") +
                 layer("sum", "add", R"(["cat", "c"])", ""),
             "sum");
  const std::string far = is_far() ? ", far = true" : "";
  for (const char* formats : {"plain", "blocked"}) {
    const std::string device = concat("train.device={ type = \"ref\", formats = \"", formats, "\"", far, " }");
    const auto fused = train(job, {device, "train.fuse=true"}), apart = train(job, {device, "train.fuse=false"});
    for (const auto& [name, values] : apart.params)
      for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], fused.params.at(name)[i], 1e-5) << name;
  }
}

// Adding replaces core's own sums.
TEST_P(Adding, AnAddingLayerSavesASum) {
  const auto sums = [&](const std::string& text) {
    EXPECT_TRUE(host_.disk().write_text(folder_ / "job.toml", text).ok());
    const auto job = config::load(host_.disk(), folder_ / "job.toml", with({"train.fuse=false"}), *registry_);
    auto session = run::Session::open(host_, *registry_, *job);
    const auto program = (*session)->trainer();
    EXPECT_TRUE(program.ok()) << program.status().message();
    (*program)->measure(&host_.clock());
    return std::ranges::count((*program)->timings(), "sum", &program::Timing::what);
  };
  EXPECT_EQ(sums(cut_job(true)), 2);
  EXPECT_EQ(sums(cut_job(false)), 1); // the copy of the tensor that `a` hands to two
  EXPECT_EQ(sums(product_job(true)), 2);
  EXPECT_EQ(sums(product_job(false)), 0);
}

} // namespace
} // namespace dlhost::test
