#include "cli/picture_file.h"

#include "env/process/process.h"
#include "env/temporary_folder.h"

namespace dlhost::cli {

namespace {

constexpr const char* converter = "rsvg-convert";

Status convert(Disk& disk, const std::string& path, const std::string& format, const std::string& svg) {
  DLHOST_ASSIGN(const auto folder, env::TemporaryFolder::make("dlhost-picture-"));
  const std::string drawn = folder.path() + "/picture.svg";
  DLHOST_TRY(disk.write_text(drawn, svg));
  // Twice as many pixels as the drawing has units: text is sharp on today's screens.
  auto started = env::Process::start(
      {converter, "--format", format, "--zoom", format == "png" ? "2" : "1", "-o", path, drawn}, {});
  constexpr std::int64_t limit = std::int64_t{60} * 1'000'000'000;
  if (!started.ok())
    return Status::not_found("cannot write ", path, ": ", converter, " makes PNG and PDF, and is not here (",
                             started.status().message(), "); install it (librsvg2-bin), or write an .svg");
  if (!(*started)->wait(limit))
    return Status::timeout("cannot write ", path, ": ", converter, " has not ended in 60 s");
  if ((*started)->exit_status() != 0) return Status::io("cannot write ", path, ": ", converter, " could not");
  return {};
}

} // namespace

Status check_picture(const std::string& path) {
  for (const char* ending : {".svg", ".png", ".pdf"})
    if (path.ends_with(ending)) return {};
  return Status::invalid("-o ", path, ": pictures are written as .svg, .png or .pdf");
}

Status write_picture(Disk& disk, const std::string& path, const std::string& svg) {
  if (path.ends_with(".svg")) return disk.write_text(path, svg);
  return convert(disk, path, path.substr(path.size() - 3), svg);
}

} // namespace dlhost::cli
