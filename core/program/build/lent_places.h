// Where each worker of the group lends its boxes: a pure function of the plan, so all workers know the places in each
// other's memory without messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/partition.h"

namespace dlhost::program {

// The kinds of transfers of a connector. What several workers want of a sum is added up in pieces, and then gathered.
enum class TransferKind : std::uint8_t { features, gathered_features, gradients, gathered_gradients };
inline constexpr std::uint32_t transfer_kinds = 4;

class LentPlaces {
 public:
  static constexpr std::size_t none = ~std::size_t{0};
  static constexpr std::size_t alignment = 64;

  LentPlaces(const net::Graph&, const std::vector<plan::Connector>&, int frames);

  // Of a connector's transfer in a frame, among those of a step.
  std::uint32_t number(std::size_t connector, TransferKind kind, int frame) const {
    return (static_cast<std::uint32_t>(connector) * transfer_kinds + static_cast<std::uint32_t>(kind)) *
               static_cast<std::uint32_t>(frames_) +
           static_cast<std::uint32_t>(frame);
  }
  // The offset of a worker's box in its memory; none: it lends none. A source's features have one place for all
  // connectors.
  std::size_t at(std::uint32_t transfer, std::uint32_t worker) const { return places_.at(transfer)[worker]; }
  std::size_t transfers() const { return places_.size(); }
  const std::vector<std::size_t>& bytes() const { return bytes_; } // of each worker's memory

 private:
  void add(std::uint32_t transfer, const net::Form& lent, const std::vector<net::Move>&, bool gathers,
           std::size_t element_bytes);

  const int frames_;
  std::vector<std::vector<std::size_t>> places_; // by transfer and worker
  std::vector<std::size_t> bytes_;
};

} // namespace dlhost::program
