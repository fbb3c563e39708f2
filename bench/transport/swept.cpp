#include "swept.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <stdexcept>

#include <boost/interprocess/shared_memory_object.hpp>

#include "shm/segment.h"

namespace dlhost::bench {

namespace {

volatile std::sig_atomic_t worker = 0;

void end_worker(int) {
  if (worker != 0) kill(worker, SIGTERM);
}

} // namespace

std::string queue_name(pid_t process) { return "dlhost-bench-queue-" + std::to_string(process); }

int sweep_after(const std::function<int()>& work) {
  constexpr int asks_to_end[] = {SIGTERM, SIGINT, SIGHUP};
  for (const int number : asks_to_end) std::signal(number, end_worker);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t parent = getpid(), child = fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    for (const int number : asks_to_end) std::signal(number, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    return getppid() == parent ? work() : 1;
  }
  worker = child;
  int how = 0;
  while (waitpid(child, &how, 0) < 0) continue; // interrupted by a signal
  worker = 0;
  while (wait(nullptr) >= 0 || errno == EINTR) continue; // waits for the child's orphans
  plugins::shm::remove_leftovers();
  for (const auto& name : plugins::shm::segments_with(queue_name(child)))
    boost::interprocess::shared_memory_object::remove(name.c_str());
  if (WIFEXITED(how)) return WEXITSTATUS(how);
  std::signal(WTERMSIG(how), SIG_DFL);
  std::raise(WTERMSIG(how));
  return 1;
}

} // namespace dlhost::bench
