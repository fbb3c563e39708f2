#include "run/membership/meeting_folder.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <nlohmann/json.hpp>

#include "config/dump.h"
#include "env/json_text.h"
#include "env/process/process.h"

namespace dlhost::run {
namespace {

std::string posting_in(const std::string& folder) { return folder + "/posting.json"; }
std::string will_in(const std::string& folder) { return folder + "/will"; }
std::string failure_in(const std::string& folder) { return folder + "/failed.json"; }
std::string given_up_in(const std::string& folder) { return folder + "/given-up"; }

} // namespace

Status MeetingFolder::write(Disk& disk, const std::string& folder, const config::Job& job, const Posting& posting) {
  DLHOST_TRY(disk.write_text(job_in(folder), config::to_toml(job, env::working_folder())));
  return write_posting(disk, folder, posting);
}

Status MeetingFolder::write_posting(Disk& disk, const std::string& folder, const Posting& posting) {
  const nlohmann::json text{{"machines", posting.machines},
                            {"secret", env::to_text(posting.secret)},
                            {"by_leader", posting.by_leader},
                            {"epoch", posting.epoch},
                            {"host", posting.host_name}};
  return disk.write_text(posting_in(folder), env::json_text(text));
}

Result<Posting> MeetingFolder::read_posting(Disk& disk, const std::string& folder) {
  DLHOST_ASSIGN(const auto text, disk.read_text(posting_in(folder)));
  try {
    const auto said = env::parse_json(text);
    Posting posting{.machines = said.at("machines").get<std::vector<std::uint32_t>>(),
                    .by_leader = said.at("by_leader"),
                    .epoch = said.at("epoch"),
                    .host_name = said.at("host")};
    const auto is_one = [&](std::uint32_t machine) { return machine < posting.machines.size(); };
    const auto secret = env::secret_in(said.at("secret").get<std::string>());
    if (secret && std::ranges::all_of(posting.machines, is_one)) {
      posting.secret = *secret;
      return posting;
    }
  } catch (const nlohmann::json::exception&) {
  }
  return Status::corrupt(posting_in(folder), " is damaged");
}

std::string MeetingFolder::words_of(const Status& status) {
  const nlohmann::json text{{"code", static_cast<int>(status.code())}, {"message", status.message()}};
  return env::json_text(text);
}

Status MeetingFolder::status_of(const std::string& words) {
  const auto damaged = [] { return Status::corrupt("what was written down of a failure is damaged"); };
  const auto said = env::json_or_discarded(words);
  if (!said.is_object() || !said.contains("code") || !said.contains("message")) return damaged();
  const auto &code = said["code"], &message = said["message"];
  if (!code.is_number_integer() || !message.is_string() || code < 1 || code > static_cast<int>(Code::internal))
    return damaged();
  return Status(static_cast<Code>(code.get<int>()), message.get<std::string>());
}

Status MeetingFolder::failure(Disk& disk, const std::string& folder) {
  if (!disk.exists(failure_in(folder))) return {};
  DLHOST_ASSIGN(const auto words, disk.read_text(failure_in(folder)));
  return status_of(words);
}

void MeetingFolder::fail(Disk& disk, const std::string& folder, const Status& status) {
  if (disk.exists(failure_in(folder))) return;
  disk.write_text(failure_in(folder), words_of(status)).ignore("whoever waits notices that this one is gone");
}

Status MeetingFolder::forget_failure(Disk& disk, const std::string& folder) {
  return disk.exists(failure_in(folder)) ? disk.remove(failure_in(folder)) : Status();
}

void MeetingFolder::give_up(Disk& disk, const std::string& folder) {
  disk.write_text(given_up_in(folder), "").ignore("a worker without a leader ends by its own limit");
}

bool MeetingFolder::is_given_up(Disk& disk, const std::string& folder) { return disk.exists(given_up_in(folder)); }

// Each number that was taken is a file.
Result<std::uint32_t> MeetingFolder::take_number(Disk& disk, const std::string& folder) {
  constexpr std::string_view prefix = "number-";
  DLHOST_ASSIGN(const auto entries, disk.list(folder));
  std::uint32_t last = 0;
  for (const auto& entry : entries) {
    std::uint32_t number = 0;
    const std::string_view name = entry.name;
    if (!name.starts_with(prefix)) continue;
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
    last = std::max(last, number);
  }
  DLHOST_TRY(disk.write_text(concat(folder, "/", prefix, last + 1), ""));
  return last + 1;
}

Status MeetingFolder::bequeath(Disk& disk, const std::string& folder, const std::string& run) {
  return disk.write_text(will_in(folder), run);
}

Result<std::string> MeetingFolder::bequeathed(Disk& disk, const std::string& folder) {
  return disk.read_text(will_in(folder));
}

} // namespace dlhost::run
