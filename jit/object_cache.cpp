// See object_cache.h for the rules.
#include "jit/object_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <vector>

#include "jit/core.h"
#include "jit/hash.h"

namespace stator::jit {
namespace {

constexpr char kFolder[] = "objects-1";  // the number changes with the file format
constexpr char kMagic[8] = {'s', 't', 'a', 't', 'o', 'r', 'o', '1'};
constexpr int64_t kStaleTemporary = 3600;  // seconds after which another writer's temporary file is litter

struct Header {
    char magic[8];
    uint64_t key_size;
    uint64_t object_size;
    Hash128 checksum;  // of key and object
};

class File {
  public:
    explicit File(int fd) : fd_(fd) {}
    File(const File&) = delete;
    ~File() {
        if (fd_ >= 0) close(fd_);
    }
    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }

  private:
    int fd_;
};

bool write_all(int fd, std::string_view data) {
    while (!data.empty()) {
        const ssize_t n = write(fd, data.data(), data.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        data.remove_prefix(static_cast<size_t>(n));
    }
    return true;
}

bool read_all(int fd, std::string& out, size_t size) {
    out.resize(size);
    size_t done = 0;
    while (done < size) {
        const ssize_t n = read(fd, out.data() + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += static_cast<size_t>(n);
    }
    return true;
}

std::string variable_home() {
    const char* home = std::getenv("HOME");
    return home && home[0] == '/' ? home : "";
}

std::string account_home() {
    std::vector<char> buffer(4096);
    passwd entry{}, *found = nullptr;
    const bool ok = getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found &&
                    found->pw_dir[0] == '/';
    return ok ? found->pw_dir : "";
}

// Whether the folder is a home or one above a home. Where that is not there (an account of a service, a disk
// that is not mounted) it is not ours to make.
bool leads_to_home(const std::string& folder) {
    for (const std::string& h : {variable_home(), account_home()}) {
        const std::string home = std::filesystem::path(h).lexically_normal().string() + "/";
        if (!h.empty() && home.starts_with(folder + "/")) return true;
    }
    return false;
}

// Makes the folder and those above it; an existing one is fine. "", or what is wrong.
std::string make_folders(const std::string& path) {
    for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
        const std::string folder = path.substr(0, slash);
        struct stat st{};
        if (stat(folder.c_str(), &st) != 0) {
            if (errno == ENOENT && leads_to_home(folder)) return "there is no folder '" + folder + "'";
            if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return std::strerror(errno);
        }
        if (slash == path.npos) return "";
    }
}

// "" when the entries may live there, else what is wrong.
std::string check_folder(int fd) {
    struct stat st;
    if (fstat(fd, &st) != 0) return std::strerror(errno);
    if (!S_ISDIR(st.st_mode)) return "not a folder";
    if (st.st_uid != geteuid()) return "it belongs to another user";
    if ((st.st_mode & 077) != 0 && fchmod(fd, 0700) != 0) return "others may write to it";
    if (faccessat(fd, ".", W_OK | X_OK, 0) != 0) return std::strerror(errno);
    return "";
}

// The payload of a file that passes every check.
std::optional<std::string> read_entry(int fd, std::string_view key) {
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
        return std::nullopt;
    std::string data;
    if (st.st_size < static_cast<off_t>(sizeof(Header)) ||
        !read_all(fd, data, static_cast<size_t>(st.st_size)))
        return std::nullopt;
    Header header;
    std::memcpy(&header, data.data(), sizeof header);
    const std::string_view body = std::string_view(data).substr(sizeof header);
    if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.key_size != key.size() ||
        header.object_size != body.size() - std::min(body.size(), key.size()) ||
        !(header.checksum == hash128(body)) || body.substr(0, key.size()) != key)
        return std::nullopt;
    return std::string(body.substr(key.size()));
}

}  // namespace

ObjectCache::ObjectCache(std::string dir, int64_t limit) : dir_(std::move(dir)), limit_(limit) {}

ObjectCache::~ObjectCache() { forget_folder(); }

bool ObjectCache::still_ours() const {
    struct stat st{};
    return fd_ >= 0 && fstat(fd_, &st) == 0 && st.st_dev == device_ && st.st_ino == inode_;
}

// A number that somebody else has closed, and perhaps got again, is theirs.
void ObjectCache::forget_folder() {
    if (still_ours()) close(fd_);
    fd_ = -1;
}

std::string ObjectCache::default_dir() {
    if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && xdg[0] == '/')
        return std::string(xdg) + "/stator";
    std::string home = variable_home();
    if (home.empty()) home = account_home();
    return home.empty() ? "" : home + "/.cache/stator";
}

bool ObjectCache::usable() {
    std::lock_guard lock(mutex_);
    return open_locked();
}

bool ObjectCache::empty() {
    std::lock_guard lock(mutex_);
    const int copy = open_locked() ? openat(fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR* dir = copy >= 0 ? fdopendir(copy) : nullptr;
    if (!dir) {
        if (copy >= 0) close(copy);
        return true;
    }
    bool none = true;
    for (const dirent* d; none && (d = readdir(dir));) none = d->d_name[0] == '.';
    closedir(dir);
    return none;
}

bool ObjectCache::open_locked() {
    if (fd_ >= 0 && !still_ours()) {
        fd_ = -1;
        tried_ = false;
    }
    if (tried_) return fd_ >= 0;
    tried_ = true;
    if (limit_ <= 0) return false;
    const bool chosen = !dir_.empty();
    if (!chosen) dir_ = default_dir();
    std::string problem;
    if (dir_.empty()) {
        problem = "there is no home folder";
    } else {
        const std::string path = std::filesystem::path(dir_ + "/" + kFolder).lexically_normal().string();
        problem = make_folders(path);
        if (problem.empty()) {
            fd_ = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
            problem = fd_ >= 0 ? check_folder(fd_) : std::strerror(errno);
        }
        struct stat st{};
        if (problem.empty() && fstat(fd_, &st) != 0) problem = std::strerror(errno);
        device_ = st.st_dev;
        inode_ = st.st_ino;
    }
    if (problem.empty()) return true;
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
    const std::string says = "the object cache is off: cannot use folder '" + dir_ + "' (" + problem +
                             "); set " +
                             (chosen ? "STATOR_CACHE_DIR to a folder you can write to"
                                     : "STATOR_CACHE_DIR, or STATOR_CACHE_SIZE=0 to do without");
    // Of a folder that nobody asked for nobody wants to read in a program's output.
    chosen ? log_warning(says) : log_line(LogArtifact::Cache, says);
    return false;
}

std::optional<std::string> ObjectCache::load(std::string_view key) {
    std::lock_guard lock(mutex_);
    if (!open_locked()) return std::nullopt;
    const std::string name = hash128(key).hex();
    // What is no file is found out by looking at it: opening a pipe would wait for somebody who writes to it.
    const File file(openat(fd_, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file) {
        if (errno == ELOOP) unlinkat(fd_, name.c_str(), 0);
        return std::nullopt;
    }
    std::optional<std::string> object = read_entry(file.get(), key);
    if (object)
        futimens(file.get(), nullptr);  // least recently used goes first
    else if (unlinkat(fd_, name.c_str(), 0) == 0)
        log_line(LogArtifact::Cache, "damaged entry " + name + " deleted");
    return object;
}

bool ObjectCache::store(std::string_view key, std::string_view object) {
    std::lock_guard lock(mutex_);
    if (!open_locked()) return false;
    std::string body;
    body.reserve(key.size() + object.size());
    body.append(key).append(object);
    Header header{};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    header.key_size = key.size();
    header.object_size = object.size();
    header.checksum = hash128(body);
    const auto bytes = static_cast<int64_t>(sizeof header + body.size());
    if (bytes > limit_ / 2) return false;  // would push out everything else

    static std::atomic<uint32_t> counter{0};
    const std::string name = hash128(key).hex();
    const std::string temporary = "." + name + "." + std::to_string(getpid()) + "." +
                                  std::to_string(counter.fetch_add(1, std::memory_order_relaxed));
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    const File file(openat(fd_, temporary.c_str(), flags, 0600));
    const bool written =
        file &&
        write_all(file.get(), std::string_view(reinterpret_cast<const char*>(&header), sizeof header)) &&
        write_all(file.get(), body) && renameat(fd_, temporary.c_str(), fd_, name.c_str()) == 0;
    if (!written) {
        const int error = errno;
        if (file) unlinkat(fd_, temporary.c_str(), 0);
        if (error == EISDIR) return false;  // a folder stands where the entry would: this one is not kept
        // A full disk or a folder that went away: say so once, and stop trying.
        log_warning("the object cache is off: cannot write to '" + dir_ + "' (" + std::strerror(error) + ")");
        forget_folder();
        return false;
    }
    if (bytes_ >= 0) bytes_ += bytes;
    trim_locked();
    return true;
}

// Counts the folder once per process and whenever the running count passes the limit (others write too), then
// deletes the least recently used entries until three quarters of the limit are left.
void ObjectCache::trim_locked() {
    if (bytes_ >= 0 && bytes_ <= limit_) return;
    struct Entry {
        std::string name;
        int64_t size;
        timespec used;
    };
    const int copy = openat(fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* dir = copy >= 0 ? fdopendir(copy) : nullptr;
    if (!dir) {
        if (copy >= 0) close(copy);
        bytes_ = 0;
        return;
    }
    std::vector<Entry> entries;
    int64_t total = 0;
    const int64_t now = std::time(nullptr);
    while (const dirent* d = readdir(dir)) {
        struct stat st;
        if (fstatat(fd_, d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) continue;
        if (d->d_name[0] == '.') {
            if (now - st.st_mtim.tv_sec > kStaleTemporary) unlinkat(fd_, d->d_name, 0);
            continue;
        }
        entries.push_back({d->d_name, st.st_size, st.st_mtim});
        total += st.st_size;
    }
    closedir(dir);
    if (total > limit_) {
        std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
            return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec
                                                  : a.used.tv_nsec < b.used.tv_nsec;
        });
        size_t deleted = 0;
        for (const Entry& e : entries) {
            if (total <= limit_ / 4 * 3) break;
            if (unlinkat(fd_, e.name.c_str(), 0) == 0) ++deleted;
            total -= e.size;
        }
        log_line(LogArtifact::Cache, std::to_string(deleted) + " least recently used entries deleted");
    }
    bytes_ = total;
}

}  // namespace stator::jit
