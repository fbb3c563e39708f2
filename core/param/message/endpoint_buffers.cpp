#include "param/message/endpoint_buffers.h"

namespace dlhost::param {

EndpointBuffers::EndpointBuffers(std::unique_ptr<Endpoint> endpoint, std::size_t largest)
    : largest_(largest), rooms_(count * largest), pieces_(count * largest), to_(count, no_seat),
      endpoint_(std::move(endpoint)) {
  for (std::uint32_t piece = 0; piece < count; ++piece) free_.push_back(piece);
}

Result<std::unique_ptr<EndpointBuffers>> EndpointBuffers::open(std::unique_ptr<Endpoint> endpoint,
                                                               std::size_t largest) {
  std::unique_ptr<EndpointBuffers> buffers(new EndpointBuffers(std::move(endpoint), largest));
  for (std::size_t room = 0; room < count; ++room) DLHOST_TRY(buffers->empty_room(room));
  return buffers;
}

std::optional<std::uint32_t> EndpointBuffers::free_piece() const {
  return free_.empty() ? std::nullopt : std::optional(free_.back());
}

void EndpointBuffers::start(std::uint32_t piece, std::uint32_t seat) {
  free_.pop_back();
  to_[piece] = seat;
}

void EndpointBuffers::finish(std::uint32_t piece) {
  to_[piece] = no_seat;
  free_.push_back(piece);
}

void EndpointBuffers::drop(std::uint32_t seat) {
  for (std::uint32_t piece = 0; piece < to_.size(); ++piece)
    if (to_[piece] == seat) finish(piece);
}

} // namespace dlhost::param
