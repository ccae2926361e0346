// `tools/image`: what is in the archive, that it runs where nothing can be written, that the same
// files make the same bytes, and what is said when something is missing. The binary of this build
// is packed, and the image is looked at as container runtimes unpack it.

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "base/file.h"
#include "crypto/digest.h"
#include "support/scratch_dir.h"
#include "support/subprocess.h"
#include "wire/value.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using testing::CommandResult;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::ScratchDir;
using ::testing::SizeIs;
using ::testing::StartsWith;
namespace fs = std::filesystem;

constexpr std::size_t kMaxFile = 1u << 30;
constexpr auto kPatience = 120s;

fs::path source() {
  const char* const folder = std::getenv("BERTH_SOURCE_DIR");
  return fs::absolute(folder == nullptr ? "." : folder);
}

CommandResult command(std::vector<std::string> words, std::vector<std::string> env = {}) {
  const char* const path = std::getenv("PATH");
  env.push_back(std::string("PATH=") + (path == nullptr ? "/usr/sbin:/usr/bin" : path));
  return testing::run({.program = "/usr/bin/env", .args = std::move(words), .env = std::move(env)},
                      "", kPatience);
}

CommandResult pack(std::vector<std::string> args, const std::vector<std::string>& env = {}) {
  args.insert(args.begin(), (source() / "tools/image").string());
  return command(std::move(args), env);
}

std::string bytes_of(const fs::path& path) { return read_file(path.string(), kMaxFile).value(); }

wire::Value json_of(const std::string& text) {
  auto value = wire::parse_json(text);
  if (!value) ADD_FAILURE() << "no JSON: " << text;
  return value.value_or(wire::Value());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// One image for all tests: the archive, what is in it, and the root that its layers make.
class Image : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new ScratchDir(ScratchDir::create("berth-image").value());
    fs::create_directories(archive());
    fs::create_directories(root());
    const auto made = pack({"--binary", BERTH_PROGRAM, "--archive", tar(), "-o", "json"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    told_ = json_of(made.out);
    ASSERT_TRUE(command({"tar", "-xf", tar(), "-C", archive()}).ok());
    for (const std::string& layer : layers())
      ASSERT_TRUE(command({"tar", "-xf", archive() / layer, "-C", root()}).ok()) << layer;
  }
  static void TearDownTestSuite() {
    delete scratch_;
    scratch_ = nullptr;
  }

  static std::string tar() { return scratch_->path() / "berth.tar"; }
  static fs::path archive() { return scratch_->path() / "archive"; }
  static fs::path root() { return scratch_->path() / "root"; }
  static const wire::Value& told() { return told_; }
  static wire::Value manifest() { return json_of(bytes_of(archive() / "manifest.json")); }
  static wire::Value config() {
    return json_of(bytes_of(archive() / std::string(wire::string_at(manifest(), "/0/Config"))));
  }
  static std::vector<std::string> layers() {
    std::vector<std::string> out;
    const wire::Value described = manifest();
    for (const wire::Value& one : *wire::array_at(described, "/0/Layers"))
      out.emplace_back(one.as_string());
    return out;
  }
  // What the programs of the image are linked with, as its own loader finds them.
  static std::set<std::string> needed(const std::string& program) {
    const auto listed = command({root() / "lib64/ld-linux-x86-64.so.2", "--inhibit-cache",
                                 "--library-path", root() / "usr/lib", "--list", root() / program});
    EXPECT_THAT(listed.out, Not(HasSubstr("not found"))) << listed.err;
    const std::string ours = (root() / "usr/lib/").string();
    std::set<std::string> out;
    for (const std::string& line : lines_of(listed.out)) {
      const auto at = line.find(" => ");
      if (at == std::string::npos) continue;
      const std::string path = line.substr(at + 4, line.rfind(" (") - at - 4);
      if (path.find("/lib64/") != std::string::npos) continue;  // the loader
      EXPECT_THAT(path, StartsWith(ours)) << "found elsewhere: it is not in the image";
      out.insert(fs::path(path).filename());
    }
    return out;
  }
  // In the root as a runtime gives it to a Pod: read-only, with devices and memory below /dev.
  static CommandResult inside(std::vector<std::string> words) {
    constexpr const char* kScript = R"(set -e
      cd "$0"
      mount --bind . . && cd "$0"
      mkdir -p dev proc
      mount -t tmpfs -o mode=755 tmpfs dev
      mkdir -m 1777 dev/shm
      for one in null urandom; do : >dev/$one; mount --bind /dev/$one dev/$one; done
      mount --rbind /proc proc
      mount -o remount,bind,ro,nosuid,nodev .
      ! touch tmp 2>/dev/null
      exec chroot ${1:+--userspec=$1} . "${@:2}")";
    const bool is_root = ::geteuid() == 0;
    std::vector<std::string> all{"unshare"};
    if (!is_root) all.emplace_back("--map-root-user");  // one user is all that it has
    for (const std::string word : {"--mount", "--propagation", "private", "bash", "-c"})
      all.push_back(word);
    all.insert(all.end(), {kScript, root(), is_root ? "65532:65532" : ""});
    all.insert(all.end(), words.begin(), words.end());
    return command(std::move(all), {"TMPDIR=/dev/shm", "LC_ALL=C"});
  }

 private:
  static inline ScratchDir* scratch_ = nullptr;
  static inline wire::Value told_;
};

TEST_F(Image, IsAnArchiveAsDockerSavesIt) {
  const wire::Value described = manifest();
  ASSERT_THAT(*described.if_array(), SizeIs(1));
  const std::string file(wire::string_at(described, "/0/Config"));
  const std::string digest = crypto::sha256_hex(bytes_of(archive() / file));
  EXPECT_EQ(file, digest + ".json");
  EXPECT_EQ(wire::string_at(told(), "/digest"), "sha256:" + digest);
  EXPECT_EQ(wire::int_at(told(), "/size"), static_cast<std::int64_t>(fs::file_size(tar())));

  const wire::Value what = config();
  std::vector<std::string> unpacked;
  for (const wire::Value& one : *wire::array_at(what, "/rootfs/diff_ids"))
    unpacked.emplace_back(one.as_string());
  std::vector<std::string> hashed;
  for (const std::string& layer : layers())
    hashed.push_back("sha256:" + crypto::sha256_hex(bytes_of(archive() / layer)));
  EXPECT_EQ(unpacked, hashed);
  EXPECT_EQ(wire::string_at(what, "/rootfs/type"), "layers");
  EXPECT_EQ(wire::string_at(what, "/os"), "linux");
  EXPECT_EQ(wire::string_at(what, "/architecture"), "amd64");
  EXPECT_FALSE(wire::find(what, "/created")) << "the same files would make another image";
}

// What `berth manifests` prints runs without a word about the image.
TEST_F(Image, IsTheOneThatManifestsAskFor) {
  const auto printed = command({BERTH_PROGRAM, "manifests", "-o", "json"});
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  const wire::Value all = json_of(printed.out);
  const wire::Value* pod = nullptr;
  for (const wire::Value& one : *wire::array_at(all, "/items"))
    if (wire::string_at(one, "/kind") == "Deployment") pod = wire::find(one, "/spec/template/spec");
  ASSERT_TRUE(pod);
  EXPECT_EQ(wire::string_at(*pod, "/containers/0/image"),
            wire::string_at(manifest(), "/0/RepoTags/0"));
  const auto user = wire::int_at(*pod, "/securityContext/runAsUser");
  const auto group = wire::int_at(*pod, "/securityContext/runAsGroup");
  ASSERT_TRUE(user && group);
  const wire::Value what = config();
  EXPECT_EQ(wire::string_at(what, "/config/User"), fmt::format("{}:{}", *user, *group));
  // The command is looked up in the path of the image.
  EXPECT_EQ(wire::string_at(*pod, "/containers/0/command/0"), "berth");
  EXPECT_EQ(wire::string_at(what, "/config/Env/0"), "PATH=/usr/bin:/usr/sbin");
  EXPECT_EQ(wire::string_at(what, "/config/Entrypoint/0"), "/usr/bin/berth");
}

TEST_F(Image, OfTheSameFilesIsTheSameByteByByte) {
  const auto other = ScratchDir::create("berth-image-other").value();
  const fs::path binary = other.path() / "somewhere else" / "a berth";
  fs::create_directories(binary.parent_path());
  fs::copy_file(BERTH_PROGRAM, binary);
  fs::permissions(binary, fs::perms(0700));
  const fs::path copy = other.path() / "copy.tar";
  const auto made =
      command({"bash", "-c", R"(umask 077; cd /; exec "$0" "$@")", source() / "tools/image",
               "--binary", binary, "--archive", copy, "-o", "json"},
              {"TZ=Asia/Shanghai", "LC_ALL=C.UTF-8", "LD_LIBRARY_PATH=/nowhere"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(wire::string_at(json_of(made.out), "/digest"), wire::string_at(told(), "/digest"));
  EXPECT_TRUE(bytes_of(copy) == bytes_of(tar()));
}

// A build in another folder would be another image. What is stripped counts too: the number of the
// build, which stays, is made of it.
TEST_F(Image, NamesNoFolderOfThisCheckout) {
  const std::string folder = fs::weakly_canonical(source()).string();
  for (const std::string& binary :
       {(root() / "usr/bin/berth").string(), std::string(BERTH_PROGRAM)})
    for (const char* below : {"/src/", "/cmd/", "/build/"})
      EXPECT_EQ(bytes_of(binary).find(folder + below), std::string::npos) << binary << below;
}

TEST_F(Image, HasNothingThatNobodyNeeds) {
  std::set<std::string> programs;
  std::set<std::string> libraries;
  for (const auto& entry : fs::recursive_directory_iterator(root())) {
    const std::string path = fs::relative(entry.path(), root()).string();
    const auto mode = static_cast<unsigned>(entry.symlink_status().permissions());
    EXPECT_TRUE(mode == 0755u || mode == 0644u) << path << ": others read, nobody else writes";
    if (!entry.is_regular_file()) {
      EXPECT_TRUE(entry.is_directory()) << path;
    } else if (path.starts_with("usr/lib/")) {
      libraries.insert(entry.path().filename());
    } else if (mode == 0755u) {
      programs.insert(path);
    }
  }
  EXPECT_THAT(programs,
              ElementsAre("lib64/ld-linux-x86-64.so.2", "usr/bin/berth", "usr/sbin/haproxy"));
  std::set<std::string> wanted = needed("usr/bin/berth");
  wanted.merge(needed("usr/sbin/haproxy"));
  EXPECT_EQ(libraries, wanted);
  EXPECT_GT(libraries.size(), 10u);
}

TEST_F(Image, IsOwnedByRootAndOfNoTime) {
  for (const std::string& layer : layers()) {
    const auto listed = command(
        {"tar", "--numeric-owner", "--utc", "--full-time", "-tvf", (archive() / layer).string()});
    ASSERT_EQ(listed.exit_code, 0) << listed.err;
    for (const std::string& line : lines_of(listed.out))
      EXPECT_THAT(line, AllOf(HasSubstr(" 0/0 "), HasSubstr(" 1970-01-01 00:00:00 ")));
  }
}

TEST_F(Image, HasACopyThatIsStripped) {
  const auto sections = [](const std::string& path) {
    return command({"readelf", "-SW", path}).out;
  };
  EXPECT_THAT(sections(root() / "usr/bin/berth"),
              AllOf(HasSubstr(".text"), Not(HasSubstr(".symtab")), Not(HasSubstr(".debug"))));
  EXPECT_THAT(sections(BERTH_PROGRAM), AllOf(HasSubstr(".symtab"), HasSubstr(".debug")));
}

TEST_F(Image, TrustsTheAuthoritiesOfDebianAlone) {
  const std::string bundle = bytes_of(root() / "etc/ssl/certs/ca-certificates.crt");
  const auto read = command({"openssl", "crl2pkcs7", "-nocrl", "-certfile",
                             root() / "etc/ssl/certs/ca-certificates.crt"});
  EXPECT_EQ(read.exit_code, 0) << read.err;
  EXPECT_GT(std::ranges::count(lines_of(bundle), "-----BEGIN CERTIFICATE-----"), 100);
  std::error_code none;
  for (const auto& local : fs::directory_iterator("/usr/local/share/ca-certificates", none))
    EXPECT_EQ(bundle.find(lines_of(bytes_of(local.path())).at(1)), std::string::npos)
        << local.path();
}

TEST_F(Image, HasTheLicencesOfWhatIsInIt) {
  const fs::path doc = root() / "usr/share/doc";
  EXPECT_EQ(bytes_of(doc / "berth/LICENSE"), bytes_of(source() / "LICENSE"));
  std::set<std::string> packages;
  for (const std::string& line : lines_of(bytes_of(doc / "berth/packages")))
    packages.insert(line.substr(0, line.find(' ')));
  EXPECT_THAT(packages, ::testing::IsSupersetOf({"haproxy", "libc6", "libcli11-dev", "libssl3"}));
  EXPECT_EQ(packages.size(), wire::object_at(told(), "/packages")->size());
  for (const std::string& package : packages) {
    if (package.starts_with("libboost")) continue;  // asks for nothing in programs
    EXPECT_TRUE(fs::exists(doc / package / "copyright")) << package;
  }
  EXPECT_TRUE(fs::exists(root() / "usr/share/common-licenses/GPL-2")) << "HAProxy's";
}

TEST_F(Image, RunsAsNobodyWhereNothingCanBeWritten) {
  const auto version = inside({"/usr/bin/berth", "version", "-o", "json"});
  ASSERT_EQ(version.exit_code, 0) << version.err;
  EXPECT_EQ(version.out, command({BERTH_PROGRAM, "version", "-o", "json"}).out);
  const auto haproxy = inside({"/usr/sbin/haproxy", "-vv"});
  EXPECT_EQ(haproxy.exit_code, 0) << haproxy.err;
  EXPECT_THAT(haproxy.out, HasSubstr("Built with OpenSSL"));
  EXPECT_NE(inside({"/bin/sh", "-c", "true"}).exit_code, 0);
}

// API server, controller and edge load balancer, with nothing but the files of the image.
TEST_F(Image, GivesRoomsTheirAddresses) {
  const auto demo = inside({"/usr/bin/berth", "demo"});
  EXPECT_EQ(demo.exit_code, 0) << demo.out << demo.err;
  EXPECT_THAT(demo.out, HasSubstr("said ahoy to each of them"));
}

// What is wrong is told in one line, and nothing is left.
class BadInput : public Image {
 protected:
  void SetUp() override { fs::permissions(folder(), fs::perms(0755)); }

  const fs::path& folder() const { return scratch_.path(); }
  fs::path target() const { return folder() / "out" / "berth.tar"; }

  std::string refused(std::vector<std::string> args, const std::vector<std::string>& env = {}) {
    if (std::ranges::find(args, "--archive") == args.end())
      args.insert(args.end(), {"--archive", target()});
    if (std::ranges::find(args, "--binary") == args.end())
      args.insert(args.end(), {"--binary", BERTH_PROGRAM});
    const auto ran = pack(std::move(args), env);
    EXPECT_EQ(ran.exit_code, 1) << ran.out;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(lines_of(ran.err), SizeIs(1)) << ran.err;
    EXPECT_THAT(ran.err, MatchesRegex("image: .+: .+\n"));
    EXPECT_FALSE(fs::exists(target().parent_path()));
    return ran.err;
  }
  std::string file(const std::string& name, const std::string& content) const {
    std::ofstream(folder() / name) << content;
    fs::permissions(folder() / name, fs::perms(0755));
    return folder() / name;
  }
  // HAProxy that wants a library which no machine has.
  std::string needy_haproxy() const {
    std::string bytes = bytes_of("/usr/sbin/haproxy");
    const std::string library = "libpcre2-8.so.0";
    const auto at = bytes.find(library);
    EXPECT_NE(at, std::string::npos);
    return file("needy", bytes.replace(at, library.size(), "libnowhere.so.0"));
  }

 private:
  ScratchDir scratch_ = ScratchDir::create("berth-image-bad").value();
};

TEST_F(BadInput, NamesWhatIsMissing) {
  EXPECT_THAT(refused({"--binary", "/no/berth"}), HasSubstr("/no/berth: No such file"));
  EXPECT_THAT(refused({"--binary", "/no/berth"}), HasSubstr("make build"));
  EXPECT_THAT(refused({"--haproxy", "/no/haproxy"}),
              AllOf(HasSubstr("/no/haproxy: No such file"), HasSubstr("--without-haproxy")));
  EXPECT_THAT(refused({"--haproxy", needy_haproxy()}),
              AllOf(HasSubstr("libnowhere.so.0: not there"), HasSubstr("install")));
}

TEST_F(BadInput, NamesWhatIsNoProgram) {
  EXPECT_THAT(refused({"--binary", "/usr"}), HasSubstr("/usr: Is a directory"));
  EXPECT_THAT(refused({"--binary", file("script", "#!/bin/sh\n")}), HasSubstr("no program"));
  EXPECT_THAT(refused({"--binary", "/usr/bin/env"}), HasSubstr("does not say its version"));
  EXPECT_THAT(refused({"--name", "Berth Latest"}), HasSubstr("no name of an image"));
}

TEST_F(BadInput, NamesWhatCannotBeReadOrWritten) {
  const std::string plain = file("plain", "");
  const auto ran = pack({"--binary", BERTH_PROGRAM, "--archive", plain + "/berth.tar"});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.err, AllOf(HasSubstr(plain), HasSubstr("choose another --archive")));
  if (::geteuid() == 0) return;  // reads everything
  fs::permissions(plain, fs::perms::none);
  EXPECT_THAT(refused({"--binary", plain}), HasSubstr(plain + ": Permission denied"));
}

TEST_F(BadInput, LeavesTheImageOfBefore) {
  fs::create_directories(target().parent_path());
  std::ofstream(target()) << "as before";
  const auto ran = pack({"--binary", "/no/berth", "--archive", target()});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(bytes_of(target()), "as before");
}

// Ended in the middle, while it strips.
TEST_F(BadInput, LeavesNothingWhenItIsEnded) {
  file("strip", "#!/bin/sh\nkill -TERM $PPID\nexec sleep 60\n");
  const fs::path temporary = folder() / "temporary";
  fs::create_directories(temporary);
  const std::string path = folder().string() + ":" + std::getenv("PATH");
  const auto ran =
      command({"env", "PATH=" + path, "TMPDIR=" + temporary.string(), source() / "tools/image",
               "--binary", BERTH_PROGRAM, "--archive", target()});
  EXPECT_EQ(ran.exit_code, 128 + 15) << ran.err;
  EXPECT_FALSE(fs::exists(target().parent_path()));
  EXPECT_TRUE(fs::is_empty(temporary));
}

}  // namespace
}  // namespace berth
