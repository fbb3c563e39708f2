// A server's ledger: lines of any kind, which get the links of their chain here, or as they are.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "param/server/ledger_chain.h"
#include "tools/audit/ledger_reader.h"

using dlhost::tools::Audit;

namespace {

std::string linked(std::string_view text) {
  std::string file;
  dlhost::param::LedgerChain chain;
  while (!text.empty()) {
    std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('}')) chain.close(line);
    file += line;
  }
  return file;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  dlhost::tools::LedgerReader reader(0);
  const std::size_t half = text.find("\n\n"); // two attempts
  dlhost::record::LedgerOf of{.run = "fuzz", .arrangement = 1, .attempt = 1};
  reader.read(linked(text.substr(0, half)), "one", of);
  of.attempt = 2;
  if (half != std::string_view::npos) reader.read(linked(text.substr(half + 2)), "two", of);
  reader.read(text, "three", of);
  Audit audit;
  reader.add_to(audit);
  dlhost::tools::look_through(audit, 1);
  for (const Audit::Slice& slice : audit.slices) {
    slice.parts_of(slice.last);
    for (std::size_t one = 0; one < audit.contributors; ++one) {
      Audit::contributions(slice, one);
      audit.dropped_from(slice, one);
    }
  }
  return 0;
}
