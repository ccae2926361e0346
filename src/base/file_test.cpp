#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace berth {
namespace {

namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/berth-file-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return folder_ / name; }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator{}));
  }

  fs::path folder_;
};

TEST_F(FileTest, ReadsBackWhatWasWritten) {
  const std::string content("a\0b\n", 4);
  ASSERT_TRUE(write_file(at("f"), content, 0600));
  EXPECT_EQ(read_file(at("f"), 4).value(), content);
}

TEST_F(FileTest, ReadsLargeAndEmptyFiles) {
  const std::string large(300'000, 'x');
  ASSERT_TRUE(write_file(at("large"), large, 0644));
  EXPECT_EQ(read_file(at("large"), large.size()).value(), large);
  ASSERT_TRUE(write_file(at("empty"), "", 0644));
  EXPECT_EQ(read_file(at("empty"), 0).value(), "");
}

TEST_F(FileTest, RefusesMoreThanTheBound) {
  ASSERT_TRUE(write_file(at("f"), "12345", 0644));
  const auto read = read_file(at("f"), 4);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::invalid);
  EXPECT_EQ(read.error().message, "cannot read " + at("f") + ": it is larger than 4 bytes");
}

TEST_F(FileTest, ErrorsNameThePath) {
  const auto missing = read_file(at("missing"), 10);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::not_found);
  EXPECT_EQ(missing.error().message,
            "cannot read " + at("missing") + ": No such file or directory");

  const auto folder = read_file(folder_, 10);
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, Code::invalid);

  const auto nowhere = write_file(at("no/such/folder"), "x", 0644);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Code::not_found);
  EXPECT_NE(nowhere.error().message.find(at("no/such/folder")), std::string::npos);
}

TEST_F(FileTest, WriteReplacesWholeFileAndSetsTheMode) {
  ASSERT_TRUE(write_file(at("f"), "a long first content", 0644));
  ASSERT_TRUE(write_file(at("f"), "short", 0600));
  EXPECT_EQ(read_file(at("f"), 100).value(), "short");
  struct stat info{};
  ASSERT_EQ(::stat(at("f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, FailedWriteLeavesNothingBehind) {
  fs::create_directory(at("target"));
  std::ofstream(at("target/inside")) << "x";
  ASSERT_FALSE(write_file(at("target"), "x", 0644));
  EXPECT_EQ(entries(), 1u);
}

}  // namespace
}  // namespace berth
