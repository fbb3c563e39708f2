// What the machine can do: the rate of large matrix products on a device, as prepared for layers.
#pragma once

#include <dlhost/device.h>
#include <dlhost/host.h>

namespace dlhost::run {

// Floating-point operations a second; the best of a few runs.
Result<double> measure_peak(Device&, Stream&, Clock&, DType);

} // namespace dlhost::run
