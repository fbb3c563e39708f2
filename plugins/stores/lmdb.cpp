// The records of an LMDB database, read only: the format of Caffe's data sets. Records are returned in place in the
// mapped file, without copies or locks.
#include <sys/stat.h>

#include <lmdb.h>

#include <dlhost/plugin.h>
#include <dlhost/store.h>

namespace dlhost::stores {
namespace {

Status failed(int error, const std::string& path, std::string_view doing) {
  if (error == MDB_INVALID || error == MDB_CORRUPTED || error == MDB_VERSION_MISMATCH)
    return Status::corrupt(path, ": is not a readable LMDB database (", std::string_view(mdb_strerror(error)), ")");
  const Code code = error == ENOENT ? Code::not_found : Code::io;
  return {code, concat(path, ": ", doing, ": ", std::string_view(mdb_strerror(error)))};
}

class LmdbRecords : public Records {
 public:
  static Result<std::unique_ptr<Records>> open(const std::string& path) {
    auto records = std::unique_ptr<LmdbRecords>(new LmdbRecords);
    DLHOST_TRY(records->start(path));
    DLHOST_TRY(records->find_all(path));
    return std::unique_ptr<Records>(std::move(records));
  }
  ~LmdbRecords() override {
    if (reading_) mdb_txn_abort(reading_);
    if (environment_) mdb_env_close(environment_);
  }

  std::int64_t count() const override { return static_cast<std::int64_t>(records_.size()); }
  Status read(std::int64_t index, std::vector<std::byte>&, std::span<const std::byte>& bytes) const override {
    bytes = records_[static_cast<std::size_t>(index)];
    return {};
  }

 private:
  LmdbRecords() = default;

  Status start(const std::string& path) {
    struct stat entry {};
    if (::stat(path.c_str(), &entry) != 0) return Status::system(errno, path);
    struct stat data = entry;
    if (S_ISDIR(entry.st_mode) && ::stat((path + "/data.mdb").c_str(), &data) != 0) return Status::system(errno, path);
    if (!S_ISREG(data.st_mode)) return Status::invalid(path, ": is neither a file, nor a folder with a file data.mdb");
    // No process may write meanwhile: a database of samples is complete before training.
    unsigned flags = MDB_RDONLY | MDB_NOLOCK | MDB_NOTLS;
    if (!S_ISDIR(entry.st_mode)) flags |= MDB_NOSUBDIR;
    if (const int error = mdb_env_create(&environment_)) return failed(error, path, "making its environment");
    if (const int error = mdb_env_open(environment_, path.c_str(), flags, 0)) return failed(error, path, "opening it");
    DLHOST_TRY(check_size(path));
    if (const int error = mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &reading_))
      return failed(error, path, "starting to read");
    return {};
  }

  // In a truncated file, access to a missing page would end the process.
  Status check_size(const std::string& path) const {
    MDB_envinfo info{};
    MDB_stat stat{};
    int descriptor = -1;
    struct stat entry {};
    if (mdb_env_info(environment_, &info) || mdb_env_stat(environment_, &stat) ||
        mdb_env_get_fd(environment_, &descriptor) || ::fstat(descriptor, &entry) != 0)
      return Status::io(path, ": cannot be examined");
    const std::uint64_t wanted = (std::uint64_t{info.me_last_pgno} + 1) * stat.ms_psize;
    if (static_cast<std::uint64_t>(entry.st_size) < wanted)
      return Status::corrupt(path, ": has ", entry.st_size, " bytes of ", wanted, "; it was cut off: fetch it again");
    return {};
  }

  // LMDB has keys, not numbers: the place of each record is stored once.
  Status find_all(const std::string& path) {
    MDB_dbi database = 0;
    MDB_cursor* cursor = nullptr;
    if (const int error = mdb_dbi_open(reading_, nullptr, 0, &database)) return failed(error, path, "opening it");
    if (const int error = mdb_cursor_open(reading_, database, &cursor)) return failed(error, path, "reading it");
    MDB_val key{}, value{};
    int error = 0;
    while ((error = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0)
      records_.emplace_back(static_cast<const std::byte*>(value.mv_data), value.mv_size);
    mdb_cursor_close(cursor);
    return error == MDB_NOTFOUND ? Status() : failed(error, path, "reading it");
  }

  MDB_env* environment_ = nullptr;
  MDB_txn* reading_ = nullptr;
  std::vector<std::span<const std::byte>> records_;
};

class LmdbStore : public Store {
 public:
  static constexpr std::string_view name = "lmdb";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("Records of an LMDB database, in the order of their keys."); }
  explicit LmdbStore(Options) {}

  Capabilities capabilities() const override { return {.objects = false, .records = true, .atomic_rename = false}; }
  std::string_view scheme() const override { return "lmdb"; }
  Result<std::unique_ptr<Records>> open_records(Host&, const std::string& url) override {
    constexpr std::string_view prefix = "lmdb://";
    return LmdbRecords::open(url.starts_with(prefix) ? url.substr(prefix.size()) : url);
  }
};

} // namespace
} // namespace dlhost::stores

DLHOST_PLUGIN("1.0", dlhost::stores::LmdbStore);
