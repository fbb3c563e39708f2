// Tensors between the host (plain f32) and a device (as they lie there). For start-up, checkpoints and export, never
// for the step loop: it prepares ops and allocates.
#pragma once

#include <span>
#include <vector>

#include <dlhost/device.h>

namespace dlhost::param {

Status upload(Device&, Stream&, std::span<const float> plain, const TensorDesc&, void* data);
Result<std::vector<float>> download(Device&, Stream&, const TensorDesc&, const void* data);

} // namespace dlhost::param
