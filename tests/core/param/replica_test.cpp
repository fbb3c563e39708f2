// Workers with values of their own and their server: for any order of exchanges, the results equal those of the papers'
// algorithms, computed plainly in double precision.
#include "param/table/replica.h"

#include <algorithm>
#include <array>

#include <gmock/gmock.h>

#include "env/real_host.h"
#include "param/table/table.h"
#include "plugin/registry.h"

namespace dlhost::param {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

constexpr std::size_t elements = 3;
constexpr double rate = 0.1, momentum = 0.9;
using Vector = std::array<double, elements>;

constexpr Vector start{1, -2, 4};
constexpr std::array<Vector, 2> minima{{{0, 1, 2}, {3, -1, 0}}};
constexpr std::array<double, 2> steepness{1.0, 0.3};

double gradient(std::size_t worker, double x, std::size_t i) { return steepness[worker] * (x - minima[worker][i]); }

// One param, in its own store.
struct Net {
  explicit Net(plugin::Registry& registry) {
    device = *registry.create<Device>("ref", {});
    stream = *device->stream();
    dlhost::Table options;
    options.entries.emplace_back("momentum", Value{momentum, {}});
    updater = *registry.create<Updater>("sgd", options);
    store.emplace(*device, *stream);
    Param& param = **store->declare({.name = "w", .shape = {elements}, .init = {}});
    param.updated = true;
    const auto rule = updater->rule();
    store->lay_out(&rule);
    EXPECT_TRUE(store->allocate(&rule).ok());
  }

  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Updater> updater;
  std::optional<Store> store;
  plugin::Activity activity;
};

// A group of one worker, which makes steps on the test's request.
struct Worker final : ControlHandler {
  Worker(env::RealHost& host, plugin::Registry& registry, Consistency& handler, std::uint16_t which,
         std::uint32_t workers)
      : net(registry), gradients(*net.store), places(*net.store, gradients.bytes(), !handler.plan(0, 0).send_delta),
        memory(places.end()), masters(*net.store, {.values = workers + std::size_t{2}}),
        transport(*registry.create<Transport>("shm", {})),
        post(*Post::open({.host = &host,
                          .near = transport.get(),
                          .seat = which,
                          .machines = std::vector<std::uint32_t>(workers),
                          .credit = 64})),
        number(which) {
    auto replica = Replica::make({.store = &*net.store,
                                  .gradients = &gradients,
                                  .places = &places,
                                  .memory = memory,
                                  .updater = net.updater.get(),
                                  .activity = &net.activity});
    EXPECT_TRUE(replica.ok());
    table.emplace(Table::Setup{.host = &host,
                               .post = post.get(),
                               .store = &*net.store,
                               .slices = &slices,
                               .masters = &masters,
                               .gradients = &gradients,
                               .handlers = {.job = {.consistency = &handler}},
                               .seats = {0},
                               .worker = {.group = number},
                               .rows = {0, 1},
                               .replica = *std::move(replica),
                               .control = this});
  }

  // Starts the server beside this worker.
  void serve(Consistency& handler, std::span<const std::unique_ptr<Worker>> workers) {
    ShardSetup setup{.seats = {0},
                     .slices = &slices,
                     .masters = &masters,
                     .store = &*net.store,
                     .groups = static_cast<std::uint32_t>(workers.size()),
                     .handlers = {.job = {.consistency = &handler}},
                     .updater = net.updater.get(),
                     .activity = &net.activity,
                     .send = [this](std::uint32_t seat, const Body& message) { return table->send(seat, message); }};
    for (const auto& worker : workers)
      setup.contributors.push_back({.group = worker->number, .seat = worker->number, .sent = worker->memory});
    auto made = Shard::make(std::move(setup));
    ASSERT_TRUE(made.ok()) << made.status().message();
    shard = *std::move(made);
    table->sit_beside(shard.get(), nullptr);
  }

  void step(std::uint64_t step) {
    ASSERT_TRUE(table->collect(0).ok());
    const Vector at = computes_with();
    for (std::size_t i = 0; i < elements; ++i)
      reinterpret_cast<float*>(memory.data())[i] = static_cast<float>(gradient(number, at[i], i));
    ASSERT_TRUE(table->update(0, step, rate).ok());
    ASSERT_TRUE(table->end_step(step).ok());
  }

  Vector computes_with() const { return read(net.store->params()[0]->value.data()); }
  Vector own() const { return read(memory.data() + places.of(0).value); }
  static Vector read(const std::byte* memory) {
    Vector values{};
    std::copy_n(reinterpret_cast<const float*>(memory), elements, values.begin());
    return values;
  }

  bool calls() const override { return false; }
  Status attend() override { return {}; }
  void beat() override {}
  Post::Shown shown(std::uint32_t, std::size_t, std::size_t, record::Cargo) override { return {}; }
  Status watch() override { return {}; }
  Status take(std::uint32_t, const ToWorker&) override { return Status::corrupt("a message of a run"); }

  Net net;
  Slices slices = Slices::cut(std::array<std::int64_t, 1>{elements}, 1, 100);
  Gradients gradients;
  ReplicaPlaces places;
  std::vector<std::byte> memory;
  Masters masters;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Post> post;
  std::uint16_t number;
  std::optional<Table> table;
  std::unique_ptr<Shard> shard;
};

class ReplicaTest : public testing::Test {
 protected:
  void begin(const std::string& handler, const std::vector<std::pair<std::string, Value>>& options,
             std::uint16_t workers) {
    dlhost::Table given;
    for (const auto& [name, value] : options) given.entries.emplace_back(name, value);
    auto made = registry_.create<Consistency>(handler, given);
    ASSERT_TRUE(made.ok()) << made.status().message();
    handler_ = *std::move(made);
    for (std::uint16_t w = 0; w < workers; ++w)
      workers_.push_back(std::make_unique<Worker>(host_, registry_, *handler_, w, workers));
    memory_.resize(workers_[0]->masters.bytes());
    for (const auto& worker : workers_) {
      worker->masters.lie_at(memory_, true);
      for (std::uint32_t other = 0; other < workers; ++other) {
        if (worker == workers_[other]) continue;
        ASSERT_TRUE(worker->post->connect(other, workers_[other]->post->addresses()).ok());
      }
    }
    std::copy_n(start.begin(), elements, reinterpret_cast<float*>(workers_[0]->masters.value(0, 0).data()));
    workers_[0]->serve(*handler_, workers_);
    for (const auto& worker : workers_)
      worker->table->begin({.version = 0, .steps = std::vector<std::uint64_t>(workers)});
  }

  // Delivers all messages.
  void deliver() {
    for (int round = 0; round < 8; ++round)
      for (const auto& worker : workers_) ASSERT_TRUE(worker->table->progress().ok());
  }

  Vector centre() {
    EXPECT_TRUE(workers_[0]->table->look().ok());
    return workers_[0]->computes_with();
  }

  env::RealHost host_{LogLevel::error};
  plugin::Registry registry_{plugin::entries_of(plugin::settings_of_process({})), host_};
  std::unique_ptr<Consistency> handler_;
  std::vector<std::byte> memory_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

// Zhang et al., algorithm 1, each worker with momentum. A worker reads the centre one step before each exchange.
TEST_F(ReplicaTest, ElasticIsElasticAveragingInWhicheverOrderWorkersCome) {
  constexpr double alpha = 0.3;
  constexpr std::uint64_t every = 3;
  begin("elastic", {{"alpha", Value{alpha, {}}}, {"every", Value{std::int64_t{every}, {}}}}, 2);
  Vector centre_then = start;
  std::array<Vector, 2> x{start, start}, velocity{}, seen{start, start};
  std::array<std::uint64_t, 2> steps{};
  const auto step = [&](std::size_t worker) {
    const std::uint64_t number = steps[worker]++;
    workers_[worker]->step(number);
    deliver();
    for (std::size_t i = 0; i < elements; ++i) {
      double& own = x[worker][i];
      velocity[worker][i] = momentum * velocity[worker][i] + gradient(worker, own, i);
      own -= rate * velocity[worker][i];
      if ((number + 1) % every == 0) {
        const double difference = alpha * (own - seen[worker][i]);
        own -= difference;
        centre_then[i] += difference;
      }
      if ((number + 2) % every == 0) seen[worker][i] = centre_then[i];
    }
    EXPECT_THAT(workers_[worker]->own(), Pointwise(DoubleNear(1e-5), x[worker]));
  };
  for (const std::size_t worker : {0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1})
    step(worker);
  EXPECT_THAT(steps, testing::Each(testing::Gt(4 * every)));
  // A worker that read the centre, as for an evaluation, continues with its own values.
  EXPECT_THAT(centre(), Pointwise(DoubleNear(1e-5), centre_then));
  seen[0] = centre_then;
  for (std::uint64_t more = 0; more < every; ++more) step(0);
  EXPECT_THAT(centre(), Pointwise(DoubleNear(1e-5), centre_then));
}

// Gradients pull the workers apart, the centre pulls them together: all converge, with the centre in between.
TEST_F(ReplicaTest, ElasticComesToRestBetweenTheWorkers) {
  begin("elastic", {{"alpha", Value{0.3, {}}}, {"every", Value{std::int64_t{1}, {}}}}, 2);
  std::uint64_t step = 0;
  const auto steps = [&](std::uint64_t until) {
    for (; step < until; ++step)
      for (const auto& worker : workers_) {
        worker->step(step);
        deliver();
      }
  };
  steps(600);
  const Vector then = centre();
  steps(650);
  EXPECT_THAT(centre(), Pointwise(DoubleNear(1e-3), then)); // reading it fetched the centre at another moment
  for (std::size_t i = 0; i < elements; ++i)
    for (const std::size_t worker : {0, 1}) {
      const auto [low, high] = std::minmax(minima[worker][i], then[i]);
      EXPECT_GT(workers_[worker]->own()[i], low);
      EXPECT_LT(workers_[worker]->own()[i], high);
    }
}

// Dean et al., algorithm 1. A push has the gradients of three steps; a pause of all workers sends the remainder.
TEST_F(ReplicaTest, EventualPushesSumsAndFetchesNowAndThen) {
  constexpr std::uint64_t push = 3, fetch = 2, steps = 17;
  begin("eventual", {{"push", Value{std::int64_t{push}, {}}}, {"fetch", Value{std::int64_t{fetch}, {}}}}, 1);
  Vector served = start, served_velocity{}, own = start, velocity{}, sum{};
  const auto pushes = [&](std::size_t i) {
    served_velocity[i] = momentum * served_velocity[i] + sum[i];
    served[i] -= rate * served_velocity[i];
    sum[i] = 0;
  };
  for (std::uint64_t step = 0; step < steps; ++step) {
    if (step % fetch == 0) own = served;
    workers_[0]->step(step);
    for (std::size_t i = 0; i < elements; ++i) {
      const double g = gradient(0, own[i], i);
      sum[i] += g;
      velocity[i] = momentum * velocity[i] + g;
      own[i] -= rate * velocity[i];
      if ((step + 1) % push == 0) pushes(i);
    }
    EXPECT_THAT(workers_[0]->own(), Pointwise(DoubleNear(2e-6), own)) << "step " << step;
  }
  EXPECT_THAT(centre(), Pointwise(DoubleNear(2e-6), served));
  for (std::size_t i = 0; i < elements; ++i) {
    EXPECT_NE(sum[i], 0) << "else nothing is left to be sent";
    pushes(i);
  }
  for (int twice = 0; twice < 2; ++twice) {
    ASSERT_TRUE(workers_[0]->table->flush().ok());
    ASSERT_TRUE(workers_[0]->table->settle().ok());
    EXPECT_THAT(centre(), Pointwise(DoubleNear(2e-6), served));
  }
  EXPECT_EQ(workers_[0]->table->version(0), steps / push + 1);
}

// As in a resumed run.
TEST_F(ReplicaTest, ValuesOfItsOwnAreThereAgainOrTheServersAre) {
  begin("elastic", {{"every", Value{std::int64_t{100}, {}}}}, 1);
  for (std::uint64_t step = 0; step < 5; ++step) workers_[0]->step(step);
  const Vector learned = workers_[0]->own();
  workers_[0]->table->begin({.version = 0, .steps = {5}, .own_values = true});
  ASSERT_TRUE(workers_[0]->table->collect(0).ok());
  EXPECT_EQ(workers_[0]->computes_with(), learned);
  workers_[0]->table->begin({.version = 0, .steps = {5}});
  ASSERT_TRUE(workers_[0]->table->collect(0).ok());
  EXPECT_EQ(workers_[0]->computes_with(), start);
}

} // namespace
} // namespace dlhost::param
