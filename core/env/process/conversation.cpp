#include "env/process/conversation.h"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace dlhost::env {
namespace {

struct Pipe {
  Descriptor read, write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Status::system(errno, "making a pipe");
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

} // namespace

Result<std::unique_ptr<Conversation>> Conversation::start(const std::vector<std::string>& words) {
  DLHOST_ASSIGN(auto in, make_pipe());
  DLHOST_ASSIGN(auto out, make_pipe());
  DLHOST_ASSIGN(auto err, make_pipe());
  auto made = std::make_unique<Conversation>();
  DLHOST_ASSIGN(made->process_,
                Process::start(words, {.in = in.read.get(), .out = out.write.get(), .err = err.write.get()}));
  made->in_ = std::move(in.write);
  made->out_ = std::move(out.read);
  made->err_ = std::move(err.read);
  for (Descriptor* file : {&made->out_, &made->err_})
    if (::fcntl(file->get(), F_SETFL, O_NONBLOCK) != 0) return Status::system(errno, "not waiting at a pipe");
  return made;
}

Status Conversation::tell(std::string_view text) {
  return write_whole(in_.get(), std::as_bytes(std::span(text)), "the input of a process");
}

std::string Conversation::hear(Descriptor& file) {
  std::string heard;
  std::array<char, 4096> bytes;
  while (file.valid()) {
    const ssize_t count = ::read(file.get(), bytes.data(), bytes.size());
    if (count > 0) {
      heard.append(bytes.data(), static_cast<std::size_t>(count));
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    if (count == 0 || errno != EAGAIN) file = Descriptor();
    break;
  }
  return heard;
}

void Conversation::await(std::span<const Descriptor* const> any, std::int64_t limit) {
  constexpr std::int64_t millisecond = 1'000'000;
  std::vector<pollfd> files;
  for (const Descriptor* file : any)
    if (file->valid()) files.push_back({file->get(), POLLIN, 0});
  ::poll(files.data(), files.size(), static_cast<int>(limit / millisecond));
}

} // namespace dlhost::env
