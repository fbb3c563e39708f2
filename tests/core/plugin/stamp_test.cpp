#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/elf.h"
#include "plugin/stamp.h"

namespace dlhost::plugin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::byte> good_file() {
  std::ifstream in(DLHOST_GOOD_PLUGINS "/ones.so", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto view = std::as_bytes(std::span(bytes));
  return {view.begin(), view.end()};
}

TEST(Stamp, SaysWhatThePluginProvides) {
  const auto file = good_file();
  const auto stamp = read_stamp(file);
  ASSERT_TRUE(stamp.ok()) << stamp.status().message();
  EXPECT_EQ(stamp->name, "ones");
  EXPECT_EQ(stamp->version, "1.0");
  EXPECT_THAT(stamp->provides, ElementsAre(Product{Kind::initializer, "ones"}, Product{Kind::initializer, "zeros"}));
  EXPECT_TRUE(judge(*stamp, this_host()).problems.empty());
  EXPECT_TRUE(judge_symbols(file, this_host()).problems.empty());
}

TEST(Stamp, EveryTruncationIsSeen) {
  const auto file = good_file();
  for (std::size_t size = 0; size < file.size(); size += size < 2048 ? 1 : 97) {
    const std::span<const std::byte> part(file.data(), size);
    EXPECT_FALSE(read_stamp(part).ok()) << size;
    EXPECT_FALSE(judge_symbols(part, this_host()).problems.empty()) << size;
  }
}

TEST(Stamp, SpoiledBytesNeverLeadOutsideTheFile) {
  const auto good = good_file();
  std::mt19937_64 random(7);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    auto file = good;
    for (int change = 0; change < 1 + round % 8; ++change) {
      // Mostly the headers and the first tables: the rest is code, which is not examined.
      const std::size_t at = random() % (change % 2 ? file.size() : 0x800);
      file[at] = static_cast<std::byte>(random() % 3 ? random() : 0xff);
    }
    const auto stamp = read_stamp(file);
    refused += !stamp.ok() || !judge(*stamp, this_host()).problems.empty();
    (void)judge_symbols(file, this_host());
  }
  EXPECT_GT(refused, 300); // the address sanitizer checks the others
}

TEST(Stamp, InstructionsAreNamed) {
  const auto file = good_file();
  auto stamp = read_stamp(file);
  ASSERT_TRUE(stamp.ok());
  stamp->raw.isa = isa_avx2 | isa_amx | isa_fma;
  HostTraits host = this_host();
  host.isa = isa_avx2;
  EXPECT_THAT(judge(*stamp, host).problems, ElementsAre(HasSubstr("(FMA, AMX)")));
}

TEST(Stamp, WhatThisProgramWasBuiltWithTheCpuHas) {
  EXPECT_EQ(isa_names(this_host().stamp.isa & ~this_host().isa), "");
}

TEST(Elf, StandardNames) {
  for (auto name : {"_ZNSt8ios_base4InitC1Ev", "_ZZNSt19_Sp_make_shared_tag5_S_tiEvE5__tag",
                    "_ZGVNSt7__cxx118numpunctIcE2idE", "_ZTVSt9exception", "_ZNSs4_Rep20_S_empty_rep_storageE",
                    "_ZN9__gnu_cxx16__stl_threadsE", "_ZZNKSt8__detail5valueEvE1x"})
    EXPECT_TRUE(is_standard(name)) << name;
  for (auto name : {"_ZN6SharedIiE5countE", "_ZZN5twins5Count5valueEvE5count", "_ZN5Stack3topE", "dlhost_plugin", "",
                    "_ZN3fooISt6vectorIiEE5countE"})
    EXPECT_FALSE(is_standard(name)) << name;
}

} // namespace
} // namespace dlhost::plugin
