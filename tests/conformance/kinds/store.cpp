// Stores: objects appear whole or not at all, with the written content. Tested in a new folder below --url, or in the
// system's folder for temporary files if the store is of files.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <dlhost/store.h>

#include "device/lab.h"
#include "kinds/kinds.h"

namespace dlhost::conform {

namespace {

// A temporary folder.
class Place {
 public:
  Place(const Context& context, Store& store) : context_(context), store_(store) {
    static int number = 0;
    const std::string own = concat("dlhost-conform-", ::getpid(), "-", number++);
    if (!context.url.empty()) {
      url_ = context.url + "/" + own;
    } else if (store.scheme() == "file") {
      folder_ = std::filesystem::temp_directory_path() / own;
      std::filesystem::create_directories(folder_);
      url_ = "file://" + folder_.string();
    }
  }
  ~Place() {
    std::error_code ignored;
    if (!folder_.empty())
      std::filesystem::remove_all(folder_, ignored);
    else if (known())
      store_.remove(context_.host, url_).ignore("where objects have no folders there is nothing left to remove");
  }
  bool known() const { return !url_.empty(); }
  std::string at(const std::string& name) const { return url_ + "/" + name; }
  const std::string& url() const { return url_; }

 private:
  const Context& context_;
  Store& store_;
  std::filesystem::path folder_;
  std::string url_;
};

std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 31 + i / 256);
  return bytes;
}

void write(const Context& context, Store& store, const std::string& url, const std::vector<std::byte>& bytes) {
  auto file = need(store.create(context.host, url));
  const std::span<const std::byte> all(bytes);
  need(file->append(all.first(bytes.size() / 3)));
  need(file->append(all.subspan(bytes.size() / 3)));
  need(file->commit());
}

bool listed(const Context& context, Store& store, const std::string& folder, const std::string& name) {
  const auto entries = need(store.list(context.host, folder));
  return std::ranges::any_of(entries, [&](const DirectoryEntry& entry) { return entry.name == name; });
}

void objects_are_whole_or_absent(const Context& context, const std::string& name) {
  const auto store = usable<Store>(context, name);
  EXPECT_FALSE(store->scheme().empty());
  const Place place(context, *store);
  if (!store->capabilities().objects || !place.known()) GTEST_SKIP() << "no place for objects: give one with --url";
  const auto bytes = some_bytes(100000);
  {
    auto abandoned = need(store->create(context.host, place.at("abandoned")));
    need(abandoned->append(bytes));
  }
  EXPECT_FALSE(store->open(context.host, place.at("abandoned")).ok()) << "what was not committed can be read";
  write(context, *store, place.at("a"), bytes);
  auto file = need(store->open(context.host, place.at("a")));
  ASSERT_EQ(file->size(), bytes.size());
  std::vector<std::byte> piece(777);
  need(file->read_at(54321, piece));
  EXPECT_TRUE(std::equal(piece.begin(), piece.end(), bytes.begin() + 54321));
  EXPECT_FALSE(file->read_at(bytes.size() - 10, piece).ok()) << "reads beyond the end";
  EXPECT_TRUE(listed(context, *store, place.url(), "a"));
  write(context, *store, place.at("b"), some_bytes(5));
  need(store->rename(context.host, place.at("a"), place.at("b")));
  EXPECT_EQ(need(store->open(context.host, place.at("b")))->size(), bytes.size()) << "rename replaces";
  EXPECT_FALSE(listed(context, *store, place.url(), "a"));
  need(store->remove(context.host, place.at("b")));
  EXPECT_FALSE(store->open(context.host, place.at("b")).ok());
  EXPECT_EQ(store->open(context.host, place.at("never")).status().code(), Code::not_found);
}

void says_what_it_cannot(const Context& context, const std::string& name) {
  const auto store = usable<Store>(context, name);
  const std::string nowhere = concat(store->scheme(), ":///no/such/place/at/all");
  const auto records = store->open_records(context.host, nowhere);
  EXPECT_FALSE(records.ok());
  EXPECT_FALSE(records.status().message().empty());
  EXPECT_FALSE(store->open(context.host, nowhere).ok());
}

} // namespace

void register_store_suite(const Context& context, const std::string& name) {
  add_product_check(context, Kind::store, name, "objects_are_whole_or_absent", objects_are_whole_or_absent);
  add_product_check(context, Kind::store, name, "says_what_it_cannot", says_what_it_cannot);
}

} // namespace dlhost::conform
