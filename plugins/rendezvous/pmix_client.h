// The PMIx server that started this process, with time limits: its data about the job, and the small store of its
// processes. One for each process, from first use to the plugin's end.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <dlhost/host.h>
#include <dlhost/status.h>

namespace dlhost::plugins::rendezvous {

class PmixClient {
 public:
  // Whether a PMIx server started this process.
  static bool detected();
  static Result<PmixClient*> of_process(Host&);
  static void finish() noexcept;

  std::uint32_t rank() const { return rank_; }
  std::uint32_t size() const { return size_; }
  const std::string& host() const { return host_name_; } // the launcher's name for it
  bool one_host() const { return one_host_; }

  // Collective: all processes of the job call it equally often. After it each has what the others put.
  Status put(const std::string& key, const std::string& value);
  Status fence(Nanoseconds end);
  Result<std::string> get(std::uint32_t rank, const std::string& key, Nanoseconds end);
  std::uint32_t next_meeting() { return ++meetings_; } // separates the keys of several meetings

  struct Lost {
    std::uint32_t rank = 0;
    std::string why;
  };
  // Processes whose end the server has reported since the last call; it may not report all. Rings for each report.
  std::vector<Lost> take_lost();
  Waiter& bell() { return *bell_; }
  void tell_lost(std::uint32_t rank, std::string why); // for the server's events

 private:
  explicit PmixClient(Host& host) : host_(host), bell_(host.tasks().waiter()) {}
  Status open();
  std::optional<std::uint32_t> number(const char* key) const; // of the whole job
  std::string text(const char* key) const;                    // of this process

  Host& host_;
  std::unique_ptr<Waiter> bell_;
  std::string name_space_, host_name_;
  std::uint32_t rank_ = 0, size_ = 0, meetings_ = 0;
  bool one_host_ = false;
  std::mutex mutex_;
  std::vector<Lost> lost_;
};

} // namespace dlhost::plugins::rendezvous
