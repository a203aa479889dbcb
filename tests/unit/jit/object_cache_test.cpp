#include "jit/object_cache.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "jit/core.h"

namespace stator::jit {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines;
class ObjectCacheTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "stator_cache_XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        dir_ = name;
        lines.clear();
        set_log_sink([](const char* line) { lines.push_back(line); });
    }
    void TearDown() override {
        set_log_sink(nullptr);
        fs::remove_all(dir_);
    }
    std::vector<fs::path> entries() const {
        std::vector<fs::path> all;
        for (const auto& e : fs::directory_iterator(dir_ / "objects-1")) all.push_back(e.path());
        return all;
    }
    fs::path dir_;
};
constexpr int64_t kLarge = 1 << 20;

TEST_F(ObjectCacheTest, KeepsWhatIsStored) {
    const std::string key("key\0with zero", 13), object(
                                                     "\x7f"
                                                     "ELF\0code",
                                                     9);
    {
        ObjectCache cache(dir_, kLarge);
        EXPECT_TRUE(cache.empty());
        EXPECT_EQ(cache.load(key), std::nullopt);
        EXPECT_TRUE(cache.store(key, object));
        EXPECT_FALSE(cache.empty());
        EXPECT_EQ(cache.load(key), object);
        EXPECT_EQ(cache.load("another key"), std::nullopt);
    }
    ObjectCache second(dir_, kLarge);
    EXPECT_FALSE(second.empty());
    EXPECT_EQ(second.load(key), object);
    EXPECT_TRUE(lines.empty());
}

TEST_F(ObjectCacheTest, IsClosedToOthers) {
    ObjectCache cache(dir_ / "a" / "b", kLarge);
    cache.store("k", "object");
    const fs::path folder = dir_ / "a" / "b" / "objects-1";
    EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
    for (const auto& e : fs::directory_iterator(folder))
        EXPECT_EQ(fs::status(e).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(ObjectCacheTest, ADamagedEntryIsAMissAndGoes) {
    const auto damage = [&](auto how) {
        ObjectCache cache(dir_, kLarge);
        ASSERT_TRUE(cache.store("key", std::string(1000, 'x')));
        ASSERT_EQ(entries().size(), 1u);
        how(entries()[0]);
        EXPECT_EQ(cache.load("key"), std::nullopt);
        EXPECT_TRUE(entries().empty());
        EXPECT_TRUE(cache.store("key", "again"));
        EXPECT_EQ(cache.load("key"), "again");
        fs::remove_all(dir_ / "objects-1");
    };
    damage([](const fs::path& p) { fs::resize_file(p, 500); });
    damage([](const fs::path& p) { fs::resize_file(p, 0); });
    damage([](const fs::path& p) { fs::resize_file(p, 5000); });
    damage([](const fs::path& p) {
        std::fstream f(p, std::ios::in | std::ios::out | std::ios::binary);
        f.seekp(600);
        f.put('y');
    });
    damage([](const fs::path& p) {
        std::fstream f(p, std::ios::in | std::ios::out | std::ios::binary);
        f.put('X');  // the magic
    });
    damage([](const fs::path& p) { fs::permissions(p, fs::perms::others_write, fs::perm_options::add); });
    damage([](const fs::path& p) {
        fs::rename(p, p.string() + "2");
        fs::create_symlink(p.string() + "2", p);
        ObjectCache other(p.parent_path().parent_path(), kLarge);
        EXPECT_EQ(other.load("key"), std::nullopt) << "links are not followed";
        fs::remove(p.string() + "2");
    });
    EXPECT_TRUE(lines.empty());
}

TEST_F(ObjectCacheTest, WhatIsNoFileIsAMiss) {
    fs::path entry;
    const auto store_and_remove = [&] {
        ObjectCache cache(dir_, kLarge);
        ASSERT_TRUE(cache.store("key", "object"));
        ASSERT_EQ(entries().size(), 1u);
        entry = entries()[0];
        fs::remove(entry);
    };
    store_and_remove();
    ASSERT_EQ(mkfifo(entry.c_str(), 0600), 0);
    {
        ObjectCache cache(dir_, kLarge);
        EXPECT_EQ(cache.load("key"), std::nullopt);  // and does not wait for a writer
        EXPECT_TRUE(cache.store("key", "object"));
        EXPECT_EQ(cache.load("key"), "object");
    }
    store_and_remove();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    ASSERT_LT(entry.string().size(), sizeof address.sun_path);
    std::strcpy(address.sun_path, entry.c_str());
    const int at = socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(bind(at, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    {
        ObjectCache cache(dir_, kLarge);
        EXPECT_EQ(cache.load("key"), std::nullopt);
        EXPECT_TRUE(cache.store("key", "object"));
        EXPECT_EQ(cache.load("key"), "object");
    }
    close(at);
    store_and_remove();
    fs::create_directory(entry);
    ObjectCache cache(dir_, kLarge);
    EXPECT_EQ(cache.load("key"), std::nullopt);
    EXPECT_FALSE(cache.store("key", "object"));
    EXPECT_TRUE(cache.store("another", "object")) << "the others are kept";
    EXPECT_EQ(cache.load("another"), "object");
    EXPECT_EQ(entries().size(), 2u) << "no temporary file is left";
}

TEST_F(ObjectCacheTest, StaysWithinItsLimitAndDropsTheLeastRecentlyUsed) {
    ObjectCache cache(dir_, 100'000);
    for (int i = 0; i < 8; ++i) {
        ASSERT_TRUE(cache.store("key" + std::to_string(i), std::string(10'000, 'x')));
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE(cache.load("key0"));  // now the most recently used
    for (int i = 8; i < 11; ++i)
        ASSERT_TRUE(cache.store("key" + std::to_string(i), std::string(10'000, 'x')));
    int64_t total = 0;
    for (const auto& e : entries()) total += static_cast<int64_t>(fs::file_size(e));
    EXPECT_LE(total, 100'000);
    EXPECT_TRUE(cache.load("key0"));
    EXPECT_TRUE(cache.load("key10"));
    EXPECT_FALSE(cache.load("key1"));
    EXPECT_FALSE(cache.store("big", std::string(60'000, 'x'))) << "would push out everything else";
}

TEST_F(ObjectCacheTest, AnUnusableFolderCostsOneLine) {
    std::ofstream(dir_ / "file") << "not a folder";
    ObjectCache cache(dir_ / "file", kLarge);
    EXPECT_FALSE(cache.usable());
    EXPECT_FALSE(cache.store("k", "o"));
    EXPECT_EQ(cache.load("k"), std::nullopt);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_NE(lines[0].find("STATOR_CACHE_DIR"), std::string::npos) << lines[0];
    EXPECT_NE(lines[0].find("file"), std::string::npos);
}

// A variable of the environment as long as this lives.
class Environment {
  public:
    Environment(const char* name, const std::string& value) : name_(name), before_(std::getenv(name) ?: "") {
        setenv(name, value.c_str(), 1);
    }
    ~Environment() { setenv(name_, before_.c_str(), 1); }

  private:
    const char* name_;
    std::string before_;
};

TEST_F(ObjectCacheTest, AHomeThatIsNotThereIsNotMade) {
    const fs::path people = dir_ / "people", home = people / "nobody";
    const Environment variable("HOME", home.string() + "/");
    for (const fs::path& folder : {home / ".cache" / "stator", home, people / "cache"}) {
        ObjectCache cache(folder, kLarge);
        EXPECT_FALSE(cache.store("k", "o")) << folder;
        EXPECT_FALSE(cache.store("k", "o")) << "said once";
        EXPECT_FALSE(fs::exists(people)) << folder;
    }
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_NE(lines[0].find("there is no folder"), std::string::npos) << lines[0];
    ObjectCache elsewhere(dir_ / "a" / "b", kLarge);
    EXPECT_TRUE(elsewhere.store("k", "o"));
    fs::create_directories(home);
    ObjectCache there(home / ".cache" / "stator", kLarge);
    EXPECT_TRUE(there.store("k", "o"));
}

TEST_F(ObjectCacheTest, OfADefaultThatCannotBeUsedOnlyTheLogTells) {
    const Environment variable("HOME", (dir_ / "nobody").string()), other("XDG_CACHE_HOME", "");
    ObjectCache cache("", kLarge);
    EXPECT_FALSE(cache.usable());
    EXPECT_TRUE(lines.empty());
    EXPECT_FALSE(fs::exists(dir_ / "nobody"));
}

TEST_F(ObjectCacheTest, SizeZeroTurnsItOffSilently) {
    ObjectCache cache(dir_, 0);
    EXPECT_FALSE(cache.store("k", "o"));
    EXPECT_TRUE(lines.empty());
    EXPECT_TRUE(fs::is_empty(dir_));
}

TEST_F(ObjectCacheTest, SeveralProcessesAtOnce) {
    std::vector<pid_t> children;
    for (int c = 0; c < 4; ++c) {
        const pid_t pid = fork();
        if (pid == 0) {
            ObjectCache cache(dir_, 50'000);
            bool good = true;
            for (int i = 0; i < 200; ++i) {
                const std::string key = "key" + std::to_string(i % 17),
                                  object(3000, static_cast<char>('a' + i % 17));
                const auto found = cache.load(key);
                good &= !found || *found == object;
                cache.store(key, object);
            }
            _exit(good ? 0 : 1);
        }
        children.push_back(pid);
    }
    for (const pid_t pid : children) {
        int status = 0;
        waitpid(pid, &status, 0);
        EXPECT_EQ(status, 0);
    }
    for (const auto& e : entries()) EXPECT_NE(e.filename().string()[0], '.') << "no temporary file is left";
}

}  // namespace
}  // namespace stator::jit
