#include "address.h"

#include <gmock/gmock.h>

namespace dlhost::plugins::fabric {
namespace {

TEST(AddressTest, IsReadAsItWasWritten) {
  const Address address{
      .name = "seat3", .provider = "tcp;ofi_rxm", .host = "10.1.2.3", .port = 4242, .wire = std::string("\0\x7f/:", 4)};
  EXPECT_EQ(address.text(), "fabric:seat3/tcp;ofi_rxm/10.1.2.3:4242/007f2f3a");
  const auto read = Address::parse(address.text());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->text(), address.text());
  EXPECT_EQ(read->wire, address.wire);
  EXPECT_EQ(Address::parse("fabric:a/net/fe80::1:99/00")->host, "fe80::1");
}

TEST(AddressTest, WhatIsNoneIsRefused) {
  for (const std::string text :
       {"", "fabric:", "shm:a/tcp/10.1.2.3:4242/00", "fabric:a/tcp/10.1.2.3:4242", "fabric:a/tcp/10.1.2.3:4242/",
        "fabric:a/tcp/10.1.2.3:4242/0", "fabric:a/tcp/10.1.2.3:4242/zz", "fabric:a/tcp/10.1.2.3:4242/00/",
        "fabric:a/tcp/10.1.2.3:4242/00/x", "fabric:a/tcp/10.1.2.3:0/00", "fabric:a/tcp/10.1.2.3:65536/00",
        "fabric:a/tcp/10.1.2.3:-1/00", "fabric:a/tcp/10.1.2.3/00", "fabric:a/tcp/host:4242/00",
        "fabric:a//10.1.2.3:4242/00", "fabric:/tcp/10.1.2.3:4242/00", "fabric:a b/tcp/10.1.2.3:4242/00"})
    EXPECT_FALSE(Address::parse(text).ok()) << text;
  EXPECT_FALSE(Address::parse("fabric:a/tcp/10.1.2.3:4242/" + std::string(1000, '0')).ok()) << "too long";
}

} // namespace
} // namespace dlhost::plugins::fabric
