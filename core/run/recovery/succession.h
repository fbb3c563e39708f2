// How a process takes the place of a killed leader: a worker, or the leader's standby.
//
// The process that holds the lock of the run's folder leads. The others wait until the new leader has workers, because
// it may be killed as well. The new leader has a standby before it is announced. So a run is lost only when all its
// processes are gone.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <dlhost/host.h>

#include "env/process/processes.h"
#include "run/recovery/leadership.h"

namespace dlhost::run {

// While this file is in the run's folder, other processes may take over a run whose leader is gone. The leader removes
// it when it ends the run itself: at the run's end, on a second Ctrl-C, or after a crash of its code. The file has the
// status that the run's summary has from an earlier end, until the leader that resumes the run has written another.
std::string may_be_taken_over(const std::string& run);
// Writes that file. True: it has the status of an earlier end.
Result<bool> permit_takeover(Disk&, const std::string& run);

// Takes the lead of a run. None: another process leads the run, or it is over. `machine`: the run's name of this
// machine. `dead`: the killed leader's process number. `get_standby` is called when the lock is held.
Result<std::optional<Leadership>> succeed(Host&, env::Processes&, const std::string& run, const std::string& machine,
                                          int dead, const std::function<Status()>& get_standby);

// The process that leads workers that meet in that folder and go on, or prepares to. 0: none does.
int leader_of(Disk&, env::Processes&, const std::string& meeting);

// For the standby: waits for the dead leader's workers to end, unless server groups go on without it. They may hold
// values that servers made since the last recovery point, and take over first. The lock does not help here: the dead
// leader may not have released it yet.
void let_workers_go_first(Host&, env::Processes&, const std::string& run, int dead);

} // namespace dlhost::run
