// host LISTEN SILENCE NAME: an endpoint of the fabric transport, opened as core does, in a process of its own, for
// tests with several hosts. Reads and writes lines:
//
//   SECRET                hex, the first line: from the launcher, as in a run
//                                   at ADDRESS
//   connect ADDRESS                 is PEER | refused WHY
//   send PEER BYTES COUNT           sent PEER (each) | refused WHY
//                                   received PEER BYTES right|wrong (each)
//                                   gone PEER
//
// Ends with its input.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <sstream>

#include <dlhost/transport.h>

#include "env/real_host.h"
#include "plugin/registry.h"

namespace {
using namespace dlhost;

constexpr std::size_t largest = std::size_t{4} << 20, rooms = 4;

[[noreturn]] void fail(const Status& status) {
  std::fprintf(stderr, "host: %s\n", status.message().c_str());
  std::exit(1);
}
template <class T> T need(Result<T> result) {
  if (!result.ok()) fail(result.status());
  return *std::move(result);
}
void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

// A message's bytes depend on its size and number, so that a mix-up shows.
void write_message(std::span<std::byte> bytes, std::uint64_t number) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i * 31 + (i >> 12) * 7 + number + bytes.size());
}
bool is_right(std::span<const std::byte> bytes, std::uint64_t number) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != static_cast<std::byte>(i * 31 + (i >> 12) * 7 + number + bytes.size())) return false;
  return true;
}

// Lines of the standard input, without waiting.
class Lines {
 public:
  Lines() { fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK); }
  bool next(std::string& line) {
    char bytes[4096];
    for (ssize_t more = 0; (more = read(STDIN_FILENO, bytes, sizeof bytes)) != -1;) {
      if (more == 0) over_ = true;
      if (more == 0) break;
      text_.append(bytes, static_cast<std::size_t>(more));
    }
    const auto end = text_.find('\n');
    if (end == text_.npos) return false;
    line = text_.substr(0, end);
    text_.erase(0, end + 1);
    return true;
  }
  bool over() const { return over_; }

 private:
  std::string text_;
  bool over_ = false;
};

class Talker {
 public:
  explicit Talker(Endpoint& endpoint) : endpoint_(endpoint), in_(rooms, std::vector<std::byte>(largest)) {
    for (std::size_t room = 0; room < rooms; ++room) expect(room);
    say(concat("at ", endpoint_.address()));
  }

  void obey(const std::string& line) {
    std::istringstream words(line);
    std::string verb, address;
    words >> verb;
    if (verb == "connect") {
      words >> address;
      const auto peer = endpoint_.connect(address);
      say(peer.ok() ? concat("is ", *peer) : concat("refused ", peer.status().message()));
    } else if (verb == "send") {
      PeerId peer = 0;
      std::size_t bytes = 0, count = 0;
      words >> peer >> bytes >> count;
      for (std::size_t i = 0; i < count; ++i) send(peer, bytes);
    }
  }

  void turn() {
    Completion made[8];
    const std::size_t count = need(endpoint_.progress(made, 5'000'000));
    for (const auto& one : std::span(made).first(count)) {
      if (one.kind == Completion::Kind::gone) say(concat("gone ", one.peer));
      if (one.kind == Completion::Kind::sent) {
        out_[one.cookie].clear();
        say(concat("sent ", one.peer));
      }
      if (one.kind == Completion::Kind::received) {
        const bool right = is_right(std::span(in_[one.cookie]).first(one.bytes), one.tag);
        say(concat("received ", one.peer, " ", one.bytes, right ? " right" : " wrong"));
        expect(one.cookie);
      }
    }
  }

 private:
  void expect(std::size_t room) {
    if (const Status status = endpoint_.post_recv(in_[room], room); !status.ok()) fail(status);
  }
  void send(PeerId peer, std::size_t bytes) {
    const std::uint64_t number = out_.size();
    auto& message = out_.emplace_back(bytes);
    write_message(message, number);
    if (const Status status = endpoint_.post_send(peer, number, message, number); !status.ok())
      say(concat("refused ", status.message()));
  }

  Endpoint& endpoint_;
  std::vector<std::vector<std::byte>> in_;
  std::deque<std::vector<std::byte>> out_;
};

std::vector<std::byte> bytes_of(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

Table options(const std::string& listen, const std::string& silence) {
  Table table;
  table.entries.emplace_back("provider", Value{.data = std::string("tcp"), .where = {}});
  table.entries.emplace_back("listen", Value{.data = listen, .where = {}});
  table.entries.emplace_back("silence", Value{.data = std::stod(silence), .where = {}});
  return table;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  env::RealHost host(LogLevel::warning);
  plugin::Registry registry(plugin::entries_of(plugin::settings_of_process({})), host);
  const auto transport = need(registry.create<Transport>("fabric", options(argv[1], argv[2])));
  Lines lines;
  std::string line;
  while (!lines.next(line) && !lines.over()) host.clock().sleep(1'000'000);
  const auto secret = bytes_of(line);
  const auto endpoint = need(transport->open(host, {.name = argv[3], .secret = secret}));
  Talker talker(*endpoint);
  while (!lines.over()) {
    while (lines.next(line)) talker.obey(line);
    talker.turn();
  }
}
