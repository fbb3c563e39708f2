// A real etcd for tests, with any number of members, on this machine's loopback, in a folder of its own. It ends with
// the object, and with the test's process, however that ends.
#pragma once

#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "env/real_host.h"
#include "gateway.h"
#include "temporary_folder.h"

namespace dlhost::test {

// The program that ./dev setup has unpacked, or an installed one; "": none.
inline std::string found_service(const std::string& name) {
  std::vector<std::string> folders;
  if (const char* const unpacked = std::getenv("DLHOST_SERVICES"))
    folders = {std::string(unpacked) + "/usr/bin", std::string(unpacked) + "/usr/sbin"};
  std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
  for (std::size_t end = 0; end != std::string::npos; path.erase(0, end + 1)) {
    end = path.find(':');
    folders.push_back(path.substr(0, end));
    if (end == std::string::npos) break;
  }
  for (const auto& folder : folders)
    if (::access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  return {};
}

class EtcdCluster {
 public:
  explicit EtcdCluster(std::size_t count) {
    std::vector<int> held; // makes all ports differ
    for (std::size_t i = 0; i < 2 * count; ++i) ports_.push_back(free_port(held));
    for (const int socket : held) ::close(socket);
    processes_.resize(count, -1);
    for (std::size_t i = 0; i < count; ++i) start(i);
  }
  ~EtcdCluster() {
    for (std::size_t i = 0; i < processes_.size(); ++i) kill(i);
  }

  std::string url(std::size_t i) const { return concat("http://127.0.0.1:", ports_[2 * i]); }
  std::vector<std::string> urls() const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < processes_.size(); ++i) all.push_back(url(i));
    return all;
  }
  void start(std::size_t i) {
    std::string members;
    for (std::size_t one = 0; one < processes_.size(); ++one)
      members += concat(one > 0 ? "," : "", "n", one, "=http://127.0.0.1:", ports_[2 * one + 1]);
    const std::string peer = concat("http://127.0.0.1:", ports_[2 * i + 1]), data = folder_ / concat("n", i);
    const std::vector<std::string> words{program(),
                                         "--name",
                                         concat("n", i),
                                         "--data-dir",
                                         data,
                                         "--listen-client-urls",
                                         url(i),
                                         "--advertise-client-urls",
                                         url(i),
                                         "--listen-peer-urls",
                                         peer,
                                         "--initial-advertise-peer-urls",
                                         peer,
                                         "--initial-cluster",
                                         members,
                                         "--unsafe-no-fsync",
                                         "--heartbeat-interval",
                                         "50",
                                         "--election-timeout",
                                         "500"};
    std::vector<char*> arguments;
    for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const std::string log = folder_ / concat("log", i);
    processes_[i] = fork();
    if (processes_[i] != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int file = ::open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    dup2(file, 1);
    dup2(file, 2);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  void kill(std::size_t i) {
    if (processes_[i] <= 0) return;
    ::kill(processes_[i], SIGKILL);
    waitpid(processes_[i], nullptr, 0);
    processes_[i] = -1;
  }
  bool runs(std::size_t i) const { return processes_[i] > 0; }
  // The leader among the running members; waits for one.
  std::size_t leader(Host& host) {
    const Nanoseconds end = host.clock().now() + Nanoseconds{30} * 1'000'000'000;
    while (host.clock().now() < end) {
      for (std::size_t i = 0; i < processes_.size(); ++i) {
        if (!runs(i)) continue;
        plugins::rendezvous::Gateway one(host, {.endpoints = {url(i)}, .patience = 1'000'000'000});
        const auto status =
            one.ask("maintenance/status", plugins::rendezvous::Json::object(), host.clock().now() + 1'000'000'000);
        using plugins::rendezvous::field;
        if (status.ok() && field(*status, "leader").is_string() &&
            field(*status, "leader") == field(field(*status, "header"), "member_id"))
          return i;
      }
      host.clock().sleep(50'000'000);
    }
    ADD_FAILURE() << "no etcd leads";
    return 0;
  }

  static std::string program() { return found_service("etcd"); }

 private:
  static int free_port(std::vector<int>& held) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    held.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(held.back(), reinterpret_cast<sockaddr*>(&place), size), 0);
    EXPECT_EQ(::getsockname(held.back(), reinterpret_cast<sockaddr*>(&place), &size), 0);
    return ntohs(place.sin_port);
  }

  TemporaryFolder folder_;
  std::vector<int> ports_;
  std::vector<pid_t> processes_;
};

} // namespace dlhost::test
