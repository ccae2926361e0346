#include "playground/kubeconfig_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/file.h"

namespace berth::playground {
namespace {

namespace fs = std::filesystem;

class KubeconfigFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = (fs::temp_directory_path() / "berth-kubeconfig-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::string path() const { return at("play.kubeconfig"); }

  fs::path folder_;
};

TEST_F(KubeconfigFileTest, TwoPlaygroundsInOneFolderHaveOneEach) {
  std::optional<Result<KubeconfigFile>> first(KubeconfigFile::claim(path(), true));
  ASSERT_TRUE(*first) << first->error().to_string();
  ASSERT_TRUE((*first)->write("first"));
  {
    Result<KubeconfigFile> second = KubeconfigFile::claim(path(), true);
    ASSERT_TRUE(second) << second.error().to_string();
    EXPECT_EQ(second->path(), at("play-2.kubeconfig"));
    ASSERT_TRUE(second->write("second"));
    EXPECT_EQ(read_file(path(), 100).value_or(""), "first");
  }
  EXPECT_FALSE(fs::exists(at("play-2.kubeconfig")));
  EXPECT_EQ(read_file(path(), 100).value_or(""), "first") << "the second one's end took it along";
  first.reset();
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(KubeconfigFileTest, ANameThatWasAskedForIsNotReplacedByAnother) {
  const Result<KubeconfigFile> first = KubeconfigFile::claim(path(), false);
  ASSERT_TRUE(first);
  const Result<KubeconfigFile> second = KubeconfigFile::claim(path(), false);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::already_exists);
}

TEST_F(KubeconfigFileTest, AFileOfAKilledPlaygroundIsTakenOverAndKeptSecret) {
  std::ofstream(path()) << "apiVersion: v1\ncurrent-context: berth\nkind: Config\n" << "much more";
  Result<KubeconfigFile> file = KubeconfigFile::claim(path(), true);
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(file->path(), path());
  ASSERT_TRUE(file->write("new"));
  EXPECT_EQ(read_file(path(), 100).value_or(""), "new");
  struct stat found{};
  ASSERT_EQ(::stat(path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777u, 0600u);
}

TEST_F(KubeconfigFileTest, AFileOfSomebodyElseStaysAsItIs) {
  const std::string theirs = "current-context: production\n";
  std::ofstream(path()) << theirs;
  EXPECT_FALSE(KubeconfigFile::claim(path(), false));
  {
    const Result<KubeconfigFile> file = KubeconfigFile::claim(path(), true);
    ASSERT_TRUE(file);
    EXPECT_EQ(file->path(), at("play-2.kubeconfig"));
  }
  EXPECT_EQ(read_file(path(), 100).value_or(""), theirs);
}

}  // namespace
}  // namespace berth::playground
