// Memory that peers read and write over the wire.
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include <sodium.h>

#include "endpoint.h"

namespace dlhost::plugins::fabric {
namespace {

// A region's key: its start for remote access, its size, and the provider's key.
struct Key {
  std::uint64_t begin = 0, size = 0, number = 0;
};
constexpr std::string_view magic = "fab1";

std::string text_of(const Key& key) {
  std::string text(magic);
  text.append(reinterpret_cast<const char*>(&key), sizeof key);
  return text;
}
Result<Key> key_of(std::string_view text) {
  Key key;
  if (text.size() != magic.size() + sizeof key || !text.starts_with(magic))
    return Status::invalid("the given text is not a region's key");
  std::memcpy(&key, text.data() + magic.size(), sizeof key);
  return key;
}

class FabricRegion final : public Region {
 public:
  FabricRegion(std::shared_ptr<Wire> wire, std::span<std::byte> bytes, bool own)
      : wire_(std::move(wire)), bytes_(bytes), own_(own) {}
  ~FabricRegion() override {
    registered_.reset();
    if (own_) munmap(bytes_.data(), bytes_.size());
  }
  Status enter() {
    // Random, because the number gives access: it must not be guessable.
    std::uint64_t wanted = 0;
    randombytes_buf(&wanted, std::min(sizeof wanted, wire_->info().domain_attr->mr_key_size));
    fid_mr* made = nullptr;
    const int code = fi_mr_reg(wire_->domain(), bytes_.data(), bytes_.size(), FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
                               wanted, 0, &made, nullptr);
    if (code != 0) return failed(code, concat("registering ", bytes_.size(), " bytes"));
    registered_.reset(made);
    return {};
  }

  std::span<std::byte> bytes() override { return bytes_; }
  std::string key() const override {
    const bool by_address = (wire_->info().domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    return text_of({.begin = by_address ? reinterpret_cast<std::uint64_t>(bytes_.data()) : 0,
                    .size = bytes_.size(),
                    .number = fi_mr_key(registered_.get())});
  }

 private:
  std::shared_ptr<Wire> wire_;
  std::span<std::byte> bytes_;
  bool own_;
  Owned<fid_mr> registered_;
};

} // namespace

// For a provider chosen by the endpoint itself, the capabilities are known; if the provider is missing, open() reports
// it.
Transport::Capabilities FabricEndpoint::capabilities(const Setup& setup) {
  const auto at = meeting::own_address_in(setup.listen);
  Info info(nullptr, &fi_freeinfo);
  if (at.ok() && !setup.provider.empty()) info = of_provider(setup.provider, *at);
  const bool reaches = !info || reaches_memory(*info);
  return {.one_sided = reaches,
          .registers = reaches,
          .across_hosts = true,
          .reports_gone = true,
          .largest_message = largest_message};
}

Status FabricEndpoint::needs_one_sided() const {
  if (wire_->one_sided()) return {};
  return Status::unsupported("libfabric's provider '", wire_->provider(),
                             "' has no put and get; name another one as `provider`, or none: `dlhost inspect fabric` "
                             "lists the capabilities of each");
}

Result<std::unique_ptr<Region>> FabricEndpoint::allocate(std::size_t bytes) {
  DLHOST_TRY(needs_one_sided());
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Status::system(errno, concat("reserving ", size, " bytes"));
  auto region = std::make_unique<FabricRegion>(wire_, std::span(static_cast<std::byte*>(memory), size), true);
  DLHOST_TRY(region->enter());
  return std::unique_ptr<Region>(std::move(region));
}

Result<std::unique_ptr<Region>> FabricEndpoint::register_memory(std::span<std::byte> bytes) {
  DLHOST_TRY(needs_one_sided());
  auto region = std::make_unique<FabricRegion>(wire_, bytes, false);
  DLHOST_TRY(region->enter());
  return std::unique_ptr<Region>(std::move(region));
}

Result<std::unique_ptr<Region>> FabricEndpoint::map(PeerId, std::string_view) {
  return Status::unsupported("memory across a network cannot be mapped; use put() and get()");
}

Result<Operation> FabricEndpoint::reach(Operation operation, std::string_view text, std::uint64_t offset) {
  DLHOST_TRY(needs_one_sided());
  DLHOST_ASSIGN(const Key key, key_of(text));
  if (offset > key.size || operation.size > key.size - offset)
    return Status::invalid("bytes ", offset, " to ", offset + operation.size, " of a region that has ", key.size);
  operation.remote = key.begin + offset;
  operation.key = key.number;
  return operation;
}

Status FabricEndpoint::put(PeerId id, std::span<const std::byte> from, std::string_view key, std::uint64_t offset,
                           std::uint64_t cookie) {
  DLHOST_ASSIGN(const auto operation, reach({.kind = Operation::Kind::put,
                                             .peer = id,
                                             .cookie = cookie,
                                             .bytes = const_cast<std::byte*>(from.data()),
                                             .size = from.size()},
                                            key, offset));
  return post(id, operation);
}

Status FabricEndpoint::get(PeerId id, std::span<std::byte> into, std::string_view key, std::uint64_t offset,
                           std::uint64_t cookie) {
  DLHOST_ASSIGN(
      const auto operation,
      reach({.kind = Operation::Kind::get, .peer = id, .cookie = cookie, .bytes = into.data(), .size = into.size()},
            key, offset));
  return post(id, operation);
}

} // namespace dlhost::plugins::fabric
