// The address book of workers that are processes of one machine: files in a folder of their own, each written once, as
// a whole. Workers poll the folder while they meet, which takes fractions of a second, and not afterwards.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <dlhost/host.h>

#include "run/membership/address_book.h"
#include "run/membership/meeting_folder.h"

namespace dlhost::run {

class FolderAddressBook final : public AddressBook, private Admissions {
 public:
  // `look`: called while it waits; an error ends the wait: a process has died without calling fail(). `end`: ends the
  // process of a seat, if this process may. `joins`: the number of the group with which this process joins a running
  // run, 0: it began with all others. None: lost groups are not replaced.
  FolderAddressBook(Host& host, std::string folder, Posting posting, std::function<Status()> look,
                    std::function<void(std::uint32_t)> end, std::optional<std::uint32_t> joins = {})
      : host_(host), folder_(std::move(folder)), posting_(std::move(posting)), look_(std::move(look)),
        end_(std::move(end)), joins_(joins), met_(posting_.machines.size()) {}

  const std::vector<std::uint32_t>& machines() const override { return posting_.machines; }
  std::span<const std::byte> secret() const override { return std::as_bytes(std::span(posting_.secret)); }
  std::uint32_t epoch() const override { return posting_.epoch; }
  std::string host_name() const override { return posting_.host_name; }
  Status put(std::uint32_t seat, Contact) override;
  Result<Contact> contact(std::uint32_t seat) override;
  Admissions* admissions() override { return joins_ ? this : nullptr; }
  Status begin(const param::StartPoint&) override;
  Result<param::StartPoint> begun() override;
  using AddressBook::meet;
  Status meet(std::uint32_t seat, const Meanwhile&) override;
  void end(std::uint32_t seat) override { end_(seat); }
  void fail(const Status&) override;
  Status failure() override;

  // Names of the files, for the code that copies them to other machines.
  static std::string contact_name(std::uint32_t seat) { return concat("contact-", seat, ".json"); }
  static std::string met_name(std::uint32_t seat, int time) { return concat("met-", seat, "-", time); }
  static constexpr const char* begin_name = "begin.json";

 private:
  Status invite(std::span<const std::uint32_t> seats) override;
  bool has_come(std::uint32_t seat) override;
  Status admit(const param::Joining&) override;
  std::uint32_t number() const override { return joins_.value_or(0); }
  Result<param::Joining> admitted() override;
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  Result<std::string> await(const std::string& name, const Meanwhile& = nullptr);

  Host& host_;
  const std::string folder_;
  const Posting posting_;
  const std::function<Status()> look_;
  const std::function<void(std::uint32_t)> end_;
  const std::optional<std::uint32_t> joins_;
  std::vector<int> met_; // per seat: its number of meetings
};

} // namespace dlhost::run
