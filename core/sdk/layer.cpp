#include <dlhost/layer.h>

#include <stdexcept>

namespace dlhost {

Prepare::~Prepare() = default;

void Layer::compute_gradient(const Pass&, Frame&, Wanted) const {
  throw std::logic_error(
      "compute_gradient was called of a layer that has none: its setup must say has_gradient = false, "
      "or it must override compute_gradient");
}

namespace {

std::string_view noun(std::size_t count) { return count == 1 ? " source" : " sources"; }

} // namespace

Status expect_inputs(const Setup& setup, std::size_t least, std::size_t most) {
  const std::size_t count = setup.inputs.size();
  if (count >= least && count <= most) return {};
  if (least == most) return Status::invalid("takes ", least, noun(least), ", but src names ", count);
  if (count < least) return Status::invalid("takes at least ", least, noun(least), ", but src names ", count);
  return Status::invalid("takes at most ", most, noun(most), ", but src names ", count);
}

Status expect_rank(const Setup& setup, std::size_t input, std::size_t least, std::size_t most) {
  const Shape& shape = setup.input(input);
  if (shape.rank() >= least && shape.rank() <= most) return {};
  const std::string wanted = least == most      ? concat(least)
                             : most == max_rank ? concat("at least ", least)
                                                : concat(least, " to ", most);
  return Status::invalid("wants a source of ", wanted, " axes (the batch is one of them), but ",
                         setup.inputs[input].name, " is ", to_string(shape));
}

} // namespace dlhost
