#include "cifar_file.h"

namespace dlhost::input {

Result<CifarFile> CifarFile::parse(std::span<const std::byte> bytes, std::span<const std::uint8_t> classes) {
  const CifarFile file(bytes, classes.size());
  const std::size_t record = file.record_bytes();
  if (bytes.empty() || bytes.size() % record != 0)
    return Status::corrupt("has ", bytes.size(), " bytes, which is not a whole number of records of ", record,
                           " bytes; it is cut off, or of the other kind (cifar10, cifar100)");
  for (std::int64_t i = 0; i < file.records(); ++i)
    for (std::size_t which = 0; which < classes.size(); ++which)
      if (file.label(i, which) >= classes[which])
        return Status::corrupt("byte ", static_cast<std::size_t>(i) * record + which, ": label ", file.label(i, which),
                               " of record ", i, " is not one of ", static_cast<int>(classes[which]),
                               " classes; the file is damaged, or of the other kind (cifar10, cifar100)");
  return file;
}

} // namespace dlhost::input
