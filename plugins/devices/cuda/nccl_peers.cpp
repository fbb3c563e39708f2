#include "nccl_peers.h"

#include <cstring>

#include <cuda_runtime_api.h>

#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

#include "opened.h"
#include "stream.h"

namespace dlhost::plugins::cuda {

#if __has_include(<nccl.h>)

namespace {

struct NcclCalls {
  decltype(&ncclGetUniqueId) unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) init = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclCommGetAsyncError) state = nullptr;
  decltype(&ncclGetErrorString) error = nullptr;
  decltype(&ncclGetLastError) last_error = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  Status found;

  NcclCalls() {
    Opened library("libnccl.so.2", "cuda: no NCCL, which sums among GPUs");
    library.find(unique_id, "ncclGetUniqueId");
    library.find(init, "ncclCommInitRankConfig");
    library.find(abort, "ncclCommAbort");
    library.find(state, "ncclCommGetAsyncError");
    library.find(error, "ncclGetErrorString");
    library.find(last_error, "ncclGetLastError");
    library.find(group_start, "ncclGroupStart");
    library.find(group_end, "ncclGroupEnd");
    library.find(all_reduce, "ncclAllReduce");
    found = library.status();
  }
};

const NcclCalls& nccl() {
  static const NcclCalls found;
  return found;
}

// The error of a result; none while a call is in progress.
Status nccl_status(ncclResult_t result, ncclComm_t comm, std::string_view doing) {
  if (result == ncclSuccess || result == ncclInProgress) return {};
  const char* more = nccl().last_error(comm);
  const auto message =
      concat("cuda: NCCL: ", doing, ": ", nccl().error(result), more && *more ? ": " : "", more ? more : "");
  if (result == ncclInvalidUsage) return Status::invalid(message, "; each worker needs a GPU of its own");
  return result == ncclRemoteError ? Status::gone(message) : Status::internal(message); // remote error: a peer is gone
}

// Calls are non-blocking: a call that blocked on a dead peer could not be ended.
class NcclPeers final : public Peers {
 public:
  static Result<std::unique_ptr<Peers>> join(const std::string& convened, int rank, int count) {
    ncclUniqueId id;
    if (convened.size() != sizeof id.internal)
      return Status::corrupt("cuda: NCCL's id has ", sizeof id.internal, " bytes, but this one has ", convened.size());
    std::memcpy(id.internal, convened.data(), sizeof id.internal);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    std::unique_ptr<NcclPeers> peers(new NcclPeers(rank, count));
    DLHOST_TRY(nccl_status(nccl().init(&peers->comm_, count, id, rank, &config), nullptr, "joining the others"));
    return std::unique_ptr<Peers>(std::move(peers));
  }
  ~NcclPeers() override { abandon(); }

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  void sum(Stream& stream, void* values, std::int64_t count) override {
    const Row row{values, count};
    reduce(static_cast<CudaStream&>(stream), {&row, 1}, ncclSum);
  }
  void maximum(Stream& stream, void* values, std::int64_t count) override {
    const Row row{values, count};
    reduce(static_cast<CudaStream&>(stream), {&row, 1}, ncclMax);
  }
  void sum_rows(Stream& stream, std::span<const Row> rows) override {
    reduce(static_cast<CudaStream&>(stream), rows, ncclSum);
  }

  Result<bool> ready() override {
    if (!comm_) return Status::gone("cuda: NCCL: a peer is gone");
    ncclResult_t state = ncclSuccess;
    DLHOST_TRY(nccl_status(nccl().state(comm_, &state), comm_, "asking how it is"));
    DLHOST_TRY(nccl_status(state, comm_, "among the GPUs"));
    return state == ncclSuccess;
  }
  // Ends calls in progress too; needs no other rank.
  void abandon() noexcept override {
    if (comm_) (void)nccl().abort(comm_);
    comm_ = nullptr;
  }

 private:
  NcclPeers(int rank, int count) : rank_(rank), count_(count) {}
  void reduce(CudaStream& stream, std::span<const Row> rows, ncclRedOp_t operation) {
    if (!comm_) return stream.fail(Status::gone("cuda: NCCL: a peer is gone"));
    stream.enter();
    Status status = nccl_status(nccl().group_start(), comm_, "beginning a sum");
    for (const Row& row : rows)
      if (status.ok())
        status = nccl_status(nccl().all_reduce(row.values, row.values, static_cast<std::size_t>(row.count), ncclFloat32,
                                               operation, comm_, stream.get()),
                             comm_, "a sum");
    const Status ended = nccl_status(nccl().group_end(), comm_, "giving a sum to the GPU");
    if (!status.ok() || !ended.ok()) stream.fail(status.ok() ? ended : status);
  }

  int rank_, count_;
  ncclComm_t comm_ = nullptr;
};

} // namespace

Result<std::string> convene_nccl() {
  DLHOST_TRY(Status(nccl().found));
  ncclUniqueId id;
  DLHOST_TRY(nccl_status(nccl().unique_id(&id), nullptr, "convening the others"));
  return std::string(id.internal, sizeof id.internal);
}

Result<std::unique_ptr<Peers>> join_nccl(const std::string& convened, int rank, int count) {
  DLHOST_TRY(Status(nccl().found));
  return NcclPeers::join(convened, rank, count);
}

#else

Result<std::string> convene_nccl() {
  return Status::unsupported("cuda: this plugin was built without NCCL, which sums among GPUs: there was no nccl.h "
                             "beside the toolkit's headers");
}
Result<std::unique_ptr<Peers>> join_nccl(const std::string&, int, int) { return convene_nccl().status(); }

#endif

} // namespace dlhost::plugins::cuda
