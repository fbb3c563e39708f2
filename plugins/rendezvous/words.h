// What members and the founder of an embedded rendezvous say to one another, and how it lies in bytes.
//
//   member   join        who it is (members[0]), how many it expects (epoch)
//   member   put         key, value, its epoch
//   member   get         key, its epoch: answered when it is there, or a newer epoch begins
//   member   forget      the get of that number
//   member   lead        key
//   member   report      that rank is gone, why (value), its epoch
//   member   leave       why (value)
//   founder  answer      to the number: code, value (or what is wrong)
//   founder  membership  epoch, members, departures; code: cancelled while some are still to come (rank: how many are)
//   founder  out         the member is, and why (value)
//   both     beat        nothing: that they live
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
// Comes from outside: lengths and counts are checked before anything is made of them.
Result<Words> decode(std::string_view);

} // namespace dlhost::plugins::rendezvous
