#include "program/source_feeds.h"

#include <algorithm>

namespace dlhost::program {

void SourceFeeds::find(const std::vector<Unit>& units, UnitFrames& unit_frames, std::vector<Call>& calls,
                       const Slots& slots, const Frames& of) {
  arrived_.resize(units.size());
  for (int f = 0; f < of.frames; ++f)
    for (const Unit& unit : units) {
      if (!unit.described->source) continue;
      for (std::size_t o = 0; o < unit.outputs.size(); ++o) {
        Feed feed{.node = unit.node, .output = o, .slot = slots.in_frame(unit.outputs[o], f)};
        const auto& desc = slots[feed.slot].desc;
        feed.delivered = slots.is_delivered(feed.slot);
        const auto row_bytes = desc.plain_bytes() / static_cast<std::size_t>(std::max<std::int64_t>(desc.shape[0], 1));
        const std::int64_t first = unit.part.first_row - of.first_row + (of.cut ? f * of.rows : 0);
        feed.offset = static_cast<std::size_t>(first) * row_bytes;
        for (auto& reader : unit_frames)
          for (std::size_t i = 0; i < reader.inputs.size(); ++i)
            if (slots.root(reader.input_slots[i]) == feed.slot) feed.readers.push_back(&reader.inputs[i]);
        for (auto& call : calls)
          for (std::size_t i = 0; i < call.in.size(); ++i)
            if (slots.root(call.in[i]) == feed.slot) feed.readers.push_back(&call.inputs[i]);
        feeds_.push_back(std::move(feed));
      }
    }
}

void SourceFeeds::bind(const BatchView& batch, Slots& slots) {
  for (auto& feed : feeds_)
    for (const auto& source : batch.sources) {
      if (source.node != feed.node) continue;
      arrived_[feed.node] = source.arrived;
      void* const begin = feed.delivered ? source.delivered[feed.output] : source.outputs[feed.output];
      const void* data = static_cast<std::byte*>(begin) + feed.offset;
      slots[feed.slot].data = const_cast<void*>(data);
      for (const void** reader : feed.readers) *reader = data;
    }
}

} // namespace dlhost::program
