// Whole jobs in the style of users: deep nets stay short.
#include "config/dump.h"
#include "env/disk.h"
#include "fixture.h"

namespace dlhost::config {
namespace {

class Jobs : public LoadTest {
 protected:
  Job load_file(const std::string& name, std::size_t lines_at_most) {
    env::PosixDisk files;
    const auto text = files.read_text(concat(DLHOST_JOBS "/", name));
    EXPECT_TRUE(text.ok()) << text.status().message();
    EXPECT_LE(static_cast<std::size_t>(std::ranges::count(*text, '\n')), lines_at_most);
    return job(*text);
  }
  static std::ptrdiff_t count(const Job& job, std::string_view type) {
    return std::ranges::count(job.layers, type, &Layer::type);
  }
};

TEST_F(Jobs, ResNet50) {
  const Job net = load_file("resnet50.toml", 75);
  ASSERT_FALSE(net.layers.empty());
  EXPECT_EQ(count(net, "convolution"), 53);
  EXPECT_EQ(count(net, "batch_norm"), 53);
  EXPECT_EQ(count(net, "add"), 16);
  EXPECT_EQ(count(net, "relu"), 49);
  EXPECT_EQ(net.layer("pool5")->src[0].layer, "conv5.more.2.relu");
  const Layer& last = *net.layer("conv4.more.5.branch.c.conv");
  EXPECT_EQ(std::get<std::int64_t>(last.options.find("filters")->data), 1024);
  EXPECT_EQ(last.src[0].layer, "conv4.more.5.branch.b_relu");
  EXPECT_EQ(net.layer("conv3.first.short.conv")->src[0].layer, "conv2.more.2.relu");
  EXPECT_EQ(std::get<std::int64_t>(net.layer("conv3.first.branch.b.conv")->options.find("stride")->data), 2);
  const Layer& sum = *net.layer("conv3.more.1.add");
  EXPECT_EQ(sum.src[0].layer, "conv3.more.1.branch.c.bn");
  EXPECT_EQ(sum.src[1].layer, "conv3.first.relu");
}

TEST_F(Jobs, ResNet20) {
  const Job net = load_file("resnet20.toml", 50);
  ASSERT_FALSE(net.layers.empty());
  EXPECT_EQ(count(net, "convolution"), 21); // 19, and 2 shortcuts
  EXPECT_EQ(count(net, "add"), 9);
  EXPECT_EQ(net.layer("fc")->src[0].layer, "pool");
  EXPECT_EQ(net.layer("pool")->src[0].layer, "s3.more.2.relu");
}

TEST_F(Jobs, EveryKey) {
  const Job net = load_file("every_key.toml", 101);
  ASSERT_FALSE(net.layers.empty());
  EXPECT_EQ(net.train.stop.patience, 3);
  EXPECT_EQ(net.train.start.from, "first");
  ASSERT_EQ(net.train.start.names.rename.size(), 2U);
  EXPECT_EQ(net.train.start.names.rename[1].order, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(net.train.start.names.ignore, (std::vector<std::string>{"b"}));
  EXPECT_EQ(net.topology.worker_groups, 3);
  EXPECT_EQ(net.topology.run_as, RunAs::processes);
  EXPECT_EQ(net.checkpoint.best, "accuracy");
  EXPECT_EQ(net.record.every.steps, 1);
  EXPECT_EQ(net.folder, "sub");
  EXPECT_EQ(net.layer("data")->folder, "/data");
  ASSERT_EQ(net.layer("data")->augment.size(), 2U);
  EXPECT_EQ(net.layer("data")->augment[1].type, "crop");
  EXPECT_NE(job_hash(net), job_hash(job(to_toml(net, "/"), {"layer.data.augment=mirror"})));
  EXPECT_EQ(net.layer("loss")->folder, "sub");
  EXPECT_EQ(net.layer("loss")->src[0].layer, "body.2.act");
  const Layer& w = *net.layer("body.2.w");
  EXPECT_EQ(std::get<std::int64_t>(w.options.find("units")->data), 5);
  EXPECT_EQ(w.dtype, DType::f32);
  ASSERT_NE(w.param("weight"), nullptr);
  EXPECT_EQ(w.param("weight")->share, "w2");
  EXPECT_EQ(w.param("weight")->decay_scale, 0.5);
  EXPECT_EQ(std::get<double>(w.param("weight")->init->options.find("std")->data), 0.5);
  EXPECT_TRUE(w.param("bias")->frozen);
  EXPECT_EQ(w.param("weight")->consistency->type, "strict");
  EXPECT_FALSE(w.param("bias")->consistency.has_value());
  EXPECT_NE(job_hash(net), job_hash(job(to_toml(net, "/"), {"layer.body.2.w.param.bias.consistency=strict"})));
  const Job again = job(to_toml(net, "/"));
  EXPECT_EQ(job_hash(again), job_hash(net));
  EXPECT_EQ(again.train.start.names.rename[1].order, net.train.start.names.rename[1].order);
}

} // namespace
} // namespace dlhost::config
