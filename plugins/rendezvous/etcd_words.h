// What a session asks of etcd and reads in its answers, as the JSON gateway has it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <dlhost/rendezvous.h>

#include "gateway.h"

namespace dlhost::plugins::rendezvous {

inline constexpr Nanoseconds one_second = 1'000'000'000;
inline constexpr Nanoseconds look_every = one_second / 10;  // at what may change soon
inline constexpr Nanoseconds time_to_ask = 10 * one_second; // of questions that have no limit of their own
inline constexpr Nanoseconds time_to_go = 2 * one_second;
inline constexpr std::uint32_t most_ranks = 1U << 20;
inline constexpr std::size_t most_reason = 1000; // bytes of why somebody left

std::string words_of(const Json&, std::string_view name, std::size_t longest);
std::string dumped(const Json&);
// Of an answer's operation, the keys that it found.
const Json& kvs(const Json& answer, std::size_t at);
const Json& first(const Json& found);
std::int64_t revision_of(const Json& answer);
bool succeeded(const Json& answer);

// Operations of a transaction.
Json range(const std::string& key);
Json range_all(const std::string& prefix);
Json put_in(const std::string& key, std::string_view value, std::int64_t lease);
// What it compares.
Json created_at(const std::string& key, std::int64_t revision);
Json modified_at(const std::string& key, std::int64_t revision);
Json none_under(const std::string& prefix);

// What may be put.
Status allowed(std::string_view key, std::string_view value = {});
double in_seconds(Nanoseconds);

} // namespace dlhost::plugins::rendezvous
