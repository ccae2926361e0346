// The command line as newcomers meet it: typos are named, with what is allowed, and exit codes are
// those of docs/troubleshooting.md.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "base/file.h"
#include "support/eventually.h"
#include "support/scratch_dir.h"
#include "support/subprocess.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

testing::CommandResult berth(std::vector<std::string> args) {
  return testing::run({.program = BERTH_PROGRAM, .args = std::move(args), .env = {"HOME=/none"}},
                      "", 30s);
}

TEST(CommandLine, ACommandThatIsMisspeltIsNamedWithWhatThereIs) {
  const auto said = berth({"statsu"});
  EXPECT_EQ(said.exit_code, 2);
  EXPECT_THAT(said.err, HasSubstr("there is no command 'statsu'; did you mean 'status'?"));
  EXPECT_THAT(said.err, HasSubstr("playground, demo, controller"));
}

TEST(CommandLine, ValuesThatCannotBeAreSaidWithWhatIsAllowed) {
  EXPECT_THAT(berth({"status", "--help"}).out, HasSubstr("json|text"));
  EXPECT_THAT(berth({"status", "--help"}).out, Not(HasSubstr("ENUM")));
  const auto yaml = berth({"status", "-o", "yaml"});
  EXPECT_EQ(yaml.exit_code, 2);
  EXPECT_THAT(yaml.err + yaml.out, HasSubstr("'yaml' is not one of json, text"));
  const auto port = berth({"playground", "--port", "70000"});
  EXPECT_EQ(port.exit_code, 2);
  EXPECT_THAT(port.err + port.out, HasSubstr("'70000' is not a port: 0-65535"));
  const auto kind = berth({"explain", "service/lobby"});
  EXPECT_EQ(kind.exit_code, 2);
  EXPECT_THAT(kind.err, HasSubstr("'service/lobby' is none of pod/NAME"));
}

TEST(CommandLine, TheNamespaceOfTheControllerIsSpeltAlikeEverywhere) {
  for (const std::string command : {"status", "explain", "controller", "manifests", "uninstall"})
    EXPECT_THAT(berth({command, "--help"}).out, HasSubstr("--controller-namespace")) << command;
  for (const std::string spelling : {"-n", "--namespace", "--controller-namespace"}) {
    const auto made = berth({"manifests", spelling, "harbour"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("namespace: harbour")) << spelling;
  }
}

TEST(CommandLine, ManifestsOfAnEdgeSayWhereItLives) {
  const auto made =
      berth({"manifests", "--edge-address", "lb-1=192.0.2.1,2001:db8::1", "--node", "front"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("--edge-address=lb-1=192.0.2.1,2001:db8::1"));
  EXPECT_THAT(made.out, HasSubstr("replicas: 1\n"));
  const auto refused = [](std::vector<std::string> flags, const std::string& text) {
    flags.insert(flags.begin(), "manifests");
    const auto said = berth(flags);
    EXPECT_EQ(said.exit_code, 2) << text;
    EXPECT_EQ(said.out, "") << "half of an installation is worse than none";
    EXPECT_THAT(said.err, HasSubstr(text));
  };
  refused({"--edge-address", "lb-1=192.0.2.1"}, "add --node NAME");
  refused({"--edge-address", "lb-1=here", "--node", "front"},
          "'here' in 'lb-1=here' is no address");
  refused({"--node", "front", "--replicas", "2"}, "2 replicas do not fit with --node");
  refused({"--ops-port", "80"}, "9443 and 80 do not go together");
}

TEST(CommandLine, AClusterThatCannotBeReachedIsNotTheSameAsTrouble) {
  EXPECT_EQ(berth({"version"}).exit_code, 0);
  for (const std::vector<std::string>& target :
       {std::vector<std::string>{"po/room-0"}, {"pod", "room-0"}, {"sts/room"}}) {
    std::vector<std::string> args{"explain"};
    args.insert(args.end(), target.begin(), target.end());
    args.insert(args.end(), {"--kubeconfig", "/none/config"});
    const auto said = berth(args);
    EXPECT_EQ(said.exit_code, 3) << said.err;
    EXPECT_THAT(said.err, HasSubstr("/none/config"));
  }
}

constexpr const char* kPool = R"(
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {{name: rooms, namespace: games}}
spec: {{poolItems: [{{itemName: one, loadBalancerIDs: [lb-1], protocol: TCP, {}: 30000, endPort: {}}}]}}
)";

TEST(CommandLine, APlanNeedsNoCluster) {
  const auto folder = testing::ScratchDir::create("berth-plan");
  ASSERT_TRUE(folder) << folder.error();
  const auto plan = [&](const std::string& text, std::vector<std::string> more = {}) {
    const std::string file = (folder->path() / "pool.yaml").string();
    EXPECT_TRUE(write_file(file, text, 0600));
    std::vector<std::string> args{"plan", "-f", file, "--cloud", "tencent"};
    args.insert(args.end(), more.begin(), more.end());
    return berth(args);
  };
  const auto sound = plan(fmt::format(kPool, "startPort", 30100));
  EXPECT_EQ(sound.exit_code, 0) << sound.err;
  EXPECT_THAT(sound.out, HasSubstr("CreateListener 3"));
  EXPECT_THAT(sound.out, HasSubstr("at the least 1.7 s"));
  EXPECT_THAT(sound.err, HasSubstr("no cluster is configured: everything counts as new"));
  const auto json = plan(fmt::format(kPool, "startPort", 30100), {"--no-cluster", "-o", "json"});
  EXPECT_THAT(json.out, HasSubstr("\"secondsAtLeast\""));
  EXPECT_EQ(json.err, "");

  const auto refused = plan(fmt::format(kPool, "startPort", 29000));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.out, HasSubstr("would be refused"));
  const auto unknown = plan(fmt::format(kPool, "startport", 30100));
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean startPort?"));
  const auto text = plan("{a: [");
  EXPECT_EQ(text.exit_code, 2);
  EXPECT_THAT(text.err, HasSubstr("pool.yaml"));
  const auto missing = berth({"plan", "-f", "/none/pool.yaml"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, HasSubstr("/none/pool.yaml"));
  const auto nowhere =
      plan(fmt::format(kPool, "startPort", 30100), {"--kubeconfig", "/none/config"});
  EXPECT_EQ(nowhere.exit_code, 3);
  EXPECT_THAT(nowhere.err, HasSubstr("/none/config"));
  EXPECT_EQ(berth({"plan"}).exit_code, 2) << "without a file";
}

TEST(CommandLine, APlanReadsWhatIsPipedIn) {
  const auto said = testing::run({.program = BERTH_PROGRAM,
                                  .args = {"plan", "-f", "-", "--no-cluster"},
                                  .env = {"HOME=/none"}},
                                 fmt::format(kPool, "startPort", 30010), 30s);
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("PortPool games/rooms   edge:lb-1"));
}

// Asks for credentials with a program, which inherits the limits of who asks.
constexpr const char* kKubeconfig = R"(apiVersion: v1
kind: Config
current-context: it
clusters: [{{name: it, cluster: {{server: "https://127.0.0.1:1"}}}}]
contexts: [{{name: it, context: {{cluster: it, user: it}}}}]
users:
- name: it
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: /bin/sh
      args: ["-c", "ulimit -Sn > {0}.new; mv {0}.new {0}; exit 1"]
      interactiveMode: Never
)";

TEST(CommandLine, TheControllerMayOpenAsManyFilesAsItIsAllowedTo) {
  const auto folder = testing::ScratchDir::create("berth-command-line");
  ASSERT_TRUE(folder) << folder.error();
  const auto limit = (folder->path() / "limit").string();
  const auto kubeconfig = (folder->path() / "config").string();
  ASSERT_TRUE(write_file(kubeconfig, fmt::format(kKubeconfig, limit), 0600));
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  ASSERT_GT(files.rlim_max, 300u);
  auto process = testing::Process::spawn(
      {.program = "/bin/sh",
       .args = {"-c", fmt::format("ulimit -Sn 300; exec {} controller --kubeconfig {}",
                                  BERTH_PROGRAM, kubeconfig)},
       .env = {"HOME=/none", "PATH=/usr/bin:/bin"}},
      folder->path() / "log");
  ASSERT_TRUE(process) << process.error();
  ASSERT_TRUE(testing::eventually(30s, [&] { return std::filesystem::exists(limit); }));
  EXPECT_EQ(std::stoul(read_file(limit, 100).value()), files.rlim_max);
}

}  // namespace
}  // namespace berth
