// Writes Caffe's Datum and its databases, for the tests of their readers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <lmdb.h>

namespace dlhost::test {

// A protobuf message, encoded by hand.
class Message {
 public:
  Message& number(unsigned field, std::uint64_t value) {
    varint(field << 3U);
    varint(value);
    return *this;
  }
  Message& bytes(unsigned field, std::string_view data) {
    varint(field << 3U | 2U);
    varint(data.size());
    text_ += data;
    return *this;
  }
  Message& real(unsigned field, float value) {
    varint(field << 3U | 5U);
    text_.append(reinterpret_cast<const char*>(&value), 4);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) text_ += static_cast<char>(value | 0x80U);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

inline Message shaped(std::uint64_t channels, std::uint64_t height, std::uint64_t width) {
  return Message().number(1, channels).number(2, height).number(3, width);
}

// Writes the records under ascending keys into one file. False: the write failed.
inline bool write_database(const std::filesystem::path& file, const std::vector<std::string>& records,
                           std::size_t room = std::size_t{1} << 20) {
  MDB_env* environment = nullptr;
  MDB_txn* writing = nullptr;
  MDB_dbi dbi = 0;
  if (mdb_env_create(&environment) != 0) return false;
  bool written = mdb_env_set_mapsize(environment, room) == 0 &&
                 mdb_env_open(environment, file.c_str(), MDB_NOSUBDIR, 0600) == 0 &&
                 mdb_txn_begin(environment, nullptr, 0, &writing) == 0 && mdb_dbi_open(writing, nullptr, 0, &dbi) == 0;
  for (std::size_t i = 0; i < records.size() && written; ++i) {
    std::string key = std::to_string(100 + i), record = records[i];
    MDB_val k{key.size(), key.data()}, v{record.size(), record.data()};
    written = mdb_put(writing, dbi, &k, &v, 0) == 0;
  }
  written = written && mdb_txn_commit(writing) == 0;
  mdb_env_close(environment);
  return written;
}

} // namespace dlhost::test
