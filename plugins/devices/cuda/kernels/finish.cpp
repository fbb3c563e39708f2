#include "finish.h"

#include "launch.h"

namespace dlhost::plugins::cuda {

void finish_all(WorkStream& stream, std::int64_t count, const FinishAll& all) { each(stream, count, all); }

std::size_t bias_gradient_room(std::int64_t channels, std::int64_t terms) {
  return reduce_room<BiasGradient>(channels, terms);
}

void bias_gradient(WorkStream& stream, std::int64_t terms, const BiasGradient& bias, void* room) {
  reduce(stream, bias.channels, terms, bias, room);
}

} // namespace dlhost::plugins::cuda
