// What this worker waits for at this moment, as it shows it to others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "param/table/table.h"
#include "run/memory/awaited.h"

namespace dlhost::run {

class Waits {
 public:
  using What = Awaited::What;
  static Awaited on(What what, std::uint32_t worker = Awaited::nobody) {
    return {.what = what, .seat = static_cast<std::uint16_t>(worker)};
  }
  const Awaited& now() const { return now_; }

  // `over`: the worker does not wait any more. Returns that.
  bool is_over(bool over, Awaited awaited) {
    now_ = over ? Awaited() : awaited;
    return over;
  }
  // Whether it holds for all these workers; else this one waits for the first for which it does not.
  template <class Holds> bool all_of(std::span<const std::uint32_t> workers, What what, Holds holds) {
    const auto first = std::ranges::find_if_not(workers, holds);
    return first == workers.end() ? is_over(true, {}) : is_over(false, on(what, *first));
  }
  // Asks the servers, and waits for their answers.
  Status until_answered(param::Table& table, Status (param::Table::*asks)()) {
    now_ = on(What::answers);
    Status status = (table.*asks)();
    now_ = {};
    return status;
  }

 private:
  Awaited now_;
};

} // namespace dlhost::run
