// One worker's view of the table: what it does with messages that come where they have no business.
#include "param/table.h"

#include <gmock/gmock.h>

#include "env/real_host.h"
#include "plugin/registry.h"

namespace dlhost::param {
namespace {

class TableTest : public testing::Test {
 protected:
  void SetUp() override {
    transport_ = *registry_.create<Transport>("shm", {});
    post_ = *Post::open(
        {.host = &host_, .near = transport_.get(), .seat = 3, .machines = std::vector<std::uint32_t>(4), .credit = 16});
    device_ = *registry_.create<Device>("ref", {});
    stream_ = *device_->stream();
    store_.emplace(*device_, *stream_);
    ASSERT_TRUE(store_->declare({.name = "w", .shape = {4}, .init = {}}).ok());
    store_->lay_out(nullptr);
    masters_.emplace(*store_, Masters::Copies());
    table_.emplace(Table::Setup{.host = &host_,
                                .post = post_.get(),
                                .store = &*store_,
                                .slices = &slices_,
                                .masters = &*masters_,
                                .seats = {0}});
  }

  env::RealHost host_{LogLevel::error};
  plugin::Registry registry_{plugin::entries_of(plugin::settings_of_process({})), host_};
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Post> post_;
  Slices slices_ = Slices::cut(std::array<std::int64_t, 1>{4}, 1, 100);
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::optional<Store> store_;
  std::optional<Masters> masters_;
  std::optional<Table> table_;
};

TEST_F(TableTest, WhatIsMeantForOthersIsCorrupt) {
  for (const Word word :
       {Word::update, Word::get, Word::look, Word::settle, Word::chosen, Word::dropped, Word::leave}) {
    const Status status = table_->take({.word = word});
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_EQ(status.message(), "seat 3 got a message for a server, which it is not");
  }
  const Status whole = table_->take({.word = Word::whole});
  EXPECT_EQ(whole.code(), Code::corrupt);
  EXPECT_EQ(whole.message(), "seat 3 got a message for a chooser, which it is not");
}

TEST_F(TableTest, AValueThatCannotBeIsCorrupt) {
  EXPECT_EQ(table_->take({.word = Word::value, .slice = 1}).code(), Code::corrupt);
  EXPECT_EQ(table_->take({.word = Word::value, .place = 1}).code(), Code::corrupt);
  EXPECT_EQ(table_->take({.word = Word::settled, .slice = 1}).code(), Code::corrupt);
  EXPECT_TRUE(table_->take({.word = Word::value}).ok());
}

} // namespace
} // namespace dlhost::param
