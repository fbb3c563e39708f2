// Slices that are updated part by part from factors: to the bit what one update by the whole gradient makes of them,
// padding included. All numbers are whole, so that no sum depends on its order.
#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "env/real_host.h"
#include "param/store/factored_update.h"
#include "plugin/registry.h"

namespace dlhost::param {
namespace {

constexpr std::int64_t rows = 3, inputs = 20;

class FactoredUpdateTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!registry_.find(Kind::device, GetParam())) GTEST_SKIP() << "there is no device " << GetParam();
    device_ = *registry_.create<Device>(GetParam(), {});
    stream_ = *device_->stream();
    dlhost::Table options;
    options.entries.emplace_back("momentum", Value{0.5});
    updater_ = *registry_.create<Updater>("sgd", options);
    rule_ = updater_->rule();
  }

  // All of a weight: its value and its history as they lie, in two copies.
  struct Weight {
    std::vector<float> values[2], history[2];
    bool operator==(const Weight&) const = default;
  };
  struct Layout {
    std::int64_t units = 0;
    std::uint32_t servers = 1;
    std::int64_t part_pieces = 1;
    std::size_t contributions = 1;
  };

  void lay_out(const Layout& layout) {
    store_.emplace(*device_, *stream_);
    param_ = *store_->declare({.name = "w", .shape = {layout.units, inputs}, .init = {}});
    const Factors own{.x = {DType::f32, {rows, inputs}, {}}, .dy = {DType::f32, {rows, layout.units}, {}}};
    const auto product = device_->prepare(own.product(param_->master, 1));
    ASSERT_TRUE(product.ok()) << product.status().message();
    store_->settle(*param_, (*product)->out[0]);
    param_->factors = own;
    param_->pieces = *Pieces::of(*device_, param_->master);
    elements_ = static_cast<std::int64_t>(device_->bytes(param_->master) / sizeof(float));
    sent_.assign(layout.contributions, {});
    for (std::size_t c = 0; c < layout.contributions; ++c) {
      sent_[c].resize(own.bytes());
      fill(c, 0, rows * inputs);
      fill(c, own.dy_at(), rows * layout.units);
    }
  }
  void fill(std::size_t contribution, std::size_t at, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<float>((i * 7 + static_cast<std::int64_t>(contribution + at) * 5) % 9 - 4);
      std::memcpy(sent_[contribution].data() + at + static_cast<std::size_t>(i) * sizeof value, &value, sizeof value);
    }
  }
  Weight fresh() const {
    Weight weight;
    for (auto* arrays : {weight.values, weight.history})
      for (int copy = 0; copy < 2; ++copy) arrays[copy].assign(static_cast<std::size_t>(elements_), 0);
    return weight;
  }
  // What two updates make, from the first copies to the second and back.
  template <class Update> static void update_twice(Update&& update, Weight& weight, std::int64_t first) {
    for (std::uint64_t count = 1; count <= 2; ++count) {
      const std::size_t here = (count - 1) % 2, there = count % 2;
      update({.from = weight.values[here].data() + first,
              .to = weight.values[there].data() + first,
              .history = here,
              .new_history = there,
              .gradients = {},
              .count = count,
              .rate = 0.5});
    }
  }
  SliceUpdate::Histories histories(Weight& weight, std::int64_t first) const {
    return {{weight.history[0].data() + first}, {weight.history[1].data() + first}};
  }

  Weight at_once() {
    Weight weight = fresh();
    const Factors& factors = *param_->factors;
    std::vector<std::vector<float>> gradients;
    std::vector<const float*> brought;
    for (const auto& sent : sent_) {
      const auto product = device_->prepare(factors.product(param_->master, 1));
      std::vector<std::byte> scratch((*product)->scratch_bytes + 1);
      gradients.emplace_back(static_cast<std::size_t>(elements_));
      (*product)->run(*stream_, {sent.data(), sent.data() + factors.dy_at()}, {gradients.back().data()},
                      scratch.data());
      brought.push_back(gradients.back().data());
    }
    const auto update =
        SliceUpdate::prepare(*store_, *param_, elements_, histories(weight, 0), sent_.size(), *updater_, rule_, {});
    update_twice(
        [&](SliceUpdate::Run run) {
          run.gradients = brought;
          EXPECT_TRUE((*update)->run(run, {}).ok());
        },
        weight, 0);
    return weight;
  }
  Weight in_parts(const Layout& layout) {
    Weight weight = fresh();
    std::vector<const float*> brought;
    for (const auto& sent : sent_) brought.push_back(reinterpret_cast<const float*>(sent.data()));
    const Slices slices = Slices::cut(std::array{elements_}, layout.servers, 1, std::array{param_->pieces.elements});
    for (const Slice& slice : slices.all()) {
      auto update = FactoredUpdate::prepare(
          {.store = &*store_,
           .param = param_,
           .slice = &slice,
           .histories = histories(weight, slice.first),
           .contributions = sent_.size(),
           .updater = updater_.get(),
           .rule = &rule_,
           .settings = {},
           .part_bytes = layout.part_pieces * param_->pieces.elements * static_cast<std::int64_t>(sizeof(float))});
      EXPECT_TRUE(update.ok()) << update.status().message();
      std::vector<std::byte> room((*update)->room());
      (*update)->work_in(room);
      update_twice(
          [&](SliceUpdate::Run run) {
            run.gradients = brought;
            EXPECT_TRUE((*update)->run(run).ok());
          },
          weight, slice.first);
    }
    return weight;
  }

  env::RealHost host_{LogLevel::error};
  plugin::Registry registry_{plugin::entries_of(plugin::settings_of_process({})), host_};
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Updater> updater_;
  Updater::Rule rule_;
  std::optional<Store> store_;
  Param* param_ = nullptr;
  std::int64_t elements_ = 0;
  std::vector<std::vector<std::byte>> sent_;
};
INSTANTIATE_TEST_SUITE_P(On, FactoredUpdateTest, testing::Values("ref", "cpu"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(FactoredUpdateTest, IsThatByTheWholeGradient) {
  for (const std::int64_t units : {90, 100, 144, 400}) // in blocks of 48, the last of 42, 4 and 48
    for (const std::uint32_t servers : {1, 2, 3})
      for (const std::int64_t part_pieces : {1, 2, 5, 1000})
        for (const std::size_t contributions : {1, 2}) {
          SCOPED_TRACE(concat(units, " units, ", servers, " servers, parts of ", part_pieces, " pieces, ",
                              contributions, " contributions"));
          const Layout layout{units, servers, part_pieces, contributions};
          lay_out(layout);
          const Weight whole = at_once();
          EXPECT_NE(whole, fresh());
          ASSERT_EQ(in_parts(layout), whole);
        }
}

} // namespace
} // namespace dlhost::param
