// A new version of a slice, of the factors of its gradient: piece by piece, each made and used up while it is in the
// cache. Prepared once; run by the server that owns the slice.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "param/store/factors.h"
#include "param/store/slice_update.h"
#include "param/table/slices.h"

namespace dlhost::param {

class FactoredUpdate {
 public:
  // Of a part's gradient: what the product writes is still in a cache when the rule reads it. Smaller parts would read
  // x, and turn it round, more often (`dlhost bench factors`: 2 MiB is the best or near it, from 1 to 4).
  static constexpr std::int64_t usual_part_bytes = 2 << 20;
  struct Setup {
    Store* store = nullptr;
    Param* param = nullptr; // whose contributions are factors
    const Slice* slice = nullptr;
    SliceUpdate::Histories histories;
    std::size_t contributions = 1; // at most, of one version
    const Updater* updater = nullptr;
    const Updater::Rule* rule = nullptr; // without partials
    UpdateSettings settings;             // without a norm
    std::int64_t part_bytes = usual_part_bytes;
  };
  static Result<std::unique_ptr<FactoredUpdate>> prepare(Setup);

  // What it works in, which is anyone's between two runs; scratch of ops aside, known before it is prepared.
  std::size_t room() const { return places_.end; }
  static std::size_t room(const Param&, const Slice&, std::size_t contributions);
  void work_in(std::span<std::byte> room) { room_ = room; }

  // `gradients`: where each contribution's factors begin. What was computed is there when it returns.
  Status run(const SliceUpdate::Run&);

 private:
  // The slice is cut into so many parts, all but the last of one size.
  struct Cut {
    std::int64_t first = 0; // row of the param
    std::int64_t count = 1;
    std::int64_t rows = 0, elements = 0;           // of a part
    std::int64_t last_rows = 0, last_elements = 0; // of the last
    static Cut of(const Param&, const Slice&, std::int64_t part_bytes);
  };
  struct Places {
    std::size_t x = 0, dy = 0, gradient = 0, scratch = 0, end = 0;
    static Places of(const Factors&, const Cut&, std::size_t contributions);
  };
  struct Part {
    std::int64_t rows = 0, elements = 0;
    std::unique_ptr<Op> columns;               // of one worker's dy: those of the part
    std::vector<std::unique_ptr<Op>> products; // of one contribution, of two, ...; a table has neither
    std::unique_ptr<SliceUpdate> update;
  };
  FactoredUpdate(Store& store, const Param& param, const Cut& cut, const Places& places)
      : store_(store), factors_(*param.factors), cut_(cut), places_(places) {}
  Result<Part> prepare_part(const Setup&, std::int64_t rows, std::int64_t elements);
  Status prepare_products(const Setup&, Part&);
  Result<const void*> gather(std::span<const float* const> contributions);
  Status run(Part&, std::int64_t row, const void* x, const SliceUpdate::Run&);
  void multiply(Part&, std::int64_t row, const void* x, std::span<const float* const> contributions, float* gradient);
  void add_rows(const Part&, std::int64_t row, std::span<const float* const> contributions, float* gradient) const;

  Store& store_;
  const Factors factors_;
  const Cut cut_;
  Places places_;
  std::vector<Part> parts_; // the usual one, and the last if it is another
  std::span<std::byte> room_;
};

} // namespace dlhost::param
