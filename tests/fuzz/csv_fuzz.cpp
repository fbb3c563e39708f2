// Reads any bytes as delimited text, plain and packed; the first byte chooses the options.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "csv_text.h"
#include "gunzip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using dlhost::input::CsvLabel;
  if (size == 0) return 0;
  const std::string classes[] = {"cat", "dog"};
  const unsigned how = data[0];
  const dlhost::input::CsvFormat format{how & 1U ? ',' : ';', (how & 2U) != 0, static_cast<CsvLabel>((how >> 2U) % 3),
                                        static_cast<std::int64_t>(how >> 5U) - 4,
                                        how & 16U ? std::span<const std::string>(classes)
                                                  : std::span<const std::string>()};
  const auto file = std::as_bytes(std::span(data + 1, size - 1));
  (void)dlhost::input::parse_csv({reinterpret_cast<const char*>(file.data()), file.size()}, format);
  const auto unpacked = dlhost::input::gunzip(file, 1 << 20);
  if (unpacked.ok())
    (void)dlhost::input::parse_csv({reinterpret_cast<const char*>(unpacked->data()), unpacked->size()}, format);
  return 0;
}
