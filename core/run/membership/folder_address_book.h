// The address book of workers that are processes of one machine: files in a folder of their own, each written once, as
// a whole. Workers poll the folder while they meet, which takes fractions of a second, and not afterwards.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <dlhost/host.h>

#include "run/membership/address_book.h"
#include "run/membership/folder_admissions.h"
#include "run/membership/meeting_folder.h"

namespace dlhost::run {

class FolderAddressBook final : public AddressBook {
 public:
  struct Setup {
    // Called while it waits; an error ends the wait: a process has died without calling fail().
    std::function<Status()> look;
    // Ends the process of a seat, if this process may.
    std::function<void(std::uint32_t)> end;
    // The number of the group with which this process joins a running run; 0: it began with all others. Empty: lost
    // groups are not replaced.
    std::optional<std::uint32_t> joins = {};
    // As in FolderAdmissions::Setup.
    std::function<bool()> is_led = nullptr;
    std::function<void()> follow = nullptr;
  };
  FolderAddressBook(Host&, std::string folder, Posting, Setup);

  const std::vector<std::uint32_t>& machines() const override { return posting_.machines; }
  std::span<const std::byte> secret() const override { return std::as_bytes(std::span(posting_.secret)); }
  std::uint32_t epoch() const override { return posting_.epoch; }
  std::string host_name() const override { return posting_.host_name; }
  Status put(std::uint32_t seat, Contact) override;
  Result<Contact> contact(std::uint32_t seat) override;
  Admissions* admissions() override { return admissions_ ? &*admissions_ : nullptr; }
  Status begin(const param::StartPoint&) override;
  Result<param::StartPoint> begun() override;
  using AddressBook::meet;
  Status meet(std::uint32_t seat, const Meanwhile&) override;
  void end(std::uint32_t seat) override { setup_.end(seat); }
  void fail(const Status&) override;
  Status failure() override;

  // Names of the files, for the code that copies them to other machines.
  static std::string contact_name(std::uint32_t seat) { return concat("contact-", seat, ".json"); }
  static std::string met_name(std::uint32_t seat, int time) { return concat("met-", seat, "-", time); }
  static constexpr const char* begin_name = "begin.json";

 private:
  std::uint32_t joins() const { return admissions_ ? admissions_->number() : 0; }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  Result<std::string> await(const std::string& name, const Meanwhile& = nullptr);

  Host& host_;
  const std::string folder_;
  const Posting posting_;
  const Setup setup_;
  std::optional<FolderAdmissions> admissions_;
  std::vector<int> met_; // per seat: its number of meetings
};

} // namespace dlhost::run
