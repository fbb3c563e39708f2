// The kinds of norm, and what those that go by channel share.
#pragma once

#include <string>

#include "channel_kernels.h"
#include "prepare.h"

namespace dlhost::plugins::cpu {

Prepared prepare_batch_norm(const NormSpec&);
Prepared prepare_layer_norm(const NormSpec&, const Request&);
Prepared prepare_group_norm(const NormSpec&);
Prepared prepare_rms_norm(const NormSpec&);

// x and y of a norm by channel: what is open becomes as the other is, or plain.
Status settle_alike(NormSpec&);
// Why loops by channel do not take an epilogue; nothing if they do.
std::string refused_by_channel(const Epilogue&);
// Adds what a gradient op by channel takes and gives for an epilogue. Returns how it finds the slope of a relu.
Mask add_epilogue_operands(const NormSpec&, Op&);

} // namespace dlhost::plugins::cpu
