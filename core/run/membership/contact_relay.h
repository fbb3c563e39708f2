// Copies the files that workers of one machine leave for one another (folder_address_book.h) to the other machines, and
// theirs here, so that each address book looks as if all workers were on one machine. Each member has a relay while an
// attempt begins. Thread: the leader runs it on a separate task.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "run/membership/members.h"

namespace dlhost::run {

class ContactRelay {
 public:
  // `look`: called while waiting. Errors: a worker of this machine is gone, or the attempt is over.
  ContactRelay(Host& host, Members& members, std::string folder, const Assignment& assignment, std::uint32_t attempt,
               std::function<Status()> look)
      : host_(host), members_(members), folder_(std::move(folder)), assignment_(assignment), attempt_(attempt),
        look_(std::move(look)) {}

  // Waits until all workers have begun. Errors: why they cannot; all members have been told.
  Status run();

 private:
  using FileOf = std::function<std::string(std::uint32_t seat)>;
  std::string at(const std::string& file) const { return concat(folder_, "/", file); }
  std::string name(std::string_view what) const { return concat("relay-", attempt_, "-", what); }
  Status all();
  // Copies a file of each seat from its member to the others.
  Status exchange(std::string_view what, const FileOf&);
  Status bring(std::string_view what, std::uint32_t seat, const std::string& file);
  Result<std::string> await_file(const std::string& file);
  Result<std::string> await_words(const std::string& name);
  // Checks whether the attempt can still begin. Errors: it cannot.
  Status hope();
  Status fail(Status);
  static Status others_left(const Status&);

  Host& host_;
  Members& members_;
  const std::string folder_;
  const Assignment& assignment_;
  const std::uint32_t attempt_;
  const std::function<Status()> look_;
};

} // namespace dlhost::run
