#include "program/build/links.h"

namespace dlhost::program {

SlotId Links::find(SlotId from, const TensorDesc& wanted, bool on_host) const {
  for (const auto& link : all_) {
    const Slot& to = slots_[link.to];
    if (link.from == from && to.desc == wanted && to.on_host == on_host) return link.to;
  }
  return no_slot;
}

Result<SlotId> Links::reordered(SlotId from, const TensorDesc& wanted) {
  const TensorDesc desc = slots_[from].desc;
  if (desc == wanted) return from;
  if (const SlotId known = find(from, wanted, false); known != no_slot) return known;
  Link link;
  link.from = from;
  DLHOST_ASSIGN(link.forward, device_.prepare(ReorderSpec{desc, wanted}));
  if (training_ && is_float(desc.dtype) && is_float(wanted.dtype)) {
    DLHOST_ASSIGN(link.backward, device_.prepare(ReorderSpec{wanted, desc}));
  }
  link.to = slots_.add(wanted, false);
  all_.push_back(std::move(link));
  return all_.back().to;
}

SlotId Links::copied(SlotId from, Direction direction) {
  const TensorDesc desc = slots_[from].desc;
  const bool to_host = direction == Direction::to_host;
  if (const SlotId known = find(from, desc, to_host); known != no_slot) return known;
  Link link;
  link.from = from;
  link.direction = direction;
  link.to = slots_.add(desc, to_host);
  all_.push_back(std::move(link));
  return all_.back().to;
}

Result<SlotId> Links::to(SlotId from, const TensorDesc& wanted, bool on_host) {
  const Slot source = slots_[from];
  if (wanted.shape != source.desc.shape || wanted.format.is_any())
    return Status::internal("asked for an input of ", to_string(source.desc.shape), " as ", to_string(wanted.shape),
                            ", in a format that is not settled; this is a bug in the layer");
  if (source.desc == wanted && source.on_host == on_host) return from;
  if (source.on_host) from = copied(from, Direction::from_host);
  DLHOST_ASSIGN(from, reordered(from, wanted));
  if (on_host) from = copied(from, Direction::to_host);
  return from;
}

} // namespace dlhost::program
