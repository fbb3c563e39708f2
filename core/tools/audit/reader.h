// What the files of a ledger say, before it is held against anything.
#pragma once

#include <string>

#include "run/audit.h"

namespace dlhost::run {

// `of`: the first attempt that lies in that folder. A server may have died before it wrote anything.
Result<Audit> read_ledger(Disk&, const std::string& folder, const record::LedgerOf& of);

} // namespace dlhost::run
