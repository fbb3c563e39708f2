// One worker's view of the table: its handling of invalid messages.
#include "param/table/table.h"

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
  for (const Body& message : {Body(to_server::Update()), Body(to_server::Get()), Body(to_server::Leave()),
                              Body(to_neighbour::Call()), Body(to_neighbour::Part())}) {
    const Status status = table_->take(0, message);
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_EQ(status.message(), "seat 3 has no server, but got a message for one");
  }
  const Status whole = table_->take(0, to_chooser::Whole());
  EXPECT_EQ(whole.code(), Code::corrupt);
  EXPECT_EQ(whole.message(), "seat 3 has no chooser, but got a message for one");
}

TEST_F(TableTest, AValueThatCannotBeIsCorrupt) {
  EXPECT_EQ(table_->take(0, to_client::Value{.slice = 1}).code(), Code::corrupt);
  EXPECT_EQ(table_->take(0, to_client::Value{.place = 1}).code(), Code::corrupt);
  EXPECT_EQ(table_->take(0, to_client::Settled{.slice = 1}).code(), Code::corrupt);
  EXPECT_TRUE(table_->take(0, to_client::Value()).ok());
}

TEST_F(TableTest, NoVersionIsOlderThanTheOneBefore) {
  EXPECT_TRUE(table_->take(0, to_client::Value{.version = 4}).ok());
  EXPECT_TRUE(table_->take(0, to_client::Seen{.version = 4}).ok());
  EXPECT_THAT(table_->take(0, to_client::Value{.version = 3}).message(),
              testing::HasSubstr("version 3 of slice 0 arrives after version 4"));
}

// An endpoint that never receives a message, and repeatedly reports that the peer is gone.
class LonelyEndpoint final : public Endpoint {
 public:
  std::string address() const override { return "here"; }
  Result<PeerId> connect(std::string_view) override { return PeerId{0}; }
  void disconnect(PeerId) override {}
  Status post_send(PeerId, std::uint64_t, std::span<const std::byte>, std::uint64_t) override { return {}; }
  Status post_recv(std::span<std::byte>, std::uint64_t) override { return {}; }
  Result<std::unique_ptr<Region>> allocate(std::size_t) override { return Status::unsupported("no"); }
  Result<std::unique_ptr<Region>> register_memory(std::span<std::byte>) override { return Status::unsupported("no"); }
  Status put(PeerId, std::span<const std::byte>, std::string_view, std::uint64_t, std::uint64_t) override {
    return Status::unsupported("no");
  }
  Status get(PeerId, std::span<std::byte>, std::string_view, std::uint64_t, std::uint64_t) override {
    return Status::unsupported("no");
  }
  Result<std::unique_ptr<Region>> map(PeerId, std::string_view) override { return Status::unsupported("no"); }
  Result<std::size_t> progress(std::span<Completion> into, Nanoseconds limit) override {
    if (limit == 0) return std::size_t{0};
    into[0] = {.kind = Completion::Kind::gone, .peer = 0};
    return std::size_t{1};
  }
  void wake() override {}
};

class LonelyTransport final : public Transport {
 public:
  Capabilities capabilities() const override { return {.maps = true}; }
  Result<std::unique_ptr<Endpoint>> open(Host&, const Opening&) override {
    return std::unique_ptr<Endpoint>(new LonelyEndpoint);
  }
};

class IdleControl : public ControlHandler {
 public:
  bool calls() const override { return false; }
  Status attend() override { return {}; }
  void beat() override {}
  Status watch() override { return {}; }
  Post::Shown shown(std::uint32_t, std::size_t, std::size_t, record::Cargo) override { return {}; }
  Status take(std::uint32_t, const ToWorker&) override { return {}; }
};

class LonelyTableTest : public TableTest {
 protected:
  void SetUp() override {
    TableTest::SetUp();
    post_ = *Post::open({.host = &host_, .near = &lonely_, .seat = 3, .machines = {0, 0, 0, 0}, .credit = 16});
    ASSERT_TRUE(post_->connect(0, {"there", "", "host7"}).ok());
    make_table(control_);
  }
  void make_table(ControlHandler& control) {
    table_.emplace(Table::Setup{.host = &host_,
                                .post = post_.get(),
                                .store = &*store_,
                                .slices = &slices_,
                                .masters = &*masters_,
                                .seats = {0},
                                .control = &control});
  }

  LonelyTransport lonely_;
  IdleControl control_;
};

// Sends itself another message while it processes one.
class Chain final : public IdleControl {
 public:
  Status take(std::uint32_t, const ToWorker& message) override {
    const auto* done = std::get_if<to_worker::Done>(&message);
    log += concat("<", done->step);
    if (done->step < 2) DLHOST_TRY(table->send(3, to_worker::Done{.step = done->step + 1}));
    log += ">";
    return {};
  }
  Table* table = nullptr;
  std::string log;
};

TEST_F(LonelyTableTest, NoMessageToItselfIsProcessedWithinAnother) {
  Chain chain;
  make_table(chain);
  chain.table = &*table_;
  ASSERT_TRUE(table_->send(3, to_worker::Done{.step = 0}).ok());
  EXPECT_EQ(chain.log, "") << "its sender may go through a list";
  ASSERT_TRUE(table_->progress().ok());
  EXPECT_EQ(chain.log, "<0><1><2>");
}

// What it waits for is in a message to itself, so it does not wait for others.
TEST_F(LonelyTableTest, MessagesToItselfAreProcessedBeforeItWaits) {
  Chain chain;
  make_table(chain);
  chain.table = &*table_;
  ASSERT_TRUE(table_->send(3, to_worker::Done{.step = 2}).ok());
  EXPECT_TRUE(table_->wait_until([&] { return !chain.log.empty(); }).ok()) << "nobody else is there to wait for";
}

TEST_F(LonelyTableTest, WhoIsGoneIsNamedWithItsHostAndWhatWaitsForIt) {
  EXPECT_EQ(table_->settle().message(), "worker 0 on host7 is gone");
  const Status collected = table_->collect(0); // the param has not arrived
  EXPECT_EQ(collected.code(), Code::gone);
  EXPECT_EQ(collected.message(), "worker 3 waits for param 'w': worker 0 on host7 is gone");
}

} // namespace
} // namespace dlhost::param
