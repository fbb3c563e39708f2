#include <vector>

#include <dlhost/parts.h>
#include <dlhost/plugin.h>

#include "gaussian.h"

namespace dlhost::plugins {

namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Subtracts the part of `vector` in the span of the basis. Twice: one pass leaves rounding errors if the rest is small.
// Returns the length of the rest.
double project_out(const std::vector<Vector>& basis, Vector& vector) {
  for (int pass = 0; pass < 2; ++pass)
    for (const Vector& known : basis) {
      const double along = dot(known, vector);
      for (std::size_t i = 0; i < vector.size(); ++i) vector[i] -= along * known[i];
    }
  return std::sqrt(dot(vector, vector));
}

// `count` orthonormal vectors of `length` >= count elements, uniformly distributed over all such frames.
std::vector<Vector> orthonormal(std::size_t count, std::size_t length, Gaussian& draw) {
  std::vector<Vector> basis;
  basis.reserve(count);
  while (basis.size() < count) {
    Vector vector(length);
    for (double& element : vector) element = draw();
    const double rest = project_out(basis, vector);
    if (rest < 1e-6) continue; // by chance nearly in the span of the others: draw again
    for (double& element : vector) element /= rest;
    basis.push_back(std::move(vector));
  }
  return basis;
}

} // namespace

class Orthogonal final : public Initializer {
 public:
  static constexpr std::string_view name = "orthogonal";
  struct Options {
    double gain = 1;
  };
  static Schema schema() {
    return SchemaOf<Options>("Orthonormal rows, or columns where there are fewer of them (Saxe et al. 2013).")
        .option("gain", &Options::gain, "the length of each");
  }
  explicit Orthogonal(Options options) : options_(options) {}

  Status fill(std::span<float> values, const Target& target, Random& random) const override {
    if (target.shape.rank() < 2)
      return Status::invalid("orthogonal wants a matrix, but this param is ", to_string(target.shape));
    const auto rows = static_cast<std::size_t>(target.shape[0]);
    const auto columns = static_cast<std::size_t>(target.shape.past(1));
    Gaussian draw(random);
    const bool wide = rows <= columns;
    const auto basis = wide ? orthonormal(rows, columns, draw) : orthonormal(columns, rows, draw);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < columns; ++c)
        values[r * columns + c] = static_cast<float>(options_.gain * (wide ? basis[r][c] : basis[c][r]));
    return {};
  }

 private:
  Options options_;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::Orthogonal);
