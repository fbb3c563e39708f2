// What lies in a worker's own memory, and in the masters' beside it: how params are cut, how many versions there are,
// and where all of that is.
#include <algorithm>

#include "run/worker/seat.h"

namespace dlhost::run {
namespace {

constexpr std::int64_t flowing_slices = 16; // times the least that is cut: what is exchanged is cut into no more
constexpr std::size_t most_metrics = 256;
constexpr std::size_t words_bytes = 4096; // of the reason why a worker failed

} // namespace

Seat::Layout::Layout(const param::Store& store, const Seat& seat)
    : gradients(seat.shares_params() ? param::Gradients(store) : param::Gradients()),
      slices(seat.cut(store, gradients)), sent(gradients.bytes()), vitals(sent) {
  if (seat.codec_) {
    const bool goes_back =
        !seat.encodes_exchanges() && (seat.outlived() || (seat.traits_.by_step && seat.place_.workers > 1));
    coding.emplace(store, slices, *seat.codec_, seat.session_.job().topology.codec_elements, sent,
                   param::Coding::Kind{.sent = !seat.encodes_exchanges(), .outlived = goes_back});
    sent = coding->sent_end();
    vitals = coding->end();
  }
  if (const WorkerPlan& first = seat.first_plan_; first.update_locally) {
    replica.emplace(store, vitals, !first.send_delta);
    vitals = replica->end();
  }
  for (const auto& state : store.states())
    states.push_back(param::take_lines(vitals, store.computing().device.bytes(state->desc)));
  numbers = vitals + sizeof(Vitals);
  words = numbers + most_metrics * 2 * sizeof(double);
  published = words + words_bytes;
  bytes = exchanged =
      published + (seat.outlived() || seat.mends() ? param::SurvivingVersions::bytes(slices.size(), seat.seats_) : 0);
  if (seat.sync_ && seat.serves())
    bytes += seat.exchanged_bytes(slices, coding ? &*coding : nullptr, seat.place_.server_group,
                                  seat.number_ - seat.home_of(seat.place_.server_group));
}

// Of a server group's values: the most that any has, since all lay out the masters of all alike.
std::size_t Seat::readers() const {
  std::uint32_t served = place_.served; // at the least: of contributions that all share, each has all
  for (std::uint32_t group = 0; group < place_.server_groups; ++group)
    served = std::max(served, Place::served_by(session_.job().topology, group));
  return std::size_t{served} * place_.workers;
}

// Where updates and readers overlap, each reader may have another version, and there is one more; one more than that if
// the newest is to outlive its server. Else a version is written where the last one lies, unless that is to outlive it.
param::Masters::Copies Seat::copies(const param::Store& store) const {
  const auto replicas = static_cast<std::size_t>(session_.job().topology.replicas);
  const auto values = [&](const Agreement::One& one) {
    return (one.traits.readers_overlap ? readers() : 0) + replicas;
  };
  param::Masters::Copies copies{
      .values = values(agreement_->job()),
      .histories = replicas,
      .shared = !sync_ || groups_are_alike() ? 0 : param::GroupSync::shared_rows(*sync_, outlived())};
  if (agreement_->all().size() > 1)
    for (const auto& param : store.params()) copies.values_of.push_back(values(agreement_->of(*param)));
  return copies;
}

param::SharedParams::Bytes Seat::bytes(const param::Store& store) const {
  const Layout layout(store, *this);
  Bytes bytes{.own = layout.bytes, .common = place_.server_groups * lay_out_masters(store).bytes()};
  for (const auto& param : store.params())
    if (saves_own_values() && param->updated) bytes.saved += param->master.plain_bytes() * (1 + param->slots);
  if (layout.coding) {
    bytes.saved += layout.coding->kept_bytes();
    bytes.summed = layout.coding->decoded_bytes();
  }
  for (const auto& param : store.params())
    if (param->updated && agreement_->of(*param).traits.folds)
      bytes.summed += place_.server_groups * param->master.plain_bytes();
  bytes.summed += place_.server_groups * servers_ * multiplying_bytes(store, layout.slices);
  return bytes;
}

// Where several versions of a param are there at once, it is read whole, from one of them. Where its slices go at their
// own pace, there are no sums over a param but of one slice; and one slice's are those of one worker, bit for bit.
bool Seat::is_whole(const param::Param& param) const {
  const bool sums = !session_.updater().rule().partials.results().empty();
  return agreement_->of(param).traits.readers_overlap ||
         (sums && (!whole_versions() || session_.job().train.reproducible)) ||
         (codec_ && codec_->traits().whole_matrix);
}

param::Slices Seat::cut(const param::Store& store, const param::Gradients& gradients) const {
  if (!shares_params()) return {};
  std::vector<std::int64_t> pieces(gradients.pieces().begin(), gradients.pieces().end());
  for (const auto& param : store.params())
    if (is_whole(*param)) pieces[param->number] = std::max<std::int64_t>(gradients.elements()[param->number], 1);
  const std::int64_t threshold = session_.job().topology.slice_elements;
  // What goes around in pieces is added up while others are on their way; sums over a param are of a slice each.
  const bool flows = sums_gradients() && session_.updater().rule().partials.results().empty();
  return param::Slices::cut(gradients.elements(), servers_, threshold, pieces, flows ? flowing_slices * threshold : 0);
}

Vitals& Seat::vitals(std::uint32_t seat) const {
  return *std::launder(reinterpret_cast<Vitals*>(own_[seat].bytes.data() + layout_->vitals));
}

std::span<double> Seat::numbers(std::uint32_t seat) const {
  return {reinterpret_cast<double*>(own_[seat].bytes.data() + layout_->numbers), most_metrics * 2};
}

std::span<char> Seat::words(std::uint32_t seat) const {
  return {reinterpret_cast<char*>(own_[seat].bytes.data() + layout_->words), words_bytes};
}

} // namespace dlhost::run
