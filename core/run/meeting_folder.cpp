#include "run/meeting_folder.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "config/dump.h"
#include "env/process.h"

namespace dlhost::run {
namespace {

std::string posting_in(const std::string& folder) { return folder + "/posting.json"; }

} // namespace

Status MeetingFolder::write(Disk& disk, const std::string& folder, const config::Job& job, const Posting& posting) {
  DLHOST_TRY(disk.write_text(job_in(folder), config::to_toml(job, env::working_folder())));
  return write_posting(disk, folder, posting);
}

Status MeetingFolder::write_posting(Disk& disk, const std::string& folder, const Posting& posting) {
  const nlohmann::json text{
      {"machines", posting.machines}, {"secret", env::to_text(posting.secret)}, {"by_leader", posting.by_leader}};
  return disk.write_text(posting_in(folder), text.dump());
}

Result<Posting> MeetingFolder::read_posting(Disk& disk, const std::string& folder) {
  DLHOST_ASSIGN(const auto text, disk.read_text(posting_in(folder)));
  try {
    const auto said = nlohmann::json::parse(text);
    Posting posting{.machines = said.at("machines").get<std::vector<std::uint32_t>>(),
                    .by_leader = said.at("by_leader")};
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

} // namespace dlhost::run
