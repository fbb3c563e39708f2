#include "datum.h"

#include <bit>
#include <cstring>
#include <optional>

namespace dlhost::input {

namespace {

constexpr std::int64_t largest_axis = 1 << 20;
constexpr std::int64_t most_values = std::int64_t{1} << 31;

enum class Wire : std::uint8_t { varint = 0, eight = 1, bytes = 2, four = 5 };

// Iterates over the fields of a protobuf message.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> message) : message_(message) {}

  bool done() const { return at_ >= message_.size(); }
  std::size_t at() const { return at_; }

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !done(); shift += 7) {
      const auto byte = static_cast<std::uint64_t>(message_[at_++]);
      value |= (byte & 0x7fU) << shift;
      if (byte < 0x80) return value;
    }
    return {};
  }
  std::optional<std::span<const std::byte>> take(std::uint64_t size) {
    if (size > message_.size() - at_) return {};
    const auto bytes = message_.subspan(at_, static_cast<std::size_t>(size));
    at_ += bytes.size();
    return bytes;
  }

 private:
  std::span<const std::byte> message_;
  std::size_t at_ = 0;
};

class DatumParser {
 public:
  explicit DatumParser(std::span<const std::byte> message) : message_(message), fields_(message) {}

  Result<Datum> run() {
    while (!fields_.done()) {
      const std::size_t start = fields_.at();
      if (!field()) return Status::corrupt("byte ", start, ": is not a field of a Datum; the record is damaged");
    }
    DLHOST_TRY(check());
    return datum_;
  }

 private:
  bool field() {
    const auto tag = fields_.varint();
    if (!tag) return false;
    const std::uint64_t number = *tag >> 3U;
    switch (static_cast<Wire>(*tag & 7U)) {
    case Wire::varint: return number_field(number);
    case Wire::bytes: return bytes_field(number);
    case Wire::four: return float_field(number);
    case Wire::eight: return fields_.take(8).has_value(); // Datum has no such field: skipped, as protobuf does
    }
    return false;
  }

  bool number_field(std::uint64_t number) {
    const auto value = fields_.varint();
    if (!value) return false;
    const auto whole = static_cast<std::int32_t>(static_cast<std::uint32_t>(*value));
    if (number == 1) datum_.channels = whole;
    if (number == 2) datum_.height = whole;
    if (number == 3) datum_.width = whole;
    if (number == 5) datum_.label = whole;
    if (number == 7) datum_.encoded = whole != 0;
    return true;
  }

  bool bytes_field(std::uint64_t number) {
    const auto size = fields_.varint();
    const auto bytes = size ? fields_.take(*size) : std::nullopt;
    if (!bytes) return false;
    if (number == 4) datum_.data = *bytes;
    if (number != 6) return true;
    if (bytes->size() % 4 != 0 || datum_.float_count > 0) return false; // only one packed run is allowed
    datum_.floats = *bytes;
    datum_.float_step = 4;
    datum_.float_count = static_cast<std::int64_t>(bytes->size() / 4);
    return true;
  }

  // An unpacked float: each has a tag of one byte; they must be contiguous.
  bool float_field(std::uint64_t number) {
    const auto bytes = fields_.take(4);
    if (!bytes) return false;
    if (number != 6) return true;
    if (datum_.float_count == 0) {
      first_ = static_cast<std::size_t>(bytes->data() - message_.data());
      datum_.float_step = 5;
    }
    const std::size_t place = static_cast<std::size_t>(bytes->data() - message_.data());
    if (datum_.float_step != 5 || place != first_ + 5 * static_cast<std::size_t>(datum_.float_count)) return false;
    ++datum_.float_count;
    datum_.floats = message_.subspan(first_, place + 4 - first_);
    return true;
  }

  Status check() const {
    if (datum_.label < 0) return Status::corrupt("label is ", datum_.label, ", but classes are 0, 1, ...");
    if (datum_.encoded) return {};
    for (const std::int64_t axis : {datum_.channels, datum_.height, datum_.width})
      if (axis <= 0 || axis > largest_axis)
        return Status::corrupt("its shape is ", datum_.channels, "x", datum_.height, "x", datum_.width);
    if (datum_.channels * datum_.height > most_values / datum_.width)
      return Status::corrupt("its shape ", datum_.channels, "x", datum_.height, "x", datum_.width, " is enormous");
    const bool bytes = datum_.data.size() == static_cast<std::size_t>(datum_.count()) && datum_.float_count == 0;
    const bool floats = datum_.data.empty() && datum_.float_count == datum_.count();
    if (bytes || floats) return {};
    return Status::corrupt("its shape ", datum_.channels, "x", datum_.height, "x", datum_.width, " has ",
                           datum_.count(), " values, but it holds ", datum_.data.size(), " bytes and ",
                           datum_.float_count, " floats; the record is damaged");
  }

  std::span<const std::byte> message_;
  Fields fields_;
  Datum datum_;
  std::size_t first_ = 0; // byte of the first unpacked float
};

} // namespace

float Datum::float_at(std::int64_t i) const {
  static_assert(std::endian::native == std::endian::little, "protobuf is little-endian");
  float value = 0;
  std::memcpy(&value, floats.data() + static_cast<std::size_t>(i) * float_step, sizeof value);
  return value;
}

Result<Datum> parse_datum(std::span<const std::byte> message) { return DatumParser(message).run(); }

} // namespace dlhost::input
