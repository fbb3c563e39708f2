// Brings what the workers of one machine leave for one another in their folder (folder_roster.h) to those of others,
// and theirs here, so that each roster is as if all were on one machine. One of each of the run's members, while an
// attempt begins; on a task of its own where the leader waits for it itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <dlhost/host.h>

#include "run/membership/members.h"

namespace dlhost::run {

class ContactRelay {
 public:
  // `look`: asked whenever it waits; not ok: a worker of this machine is gone, or it is over.
  ContactRelay(Host& host, Members& members, std::string folder, const Assignment& assignment, std::uint32_t attempt,
               std::function<Status()> look)
      : host_(host), members_(members), folder_(std::move(folder)), assignment_(assignment), attempt_(attempt),
        look_(std::move(look)) {}

  // Until all have begun. Not ok: why they cannot; all have heard it.
  Status run();

 private:
  using FileOf = std::function<std::string(std::uint32_t seat)>;
  std::string at(const std::string& file) const { return concat(folder_, "/", file); }
  std::string name(std::string_view what) const { return concat("relay-", attempt_, "-", what); }
  Status all();
  // The file of each seat, from the member that has it to the others.
  Status exchange(std::string_view what, const FileOf&);
  Status bring(std::string_view what, std::uint32_t seat, const std::string& file);
  Result<std::string> await_file(const std::string& file);
  Result<std::string> await_words(const std::string& name);
  // Not ok: it will not come about.
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
