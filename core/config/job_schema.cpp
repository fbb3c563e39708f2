#include "config/job_schema.h"

namespace dlhost::config {

const Schema& head_schema() {
  static const Schema schema =
      SchemaOf<Head>("The job.")
          .required("name", &Head::name, "the job's name; run folders are named after it")
          .option("seed", &Head::seed, "where all random numbers start", at_least(0))
          .option("folder", &Head::folder, "where relative paths start; empty: the job file's folder")
          .option("get_data", &Head::data_from, "how to get the files of its sources: printed if one cannot be opened");
  return schema;
}

const Schema& train_schema() {
  static const Schema schema =
      SchemaOf<Train>("How the net is trained.")
          .part("algorithm", &Train::algorithm, Kind::algorithm, "TrainOneBatch: the order in which layers compute")
          .option("batch", &Train::batch, "samples in a batch of one worker group", at_least(1))
          .choice("last_batch", &Train::last, {{"drop", Last::drop}, {"wrap", Last::wrap}, {"partial", Last::partial}},
                  "samples at an epoch's end that fill no batch: left out, filled up from the next epoch, or a smaller "
                  "batch")
          .choice("dtype", &Train::dtype, {{"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16}},
                  "the type of features; params stay f32, and in f16 gradients are scaled")
          .option("threads", &Train::threads, "of each worker; 0: the machine's, shared among its workers",
                  between(0, 4096))
          .part("device", &Train::device, Kind::device, "where layers compute")
          .option("reproducible", &Train::reproducible,
                  "sums over samples in fixed blocks, so that their bits do not depend on how a batch is cut; an error "
                  "where the device cannot")
          .option("fuse", &Train::fuse,
                  "layers may be computed in the op before them; false shows each layer's own time")
          .option("shuffle", &Train::shuffle, "each epoch reads the samples in another order")
          .option("readers", &Train::readers, "tasks that read and augment samples; 0: the worker itself",
                  between(0, 256))
          .option("prefetch", &Train::prefetch, "batches that are read ahead", between(1, 1024))
          .option("hang_limit", &Train::hang_limit,
                  "seconds that one call of a plugin may take before the run is ended, naming it; 0: the longer of a "
                  "minute and a hundred times the longest step; inf: for ever",
                  at_least(0));
  return schema;
}

const Schema& stop_schema() {
  static const Schema schema =
      SchemaOf<Stop>("When training ends; whichever comes first. Nothing given: after 10 epochs.")
          .option("steps", &Stop::steps, "after this many steps; 0: no limit", at_least(0))
          .option("epochs", &Stop::epochs, "after this many passes over the samples; 0: no limit", at_least(0))
          .option("seconds", &Stop::seconds, "after this many seconds; 0: no limit", at_least(0))
          .option("loss", &Stop::loss, "when the training loss, smoothed, is at most this")
          .option(
              "accuracy", &Stop::accuracy,
              "when the accuracy on validation samples (on test samples, when there are no others) is at least this",
              between(0, 1))
          .option("patience", &Stop::patience, "after this many validations without a better one; 0: never",
                  at_least(0));
  return schema;
}

namespace {

SchemaOf<StartKeys> with_names(SchemaOf<StartKeys> schema) {
  return schema
      .option("rename", &StartKeys::rename,
              "a param's name = its name in the file, or { name = \"...\", order = [1, 0] } to swap axes; * stands for "
              "any part of a name")
      .option("except", &StartKeys::keep, "params of the net to leave out: names and patterns")
      .option("unused", &StartKeys::ignore, "tensors of the file to leave out: names and patterns");
}

} // namespace

const Schema& start_schema() {
  static const Schema schema =
      with_names(SchemaOf<StartKeys>("Params and running state to start from, in place of initialisers.")
                     .option("path", &StartKeys::from, "a run, a checkpoint, a safetensors or an npz file"));
  return schema;
}

const Schema& names_schema() {
  static const Schema schema = with_names(SchemaOf<StartKeys>("Names of params in a file of another program."));
  return schema;
}

const Schema& cadence_schema() {
  static const Schema schema = SchemaOf<Cadence>("How often; whichever comes first. All 0: never.")
                                   .option("steps", &Cadence::steps, "steps from one to the next", at_least(0))
                                   .option("epochs", &Cadence::epochs, "epochs from one to the next", at_least(0))
                                   .option("seconds", &Cadence::seconds, "seconds from one to the next", at_least(0));
  return schema;
}

const Schema& evaluate_schema() {
  static const Schema schema =
      SchemaOf<Evaluate>("When samples of this phase are evaluated, each once.")
          .option("at_end", &Evaluate::at_end, "after the last step")
          .option("batch", &Evaluate::batch, "samples in a batch; 0: as in training", at_least(0));
  return schema;
}

const Schema& updater_schema() {
  static const Schema schema =
      SchemaOf<UpdaterKeys>("Options of all updaters.")
          .part("rate", &UpdaterKeys::rate, Kind::schedule, "the learning rate, or the schedule that gives it",
                "fixed.base")
          .option("clip_value", &UpdaterKeys::clip_value, "largest magnitude of a gradient's element; 0: any",
                  at_least(0))
          .option("clip_norm", &UpdaterKeys::clip_norm, "largest norm of all gradients together; 0: any", at_least(0))
          .option("average", &UpdaterKeys::average,
                  "keep an average of each param's values, for eval, predict and export with --averaged: the share of "
                  "the old average in the new one, as 0.999; 0: no average",
                  from_below(0, 1));
  return schema;
}

const Schema& topology_schema() {
  static const Schema schema =
      SchemaOf<Topology>("Workers and servers. All counts are 1 when left out.")
          .choice("framework", &Topology::framework,
                  {{"none", Framework::none},
                   {"sandblaster", Framework::sandblaster},
                   {"allreduce", Framework::allreduce},
                   {"downpour", Framework::downpour},
                   {"hogwild", Framework::hogwild}},
                  "a preset of the counts, for that many `workers`")
          .option("workers", &Topology::workers, "of the framework, in all", between(0, 65536))
          .option("worker_groups", &Topology::worker_groups, "replicas of the net", between(1, 65536))
          .option("workers_per_group", &Topology::workers_per_group, "workers that train one replica",
                  between(1, 65536))
          .option("server_groups", &Topology::server_groups, "replicas of the params", between(1, 65536))
          .option("servers_per_group", &Topology::servers_per_group, "servers that share one replica",
                  between(1, 65536))
          .option("machines", &Topology::machines,
                  "machines that share out the workers, in their order; those of one share memory, those of different "
                  "ones send over the network",
                  between(1, 65536))
          .option("replicas", &Topology::replicas,
                  "2: params outlive their server, and a run continues from them when one of its processes dies; 1: it "
                  "continues from its last pause",
                  between(1, 2))
          .option("slice_elements", &Topology::slice_elements,
                  "params of this many elements and more are cut into a slice for each server", at_least(1))
          .choice("gradient_factors", &Topology::factors,
                  {{"auto", Factors::automatic}, {"on", Factors::on}, {"off", Factors::off}},
                  "whether workers send a gradient's factors, and servers multiply them; auto: if that is less to "
                  "read, and each worker has a server beside it")
          .option("warmup_steps", &Topology::warmup_steps,
                  "steps that the first group makes alone; then the others begin, with its params", at_least(0))
          .option("testing_group", &Topology::testing_group,
                  "a separate group evaluates the params that training saves for it, while training continues")
          .choice("group_data", &Topology::data,
                  {{"shared", Data::shared}, {"disjoint", Data::disjoint}, {"bootstrap", Data::bootstrap}},
                  "each group trains on all samples, on its part of each pass, or on as many as it draws")
          .choice("run_as", &Topology::run_as, {{"threads", RunAs::threads}, {"processes", RunAs::processes}},
                  "whether workers and servers are threads or processes")
          .part("consistency", &Topology::consistency, Kind::consistency,
                "when params are read and when updates are applied")
          .part("device", &Topology::device, Kind::device,
                "the device that holds and updates the params that several workers share; empty: train.device, or cpu "
                "if the host cannot reach its memory")
          .choice(
              "device_copies", &Topology::copy,
              {{"auto", Crossing::automatic},
               {"none", Crossing::none},
               {"sync", Crossing::sync},
               {"async", Crossing::async}},
              "how params and gradients are copied between the device that computes and the device of the params: not "
              "at all, as with one worker (several devices sum their gradients among themselves), while computing "
              "waits, or during computing; auto: during computing, if there are several workers and the device can")
          .option("batch_shares", &Topology::shares,
                  "the parts of a group's batch that its workers have, [3, 1]: three quarters and one quarter; empty: "
                  "equal parts",
                  at_least(1))
          .option("balance_steps", &Topology::balance_steps,
                  "after this many steps the run continues with shares by the workers' measured speed; 0: shares stay",
                  at_least(0))
          .option("workers_on_device", &Topology::device_workers,
                  "workers of each machine that compute on train.device, the first ones; the others compute on "
                  "topology.device; 0: all",
                  at_least(0))
          .part("codec", &Topology::codec, Kind::codec, "encodes contributions in fewer bytes; empty: none")
          .option("codec_elements", &Topology::codec_elements, "params of fewer elements are sent unencoded",
                  at_least(1))
          .choice("codec_for", &Topology::codec_of,
                  {{"auto", CodecOf::automatic},
                   {"contributions", CodecOf::contributions},
                   {"exchanges", CodecOf::exchanges}},
                  "the data that the codec encodes: contributions of workers to servers, or exchanges between server "
                  "groups; auto: exchanges if they are of gradients")
          .part("sync", &Topology::sync, Kind::sync, "how server groups exchange params")
          .option("exchange_memory", &Topology::exchange_memory,
                  "bytes of the rows of each server that exchanges of params go by; 0: a quarter of its params, and "
                  "4 MiB at least",
                  at_least(0))
          .part("transport", &Topology::transport, Kind::transport, "how messages travel within a machine; empty: shm")
          .part("network", &Topology::network, Kind::transport,
                "how messages and params travel between machines; empty: fabric")
          .option("encrypt", &Topology::encrypt, "messages between workers of different machines are encrypted")
          .option("encrypt_data", &Topology::encrypt_data,
                  "params and contributions between different machines are encrypted")
          .part("rendezvous", &Topology::rendezvous, Kind::rendezvous,
                "how separately started processes meet as members of one run; empty: they do not, or their launcher "
                "decides");
  return schema;
}

const Schema& checkpoint_schema() {
  static const Schema schema =
      SchemaOf<Checkpoint>("Checkpoints of a run.")
          .option("folder", &Checkpoint::folder, "where; empty: in the run's folder")
          .option("keep", &Checkpoint::keep, "how many of the last are kept; 0: no checkpoint is written", at_least(0))
          .option("best_by", &Checkpoint::best,
                  "the validated metric whose best checkpoint is kept as well; \"auto\": accuracy, else the loss; "
                  "\"none\"")
          .option("wait", &Checkpoint::wait,
                  "seconds that the last params wait in memory for room where the disk is full; `dlhost save` writes "
                  "them elsewhere",
                  at_least(0));
  return schema;
}

const Schema& recovery_schema() {
  static const Schema schema =
      SchemaOf<Recovery>("Recovery of a run whose workers are processes, when one of them dies.")
          .option("restarts", &Recovery::restarts,
                  "restarts in a row without progress, before the run ends; 0: it ends at once", at_least(0))
          .option("timeout", &Recovery::silence,
                  "seconds without a sign of life in a step, before a process is ended as hung; 0: the longer of ten "
                  "seconds and ten steps; inf: for ever",
                  at_least(0));
  return schema;
}

const Schema& record_schema() {
  static const Schema schema =
      SchemaOf<Record>("Records of a run.")
          .option("folder", &Record::folder, "where runs' folders are made; empty: runs")
          .option("tensorboard", &Record::tensorboard, "write event files for TensorBoard")
          .option("gradient_norm", &Record::gradient_norm, "with each record, the norm of all gradients of its step")
          .option("ledger", &Record::ledger,
                  "with several workers, record the contributions to each version of each param, for `dlhost audit`");
  return schema;
}

const Schema& layer_schema() {
  static const Schema schema =
      SchemaOf<LayerKeys>("Options of all layers.")
          .required("name", &LayerKeys::name, "the name by which other layers read it")
          .required("type", &LayerKeys::type, "a layer plugin")
          .option("src", &LayerKeys::src, "the layers that it reads: \"name\", or \"name:output\"")
          .option("phases", &LayerKeys::phases, "where it takes part: train, validate, test; empty: everywhere")
          .part("augment", &LayerKeys::augment, Kind::augmentation,
                "of a source: the augmentations of its first output, in this order")
          .option("frozen", &LayerKeys::frozen, "its params are not trained")
          .choice("dtype", &LayerKeys::dtype, {{"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16}},
                  "the type that it computes in; left out: train.dtype")
          .option("location", &LayerKeys::location, "the workers of the group that compute it, by rank; left out: all",
                  at_least(0))
          .option("folder", &LayerKeys::folder, "where its relative paths start; empty: the folder of its file")
          .option("param", &LayerKeys::param, "settings of its params, by their names: param.weight = { ... }");
  return schema;
}

const Schema& scheme_schema() {
  static const Schema schema =
      SchemaOf<Scheme>(
          "How a layer is cut among the workers of a group, along several axes. (Along one, the name of a "
          "split is enough: \"batch\", \"features\", \"height\"; \"none\": each worker computes all of it.)")
          .required("axes", &Scheme::axes, between(0, static_cast<double>(max_rank - 1)), "axes of its first output")
          .required("grid", &Scheme::grid, at_least(1), "the number of parts along each");
  return schema;
}

const Schema& partition_schema() {
  static const Schema schema =
      SchemaOf<PartitionKeys>("How the workers of a group divide the net.")
          .option(
              "layers", &PartitionKeys::layers,
              "schemes of layers, by patterns of their names: { \"fc*\" = \"features\" }; the last that fits counts");
  return schema;
}

const Schema& param_schema() {
  static const Schema schema =
      SchemaOf<ParamKeys>("One param of a layer.")
          .part("init", &ParamKeys::init, Kind::initializer, "its first values; left out: the layer's default",
                "constant.value")
          .option("rate_scale", &ParamKeys::rate_scale, "factor on the learning rate", at_least(0))
          .option("decay_scale", &ParamKeys::decay_scale, "factor on the weight decay", at_least(0))
          .option("share", &ParamKeys::share, "params with one such name are one param")
          .option("frozen", &ParamKeys::frozen, "it is not trained")
          .part("consistency", &ParamKeys::consistency, Kind::consistency,
                "when it is read and when its updates are applied; left out: topology.consistency");
  return schema;
}

const Schema& block_use_schema() {
  static const Schema schema =
      SchemaOf<BlockUse>("A [[layer]] that stands for the layers of a block.")
          .required("name", &BlockUse::name, "the prefix of its layers' names, and the name of its output")
          .required("block", &BlockUse::block, "the name of a [[block]]")
          .option("src", &BlockUse::src, "the block's inputs")
          .option("repeat", &BlockUse::repeat,
                  "how often, one reading the other: NAME.1, NAME.2, ...; left out: once, without a number",
                  between(1, 10000))
          .option("with", &BlockUse::with, "the block's parameters");
  return schema;
}

const Schema& block_schema() {
  static const Schema schema =
      SchemaOf<BlockKeys>("Layers that are written once and used often.")
          .required("name", &BlockKeys::name, "the name that a [[layer]] gives as `block`")
          .option("params", &BlockKeys::params, "the parameters that a use must give; $name stands for one")
          .option("defaults", &BlockKeys::defaults, "parameters that a use may give")
          .option("out", &BlockKeys::out, "the layer whose output is the block's; left out: the last");
  return schema;
}

const std::vector<CoreTable>& core_tables() {
  static const std::vector<CoreTable> tables = {
      {"", head_schema()},
      {"train", train_schema()},
      {"train.stop", stop_schema()},
      {"train.init_from", start_schema()},
      {"validate", evaluate_schema()},
      {"validate.every", cadence_schema()},
      {"test", evaluate_schema()},
      {"test.every", cadence_schema()},
      {"updater", updater_schema()},
      {"topology", topology_schema()},
      {"partition", partition_schema()},
      {"partition.default", scheme_schema()},
      {"checkpoint", checkpoint_schema()},
      {"checkpoint.every", cadence_schema()},
      {"recovery", recovery_schema()},
      {"recovery.every", cadence_schema()},
      {"record", record_schema()},
      {"record.every", cadence_schema()},
      {"layer", layer_schema()},
      {"layer.param", param_schema()},
      {"layer.partition", scheme_schema()},
      {"layer (of a block)", block_use_schema()},
      {"block", block_schema()},
  };
  return tables;
}

} // namespace dlhost::config
