#include "linear.h"
#include "make.h"

namespace dlhost::plugins::ref {

namespace {

// y[n, u] = x[n, k] w[u, k]
struct Rows {
  std::int64_t units, terms;
  template <class Visit> void each(std::int64_t first, std::int64_t last, Visit&& visit) const {
    for (std::int64_t n = first; n < last; ++n)
      for (std::int64_t u = 0; u < units; ++u)
        for (std::int64_t k = 0; k < terms; ++k) visit(n * terms + k, u * terms + k, n * units + u);
  }
};

template <class T> class Gemm : public Linear<T, GemmSpec, Rows> {
 public:
  Gemm(const GemmSpec& spec, const Manner& manner, const Choice& choice)
      : Linear<T, GemmSpec, Rows>(spec, {spec.y.shape[1], spec.x.shape.past(1)}, manner, choice) {}
};

} // namespace

MadeOp make_op(const GemmSpec& spec, const Manner& manner, const Choice& choice) {
  const Shape &x = spec.x.shape, &w = spec.w.shape, &y = spec.y.shape, &b = spec.b.shape;
  const bool fits = x.rank() >= 2 && w.rank() >= 2 && y.rank() == 2 && x[0] == y[0] && w[0] == y[1] &&
                    x.past(1) == w.past(1) && (b.rank() == 0 || b == Shape{y[1]});
  if (!fits)
    return Status::invalid("gemm: x ", to_string(x), ", w ", to_string(w), ", b ", to_string(b), " and y ",
                           to_string(y), " do not fit: y[n, u] = x[n, ...] w[u, ...] + b[u]");
  auto op = in_its_type<Gemm>(spec, manner, choice);
  op->operations = 2.0 * static_cast<double>(x.count()) * static_cast<double>(y[1]);
  return op;
}

} // namespace dlhost::plugins::ref
