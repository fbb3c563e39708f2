#include "exchange/net.h"

#include "need.h"

namespace dlhost::bench {
namespace {

// One thread, because all nodes are processes of one machine.
Table one_thread() {
  Table options;
  options.entries.emplace_back("threads", Value{std::int64_t{1}});
  return options;
}

} // namespace

Net::Net(plugin::Registry& registry, std::int64_t elements)
    : device_(need(registry.create<Device>("cpu", one_thread()))), stream_(need(device_->stream())),
      updater_(need(registry.create<Updater>("sgd", {}))), rule_(updater_->rule()),
      store_(*device_, *stream_), elements_{elements} {
  param::Param& param = *need(store_.declare({.name = "sum", .shape = {elements}, .init = {}}));
  param.updated = true;
  store_.lay_out(&rule_);
}

} // namespace dlhost::bench
