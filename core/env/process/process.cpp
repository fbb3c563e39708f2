#include "env/process/process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "env/process/posix.h"

extern char** environ;

namespace dlhost::env {
namespace {

std::vector<char*> argv_of(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  return argv;
}

// Such as "SIGKILL", with the kernel's out-of-memory killer named as its usual cause.
std::string killed_by(int number) {
  const char* const name = ::sigabbrev_np(number);
  const std::string signal = name ? concat("SIG", name) : concat("signal ", number);
  if (number != SIGKILL) return concat("was killed by ", signal);
  return concat("was killed by ", signal,
                " (if no person did, the kernel did because memory had run out: see `dmesg | grep -i oom`)");
}

std::string& acted_for() {
  static std::string program;
  return program;
}

std::vector<std::string> own_words(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"dlhost"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

} // namespace

Result<std::unique_ptr<Process>> Process::start_own(const std::vector<std::string>& arguments, const std::string& words,
                                                    int in) {
  const auto own = own_words(arguments);
  auto argv = argv_of(own);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (in >= 0)
    posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
  else
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, words.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  pid_t number = 0;
  // By this name the own file is found where it has been replaced meanwhile.
  const char* const program = acted_for().empty() ? "/proc/self/exe" : acted_for().c_str();
  const int error = posix_spawn(&number, program, &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return Status::system(error, "start another process of dlhost");
  return std::unique_ptr<Process>(new Process(number));
}

Result<std::unique_ptr<Process>> Process::start(const std::vector<std::string>& words, const Files& ends) {
  auto argv = argv_of(words);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ends.in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, ends.out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, ends.err, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t number = 0;
  const int error = posix_spawnp(&number, argv.front(), &files, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return Status::system(error, concat("start '", words.front(), "'"));
  return std::unique_ptr<Process>(new Process(number));
}

std::unique_ptr<Process> Process::adopt(int number) {
  std::unique_ptr<Process> process(new Process(number));
  process->adopted_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, number, 0)));
  if (process->adopted_.valid()) return process;
  process->status_ = 0;
  process->is_unknown_ = true;
  return process;
}

Process::~Process() {
  if (is_let_go_) return;
  kill();
  reap(true);
}

void Process::kill() {
  if (reap(false)) return;
  is_killed_ = true;
  if (adopted_.valid())
    ::syscall(SYS_pidfd_send_signal, adopted_.get(), SIGKILL, nullptr, 0);
  else
    ::kill(number_, SIGKILL);
}

// It may be a child of this process all the same: then its end is this one's to take note of.
bool Process::reap_adopted(bool wait) {
  pollfd end{.fd = adopted_.get(), .events = POLLIN, .revents = 0};
  int got = 0;
  do got = ::poll(&end, 1, wait ? -1 : 0);
  while (got < 0 && errno == EINTR);
  if (got == 0) return false;
  int status = 0;
  const bool is_child = ::waitpid(number_, &status, WNOHANG) == number_;
  status_ = is_child ? status : 0;
  is_unknown_ = !is_child;
  adopted_ = Descriptor();
  return true;
}

bool Process::reap(bool wait) {
  if (status_) return true;
  if (adopted_.valid()) return reap_adopted(wait);
  int status = 0;
  pid_t got = 0;
  do got = ::waitpid(number_, &status, wait ? 0 : WNOHANG);
  while (got < 0 && errno == EINTR);
  if (got == 0) return false;
  status_ = got == number_ ? status : 0;
  return true;
}

std::optional<std::string> Process::ended() {
  if (!reap(false)) return {};
  if (is_unknown_) return is_killed_ ? "was killed by dlhost" : "has ended";
  if (WIFSIGNALED(*status_) && WTERMSIG(*status_) == SIGKILL && is_killed_) return "was killed by dlhost";
  if (WIFSIGNALED(*status_)) return killed_by(WTERMSIG(*status_));
  return concat("ended with exit status ", WEXITSTATUS(*status_));
}

bool Process::ended_by_fault(int status) {
  if (!reap(false) || is_unknown_) return false;
  if (!WIFSIGNALED(*status_)) return WEXITSTATUS(*status_) == status;
  constexpr int asks[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE};
  return std::ranges::find(asks, WTERMSIG(*status_)) == std::end(asks);
}

std::optional<int> Process::exit_status() {
  if (!reap(false)) return {};
  return WIFSIGNALED(*status_) ? 128 + WTERMSIG(*status_) : WEXITSTATUS(*status_);
}

bool Process::wait(std::int64_t limit) {
  constexpr std::int64_t pause = 2'000'000;
  for (std::int64_t waited = 0; !reap(false); waited += pause) {
    if (waited >= limit) return false;
    const timespec time{0, pause};
    ::nanosleep(&time, nullptr);
  }
  return true;
}

Status become_own(const std::vector<std::string>& arguments, const std::string& words) {
  const int file = ::open(words.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file < 0) return failed(errno, "open", words);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
  if (file > STDERR_FILENO) ::close(file);
  const auto own = own_words(arguments);
  ::execve("/proc/self/exe", argv_of(own).data(), environ);
  return Status::system(errno, "run dlhost again");
}

void end_now(int status) noexcept {
  while (true) ::syscall(SYS_exit_group, status);
}

// Process numbers up to 1 are refused: kill() takes 0 and negatives for groups of processes.
bool ask_to_end(int process) { return process > 1 && ::kill(process, SIGTERM) == 0; }
bool kill(int process) { return process > 1 && ::kill(process, SIGKILL) == 0; }

bool runs(int process) { return process > 1 && (::kill(process, 0) == 0 || errno == EPERM); }

bool has_word(int process, std::string_view word) {
  std::ifstream file(concat("/proc/", process, "/cmdline"));
  for (std::string one; std::getline(file, one, '\0');)
    if (one == word) return true;
  return false;
}

bool is_child_of(int process, int parent) {
  std::ifstream file(concat("/proc/", process, "/status"));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("PPid:")) return std::atoi(line.c_str() + 5) == parent;
  return false;
}

int own_process() { return ::getpid(); }
int parent_process() { return ::getppid(); }

void act_for(std::string program) { acted_for() = std::move(program); }

std::string own_program() {
  if (!acted_for().empty()) return acted_for();
  std::error_code unknown;
  return std::filesystem::read_symlink("/proc/self/exe", unknown).string();
}

std::string absolute_path(const std::string& path) {
  return path.starts_with('/') ? path : concat(working_folder(), "/", path);
}

std::string working_folder() {
  std::error_code unknown;
  return std::filesystem::current_path(unknown).string();
}

std::string user_named(std::uint32_t user) {
  const passwd* entry = ::getpwuid(user);
  return entry ? entry->pw_name : concat("user ", user);
}

std::string group_named(std::uint32_t group) {
  const ::group* entry = ::getgrgid(group);
  return concat("the group ", entry ? entry->gr_name : std::to_string(group));
}

bool is_own_group(std::uint32_t user, std::uint32_t group) {
  const passwd* owner = ::getpwuid(user);
  if (!owner) return user == group;
  if (owner->pw_gid != group) return false;
  const std::string name = owner->pw_name;
  const ::group* entry = ::getgrgid(group);
  return !entry || entry->gr_name == name;
}

bool is_in_group(std::uint32_t group) {
  if (::getegid() == group) return true;
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  return count > 0 && std::find(groups.begin(), groups.begin() + count, group) != groups.begin() + count;
}

void ignore_interrupts() {
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
}

} // namespace dlhost::env
