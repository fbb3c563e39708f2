// The work of a linear op on its result before storing it: bias, addend, pointwise function.
#pragma once

#include <optional>

#include <dlhost/ops.h>

#include "number.h"
#include "program.h"
#include "work.h"

namespace dlhost::plugins::cuda {

// The epilogue's function; nullopt: it cannot be done completely.
inline std::optional<Function> function_of(const Epilogue& epilogue) {
  if (!epilogue.pointwise) return Function{};
  auto made = Function::of(epilogue.pointwise->feature);
  if (made) made->known = epilogue.pointwise->known;
  return made;
}

struct Finish {
  Source bias, addend;                  // data null: none
  std::int64_t inner = 1, channels = 1; // inner 1: channels last
  Function function;

  DLHOST_BODY float operator()(std::int64_t i, float value) const {
    if (bias.data) value += bias[quotient(i, inner) % channels];
    if (addend.data) value += addend[i];
    return function(value);
  }
};

// Finishes a library's product: from there to the result.
struct FinishAll {
  Source product;
  Target result;
  Finish finish;
  DLHOST_BODY void operator()(std::int64_t i) const { result.set(i, finish(i, product[i])); }
};

// db[c] = sum of dy[n, c, ...].
struct BiasGradient {
  using Sum = float;
  Source dy;
  Target db;
  std::int64_t inner, channels;
  DLHOST_BODY Sum zero() const { return 0; }
  DLHOST_BODY void take(Sum& sum, std::int64_t channel, std::int64_t term) const {
    const std::int64_t n = quotient(term, inner);
    sum += dy[(n * channels + channel) * inner + (term - n * inner)];
  }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const { sum += other; }
  DLHOST_BODY void finish(std::int64_t channel, const Sum& sum) const { db.set(channel, sum); }
};

// For libraries' ops, which launch no bodies. With channels last it works by columns.
void finish_all(WorkStream&, std::int64_t count, const FinishAll&);
// `terms`: for each channel. `room`: bias_gradient_room() bytes.
void bias_gradient(WorkStream&, std::int64_t terms, const BiasGradient&, void* room);
std::size_t bias_gradient_room(std::int64_t channels, std::int64_t terms);

} // namespace dlhost::plugins::cuda
