#include "param/store/transfer.h"

namespace dlhost::param {
namespace {

bool lies_plain(const TensorDesc& desc) { return desc.dtype == DType::f32 && desc.format.is_plain(); }
TensorDesc plain_of(const TensorDesc& desc) { return {DType::f32, desc.shape, Format::plain()}; }

Status reorder(Device& device, Stream& stream, const TensorDesc& from, const void* src, const TensorDesc& to,
               void* dst) {
  DLHOST_ASSIGN(auto conversion, Conversion::make(device, stream, from, to));
  return conversion.run(src, dst);
}

} // namespace

Result<Conversion> Conversion::make(Device& device, Stream& stream, const TensorDesc& from, const TensorDesc& to) {
  Conversion conversion;
  conversion.stream_ = &stream;
  DLHOST_ASSIGN(conversion.op_, device.prepare(ReorderSpec{from, to}));
  DLHOST_ASSIGN(conversion.scratch_, Memory::make(device, conversion.op_->scratch_bytes + 1));
  return conversion;
}

Status Conversion::run(const void* from, void* to) {
  op_->run(*stream_, {from}, {to}, scratch_.data());
  return stream_->wait();
}

Status upload(Device& device, Stream& stream, std::span<const float> plain, const TensorDesc& desc, void* data) {
  if (lies_plain(desc)) {
    DLHOST_TRY(device.copy(stream, data, plain.data(), plain.size_bytes(), Direction::from_host));
    return stream.wait();
  }
  if (device.traits().host_memory) return reorder(device, stream, plain_of(desc), plain.data(), desc, data);
  DLHOST_ASSIGN(auto staging, Memory::make(device, plain.size_bytes()));
  DLHOST_TRY(device.copy(stream, staging.data(), plain.data(), plain.size_bytes(), Direction::from_host));
  return reorder(device, stream, plain_of(desc), staging.data(), desc, data);
}

Result<std::vector<float>> download(Device& device, Stream& stream, const TensorDesc& desc, const void* data) {
  std::vector<float> plain(static_cast<std::size_t>(desc.count()));
  const auto bytes = plain.size() * sizeof(float);
  if (lies_plain(desc)) {
    DLHOST_TRY(device.copy(stream, plain.data(), data, bytes, Direction::to_host));
    DLHOST_TRY(stream.wait());
    return plain;
  }
  if (device.traits().host_memory) {
    DLHOST_TRY(reorder(device, stream, desc, data, plain_of(desc), plain.data()));
    return plain;
  }
  DLHOST_ASSIGN(auto staging, Memory::make(device, bytes));
  DLHOST_TRY(reorder(device, stream, desc, data, plain_of(desc), staging.data()));
  DLHOST_TRY(device.copy(stream, plain.data(), staging.data(), bytes, Direction::to_host));
  DLHOST_TRY(stream.wait());
  return plain;
}

} // namespace dlhost::param
