// Requests to etcd and fields of its answers, in the JSON gateway's form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <dlhost/rendezvous.h>

#include "gateway.h"

namespace dlhost::plugins::rendezvous {

inline constexpr Nanoseconds one_second = 1'000'000'000;
inline constexpr Nanoseconds look_every = one_second / 10;  // interval of retries
inline constexpr Nanoseconds time_to_ask = 10 * one_second; // of requests without a limit of their own
inline constexpr Nanoseconds time_to_go = 2 * one_second;
inline constexpr std::uint32_t most_ranks = 1U << 20;
inline constexpr std::size_t most_reason = 1000; // bytes of a reason for leaving

std::string words_of(const Json&, std::string_view name, std::size_t longest);
std::string dumped(const Json&);
// The keys found by operation `at` of an answer.
const Json& kvs(const Json& answer, std::size_t at);
const Json& first(const Json& found);
std::int64_t revision_of(const Json& answer);
bool succeeded(const Json& answer);

// Operations of a transaction.
Json range(const std::string& key);
Json range_all(const std::string& prefix);
Json put_in(const std::string& key, std::string_view value, std::int64_t lease);
// Its compares.
Json created_at(const std::string& key, std::int64_t revision);
Json modified_at(const std::string& key, std::int64_t revision);
Json none_under(const std::string& prefix);

// Errors: not allowed as a key or value.
Status allowed(std::string_view key, std::string_view value = {});
double in_seconds(Nanoseconds);

} // namespace dlhost::plugins::rendezvous
