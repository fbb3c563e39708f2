// Contrastive divergence works through the SDK as it stands.
#include <cmath>

#include <dlhost/random.h>

#include "param/file/checkpoint.h"
#include "param/file/safetensors.h"
#include "proofs.h"

namespace dlhost::test {
namespace {

class Contrastive : public Proofs {};
INSTANTIATE_TEST_SUITE_P(Ref, Contrastive, near_and_far(), near_or_far);

constexpr const char* rbm_job = R"(name = "rbm"
seed = 5
[train]
batch = 6
threads = 1
algorithm = "cd1"
stop = { steps = 5 }
[test]
at_end = false
[updater]
type = "sgd"
rate = 0.5
[[layer]]
name = "data"
type = "synthetic"
mode = "uniform"
shape = [4]
train = 30
[[layer]]
name = "visible"
type = "rbm_visible"
src = ["data", "hidden:down"]
[[layer]]
name = "hidden"
type = "rbm_hidden"
src = "visible"
units = 3
)";

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// The same five steps, written plainly.
struct Rbm {
  std::vector<std::vector<double>> w;
  std::vector<double> a = std::vector<double>(4), b = std::vector<double>(3);

  void step(const std::vector<std::vector<float>>& data, const std::vector<std::vector<double>>& draws, double rate) {
    auto dw = w;
    for (auto& row : dw) std::fill(row.begin(), row.end(), 0.0);
    std::vector<double> da(4), db(3);
    const double n = static_cast<double>(data.size());
    for (std::size_t s = 0; s < data.size(); ++s) {
      std::vector<double> v(data[s].begin(), data[s].end());
      const auto up = [&](const std::vector<double>& visible) {
        std::vector<double> h(3);
        for (std::size_t j = 0; j < 3; ++j) {
          double sum = b[j];
          for (std::size_t i = 0; i < 4; ++i) sum += w[j][i] * visible[i];
          h[j] = logistic(sum);
        }
        return h;
      };
      const auto add = [&](const std::vector<double>& visible, const std::vector<double>& h, double sign) {
        for (std::size_t j = 0; j < 3; ++j) {
          for (std::size_t i = 0; i < 4; ++i) dw[j][i] += sign * h[j] * visible[i] / n;
          db[j] += sign * h[j] / n;
        }
        for (std::size_t i = 0; i < 4; ++i) da[i] += sign * visible[i] / n;
      };
      const auto h0 = up(v);
      add(v, h0, 1);
      std::vector<double> v1(4);
      for (std::size_t i = 0; i < 4; ++i) {
        double sum = a[i];
        for (std::size_t j = 0; j < 3; ++j) sum += (h0[j] > draws[s][j] ? 1.0 : 0.0) * w[j][i];
        v1[i] = logistic(sum);
      }
      add(v1, up(v1), -1);
    }
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t i = 0; i < 4; ++i) w[j][i] += rate * dw[j][i];
      b[j] += rate * db[j];
    }
    for (std::size_t i = 0; i < 4; ++i) a[i] += rate * da[i];
  }
};

TEST_P(Contrastive, ContrastiveDivergenceOnAnUndirectedPair) {
  const auto start = train(rbm_job, with({"train.stop.steps=1", "updater.rate=0.0"}));
  Rbm rbm;
  const auto& first = start.params.at("hidden.weight");
  for (std::size_t j = 0; j < 3; ++j)
    rbm.w.emplace_back(first.begin() + static_cast<std::ptrdiff_t>(4 * j),
                       first.begin() + static_cast<std::ptrdiff_t>(4 * j + 4));

  // The batches as the feeder gives them, and the draws as any device makes them.
  auto job = config::load(host_.disk(), folder_ / "job.toml", with({}), *registry_);
  ASSERT_TRUE(job.ok()) << job.status().message();
  auto session = run::Session::open(host_, *registry_, *job);
  ASSERT_TRUE(session.ok()) << session.status().message();
  auto program = (*session)->trainer();
  ASSERT_TRUE(program.ok()) << program.status().message();
  auto feeds = run::Feeds::make(**session, **program, Phase::train, 6);
  ASSERT_TRUE(feeds.ok());
  const std::uint32_t hidden_stream = 3; // the third layer of the job
  for (int step = 0; step < 5; ++step) {
    auto batch = (*feeds)->next();
    ASSERT_TRUE(batch.ok());
    std::vector<std::vector<float>> data(6);
    std::vector<std::vector<double>> draws(6, std::vector<double>(3));
    for (std::size_t s = 0; s < 6; ++s) {
      const auto* row = static_cast<const float*>((*batch)->sources[0].outputs[0]) + 4 * s;
      data[s].assign(row, row + 4);
      for (std::size_t j = 0; j < 3; ++j)
        draws[s][j] = static_cast<double>(draw({5, hidden_stream}, (*feeds)->epoch(), (*batch)->samples[s], j));
    }
    rbm.step(data, draws, 0.5);
  }
  const auto trained = train(rbm_job, with({}));
  for (std::size_t j = 0; j < 3; ++j) {
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(trained.params.at("hidden.weight")[4 * j + i], rbm.w[j][i], 1e-5);
    EXPECT_NEAR(trained.params.at("hidden.bias")[j], rbm.b[j], 1e-5);
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(trained.params.at("visible.bias")[i], rbm.a[i], 1e-5);
}

} // namespace
} // namespace dlhost::test
