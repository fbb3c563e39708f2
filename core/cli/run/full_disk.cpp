#include "cli/run/full_disk.h"

#include <sys/stat.h>

#include <cerrno>

#include <fmt/format.h>

#include "env/process/process.h"
#include "record/quantity.h"

namespace dlhost::cli {

namespace {

constexpr Nanoseconds second = 1'000'000'000;

std::string place_of(int process) { return concat("/dev/shm/dlhost-full-", process); }

// Only this process's user may write there: what is written there says where the params go.
class WaitingPlace {
 public:
  explicit WaitingPlace(Disk& disk) : disk_(disk), path_(place_of(env::own_process())) {
    // A folder that an ended process of this number left is removed; one of another user stays, and then nobody can
    // ask.
    disk_.remove(path_).ignore("the next call says whether it is there");
    made_ = ::mkdir(path_.c_str(), S_IRWXU) == 0;
  }
  ~WaitingPlace() {
    if (made_) disk_.remove(path_).ignore("the next process of this number removes it");
  }
  WaitingPlace(const WaitingPlace&) = delete;
  WaitingPlace& operator=(const WaitingPlace&) = delete;

  // What `dlhost save` wishes; empty: nothing new.
  std::string wish() {
    const std::string wished = path_ + "/to";
    if (!made_ || !disk_.exists(wished)) return {};
    const auto folder = disk_.read_text(wished);
    disk_.remove(wished).ignore("the wish is tried once more then");
    return folder.ok() ? *folder : std::string();
  }
  void answer(const std::string& text) {
    disk_.write_text(path_ + "/answer", text).ignore("`dlhost save` says then that no answer came");
  }

 private:
  Disk& disk_;
  std::string path_;
  bool made_ = false;
};

} // namespace

Status wait_for_room(Host& host, const std::string& run, double seconds, const run::LastSave& last) {
  constexpr int between_tries = 5; // seconds
  Clock& clock = host.clock();
  WaitingPlace place(host.disk());
  host.log().write(
      LogLevel::warning,
      fmt::format("{}.\nThe trained params wait in memory for {} until there is room. To save them elsewhere: "
                  "dlhost save {} --to FOLDER",
                  last.full.message(), record::short_duration(seconds), run));
  const Nanoseconds end = clock.now() + static_cast<Nanoseconds>(seconds * static_cast<double>(second));
  for (int waited = 1; clock.now() < end; ++waited) {
    clock.sleep(second);
    if (const std::string folder = place.wish(); !folder.empty()) {
      const Status saved = last.elsewhere(folder);
      place.answer(saved.ok() ? concat("saved ", folder) : saved.message());
      if (saved.ok()) {
        clock.sleep(second); // `dlhost save` reads the answer meanwhile
        host.log().write(LogLevel::warning, concat("the params are saved in ", folder));
        return {};
      }
    }
    if (waited % between_tries != 0) continue;
    Status saved = last.again();
    if (saved.code() != Code::no_space) return saved;
  }
  return Status(last.full);
}

Result<std::string> save_elsewhere(Host& host, int process, const std::string& folder) {
  constexpr Nanoseconds pause = second / 50, longest = 600 * second;
  Disk& disk = host.disk();
  Clock& clock = host.clock();
  const std::string place = place_of(process), answer = place + "/answer";
  if (!disk.exists(place)) return Status::not_found("process ", process, " waits for no room");
  if (disk.exists(answer)) DLHOST_TRY(disk.remove(answer));
  DLHOST_TRY(disk.write_text(place + "/to", folder));
  for (const Nanoseconds end = clock.now() + longest; clock.now() < end; clock.sleep(pause)) {
    if (disk.exists(answer)) {
      DLHOST_ASSIGN(const std::string text, disk.read_text(answer));
      if (text.starts_with("saved ")) return text.substr(std::string_view("saved ").size());
      return Status::io(text);
    }
    if (!disk.exists(place))
      return Status::gone("process ", process, " has ended meanwhile: it found room, or gave up");
  }
  return Status::timeout("process ", process, " has not answered within ", longest / second, " s");
}

} // namespace dlhost::cli
