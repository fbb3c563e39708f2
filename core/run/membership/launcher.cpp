#include "run/membership/launcher.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "env/process/launched.h"
#include "env/secret.h"

namespace dlhost::run {
namespace {

constexpr Nanoseconds glance = 100'000'000; // for the end of a process, which no file tells
constexpr Nanoseconds watch_pause = 10'000'000;
constexpr Nanoseconds given_to_leave = 15'000'000'000; // for those who are told that it is over
constexpr std::uint32_t most_processes = 1024;         // on one host
constexpr int unreachable = 255, not_found = 127;      // as ssh and shells have it
constexpr int killed = 128, interrupted = 130;         // shells add a signal's number; dlhost's own
constexpr const char* ssh = "ssh -o BatchMode=yes";    // it asks nobody for a password

// The part of `text` that is whole lines is said, each after `prefix`; the rest waits in `line`.
void say(std::string& line, std::string_view text, const std::string& prefix, std::FILE* to, bool all) {
  line += text;
  for (std::size_t end; (end = line.find('\n')) != std::string::npos; line.erase(0, end + 1))
    std::fprintf(to, "%s%.*s\n", prefix.c_str(), static_cast<int>(end), line.c_str());
  if (all && !line.empty()) {
    std::fprintf(to, "%s%s\n", prefix.c_str(), line.c_str());
    line.clear();
  }
  std::fflush(to);
}

} // namespace

Result<std::vector<Launch::On>> hosts_named(std::string_view text) {
  std::vector<Launch::On> hosts;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const std::size_t colon = one.rfind(':');
    Launch::On on{.host = std::string(one.substr(0, colon))};
    if (colon != std::string_view::npos) {
      const std::string_view count = one.substr(colon + 1);
      const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), on.processes);
      if (error != std::errc() || end != count.data() + count.size() || on.processes < 1 ||
          on.processes > most_processes)
        return Status::invalid("'", one, "': behind a host's colon stands how many processes it gets, from 1 to ",
                               most_processes);
    }
    if (on.host.empty() || on.host.starts_with('-'))
      return Status::invalid("'", one, "' is no host; hosts are written like a,b:2,c");
    if (std::ranges::find(hosts, on.host, &Launch::On::host) != hosts.end())
      return Status::invalid("host '", on.host, "' is named twice; ", on.host, ":2 gives it two processes");
    hosts.push_back(std::move(on));
  }
  if (hosts.empty()) return Status::invalid("no hosts are named; they are written like a,b:2,c");
  return hosts;
}

std::string for_shell(std::string_view word) {
  std::string text = "'";
  for (const char letter : word) {
    if (letter == '\'')
      text += "'\\''";
    else
      text += letter;
  }
  return text + "'";
}

Result<int> Launcher::run() {
  DLHOST_TRY(found());
  Status status = start();
  while (status.ok() && !is_over()) {
    sleep();
    status = look();
  }
  if (!status.ok()) place_.reset(); // whoever waits there for the others hears of it
  dismiss();
  if (!status.ok()) return status;
  return exit_status();
}

bool Launcher::Member::lost() const { return ended == unreachable || (ended > killed && ended != interrupted); }

bool Launcher::is_over() const {
  const Member& first = members_.front();
  return first.ended &&
         (!first.lost() || std::ranges::all_of(members_, [](const Member& one) { return one.ended.has_value(); }));
}

// Those that do not lead end well when the run does, however it ended.
int Launcher::exit_status() const {
  if (!members_.front().lost()) return *members_.front().ended;
  const auto led =
      std::ranges::find_if(members_, [](const Member& one) { return !one.lost() && one.ended.value_or(0) != 0; });
  if (led != members_.end()) return *led->ended;
  const bool survived = std::ranges::any_of(members_, [](const Member& one) { return !one.lost(); });
  return survived ? 0 : *members_.front().ended;
}

void Launcher::ask_to_end() {
  asked_ = true;
  if (!members_.front().ended) return members_.front().talk->end_input();
  for (Member& member : members_) member.talk->end_input();
}

Status Launcher::found() {
  Part embedded{.type = "embedded", .options = {}};
  embedded.options.entries.emplace_back("at", Value{launch_.listen, {}});
  embedded.options.entries.emplace_back("rank_0_founds", Value{false, {}});
  DLHOST_ASSIGN(rendezvous_, registry_.create<Rendezvous>(embedded.type, embedded.options));
  secret_ = env::draw_secret();
  std::uint32_t processes = 0;
  for (const Launch::On& on : launch_.hosts) processes += on.processes;
  DLHOST_ASSIGN(place_, rendezvous_->found(host_, {.self = {}, .expected = processes, .secret = secret_}));
  return {};
}

Status Launcher::start() {
  for (const Launch::On& on : launch_.hosts)
    for (std::uint32_t process = 0; process < on.processes; ++process) {
      const auto rank = static_cast<std::uint32_t>(members_.size());
      const auto words = words_of(on.host, rank);
      auto talk = env::Conversation::start(words);
      if (!talk.ok()) return std::move(talk).status().at("host '", on.host, "'");
      members_.push_back(
          {.name = on.processes == 1 ? on.host : concat(on.host, ":", process), .talk = *std::move(talk)});
      // Where it has ended already, its end says why.
      members_.back().talk->tell(env::to_text(secret_) + "\n").ignore("its end is seen");
    }
  return {};
}

std::vector<std::string> Launcher::words_of(const std::string& host, std::uint32_t rank) const {
  std::string line = concat("cd ", for_shell(launch_.folder), " && ");
  for (const auto& one : launch_.environment) {
    const std::size_t equals = one.find('=');
    line += concat(one.substr(0, equals + 1), for_shell(one.substr(equals + 1)), " ");
  }
  line += concat("exec ", for_shell(launch_.program));
  const auto add = [&](const std::vector<std::string>& words) {
    for (const auto& word : words) line += " " + for_shell(word);
  };
  add(launch_.arguments);
  add({"run", "--launched", place_->address(), "--rank", concat(rank), "--host", host});
  if (rank == 0) add(launch_.of_leader);
  if (launch_.shell.empty() && env::is_this_machine(host)) return {"sh", "-c", line};
  const std::string shell = launch_.shell.empty() ? ssh : launch_.shell;
  return {"sh", "-c", concat("exec ", shell, " \"$@\""), "sh", host, line};
}

void Launcher::sleep() const {
  std::vector<const env::Descriptor*> files;
  for (const Member& member : members_) files.insert(files.end(), {&member.talk->out(), &member.talk->err()});
  env::Conversation::await(files, glance);
}

Status Launcher::look() {
  if (stops_ && !asked_) ask_to_end();
  for (Member& member : members_) {
    relay(member);
    if (!member.ended && member.talk->process().ended()) DLHOST_TRY(see_end(member));
  }
  return {};
}

void Launcher::relay(Member& member) {
  const bool leads = &member == &members_.front();
  const std::string prefix = leads ? "" : member.name + ": ";
  env::Conversation& talk = *member.talk;
  const std::string out = env::Conversation::hear(talk.out()), error = env::Conversation::hear(talk.err());
  say(member.line, out, prefix, stdout, !talk.out().valid());
  say(member.error, error, prefix, stderr, !talk.err().valid());
}

// Of one that came to nothing there may be many words to come, and they say why.
Status Launcher::see_end(Member& member) {
  for (const Nanoseconds end = host_.clock().now() + 20 * watch_pause;
       (member.talk->out().valid() || member.talk->err().valid()) && host_.clock().now() < end;
       host_.clock().sleep(watch_pause))
    relay(member);
  const int status = *member.talk->process().exit_status();
  member.ended = status;
  if (asked_) ask_to_end();                                     // the others, if it was the first
  if (stops_ || (status == 0 && place_->complete())) return {}; // before the run has begun nobody is done
  const bool leads = &member == &members_.front();
  std::string why = *member.talk->process().ended();
  if (status == unreachable) why += ", as ssh does where it cannot reach a host (see above)";
  if (status == not_found)
    why += concat(", as shells do where there is no such program: either here '",
                  launch_.shell.empty() ? ssh : launch_.shell,
                  "' (--shell; ssh is Debian's openssh-client), or dlhost there, which has to lie at the same place on "
                  "every host (--program)");
  if (!place_->complete()) return Status::gone("the run has not begun: the process on host '", member.name, "' ", why);
  if (!leads || member.lost())
    say(member.error,
        concat(why, leads ? "; the others go on where they see the run's folder\n" : "; the others go on without it\n"),
        concat("launch: ", member.name, " "), stderr, true);
  return {};
}

// It is over, or was nothing: their input ends, and soon they do.
void Launcher::dismiss() {
  for (Member& member : members_) member.talk->end_input();
  const Nanoseconds end = host_.clock().now() + given_to_leave;
  const auto goes_on = [](Member& member) { return !member.talk->process().ended(); };
  while (std::ranges::any_of(members_, goes_on) && host_.clock().now() < end) {
    for (Member& member : members_) relay(member);
    host_.clock().sleep(watch_pause);
  }
  for (Member& member : members_) {
    relay(member);
    if (goes_on(member))
      say(member.error,
          concat("has not ended within ", given_to_leave / 1'000'000'000,
                 " s of the run's end, and is let go; look "
                 "at what runs on its host\n"),
          concat("launch: ", member.name, " "), stderr, true);
  }
}

} // namespace dlhost::run
