// What a rank does in one exchange of a sync, found out without the others: whatever it waits for arrives in turn.
#pragma once

#include <vector>

#include <dlhost/sync.h>

namespace dlhost::param {

std::vector<SyncStep> rehearse(const Sync&, const Sync::Ranks&, std::int64_t elements);

} // namespace dlhost::param
