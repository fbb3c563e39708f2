// A row of values at each node, cut into slices; a sync sums each slice over the nodes.
#pragma once

#include <optional>

#include "exchange/exchanged.h"
#include "exchange/net.h"
#include "param/exchange/row_exchange.h"

namespace dlhost::bench {

class SlicedRow final : public Exchanged {
 public:
  // `machines`: of each node. `slice`: the most elements of a slice.
  SlicedRow(Net&, const Sync&, std::span<const std::uint32_t> machines, const Encoded&, std::int64_t slice);

  std::size_t bytes() const override { return bytes_; }
  void join(const Site&) override;
  bool go_on() override;
  Status hear(std::uint32_t from, const param::Body&) override;
  bool is_read() const override;
  std::vector<Part> made() const override;

 private:
  const Sync& sync_;
  const param::Slices slices_;
  std::optional<param::Coding> coding_;
  std::size_t bytes_ = 0;
  param::CodecUse codec_;
  record::Traffic traffic_;
  param::Neighbours neighbours_;
  std::vector<param::RowExchange> rows_;
  std::size_t started_ = 0; // slices of the current exchange
};

} // namespace dlhost::bench
