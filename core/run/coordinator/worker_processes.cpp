#include "run/coordinator/worker_processes.h"

#include <algorithm>
#include <utility>

#include "plugin/faults.h"

namespace dlhost::run {
namespace {

constexpr std::size_t last_words = 2000;
constexpr Nanoseconds given_to_end = 10'000'000'000;
constexpr Nanoseconds given_for_last_words = 5'000'000'000;

// The output without its lines of level info, which do not explain why a process ended.
std::string without_info(std::string_view words) {
  std::string rest;
  while (!words.empty()) {
    const std::string_view line = words.substr(0, std::min(words.find('\n'), words.size() - 1) + 1);
    words.remove_prefix(line.size());
    if (!line.starts_with("info: ")) rest += line;
  }
  return rest;
}

// The part of the output that explains a failure: from the first error line of dlhost itself; without one, the end.
std::string why_in(const std::string& words) {
  constexpr std::string_view mark = "\ndlhost: ";
  const auto line = words.starts_with(mark.substr(1)) ? 0 : words.find(mark);
  if (line == std::string::npos)
    return words.size() > last_words ? "..." + words.substr(words.size() - last_words) : words;
  const std::string why = words.substr(words.find_first_not_of('\n', line));
  return why.size() > last_words ? why.substr(0, last_words) + "..." : why;
}

} // namespace

WorkerProcesses::Worker* WorkerProcesses::find(std::uint32_t seat) {
  const auto worker = std::ranges::find(workers_, seat, &Worker::seat);
  return worker == workers_.end() ? nullptr : &*worker;
}

Result<std::unique_ptr<env::Process>> WorkerProcesses::run(std::uint32_t seat, std::uint32_t number) {
  std::vector<std::string> arguments;
  for (const auto& entry : registry_.catalogue().entries)
    if (entry.exists) arguments.insert(arguments.end(), {"--plugin-dir", entry.where.path});
  arguments.insert(arguments.end(),
                   {"--verbose", "worker", folder_, concat(seat), concat(env::own_process()), concat(number)});
  return env::Process::start_own(arguments, words_of(seat));
}

Status WorkerProcesses::start(std::uint32_t seat) {
  const std::scoped_lock lock(guard_);
  DLHOST_ASSIGN(auto process, run(seat, 0));
  workers_.push_back({seat, std::move(process)});
  return {};
}

void WorkerProcesses::adopt(std::uint32_t seat, int process) {
  const std::scoped_lock lock(guard_);
  workers_.push_back({seat, env::Process::adopt(process)});
}

void WorkerProcesses::let_go() {
  const std::scoped_lock lock(guard_);
  for (const Worker& worker : workers_) worker.process->let_go();
  workers_.clear();
}

// Moves the old process's output to the log, so that it is not taken for that of the new process.
Status WorkerProcesses::restart(std::uint32_t seat, std::uint32_t number) {
  const std::scoped_lock lock(guard_);
  Worker* const worker = find(seat);
  if (!worker) return Status::internal("worker ", seat, " is to be restarted, but was never started");
  log_words(seat);
  DLHOST_TRY(host_.disk().write_text(words_of(seat), ""));
  DLHOST_ASSIGN(worker->process, run(seat, number));
  worker->told = false;
  return {};
}

bool WorkerProcesses::has_ended(std::uint32_t seat) {
  const std::scoped_lock lock(guard_);
  const Worker* const worker = find(seat);
  return worker && worker->process->ended();
}

void WorkerProcesses::kill(std::uint32_t seat) {
  const std::scoped_lock lock(guard_);
  if (Worker* worker = find(seat)) worker->process->kill();
}

// A worker that has ended will not put its contact into the address book: waiting for it would not end.
Status WorkerProcesses::look(std::uint32_t first_seat, std::uint32_t after_last) {
  const std::scoped_lock lock(guard_);
  for (const Worker& worker : workers_)
    if (worker.seat >= first_seat && worker.seat < after_last && worker.process->ended())
      return Status::gone("worker ", worker.seat, " is gone: ", fate_of(worker));
  return {};
}

// A process that ends is out of reach a moment before its end.
std::string WorkerProcesses::fate(std::uint32_t seat) {
  const std::scoped_lock lock(guard_);
  const Worker* worker = find(seat);
  if (!worker) return {};
  worker->process->wait(given_for_last_words);
  return fate_of(*worker);
}

std::string WorkerProcesses::fate_of(const Worker& worker) {
  const auto ended = worker.process->ended();
  const auto said = host_.disk().read_text(words_of(worker.seat));
  std::string words = said.ok() ? why_in(without_info(*said)) : "";
  while (words.ends_with('\n')) words.pop_back();
  return concat("process ", worker.process->number(), ended ? concat(" ", *ended) : " runs",
                words.empty() ? "" : concat("; its last words: ", words));
}

std::vector<int> WorkerProcesses::numbers() const {
  const std::scoped_lock lock(guard_);
  std::vector<int> numbers;
  for (const Worker& worker : workers_) numbers.push_back(worker.process->number());
  return numbers;
}

std::vector<std::uint32_t> WorkerProcesses::newly_ended() {
  const std::scoped_lock lock(guard_);
  std::vector<std::uint32_t> seats;
  for (Worker& worker : workers_)
    if (worker.process->ended() && !std::exchange(worker.told, true)) seats.push_back(worker.seat);
  return seats;
}

bool WorkerProcesses::all_ended() {
  const std::scoped_lock lock(guard_);
  return std::ranges::all_of(workers_, [](const Worker& worker) { return worker.process->ended().has_value(); });
}

// All processes have the same deadline.
Status WorkerProcesses::end() {
  const std::scoped_lock lock(guard_);
  Clock& clock = host_.clock();
  const Nanoseconds last = clock.now() + given_to_end;
  Status status;
  for (Worker& worker : workers_) {
    worker.process->wait(std::max<Nanoseconds>(last - clock.now(), 0));
    if (status.ok() && worker.process->ended_by_fault(plugin::fault_exit_code))
      status =
          Status::internal("worker ", worker.seat, " had done its work, and failed as it ended: ", fate_of(worker));
    log_words(worker.seat);
  }
  workers_.clear(); // kills the processes that still run
  return status;
}

void WorkerProcesses::log_words(std::uint32_t seat) {
  auto said = host_.disk().read_text(words_of(seat));
  if (!said.ok() || said->empty()) return;
  while (said->ends_with('\n')) said->pop_back();
  host_.log().write(LogLevel::info, concat("worker ", seat, " said:\n", *said));
}

} // namespace dlhost::run
