// Compiled objects on disk, shared by the processes of one user.
//
// An entry is one file, objects-1/<hash of the key>, in the cache folder: a header (magic, lengths,
// checksum), the key in full, the object. The key says everything the object depends on and is compared byte
// for byte, so two keys with one hash cannot be confused.
//
// Rules. Files are 0600 in a 0700 folder. Before use: a regular file of our own user, closed to others, with
// the right magic, lengths and checksum; anything else is a miss and is deleted. Writers write a temporary
// file and rename it, so readers see whole files only. Nothing here ever fails the program: a folder that
// cannot be used costs one line in the log. The cache may be used from several threads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace stator::jit {

class ObjectCache {
  public:
    // `dir` as STATOR_CACHE_DIR gives it; empty = the user's default. `limit` in bytes; 0 = no cache.
    ObjectCache(std::string dir, int64_t limit);
    ObjectCache(const ObjectCache&) = delete;
    ~ObjectCache();

    bool usable();  // opens the folder at the first call
    bool empty();   // whether there is no entry at all, or no cache
    std::optional<std::string> load(std::string_view key);
    bool store(std::string_view key, std::string_view object);

    std::mutex& mutex() { return mutex_; }  // for the fork handlers
    static std::string default_dir();       // "" when there is no home folder

  private:
    bool open_locked();
    bool still_ours() const;
    void forget_folder();
    void trim_locked();

    std::mutex mutex_;
    std::string dir_;
    const int64_t limit_;
    int fd_ = -1;  // of the folder of entries
    bool tried_ = false;
    dev_t device_ = 0;  // of the folder: programs close descriptors that they did not open
    ino_t inode_ = 0;
    int64_t bytes_ = -1;  // on disk when last counted, plus what was stored since; -1 = not counted yet
};

}  // namespace stator::jit
