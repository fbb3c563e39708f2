#include "program/build/bridges.h"

#include <algorithm>

namespace dlhost::program {

Bridges::Bridges(const BuildRequest& request, Slots& slots, Links& links)
    : request_(request), slots_(slots), links_(links), all_(request.part.connectors.size()) {
  for (const net::Node& node : request.graph->nodes()) number_.emplace_back(node.inputs.size(), none);
  for (std::size_t c = 0; c < all_.size(); ++c)
    for (const net::Reader& reader : request.part.connectors[c].readers) number_[reader.node][reader.input] = c;
}

const plan::Connector* Bridges::connector(std::size_t node, std::size_t input) const {
  const std::size_t number = number_[node][input];
  return number == none ? nullptr : &request_.part.connectors[number];
}

std::vector<std::size_t> Bridges::of_outputs(std::size_t node) const {
  std::vector<std::size_t> found;
  for (std::size_t c = 0; c < all_.size(); ++c)
    if (request_.part.connectors[c].source.node == node) found.push_back(c);
  return found;
}

std::vector<std::size_t> Bridges::of_inputs(std::size_t node) const {
  std::vector<std::size_t> found;
  for (const std::size_t number : number_[node])
    if (number != none && std::ranges::find(found, number) == found.end()) found.push_back(number);
  return found;
}

Status Bridges::make(std::size_t node, const std::vector<SlotId>& outputs) {
  for (const std::size_t c : of_outputs(node)) {
    const plan::Connector& connector = request_.part.connectors[c];
    Bridge& bridge = all_[c];
    if (!request_.device->traits().host_memory)
      return Status::unsupported(
          "its features go to other workers of the group, and the host cannot reach the memory of "
          "the device: not supported in this version");
    const DType dtype = request_.graph->nodes()[node].setup.outputs[connector.source.output].desc.dtype;
    const auto plain = [&](const net::Form& form) {
      return TensorDesc{dtype, form.of(request_.part.rank).box.shape, Format::plain()};
    };
    if (const TensorDesc made = plain(connector.from); made.count() > 0) {
      DLHOST_ASSIGN(bridge.made, links_.to(outputs.at(connector.source.output), made, false));
    }
    if (const TensorDesc wanted = plain(connector.to); wanted.count() > 0) {
      bridge.wanted = slots_.add(wanted, false);
      if (connector.from == connector.to) slots_[bridge.wanted].alias = bridge.made; // only gradients go
    }
  }
  return {};
}

} // namespace dlhost::program
