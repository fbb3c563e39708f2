// Measures the machine's peak rates of large matrix products and of memory traffic on a device, through ops prepared
// the same way as for layers.
#pragma once

#include <dlhost/device.h>
#include <dlhost/host.h>

namespace dlhost::run {

// Floating-point operations a second; the best of a few runs.
Result<double> measure_peak(Device&, Stream&, Clock&, DType);
// Bytes read and written a second, for data larger than the caches; the best of a few runs.
Result<double> measure_bytes(Device&, Stream&, Clock&);

} // namespace dlhost::run
