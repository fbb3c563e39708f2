#include "run/input/feeder.h"

#include <algorithm>
#include <optional>

#include "plugin/contained.h"
#include "run/input/batch_memory.h"

namespace dlhost::run {

namespace {

// The longest wait before a condition is checked again.
constexpr Nanoseconds look_for_batches = 1'000'000'000;
// The stream of augmentations' draws, apart from the streams of the net's layers.
constexpr std::uint32_t augment_stream = 0x41554700;

} // namespace

// The memory of a batch, used again for every slots()-th step.
struct Feeder::Slot {
  Slot() = default;
  Slot(Slot&& other) noexcept // only while the feeder is made
      : memory(std::move(other.memory)), outputs(std::move(other.outputs)), samples(std::move(other.samples)),
        statuses(std::move(other.statuses)) {}

  std::vector<BatchMemory> memory;
  std::vector<const std::byte*> outputs;
  std::vector<std::uint32_t> samples;
  std::vector<Status> statuses;      // of each chunk
  std::atomic<std::int64_t> left{0}; // chunks that are not read yet
  Batch batch;
};

// A reader's own state.
struct Feeder::Reader {
  BatchMemory sample, scratch;
  std::vector<std::byte*> places;
  std::uint32_t epoch = 0;
  std::optional<Sampling::Order> order; // of that epoch
};

Result<std::unique_ptr<Feeder>> Feeder::make(Host& host, const Source& source, std::span<const Port> outputs,
                                             const net::Augment& augment, const FeederSpec& spec) {
  if (outputs.empty() || spec.readers < 0 || spec.prefetch < 0 || spec.held < 1)
    return Status::internal("feeder: ", outputs.size(), " outputs, ", spec.readers, " readers, ", spec.prefetch,
                            " batches ahead of ", spec.held);
  DLHOST_ASSIGN(const auto sampling, Sampling::make(spec.sampling, source.count(spec.phase)));
  std::unique_ptr<Feeder> feeder(new Feeder(host, source, augment, spec, sampling));
  feeder->lay_out(outputs);
  return feeder;
}

Feeder::Feeder(Host& host, const Source& source, const net::Augment& augment, const FeederSpec& spec,
               const Sampling& sampling)
    : host_(host), source_(source), augment_(augment), spec_(spec), sampling_(sampling),
      // Small enough that all readers finish a batch at about the same time, large enough that claiming is cheap.
      chunk_rows_(std::max<std::int64_t>(1, sampling.rows() / (4 * std::max(1, spec.readers)))),
      chunks_((sampling.rows() + chunk_rows_ - 1) / chunk_rows_), freed_(host.tasks().waiter()),
      filled_(host.tasks().waiter()) {}

Feeder::~Feeder() { stop(); }

std::uint64_t Feeder::slots() const { return slots_.size(); }

void Feeder::lay_out(std::span<const Port> outputs) {
  for (const Port& port : outputs)
    if (spec_.reads) row_bytes_.push_back(port.desc.plain_bytes());
  if (!augment_.empty() && spec_.reads) row_bytes_[0] = augment_.result().plain_bytes();
  const auto rows = static_cast<std::size_t>(sampling_.rows());
  Device* device = spec_.device;
  slots_.resize(spec_.slots());
  for (Slot& slot : slots_) {
    for (const std::size_t bytes : row_bytes_) {
      slot.memory.push_back(batch_memory(bytes * rows, device, host_.log()));
      slot.outputs.push_back(slot.memory.back().get());
    }
    slot.samples.resize(rows);
    slot.statuses.resize(static_cast<std::size_t>(chunks_));
    slot.batch.outputs = slot.outputs;
    slot.batch.samples = slot.samples;
  }
  for (int i = 0; i < std::max(1, spec_.readers); ++i) {
    auto reader = std::make_unique<Reader>();
    reader->places.resize(outputs.size());
    if (!augment_.empty()) {
      reader->sample = batch_memory(augment_.source_bytes());
      reader->scratch = batch_memory(augment_.scratch_bytes());
    }
    readers_.push_back(std::move(reader));
  }
}

void Feeder::seek(std::uint64_t step) {
  stop();
  first_ = step;
  given_ = 0;
}

void Feeder::move(const SampleOrigin& origin) {
  stop();
  sampling_.move(origin);
}

void Feeder::start() {
  for (Slot& slot : slots_) slot.left.store(chunks_, std::memory_order_relaxed);
  claimed_.store(0, std::memory_order_relaxed);
  released_.store(0, std::memory_order_relaxed);
  stopping_.store(false, std::memory_order_relaxed);
  for (std::size_t i = 0; i < static_cast<std::size_t>(spec_.readers); ++i)
    tasks_.push_back(host_.tasks().start(concat("reader ", i), [this, i] { read_ahead(*readers_[i]); }));
}

void Feeder::stop() {
  stopping_.store(true, std::memory_order_release);
  freed_->notify_all();
  tasks_.clear(); // joins
}

Result<const Batch*> Feeder::next() {
  if (spec_.readers > 0 && tasks_.empty()) start();
  const std::uint64_t step = first_ + given_;
  if (step >= spec_.end) return Status::cancelled("the input ends before step ", step);
  Slot& slot = slots_[given_ % slots()];
  if (spec_.readers == 0) {
    const Nanoseconds since = host_.clock().now();
    plugin::Activity activity;
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) read_chunk(*readers_[0], activity, slot, step, chunk);
    count_wait(since);
  } else {
    if (const auto held = static_cast<std::uint64_t>(spec_.held); given_ >= held) {
      slots_[(given_ - held) % slots()].left.store(chunks_, std::memory_order_relaxed);
      released_.store(given_ - held + 1, std::memory_order_release);
      freed_->notify_all();
    }
    wait_until_read(slot);
  }
  ++given_;
  for (const Status& status : slot.statuses) DLHOST_TRY(status);
  slot.batch.step = step;
  slot.batch.epoch = sampling_.place(step, 0).epoch;
  slot.batch.valid = sampling_.valid(step);
  return &slot.batch;
}

bool Feeder::ready() const {
  if (tasks_.empty() || first_ + given_ >= spec_.end) return false;
  if (given_ >= released_.load(std::memory_order_relaxed) + slots()) return false; // its slot is still in use
  const Slot& slot = slots_[given_ % slots()];
  return slot.left.load(std::memory_order_acquire) == 0 && std::ranges::all_of(slot.statuses, &Status::ok);
}

std::size_t Feeder::bytes(std::size_t output) const {
  return row_bytes_[output] * static_cast<std::size_t>(sampling_.rows());
}

void Feeder::wait_until_read(Slot& slot) {
  if (slot.left.load(std::memory_order_acquire) == 0) return;
  const Nanoseconds since = host_.clock().now();
  for (;;) {
    const auto ticket = filled_->ticket();
    if (slot.left.load(std::memory_order_acquire) == 0) break;
    if (!filled_->wait(ticket, look_for_batches) && spec_.waiting) spec_.waiting();
  }
  count_wait(since);
}

void Feeder::count_wait(Nanoseconds since) {
  ++waits_.batches;
  waits_.time += host_.clock().now() - since;
}

void Feeder::read_ahead(Reader& reader) {
  plugin::Activity activity;
  for (;;) {
    const std::uint64_t claim = claimed_.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t ahead = claim / static_cast<std::uint64_t>(chunks_);
    if (first_ + ahead >= spec_.end || !wait_until_free(ahead)) return;
    Slot& slot = slots_[ahead % slots()];
    read_chunk(reader, activity, slot, first_ + ahead,
               static_cast<std::int64_t>(claim % static_cast<std::uint64_t>(chunks_)));
    if (slot.left.fetch_sub(1, std::memory_order_acq_rel) == 1) filled_->notify_all();
  }
}

// False: stopping. Batches in use keep their slots, so readers go at most slots() batches beyond the last released one.
bool Feeder::wait_until_free(std::uint64_t ahead) {
  for (;;) {
    const auto ticket = freed_->ticket();
    if (stopping_.load(std::memory_order_acquire)) return false;
    if (ahead < released_.load(std::memory_order_acquire) + slots()) return true;
    freed_->wait(ticket, look_for_batches);
  }
}

void Feeder::read_chunk(Reader& reader, plugin::Activity& activity, Slot& slot, std::uint64_t step,
                        std::int64_t chunk) {
  Status& status = slot.statuses[static_cast<std::size_t>(chunk)];
  status = {};
  const std::int64_t first = chunk * chunk_rows_, last = std::min(first + chunk_rows_, sampling_.rows());
  for (std::int64_t row = first; row < last && status.ok(); ++row) {
    const auto place = sampling_.place(step, row);
    if (!reader.order || reader.epoch != place.epoch) {
      reader.order.emplace(sampling_.order(place.epoch));
      reader.epoch = place.epoch;
    }
    const std::uint32_t sample = (*reader.order)[place.index];
    slot.samples[static_cast<std::size_t>(row)] = sample;
    status = plugin::contained(activity, spec_.actor, "read", step, [&] {
               return read_row(reader, slot, place, sample, row);
             }).at("sample ", sample);
  }
}

Status Feeder::read_row(Reader& reader, Slot& slot, Sampling::Place place, std::uint32_t sample,
                        std::int64_t row) const {
  if (!spec_.reads) return {};
  for (std::size_t i = 0; i < row_bytes_.size(); ++i)
    reader.places[i] = slot.memory[i].get() + row_bytes_[i] * static_cast<std::size_t>(row);
  if (augment_.empty()) return source_.read(spec_.phase, sample, reader.places);
  std::byte* const into = std::exchange(reader.places[0], reader.sample.get());
  DLHOST_TRY(source_.read(spec_.phase, sample, reader.places));
  Random random({spec_.sampling.seed, augment_stream + spec_.sampling.stream}, place.epoch, sample);
  augment_.apply(reader.sample.get(), into, reader.scratch.get(), spec_.trains, random);
  return {};
}

} // namespace dlhost::run
