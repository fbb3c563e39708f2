// Any bytes as what another machine sends: messages, and what is enclosed with them. What is read is written once more,
// and is the same then.
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
    const auto letter = reader.next();
    if (!letter.ok()) break;
    const auto& enclosed = letter->enclosure.bytes;
    if (enclosed.data() + enclosed.size() > bytes.data() + bytes.size() || enclosed.size() > most_enclosed)
      std::abort();
    const auto message = read_message(letter->message);
    if (!message.ok()) continue;
    Bundle bundle(again);
    std::array<std::byte, message_bytes> written;
    write(*message, written);
    bundle.add(written, letter->enclosure);
    const auto copy = BundleReader(bundle.written()).next();
    if (!copy.ok() || copy->enclosure.mirror != letter->enclosure.mirror ||
        copy->enclosure.offset != letter->enclosure.offset || copy->enclosure.bytes.size() != enclosed.size())
      std::abort();
  }
  return 0;
}
