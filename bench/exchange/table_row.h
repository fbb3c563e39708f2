// The same by the parameter table: each node runs a worker and a server of a part of the param. Servers sum the
// workers' contributions and update the param; all workers get the new version. Steps add and subtract the sum
// alternately, so that the param stays exact.
#pragma once

#include <optional>

#include "exchange/exchanged.h"
#include "exchange/net.h"
#include "param/table/table.h"

namespace dlhost::bench {

class TableRow final : public Exchanged, private param::ControlHandler, private param::Lender {
 public:
  // Params of `threshold` elements and more have a slice at each server. `node` gets the messages for other parts.
  TableRow(plugin::Registry&, Net&, std::uint32_t nodes, const Encoded&, std::int64_t threshold,
           param::MessageHandler& node);

  std::size_t bytes() const override { return coding_ ? coding_->end() : gradients_.bytes(); }
  std::size_t masters_bytes() const override { return masters_.bytes(); }
  void join(const Site&) override;
  bool go_on() override;
  // What the server sends to its own worker is taken by go_on(): `strict` answers none before this worker's update.
  Status hear(std::uint32_t from, const param::Body& message) override { return table_->take(from, message); }
  std::vector<Part> made() const override;
  float times_sum() const override { return step_ % 2 == 0 ? 0 : -1; }

 private:
  std::size_t sent() const { return coding_ ? coding_->sent_end() : gradients_.bytes(); }
  void make_shard();

  bool calls() const override { return false; }
  Status attend() override { return {}; }
  void beat() override {}
  Status watch() override;
  param::Post::Shown shown(std::uint32_t seat, std::size_t place, std::size_t bytes, record::Cargo) override {
    return site_.shown(seat, site_.own.subspan(place, bytes), place);
  }
  Status take(std::uint32_t from, const param::ToWorker& message) override { return node_.take(from, message); }

  std::span<std::byte> lend(const param::Param& param, std::size_t which) override {
    return masters_.lend(param, which);
  }
  bool fills() const override { return masters_.fills(); }
  std::span<std::byte> lend_state(std::size_t) override { return {}; }

  Net& net_;
  param::MessageHandler& node_;
  const param::Gradients gradients_;
  const param::Slices slices_;
  param::Masters masters_;
  std::optional<param::Coding> coding_;
  param::CodecUse codec_;
  std::unique_ptr<Consistency> strict_;
  Site site_;
  std::optional<param::Table> table_;
  std::unique_ptr<param::Shard> shard_;
  std::uint64_t step_ = 0;
  Nanoseconds began_ = 0; // of this step
};

} // namespace dlhost::bench
