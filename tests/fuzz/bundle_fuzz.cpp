// Reads any bytes as another machine's messages with their enclosures. Messages that are written again read the same.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "param/message/bundle.h"

using namespace dlhost::param;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  std::vector<std::byte> again(bundle_bytes + Bundle::bytes_of(most_enclosed));
  for (BundleReader reader(bytes); !reader.at_end();) {
    const auto entry = reader.next();
    if (!entry.ok()) break;
    const auto& enclosed = entry->enclosure.bytes;
    if (enclosed.data() + enclosed.size() > bytes.data() + bytes.size() || enclosed.size() > most_enclosed)
      std::abort();
    const auto message = read_message(entry->message);
    if (!message.ok()) continue;
    Bundle bundle(again);
    std::array<std::byte, message_bytes> written;
    write(*message, written);
    bundle.add(written, entry->enclosure);
    std::array<std::byte, message_bytes> rewritten;
    write(*read_message(written), rewritten);
    if (rewritten != written) std::abort();
    const auto copy = BundleReader(bundle.written()).next();
    if (!copy.ok() || copy->enclosure.mirror != entry->enclosure.mirror ||
        copy->enclosure.offset != entry->enclosure.offset || copy->enclosure.bytes.size() != enclosed.size())
      std::abort();
  }
  return 0;
}
