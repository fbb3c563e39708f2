// A row that lies at all nodes, cut into slices, of each of which every node's becomes the sum.
#pragma once

#include <memory>
#include <vector>

#include "param/row_exchange.h"

namespace dlhost::bench {

class SlicedRow {
 public:
  // `neighbours`: without a sync.
  SlicedRow(const param::Neighbours& neighbours, const Sync&, std::int64_t elements, std::int64_t slice);
  static std::size_t bytes(std::int64_t elements, std::int64_t slice);

  // Before the first and behind the last exchange.
  void fill();
  bool is_right() const;
  // One more; true once it is over. Others' words come in between.
  bool go_on();
  Status hear(const param::Message&);
  bool is_read() const; // by all others

 private:
  static std::vector<param::Slice> cut(std::int64_t elements, std::int64_t slice);
  float value(const param::Slice&, std::size_t element, std::uint32_t rank) const;

  std::vector<param::Slice> slices_;
  param::Neighbours neighbours_;
  std::vector<param::RowExchange> rows_;
  std::size_t started_ = 0; // of the exchange that is on
};

} // namespace dlhost::bench
