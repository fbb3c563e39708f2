// The kinds of norm, and the common parts of those by channel.
#pragma once

#include <string>

#include "channel_kernels.h"
#include "prepare.h"

namespace dlhost::plugins::cpu {

Prepared prepare_batch_norm(const NormSpec&);
Prepared prepare_layer_norm(const NormSpec&, const Request&);
Prepared prepare_group_norm(const NormSpec&);
Prepared prepare_rms_norm(const NormSpec&);

// Settles x and y of a norm by channel: an open format becomes the other's, or plain.
Status settle_alike(NormSpec&);
// Why loops by channel refuse an epilogue; empty: they accept it.
std::string refused_by_channel(const Epilogue&);
// Adds an epilogue's operands and results to a gradient op by channel. Returns how it finds the slope of a ReLU.
Mask add_epilogue_operands(const NormSpec&, Op&);

} // namespace dlhost::plugins::cpu
