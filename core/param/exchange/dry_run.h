// The steps of one rank in one exchange of a sync, without the other ranks: each awaited part arrives in turn.
#pragma once

#include <vector>

#include <dlhost/sync.h>

namespace dlhost::param {

std::vector<SyncStep> rehearse(const Sync&, const Sync::Ranks&, std::int64_t elements);

} // namespace dlhost::param
