// What the machine can do: the rates of large matrix products and of moving memory on a device, as ops prepared for
// layers reach them.
#pragma once

#include <dlhost/device.h>
#include <dlhost/host.h>

namespace dlhost::run {

// Floating-point operations a second; the best of a few runs.
Result<double> measure_peak(Device&, Stream&, Clock&, DType);
// Bytes a second, read and written, of what no cache holds; the best of a few runs.
Result<double> measure_bytes(Device&, Stream&, Clock&);

} // namespace dlhost::run
