// Caffe's LMDB databases: a Datum for each record. The lmdb store reads the database.
#include <cstring>

#include <dlhost/plugin.h>
#include <dlhost/source.h>
#include <dlhost/store.h>

#include "content.h"
#include "datum.h"
#include "image_file.h"
#include "phases.h"
#include "pool.h"

namespace dlhost::input {
namespace {

class Lmdb : public Source {
 public:
  static constexpr std::string_view name = "lmdb";

  struct Options : PhaseOptions<std::string> {
    std::vector<std::int64_t> size;
    std::int64_t channels = 3;
  };

  static Schema schema() {
    SchemaOf<Options> schema("LMDB databases of Caffe's Datum. Outputs: data, u8 or f32 [channels, height, width], "
                             "channels in the order in which they were stored (Caffe's tools store blue first; packed "
                             "pictures come out red first); label, i32 [].");
    add_phase_options(schema, "the database");
    schema
        .option("size", &Options::size,
                "[side] or [height, width] of a sample, where the records are packed pictures (JPEG, PNG)",
                between(1, 16384))
        .option("channels", &Options::channels, "of packed pictures: 3 for colour, 1 for grey", between(1, 3));
    return schema;
  }

  explicit Lmdb(Options options) : options_(std::move(options)) {}

  Status open(Host& host, const std::string& folder) override {
    DLHOST_ASSIGN(auto made, host.make(Kind::store, Part{"lmdb", {}}));
    store_.reset(dynamic_cast<Store*>(made.get()));
    if (!store_) return Status::internal("the plugin lmdb is not a store");
    (void)made.release();
    return phases_.open(
        options_, [&](const std::string& file, const Set* first) { return load(host, beside(folder, file), first); });
  }

  Status setup(Setup& s) override {
    s.output("data", data_);
    s.output("label", TensorDesc{DType::i32, {}, {}});
    s.has_gradient = false;
    return {};
  }

  std::int64_t count(Phase phase) const override { return phases_.count(phase); }

  Status read(Phase phase, std::int64_t index, std::span<std::byte* const> outputs) const override {
    const auto [set, record] = phases_.find(phase, index);
    Status status = read_record(set, record, outputs);
    return std::move(status).at(set.path, ", record ", record);
  }

 private:
  struct Set {
    std::string path;
    std::unique_ptr<Records> records;
    std::int64_t count() const { return records->count(); }
  };
  struct Reader {
    PictureDecoder decoder;
    std::vector<std::byte> hold;
  };

  Result<Set> load(Host& host, const std::string& path, const Set* first) {
    Set set{path, nullptr};
    DLHOST_ASSIGN(set.records, store_->open_records(host, path));
    if (set.count() == 0) return Status::invalid(path, ": has no records");
    if (first) return set;
    Status status = find_shape(*set.records);
    if (!status.ok()) return std::move(status).at(path, ", record 0");
    return set;
  }

  // All samples have the shape of the first.
  Status find_shape(const Records& records) {
    std::vector<std::byte> hold;
    std::span<const std::byte> bytes;
    DLHOST_TRY(records.read(0, hold, bytes));
    DLHOST_ASSIGN(const auto datum, parse_datum(bytes));
    encoded_ = datum.encoded;
    if (!encoded_) {
      data_ = {datum.data.empty() ? DType::f32 : DType::u8, {datum.channels, datum.height, datum.width}, {}};
      return {};
    }
    if (options_.size.empty() || options_.size.size() > 2)
      return Status::invalid("holds a packed picture: say size = [side] or [height, width]");
    if (options_.channels == 2) return Status::invalid("channels is 2, but must be 1 or 3");
    target_ = {options_.channels, options_.size.front(), options_.size.back(), true};
    data_ = {DType::u8, {target_.channels, target_.height, target_.width}, {}};
    return {};
  }

  Status read_record(const Set& set, std::int64_t record, std::span<std::byte* const> outputs) const {
    const auto reader = readers_.borrow();
    std::span<const std::byte> bytes;
    DLHOST_TRY(set.records->read(record, reader->hold, bytes));
    DLHOST_ASSIGN(const auto datum, parse_datum(bytes));
    *reinterpret_cast<std::int32_t*>(outputs[1]) = datum.label;
    if (datum.encoded != encoded_) return Status::corrupt("some records are packed pictures and others are not");
    if (encoded_) return reader->decoder.decode(datum.data, target_, reinterpret_cast<std::uint8_t*>(outputs[0]));
    const DType type = datum.data.empty() ? DType::f32 : DType::u8;
    if (TensorDesc{type, {datum.channels, datum.height, datum.width}, {}} != data_)
      return Status::corrupt("is ", datum.channels, "x", datum.height, "x", datum.width, " ", name_of(type),
                             ", but the first record is ", to_string(data_.shape), " ", name_of(data_.dtype));
    if (type == DType::u8)
      std::memcpy(outputs[0], datum.data.data(), datum.data.size());
    else
      for (std::int64_t i = 0; i < datum.float_count; ++i) reinterpret_cast<float*>(outputs[0])[i] = datum.float_at(i);
    return {};
  }

  Options options_;
  std::unique_ptr<Store> store_; // outlives the records
  Phases<Set> phases_;
  TensorDesc data_;
  bool encoded_ = false;
  PictureTarget target_;
  mutable Pool<Reader> readers_;
};

} // namespace
} // namespace dlhost::input

DLHOST_PLUGIN("1.0", dlhost::input::Lmdb);
