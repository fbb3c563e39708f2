// Providers that this machine lacks: libfabric's answers for its own, without one ability.
#include "providers.h"

#include <dlfcn.h>

#include <rdma/fi_errno.h>

#include "endpoints.h"

namespace {

struct Missing {
  bool memory = false; // put and get
  bool host = false;   // it does not know the requested address
};
Missing missing;

} // namespace

// Replaces libfabric's function in this program. libfabric itself asks for other kinds of endpoints.
extern "C" int fi_getinfo(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
                          const fi_info* hints, fi_info** info) {
  static const auto real = reinterpret_cast<decltype(&fi_getinfo)>(dlsym(RTLD_NEXT, "fi_getinfo"));
  const bool ours = hints && hints->ep_attr && hints->ep_attr->type == FI_EP_RDM &&
                    (flags & ~std::uint64_t{FI_SOURCE | FI_NUMERICHOST}) == 0;
  if (ours && missing.host && node) return -FI_ENODATA;
  if (ours && missing.memory && (hints->caps & FI_RMA) != 0) return -FI_ENODATA;
  return real(version, node, service, flags, hints, info);
}

namespace dlhost::plugins::fabric {
namespace {

using testing::AllOf, testing::HasSubstr;

class ProvidersTest : public EndpointTest {
 protected:
  ~ProvidersTest() override { missing = {}; }
};

TEST_F(ProvidersTest, WithoutMemoryOfOthersThereAreMessagesAlone) {
  EXPECT_TRUE(FabricEndpoint::capabilities({.provider = "tcp"}).one_sided);
  missing.memory = true;
  const auto capabilities = FabricEndpoint::capabilities({.provider = "tcp"});
  EXPECT_FALSE(capabilities.one_sided || capabilities.registers);
  EXPECT_TRUE(FabricEndpoint::capabilities({.provider = "carrier-pigeon"}).one_sided) << "opening it tells";
  auto one = open("one"), other = open("other");
  std::vector<std::byte> memory(64);
  const PeerId to = *one->connect(other->address());
  for (const Status& status : {one->allocate(64).status(), one->register_memory(memory).status(),
                               one->put(to, memory, "key", 0, 1), one->get(to, memory, "key", 0, 1)})
    EXPECT_THAT(status.message(), AllOf(HasSubstr("'tcp;ofi_rxm' has no put and get"), HasSubstr("`provider`")));
  exchange(*one, to, *other, 3);
}

TEST_F(ProvidersTest, NobodyListensElsewhereThanItIsToldTo) {
  EXPECT_TRUE(of_provider("tcp", "127.0.0.1"));
  missing.host = true;
  EXPECT_FALSE(of_provider("tcp", "127.0.0.1")) << "it would listen at whatever address it finds first";
  EXPECT_TRUE(of_provider("shm", "127.0.0.1")) << "it has no such addresses";
  const auto refused = FabricEndpoint::open(host_, "one", {.provider = "tcp", .listen = "127.0.0.1"});
  EXPECT_THAT(refused.status().message(), HasSubstr("at 127.0.0.1; tried: tcp"));
}

TEST_F(ProvidersTest, TagsAreSharedAsWideAsTheyAre) {
  const Info info(fi_allocinfo(), &fi_freeinfo);
  const auto bits = [&](std::uint64_t format) {
    info->ep_attr->mem_tag_format = format;
    return tag_bits(*info);
  };
  EXPECT_EQ(bits(0xAAAA'AAAA'AAAA'AAAA).token, 0xFFFF'FFFF'0000'0000);
  EXPECT_EQ(bits(0x5555'5555'5555'5555).token, 0x7FFF'FFFF'0000'0000);
  EXPECT_EQ(bits(0x0000'AAAA'AAAA'AAAA).token, 0x0000'FFFF'0000'0000);
  EXPECT_EQ(bits(0x0000'AAAA'AAAA'AAAA).owner, 0xFFFF'FFFFU);
  EXPECT_EQ(bits(0xFFFF).token, 0U);
  EXPECT_EQ(bits(0xFFFF).owner, 0xFFFFU);
}

} // namespace
} // namespace dlhost::plugins::fabric
