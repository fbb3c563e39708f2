#include "run/membership/folder_admissions.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "env/json_text.h"
#include "record/json_fault.h"
#include "run/membership/folder_address_book.h"
#include "run/membership/start_point_text.h"

namespace dlhost::run {
namespace {

constexpr const char* leader_name = "leads.json";

std::string admission_name(std::uint32_t number) { return concat("admission-", number, ".json"); }

// Reads a text by `read`. Errors: corrupt if it is damaged.
template <class Read>
auto understood(const std::string& path, const std::string& text, Read read)
    -> Result<decltype(read(nlohmann::json()))> {
  try {
    return read(env::parse_json(text));
  } catch (const nlohmann::json::exception& error) {
    return Status::corrupt(path, " is damaged: ", record::json_fault(error));
  }
}

} // namespace

// Removes the old contacts of the seats, and the failure that an earlier attempt to join may have reported. If a new
// leader is among them, the number of the one before must not be taken for its own.
Status FolderAdmissions::invite(std::span<const std::uint32_t> seats) {
  Disk& disk = host_.disk();
  DLHOST_TRY(MeetingFolder::forget_failure(disk, folder_));
  if (std::ranges::find(seats, 0U) != seats.end() && disk.exists(at(leader_name)))
    DLHOST_TRY(disk.remove(at(leader_name)));
  for (const std::uint32_t seat : seats) {
    const std::string path = at(FolderAddressBook::contact_name(seat));
    if (disk.exists(path)) DLHOST_TRY(disk.remove(path));
  }
  return {};
}

bool FolderAdmissions::has_come(std::uint32_t seat) {
  return host_.disk().exists(at(FolderAddressBook::contact_name(seat)));
}

Status FolderAdmissions::admit(const param::Joining& joining) {
  const nlohmann::json text{{"order", joining.order}, {"times_aligned", joining.times_aligned}, {"lost", joining.lost}};
  return host_.disk().write_text(at(admission_name(joining.number)), env::json_text(text));
}

Result<param::Joining> FolderAdmissions::admitted() {
  const std::string name = admission_name(number());
  DLHOST_ASSIGN(const auto text, setup_.await(name));
  return understood(at(name), text, [this](const nlohmann::json& said) {
    return param::Joining{.number = number(),
                          .order = said.at("order"),
                          .times_aligned = said.at("times_aligned"),
                          .lost = said.at("lost").get<std::vector<std::uint32_t>>()};
  });
}

Status FolderAdmissions::lead() {
  return host_.disk().write_text(at(leader_name), env::json_text(nlohmann::json{{"number", number()}}));
}

Result<std::uint32_t> FolderAdmissions::leads_now() {
  if (!host_.disk().exists(at(leader_name))) return 0U;
  DLHOST_ASSIGN(const auto text, host_.disk().read_text(at(leader_name)));
  return understood(at(leader_name), text,
                    [](const nlohmann::json& said) { return said.at("number").get<std::uint32_t>(); });
}

// Each new leader has a number of its own, so an answer is never taken for one to another.
Status FolderAdmissions::survive(std::uint32_t number, std::uint32_t seat, const Survival& survival) {
  const nlohmann::json text{{"left", json_of(survival.left)},
                            {"seen", survival.seen},
                            {"lost", survival.lost},
                            {"joins", survival.joins},
                            {"times_aligned", survival.times_aligned},
                            {"lost_at", survival.lost_at},
                            {"steps_before", survival.steps_before},
                            {"rests", survival.rests}};
  return host_.disk().write_text(at(survival_name(number, seat)), env::json_text(text));
}

Result<std::optional<Survival>> FolderAdmissions::survival(std::uint32_t seat) {
  const std::string name = survival_name(number(), seat);
  if (!host_.disk().exists(at(name))) return std::optional<Survival>();
  DLHOST_ASSIGN(const auto text, host_.disk().read_text(at(name)));
  return understood(at(name), text, [](const nlohmann::json& said) {
    return std::optional(Survival{.left = start_point_in(said.at("left")),
                                  .seen = said.at("seen").get<std::vector<std::uint32_t>>(),
                                  .lost = said.at("lost").get<std::vector<std::uint32_t>>(),
                                  .joins = said.at("joins").get<std::vector<std::uint64_t>>(),
                                  .times_aligned = said.at("times_aligned"),
                                  .lost_at = said.at("lost_at"),
                                  .steps_before = said.at("steps_before"),
                                  .rests = said.at("rests")});
  });
}

Result<bool> FolderAdmissions::is_led() {
  if (MeetingFolder::is_given_up(host_.disk(), folder_))
    return Status::gone("the leader is gone, and all server groups begin anew");
  return setup_.is_led();
}

} // namespace dlhost::run
