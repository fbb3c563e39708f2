#include "run/membership/contact_relay.h"

#include "run/membership/folder_address_book.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds between_looks = 1'000'000, between_hopes = 100'000'000;

} // namespace

Status ContactRelay::run() {
  Status status = all();
  return status.ok() ? status : fail(std::move(status));
}

Status ContactRelay::all() {
  DLHOST_TRY(exchange("contact", [](std::uint32_t seat) { return FolderAddressBook::contact_name(seat); }));
  DLHOST_TRY(exchange("joined", [](std::uint32_t seat) { return FolderAddressBook::met_name(seat, 0); }));
  DLHOST_TRY(bring("begin", 0, FolderAddressBook::begin_name));
  return exchange("begun", [](std::uint32_t seat) { return FolderAddressBook::met_name(seat, 1); });
}

// In seat order: a worker may need the contacts of the seats before it to make its own.
Status ContactRelay::exchange(std::string_view what, const FileOf& file) {
  for (std::uint32_t seat = 0; seat < assignment_.ranks.size(); ++seat)
    DLHOST_TRY(bring(concat(what, "-", seat), seat, file(seat)));
  return {};
}

Status ContactRelay::bring(std::string_view what, std::uint32_t seat, const std::string& file) {
  if (assignment_.ranks[seat] == members_.rank()) {
    DLHOST_ASSIGN(const std::string text, await_file(file));
    Status told = members_.tell(name(what), text);
    return told.code() == Code::cancelled ? others_left(told) : told;
  }
  DLHOST_ASSIGN(const std::string text, await_words(name(what)));
  return host_.disk().write_text(at(file), text);
}

Status ContactRelay::hope() {
  DLHOST_TRY(MeetingFolder::failure(host_.disk(), folder_));
  DLHOST_TRY(look_());
  const auto failed = members_.hear(name("failed"), Members::glance);
  if (failed.ok()) return MeetingFolder::status_of(*failed);
  return failed.status().code() == Code::timeout ? Status() : others_left(failed.status());
}

// If a member has come or gone, all begin again.
Status ContactRelay::others_left(const Status& status) {
  if (status.code() != Code::cancelled) return status;
  return Status::gone("a process joined or left the run while its processes met");
}

Result<std::string> ContactRelay::await_file(const std::string& file) {
  Clock& clock = host_.clock();
  for (Nanoseconds hoped = clock.now(); !host_.disk().exists(at(file)); clock.sleep(between_looks)) {
    if (clock.now() - hoped < between_hopes) continue;
    hoped = clock.now();
    DLHOST_TRY(hope());
  }
  return host_.disk().read_text(at(file));
}

Result<std::string> ContactRelay::await_words(const std::string& name) {
  while (true) {
    auto words = members_.hear(name, between_hopes);
    if (words.ok()) return words;
    if (words.status().code() != Code::timeout) return others_left(words.status());
    DLHOST_TRY(hope());
  }
}

// Tells the failure to the workers here and to all members.
Status ContactRelay::fail(Status status) {
  members_.tell(name("failed"), MeetingFolder::words_of(status))
      .ignore("another process was first, or the membership has changed");
  MeetingFolder::fail(host_.disk(), folder_, status);
  return status;
}

} // namespace dlhost::run
