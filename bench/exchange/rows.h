// A row that lies at all nodes, cut into slices, of each of which every node's becomes the sum by a sync.
#pragma once

#include <optional>

#include "exchange/exchanged.h"
#include "exchange/net.h"
#include "param/exchange/row_exchange.h"

namespace dlhost::bench {

class SlicedRow final : public Exchanged {
 public:
  // `machines`: of each node. Slices of so many elements at most.
  SlicedRow(Net&, const Sync&, std::span<const std::uint32_t> machines, const Encoded&, std::int64_t slice);

  std::size_t bytes() const override { return bytes_; }
  void join(const Site&) override;
  bool go_on() override;
  Status hear(const param::Message&) override;
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
  std::size_t started_ = 0; // of the exchange that is on
};

} // namespace dlhost::bench
