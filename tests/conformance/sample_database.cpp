// sample_database FILE: writes a few pictures of bytes in Caffe's LMDB format, for the suite of sources.
#include "../layers/input/datum_message.h"

int main(int count, char** words) {
  if (count != 2) return 2;
  std::vector<std::string> records;
  for (std::uint64_t record = 0; record < 11; ++record) {
    std::string pixels;
    for (std::uint64_t at = 0; at < 12; ++at) pixels += static_cast<char>((record * 37 + at * 11) % 251);
    records.push_back(dlhost::test::shaped(3, 2, 2).bytes(4, pixels).number(5, record % 3).text());
  }
  return dlhost::test::write_database(words[1], records) ? 0 : 1;
}
