// What a checkpoint says of where a training is, brought to where its workers had come when one of them died.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/job.h"
#include "param/table/start_point.h"
#include "run/input/feeds.h"

namespace dlhost::run {

// Of the workers.
nlohmann::json workers_state(const config::Job&, const param::StartPoint&);
nlohmann::json slices_state(const param::StartPoint&);
std::vector<param::StartPoint::OfSlice> slices_of(const nlohmann::json&);

// The same training, with its workers there, and what their servers had written down by then.
nlohmann::json moved(nlohmann::json training, const config::Job&, const Feeds&, const param::StartPoint&,
                     const record::LedgerHeads&);
nlohmann::json ledgers_state(const record::LedgerHeads&);
// Of such a training; empty: it keeps none. Not ok: what stands there makes no sense.
Result<record::LedgerHeads> ledgers_of(const nlohmann::json& training);

} // namespace dlhost::run
