#include "plan/table_plan.h"

#include <algorithm>
#include <set>

#include "param/exchange/gradient_sums.h"
#include "param/exchange/group_sync.h"
#include "param/store/factored_update.h"

namespace dlhost::plan {
namespace {

constexpr std::int64_t flowing_slices =
    16;                                  // gradients that groups exchange are cut into at most so many times the least
constexpr std::int64_t least_pieces = 4; // of a param per server: one may have a piece more than others

std::int64_t most_rows(const config::Job& job) {
  std::int64_t most = 0;
  for (std::uint32_t rank = 0; rank < job.topology.workers_per_group; ++rank)
    most = std::max(most, Place::at(job, rank).rows);
  return most;
}

} // namespace

// These options work on gradients before they are cut into slices, or on each contribution, so they need the gradients
// themselves.
std::optional<param::Factors> TablePlan::factors(const param::Param& param, const param::Factors& own,
                                                 const param::Pieces& pieces) const {
  const config::Topology& topology = job_.topology;
  const bool summed = job_.largest_norm() > 0 || has_sums();
  if (topology.factors == config::Factors::off || is_encoded(param) || summed || job_.train.reproducible ||
      exchange_.groups == Exchange::Groups::gradients || plugins_.of(param).traits.folds || exchange_.own_values ||
      exchange_.differences)
    return std::nullopt;
  param::Factors all = own; // some workers have fewer rows
  for (auto* factor : {&all.x, &all.dy}) factor->shape[0] = most_rows(job_);
  if (topology.factors == config::Factors::on) return all;
  // With fewer servers than workers, or updates from single contributions, or few pieces of a param, some servers would
  // multiply for others. Also, each server reads the inputs of all workers.
  const std::int64_t elements = param.declared.shape.count();
  const auto contributors = static_cast<std::int64_t>(place_.served) * place_.workers;
  const std::int64_t pieces_each = param.declared.shape[0] / pieces.rows / contributors;
  const bool shared_out = exchange_.in_step && servers_ == contributors && !is_whole(param) &&
                          elements >= topology.slice_elements && pieces_each >= least_pieces;
  return shared_out && 2 * (contributors * all.x.count() + all.dy.count()) <= elements ? std::optional(all)
                                                                                       : std::nullopt;
}

bool TablePlan::is_encoded(const param::Param& param) const {
  return exchange_.encodes == Exchange::Encodes::contributions &&
         param.declared.shape.count() >= job_.topology.codec_elements;
}

// If several versions of a param exist at once, it is read whole, from one of them. If its slices go at their own pace,
// there are no sums over more than one slice; and a slice's sums are those of one worker, bit for bit.
bool TablePlan::is_whole(const param::Param& param) const {
  return plugins_.of(param).traits.readers_overlap ||
         (has_sums() && (!exchange_.whole_versions || job_.train.reproducible)) ||
         (plugins_.declared().codec && plugins_.declared().codec->whole_matrix);
}

// Gradients that groups exchange are added up piece by piece, while others are on their way; sums over a param are of a
// slice each.
param::Slices TablePlan::cut(const param::Store& store, const param::Gradients& gradients) const {
  std::vector<std::int64_t> pieces(gradients.pieces().begin(), gradients.pieces().end());
  for (const auto& param : store.params())
    if (is_whole(*param)) pieces[param->number] = std::max<std::int64_t>(gradients.elements()[param->number], 1);
  const std::int64_t threshold = job_.topology.slice_elements;
  const bool flows = exchange_.groups == Exchange::Groups::gradients && !has_sums();
  return param::Slices::cut(gradients.elements(), servers_, threshold, pieces, flows ? flowing_slices * threshold : 0,
                            parts(store));
}

// What one worker holds stays with it: nothing crosses.
param::Slices::Parts TablePlan::parts(const param::Store& store) const {
  param::Slices::Parts parts;
  for (const auto& param : store.params()) {
    auto& cut = parts.emplace_back();
    for (const param::ParamPart& part : param->declared.parts) {
      const bool stays = part.holders.size() == 1 && part.holders[0].rank < servers_;
      cut.push_back({part.first, part.count, stays ? std::optional(part.holders[0].rank) : std::nullopt});
    }
  }
  return parts;
}

TablePlan::OfWorker TablePlan::lay_out(const param::Store& store) const {
  OfWorker own;
  if (exchange_.has_servers()) {
    own.gradients = param::Gradients(store);
    own.slices = cut(store, own.gradients);
  }
  own.sent = own.end = own.gradients.bytes();
  if (exchange_.encodes != Exchange::Encodes::nothing) {
    const bool sent = exchange_.encodes == Exchange::Encodes::contributions;
    const bool goes_back = sent && (exchange_.versions_outlive || (exchange_.by_step && place_.workers > 1));
    own.coding.emplace(store, own.slices, *plugins_.codec().plugin, job_.topology.codec_elements, own.sent,
                       param::Coding::Kind{.sent = sent, .outlived = goes_back});
    own.sent = own.coding->sent_end();
    own.end = own.coding->end();
  }
  if (exchange_.own_values) {
    own.replica.emplace(store, own.end, !exchange_.differences);
    own.end = own.replica->end();
  }
  return own;
}

// Of a server group's values: the most of any group, since all groups lay out their masters alike.
std::size_t TablePlan::readers() const {
  std::uint32_t served = place_.served; // if all groups share their contributions, each server group has all
  for (std::uint32_t group = 0; group < place_.server_groups; ++group)
    served = std::max(served, Place::served_by(job_.topology, group));
  return std::size_t{served} * place_.workers;
}

// If updates and readers overlap, each reader may have another version, and there is one more; with replicas yet one
// more. Else a version is written in place of the one before it, unless that is to outlive its server.
param::Masters::Copies TablePlan::copies(const param::Store& store) const {
  const auto replicas = static_cast<std::size_t>(job_.topology.replicas);
  const auto values = [&](const Declared::Handler& handler) {
    return (handler.traits.readers_overlap ? readers() : 0) + replicas;
  };
  param::Masters::Copies copies{
      .values = values(plugins_.declared().job()),
      .histories = replicas,
      .shared = exchange_.exchanges_values()
                    ? param::GroupSync::shared_rows(*plugins_.sync().plugin, exchange_.versions_outlive)
                    : 0};
  if (plugins_.declared().handlers.size() > 1)
    for (const auto& param : store.params()) copies.values_of.push_back(values(plugins_.of(*param)));
  return copies;
}

param::Masters TablePlan::masters(const param::Store& store) const {
  return exchange_.has_servers() ? param::Masters(store, copies(store)) : param::Masters();
}

std::size_t TablePlan::exchanged_bytes(const OfWorker& own, std::uint32_t server_group, std::uint32_t server) const {
  using Groups = Exchange::Groups;
  if (exchange_.groups == Groups::one || exchange_.groups == Groups::contributions) return 0;
  std::vector<std::uint32_t> hosts;
  for (std::uint32_t group = 0; group < place_.server_groups; ++group)
    hosts.push_back(map_.machine_of(map_.home_of(group) + server));
  const bool encodes = exchange_.encodes == Exchange::Encodes::exchanges;
  const param::RowExchange::Part part{
      .sync = plugins_.sync().plugin.get(),
      .ranks = {server_group, place_.server_groups, hosts},
      .codec = {.coding = encodes ? &*own.coding : nullptr, .codec = plugins_.codec().plugin.get()}};
  return exchange_.groups == Groups::gradients ? param::GradientSums::bytes(part, own.slices, server)
                                               : param::GroupSync::bytes(part, own.slices, server, rows_bound());
}

std::size_t TablePlan::multiplying_bytes(const param::Store& store, const param::Slices& slices) const {
  const std::size_t contributors = std::size_t{place_.served} * place_.workers;
  std::size_t most = 0;
  for (const param::Slice& slice : slices.all()) {
    const param::Param& param = *store.params()[slice.param];
    if (!param.factors) continue;
    most = std::max(most, param::FactoredUpdate::room(param, slice, contributors));
  }
  return most;
}

std::size_t TablePlan::summed_bytes(const param::Store& store, const OfWorker& own) const {
  std::size_t bytes = own.coding ? own.coding->decoded_bytes() : 0;
  for (const auto& param : store.params())
    if (param->updated && plugins_.of(*param).traits.folds) bytes += place_.server_groups * param->master.plain_bytes();
  return bytes + place_.server_groups * servers_ * multiplying_bytes(store, own.slices);
}

// Each contribution to a server on another machine crosses once, and each version crosses once to each machine with a
// worker that holds the param. Only a codec knows the size of its encodings.
std::optional<record::Freight> TablePlan::freight(const param::Store& store, const param::Slices& slices,
                                                  std::uint32_t worker) const {
  if (!map_.has_far(worker) || !exchange_.sends_alike) return {};
  const std::uint32_t group = map_.server_group_of(worker), machine = map_.machine_of(worker);
  const auto holds = [&](const param::Slice& slice, std::uint32_t other) {
    const auto& parts = store.params()[slice.param]->declared.parts;
    return param::holds(param::holders_of(parts, slice.part), other % place_.workers);
  };
  const auto readers_elsewhere = [&](const param::Slice& slice) {
    std::set<std::uint32_t> elsewhere;
    for (const std::uint32_t other : map_.workers_of(group))
      if (holds(slice, other)) elsewhere.insert(map_.machine_of(other));
    elsewhere.erase(machine);
    return elsewhere.size();
  };
  record::Freight freight;
  for (const param::Slice& slice : slices.all()) {
    const std::uint32_t server = map_.home_of(group) + slice.server;
    const std::uint64_t bytes = static_cast<std::uint64_t>(slice.count) * sizeof(float);
    const auto& factors = store.params()[slice.param]->factors; // each server needs all of them
    if (server == worker) freight.params += bytes * readers_elsewhere(slice);
    if (map_.machine_of(server) != machine && holds(slice, worker))
      freight.gradients += factors ? factors->bytes() : bytes;
  }
  return freight;
}

std::vector<Updater::History> TablePlan::shared_histories() const {
  return exchange_.exchanges_values() ? param::GroupSync::histories(*plugins_.sync().plugin)
                                      : std::vector<Updater::History>();
}

std::vector<TablePlan::Row> TablePlan::rows(const param::Store& store) const {
  const OfWorker own = lay_out(store);
  const param::Masters::Copies copies = this->copies(store);
  std::vector<Row> rows;
  for (const auto& param : store.params()) {
    if (!param->updated) continue;
    const std::size_t plain = param->master.plain_bytes();
    const char* gradient = exchange_.differences ? "difference" : "gradient";
    Row row{.param = param->declared.name, .sent = gradient, .sent_bytes = plain};
    if (!exchange_.has_servers()) {
      row.versions = 1;
      row.kept_bytes = plain * (1 + param->slots);
      rows.push_back(row);
      continue;
    }
    const auto slices = own.slices.of(param->number);
    row.slices = slices.size();
    row.versions = copies.values_of.empty() ? copies.values : copies.values_of[param->number];
    row.kept_bytes = plain * (row.versions + param->slots * copies.histories + copies.shared);
    if (param->factors) {
      row.sent = param->factors->of_rows ? "rows" : "factors";
      row.sent_bytes = param->factors->bytes();
    } else if (is_encoded(*param)) {
      row.sent = exchange_.differences ? "encoded difference" : "encoded gradient";
      row.sent_bytes = 0;
      for (const param::Slice& slice : slices)
        if (const auto* form = own.coding->of(slice.id)) row.sent_bytes += form->bound;
    }
    rows.push_back(row);
  }
  return rows;
}

} // namespace dlhost::plan
