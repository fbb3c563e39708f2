// Shared by the tests of a shard: one param in its own masters, and the parts of a ShardSetup.
#pragma once

#include <optional>

#include <gmock/gmock.h>

#include "env/real_host.h"
#include "param/server/shard.h"
#include "plugin/registry.h"

namespace dlhost::param {

// A version that a server has told, as the answer to a request or when it was aligned. None: it has told something
// else.
struct Told {
  Version version = 0;
  std::uint64_t place = 0; // among the masters' values
};
inline std::optional<Told> told_in(const Body& body) {
  return visit_message(body, [](const auto& message) -> std::optional<Told> {
    if constexpr (requires { Told{message.version, message.place}; }) return Told{message.version, message.place};
    return std::nullopt;
  });
}

class Served : public testing::Test {
 protected:
  // Makes a param with these values, in one of `versions` places.
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
  // The caller adds the contributors and the destination of messages.
  ShardSetup setup(const Slices& slices) {
    return {.seats = {0, 1},
            .slices = &slices,
            .masters = &*masters_,
            .store = &*store_,
            .handlers = {.job = {.consistency = consistency_.get()}},
            .updater = updater_.get(),
            .activity = &activity_};
  }

  Status take(const ToServer& message, std::uint32_t from = 0) { return shard_->take(from, message); }

  std::optional<Factors> factors_; // of its contributions; none: gradients
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
