// Converts the training position of a checkpoint to and from JSON, and moves it to the position that the workers had
// reached when one of them died.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/job.h"
#include "param/table/start_point.h"
#include "run/input/feeds.h"

namespace dlhost::run {

// The positions of workers and slices.
nlohmann::json workers_state(const config::Job&, const param::StartPoint&);
nlohmann::json slices_state(const param::StartPoint&);
std::vector<param::StartPoint::OfSlice> slices_of(const nlohmann::json&);

// The training state at the position that the workers had reached, with the heads of the ledgers that their servers had
// written.
nlohmann::json moved(nlohmann::json training, const config::Job&, const Feeds&, const param::StartPoint&,
                     const record::LedgerHeads&);
nlohmann::json ledgers_state(const record::LedgerHeads&);
// The ledger heads in a training state; empty: it has none. Errors: they are damaged.
Result<record::LedgerHeads> ledgers_of(const nlohmann::json& training);

} // namespace dlhost::run
