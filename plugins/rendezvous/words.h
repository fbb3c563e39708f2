// The messages between the members and the founder of an embedded rendezvous, and their encoding.
//
//   member   join        its data (members[0]), number of expected members (epoch)
//   member   put         key, value, its epoch
//   member   get         key, its epoch: answered when the key exists, or a newer epoch starts
//   member   forget      drops the get with that number
//   member   lead        key
//   member   report      that rank is gone, why (value), its epoch
//   member   leave       why (value)
//   founder  answer      to the number: code, value (or the error)
//   founder  membership  epoch, members, departures; code: cancelled while members are missing (rank: how many)
//   founder  out         the member is out, and why (value)
//   both     beat        a sign of life
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <dlhost/rendezvous.h>

namespace dlhost::plugins::rendezvous {

struct Words {
  enum class Kind : std::uint8_t { join, put, get, forget, lead, report, leave, answer, membership, out, beat };
  static constexpr auto last_kind = Kind::beat;

  Kind kind = Kind::beat;
  Code code = Code::ok;
  std::uint32_t number = 0, rank = 0, epoch = 0;
  std::string key, value;
  std::vector<Member> members;
  std::vector<Departure> departures;
};

inline constexpr std::size_t largest_host = 256;

std::string encode(const Words&);
// Untrusted: lengths and counts are checked before use.
Result<Words> decode(std::string_view);

} // namespace dlhost::plugins::rendezvous
