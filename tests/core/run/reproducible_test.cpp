// Also on the cpu device params have the same bits for any number of workers and threads.
#include "trained.h"

namespace dlhost::test {
namespace {

constexpr const char* convolutions = R"(name = "convolutions"
seed = 5
[train]
batch = 32
threads = 1
device = "cpu"
reproducible = true
stop = { steps = 12 }
[updater]
type = "sgd"
momentum = 0.9
rate = 0.02
[[layer]]
name = "data"
type = "synthetic"
mode = "learnable"
shape = [3, 12, 12]
classes = 10
train = 200
test = 20
[[layer]]
name = "conv1"
type = "convolution"
src = "data"
filters = 16
kernel = 5
pad = 2
[[layer]]
name = "relu1"
type = "relu"
src = "conv1"
[[layer]]
name = "pool1"
type = "pooling"
src = "relu1"
method = "max"
kernel = 3
stride = 2
[[layer]]
name = "norm1"
type = "lrn"
src = "pool1"
[[layer]]
name = "conv2"
type = "convolution"
src = "norm1"
filters = 24
kernel = 3
pad = 1
[[layer]]
name = "relu2"
type = "relu"
src = "conv2"
[[layer]]
name = "fc1"
type = "dense"
src = "relu2"
units = 50
[[layer]]
name = "tanh1"
type = "tanh"
src = "fc1"
[[layer]]
name = "drop1"
type = "dropout"
src = "tanh1"
[[layer]]
name = "fc2"
type = "dense"
src = "drop1"
units = 10
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["fc2", "data:label"]
)";

class ReproducibleTest : public Bench {
 protected:
  std::map<std::string, std::vector<float>> params(std::vector<std::string> set) {
    return train(convolutions, set).params;
  }
  std::vector<std::string> workers(int count, std::vector<std::string> more = {}) {
    more.insert(more.end(),
                {concat("topology.workers_per_group=", count), concat("topology.servers_per_group=", count)});
    return more;
  }
};

TEST_F(ReproducibleTest, OnTheCpuForAnyWorkersAndThreads) {
  if (!computes("cpu", DType::f32)) GTEST_SKIP() << "no cpu device here";
  const auto one = params({});
  ASSERT_FALSE(one.empty());
  EXPECT_EQ(params({"train.threads=2"}), one);
  for (const int count : {2, 4, 8}) EXPECT_EQ(params(workers(count)), one) << count << " workers";
  EXPECT_EQ(params(workers(2, {"train.threads=2"})), one);
  const std::vector<std::string> loose{"train.reproducible=false"};
  EXPECT_NE(params(workers(2, loose)), params(loose)) << "it is the same without: this shows nothing";
  for (const auto& [name, values] : params(loose))
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], one.at(name)[i], 1e-3) << name;
}

// Its statistics depend on all rows of a worker.
TEST_F(ReproducibleTest, BatchNormOnTheCpuIsRefused) {
  if (!computes("cpu", DType::f32)) GTEST_SKIP() << "no cpu device here";
  const std::string path = folder_ / "job.toml";
  ASSERT_TRUE(host_.disk().write_text(path, convolutions).ok());
  const auto job =
      config::load(host_.disk(), path, std::vector<std::string>{"layer.norm1.type=batch_norm"}, *registry_);
  ASSERT_TRUE(job.ok()) << job.status().message();
  Trained trained;
  const Status status = run(*job, trained, 0, {}, {});
  EXPECT_NE(status.message().find("layer 'norm1': cpu: norm does not sum in blocks of samples"), std::string::npos)
      << status.message();
}

} // namespace
} // namespace dlhost::test
