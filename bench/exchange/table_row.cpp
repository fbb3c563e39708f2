#include "exchange/table_row.h"

#include <algorithm>
#include <numeric>

#include "need.h"

namespace dlhost::bench {

TableRow::TableRow(plugin::Registry& registry, Net& net, std::uint32_t nodes, const Encoded& encoded,
                   std::int64_t threshold, param::MessageHandler& node)
    : net_(net), node_(node), gradients_(net.store()),
      slices_(param::Slices::cut(gradients_.elements(), nodes, threshold,
                                 std::array{encoded.piece(gradients_.elements()[0])})),
      masters_(net.store(), {}), strict_(need(registry.create<Consistency>("strict", {}))) {
  if (!encoded.codec) return;
  coding_.emplace(net.store(), slices_, *encoded.codec, 1, gradients_.bytes(), param::Coding::Kind());
  codec_ = {.store = &net.store(), .coding = &*coding_, .codec = encoded.codec, .actor = encoded.actor};
}

void TableRow::join(const Site& site) {
  site_ = site;
  codec_.activity = site.activity;
  masters_.lie_at(site.masters, site.has_masters);
  net_.store().borrow(*this);
  need(net_.store().allocate(&net_.rule()));
  if (site.has_masters) std::ranges::fill(site.masters, std::byte{});
  auto* gradient = reinterpret_cast<float*>(site.own.data() + gradients_.offset(0));
  for (std::size_t i = 0; i < static_cast<std::size_t>(gradients_.elements()[0]); ++i)
    gradient[i] = value_at(i, site.rank);

  std::vector<std::uint32_t> all(site.machines.size());
  std::iota(all.begin(), all.end(), 0);
  param::Table::Setup setup{.host = site.host,
                            .post = site.post,
                            .store = &net_.store(),
                            .slices = &slices_,
                            .masters = &masters_,
                            .gradients = &gradients_,
                            .handlers = {.job = {.consistency = strict_.get()}},
                            .seats = all,
                            .worker = {.rank = static_cast<std::uint16_t>(site.rank)},
                            .rows = {site.rank, 1},
                            .control = this};
  if (coding_) {
    coding_->clear(site.own, false);
    setup.coder = need(param::Coder::make(
        {.use = codec_, .slices = &slices_, .memory = site.own, .seed = 1, .contributor = site.rank}));
  }
  table_.emplace(std::move(setup));
  make_shard();
  table_->sit_beside(shard_.get(), nullptr);
  table_->begin({.steps = std::vector<std::uint64_t>(all.size())});
}

void TableRow::make_shard() {
  const auto nodes = static_cast<std::uint32_t>(site_.machines.size());
  param::ShardSetup setup{
      .server = site_.rank,
      .machine = site_.machines[site_.rank],
      .seats = {},
      .slices = &slices_,
      .masters = &masters_,
      .store = &net_.store(),
      .handlers = {.job = {.consistency = strict_.get()}},
      .updater = &net_.updater(),
      .codec = codec_,
      .activity = site_.activity,
      .send = [this](std::uint32_t seat, const param::Body& message) { return table_->send(seat, message); }};
  setup.send_with = [this](std::uint32_t seat, const param::Body& message, std::span<const std::byte> params) {
    if (site_.is_near(seat)) return table_->send(seat, message);
    const auto offset = static_cast<std::uint64_t>(params.data() - site_.masters.data());
    return table_->send(seat, message, {params, &(*site_.masters_there)[seat], offset, record::Cargo::params});
  };
  for (std::uint32_t node = 0; node < nodes; ++node) {
    setup.seats.push_back(node);
    setup.contributors.push_back({.rank = static_cast<std::uint16_t>(node),
                                  .seat = node,
                                  .sent = site_.memories[node].first(sent()),
                                  .machine = site_.machines[node]});
  }
  shard_ = need(param::Shard::make(std::move(setup)));
}

bool TableRow::go_on() {
  began_ = site_.host->clock().now();
  need(table_->update(0, step_, step_ % 2 == 0 ? 1 : -1));
  need(table_->end_step(step_));
  need(table_->collect(0));
  ++step_;
  return true;
}

Status TableRow::watch() {
  if (site_.host->clock().now() - began_ > patience) return Status::timeout("the table does not answer");
  return {};
}

std::vector<Exchanged::Part> TableRow::made() const {
  const auto value = masters_.value(0, 0);
  const auto elements = static_cast<std::size_t>(net_.elements()[0]);
  return {{0, std::span(reinterpret_cast<const float*>(value.data()), elements)}};
}

} // namespace dlhost::bench
