// What tests of a shard have in common: one param in masters of its own, and what the shard serves it with.
#pragma once

#include <gmock/gmock.h>

#include "env/real_host.h"
#include "param/server/shard.h"
#include "plugin/registry.h"

namespace dlhost::param {

class Served : public testing::Test {
 protected:
  // The param has these values, in one of so many places.
  void lay_out(const std::string& updater, const std::string& consistency, const std::vector<float>& values,
               std::size_t versions, std::size_t shared = 0) {
    device_ = *registry_.create<Device>("ref", {});
    stream_ = *device_->stream();
    store_.emplace(*device_, *stream_);
    const auto elements = static_cast<std::int64_t>(values.size());
    const std::int64_t length = !factors_ ? 1 : factors_->of_rows ? factors_->dy.shape[1] : factors_->x.shape[1];
    const Shape shape = factors_ ? Shape{elements / length, length} : Shape{elements};
    Param& param = **store_->declare({.name = "w", .shape = shape, .init = {}});
    param.updated = true;
    param.factors = factors_;
    if (factors_) param.pieces = {.rows = 1, .elements = length};
    updater_ = *registry_.create<Updater>(updater, {});
    consistency_ = *registry_.create<Consistency>(consistency, {});
    const auto rule = updater_->rule();
    store_->lay_out(&rule);
    masters_.emplace(*store_, Masters::Copies{.values = versions, .shared = shared});
    memory_.resize(masters_->bytes());
    masters_->lie_at(memory_, true);
    ASSERT_TRUE(store_->allocate(&rule).ok());
    store_->move(param, masters_->value(0, 0));
    ASSERT_TRUE(store_->set(param, values).ok());
  }
  // The contributors are the caller's to name, and where messages go.
  ShardSetup setup(const Slices& slices) {
    return {.seats = {0, 1},
            .slices = &slices,
            .masters = &*masters_,
            .store = &*store_,
            .handlers = {.job = {.consistency = consistency_.get()}},
            .updater = updater_.get(),
            .activity = &activity_};
  }

  std::optional<Factors> factors_; // that its contributions are; none: gradients
  env::RealHost host_{LogLevel::error};
  plugin::Registry registry_{plugin::entries_of(plugin::settings_of_process({})), host_};
  plugin::Activity activity_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::optional<Store> store_;
  std::optional<Masters> masters_;
  std::vector<std::byte> memory_;
  std::unique_ptr<Updater> updater_;
  std::unique_ptr<Consistency> consistency_;
  std::unique_ptr<Shard> shard_;
};

} // namespace dlhost::param
