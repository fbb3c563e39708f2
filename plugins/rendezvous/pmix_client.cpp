#include "pmix_client.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>

#include <pmix.h>

namespace dlhost::plugins::rendezvous {
namespace {

std::unique_ptr<PmixClient> client; // of this process
std::mutex opening;

Status failed(pmix_status_t status, std::string_view doing) {
  return Status::io(doing, ": PMIx says ", std::string_view(PMIx_Error_string(status)));
}

// The result of a call: the waiting task may be gone when it arrives.
struct Pending {
  explicit Pending(Host& host) : changed(host.tasks().waiter()) {}
  std::mutex mutex;
  std::unique_ptr<Waiter> changed;
  std::optional<pmix_status_t> status;
  std::string value;
};
using Shared = std::shared_ptr<Pending>;

void answered(const Shared& pending, pmix_status_t status, std::string value = {}) {
  {
    const std::scoped_lock lock(pending->mutex);
    pending->status = status;
    pending->value = std::move(value);
  }
  pending->changed->notify_all();
}

void took_part(pmix_status_t status, void* data) {
  const std::unique_ptr<Shared> pending(static_cast<Shared*>(data));
  answered(*pending, status);
}

void got(pmix_status_t status, pmix_value_t* value, void* data) {
  const std::unique_ptr<Shared> pending(static_cast<Shared*>(data));
  const bool is_text = status == PMIX_SUCCESS && value && value->type == PMIX_STRING && value->data.string;
  answered(*pending, status, is_text ? value->data.string : "");
}

void registered(pmix_status_t status, size_t, void* data) { took_part(status, data); }

// Makes an asynchronous call and waits for its result until `end`, whatever the server does.
Result<std::string> await(Host& host, Nanoseconds end, std::string_view doing,
                          const std::function<pmix_status_t(void*)>& call) {
  const auto pending = std::make_shared<Pending>(host);
  auto data = std::make_unique<Shared>(pending);
  const pmix_status_t called = call(data.get());
  if (called == PMIX_OPERATION_SUCCEEDED) return std::string(); // no callback follows
  if (called != PMIX_SUCCESS) return failed(called, doing);
  (void)data.release(); // owned by the callback
  for (;;) {
    const auto ticket = pending->changed->ticket();
    {
      const std::scoped_lock lock(pending->mutex);
      if (pending->status == PMIX_SUCCESS) return pending->value;
      if (pending->status) return failed(*pending->status, doing);
    }
    const Nanoseconds left = end - host.clock().now();
    if (left <= 0) return Status::timeout(doing, ": the PMIx server has not answered in time");
    pending->changed->wait(ticket, left);
  }
}

void an_event(size_t, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], size_t count, pmix_info_t*,
              size_t, pmix_event_notification_cbfunc_fn_t done, void* data) {
  const pmix_proc_t* whose = source;
  for (size_t i = 0; i < count; ++i)
    if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC) && info[i].value.type == PMIX_PROC)
      whose = info[i].value.data.proc;
  if (client && whose) client->tell_lost(whose->rank, PMIx_Error_string(status));
  if (done) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
}

pmix_proc_t process(const std::string& name_space, std::uint32_t rank) {
  pmix_proc_t made;
  PMIX_LOAD_PROCID(&made, name_space.c_str(), rank);
  return made;
}

} // namespace

bool PmixClient::detected() { return std::getenv("PMIX_NAMESPACE") && std::getenv("PMIX_RANK"); }

Result<PmixClient*> PmixClient::of_process(Host& host) {
  const std::scoped_lock lock(opening);
  if (client) return client.get();
  if (!detected())
    return Status::unsupported("no PMIx launcher has started this process; start it by srun --mpi=pmix, mpirun or "
                               "prterun, or take another rendezvous");
  std::unique_ptr<PmixClient> made(new PmixClient(host));
  DLHOST_TRY(made->open());
  client = std::move(made);
  return client.get();
}

void PmixClient::finish() noexcept {
  if (!client) return;
  PMIx_Finalize(nullptr, 0);
  client.reset();
}

Status PmixClient::open() {
  pmix_proc_t self;
  if (const auto status = PMIx_Init(&self, nullptr, 0); status != PMIX_SUCCESS)
    return failed(status, "calling the PMIx server that started this process");
  name_space_ = self.nspace;
  rank_ = self.rank;
  const auto size = number(PMIX_JOB_SIZE);
  if (!size || *size == 0) {
    PMIx_Finalize(nullptr, 0);
    return Status::io("the PMIx server does not say how many processes this job has");
  }
  size_ = *size;
  one_host_ = number(PMIX_LOCAL_SIZE) == size_;
  host_name_ = text(PMIX_HOSTNAME);
  pmix_status_t ends[] = {PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_ABORTED_BY_SIG, PMIX_ERR_PROC_TERM_WO_SYNC,
                          PMIX_EVENT_PROC_TERMINATED, PMIX_PROC_TERMINATED};
  await(host_, host_.clock().now() + 2'000'000'000, "asking for events",
        [&](void* data) {
          PMIx_Register_event_handler(ends, std::size(ends), nullptr, 0, an_event, registered, data);
          return PMIX_SUCCESS;
        })
      .status()
      .ignore("not every server has them; the founder sees the end of a member's link as well");
  return {};
}

std::optional<std::uint32_t> PmixClient::number(const char* key) const {
  const pmix_proc_t all = process(name_space_, PMIX_RANK_WILDCARD);
  pmix_value_t* value = nullptr;
  if (PMIx_Get(&all, key, nullptr, 0, &value) != PMIX_SUCCESS || !value) return std::nullopt;
  const auto number = value->type == PMIX_UINT32 ? std::optional(value->data.uint32) : std::nullopt;
  PMIX_VALUE_RELEASE(value);
  return number;
}

std::string PmixClient::text(const char* key) const {
  const pmix_proc_t self = process(name_space_, rank_);
  pmix_value_t* value = nullptr;
  if (PMIx_Get(&self, key, nullptr, 0, &value) != PMIX_SUCCESS || !value) return {};
  const std::string text = value->type == PMIX_STRING && value->data.string ? value->data.string : "";
  PMIX_VALUE_RELEASE(value);
  return text;
}

Status PmixClient::put(const std::string& key, const std::string& text) {
  std::string copy = text;
  pmix_value_t value;
  value.type = PMIX_STRING;
  value.data.string = copy.data(); // PMIx_Put takes a copy
  if (const auto status = PMIx_Put(PMIX_GLOBAL, key.c_str(), &value); status != PMIX_SUCCESS)
    return failed(status, concat("handing over '", key, "'"));
  if (const auto status = PMIx_Commit(); status != PMIX_SUCCESS)
    return failed(status, concat("handing over '", key, "'"));
  return {};
}

Status PmixClient::fence(Nanoseconds end) {
  const pmix_proc_t all = process(name_space_, PMIX_RANK_WILDCARD);
  pmix_info_t collect;
  bool yes = true;
  PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  const auto fenced = await(host_, end, concat("waiting for all ", size_, " processes of the job to meet"),
                            [&](void* data) { return PMIx_Fence_nb(&all, 1, &collect, 1, took_part, data); });
  PMIX_INFO_DESTRUCT(&collect);
  return fenced.status();
}

Result<std::string> PmixClient::get(std::uint32_t rank, const std::string& key, Nanoseconds end) {
  const pmix_proc_t whose = process(name_space_, rank);
  return await(host_, end, concat("asking for '", key, "' of rank ", rank),
               [&](void* data) { return PMIx_Get_nb(&whose, key.c_str(), nullptr, 0, got, data); });
}

std::vector<PmixClient::Lost> PmixClient::take_lost() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(lost_, {});
}

void PmixClient::tell_lost(std::uint32_t rank, std::string why) {
  {
    const std::scoped_lock lock(mutex_);
    if (rank >= size_ || rank == rank_ || lost_.size() > size_) return;
    lost_.push_back({rank, std::move(why)});
  }
  bell_->notify_all();
}

} // namespace dlhost::plugins::rendezvous
