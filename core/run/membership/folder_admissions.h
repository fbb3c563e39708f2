// The admissions of processes that meet in a folder (folder_address_book.h): each is a file, written as a whole.
//
//   admission-N.json      the group with number N is admitted
//   leads.json            the number of the group whose leader leads now; without it, the first leader does
//   survival-N-SEAT.json  what a worker that goes on has answered to that leader
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "run/membership/address_book.h"
#include "run/membership/meeting_folder.h"

namespace dlhost::run {

class FolderAdmissions final : public Admissions {
 public:
  struct Setup {
    std::uint32_t number = 0; // of this process's group; 0: it began with all others
    // Waits for a file in the folder and reads it.
    std::function<Result<std::string>(const std::string& name)> await;
    // Whether a process leads the run, or prepares to. Null: no worker takes the place of a lost leader.
    std::function<bool()> is_led;
    std::function<void()> follow;
  };
  FolderAdmissions(Host& host, std::string folder, Setup setup)
      : host_(host), folder_(std::move(folder)), setup_(std::move(setup)) {}

  Status invite(std::span<const std::uint32_t> seats) override;
  bool has_come(std::uint32_t seat) override;
  Status admit(const param::Joining&) override;
  Result<std::uint32_t> take_number() override { return MeetingFolder::take_number(host_.disk(), folder_); }
  std::uint32_t number() const override { return setup_.number; }
  Result<param::Joining> admitted() override;
  Status lead() override;
  Result<std::optional<Survival>> survival(std::uint32_t seat) override;
  Result<std::uint32_t> leads_now() override;
  Status survive(std::uint32_t number, std::uint32_t seat, const Survival&) override;
  Result<bool> is_led() override;
  void follow() override { setup_.follow(); }

 private:
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  std::string survival_name(std::uint32_t number, std::uint32_t seat) const {
    return concat("survival-", number, "-", seat, ".json");
  }

  Host& host_;
  const std::string folder_;
  const Setup setup_;
};

} // namespace dlhost::run
