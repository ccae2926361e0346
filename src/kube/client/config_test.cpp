#include "kube/client/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/encoding.h"
#include "base/file.h"
#include "crypto/certificates.h"
#include "kube/client/credentials.h"
#include "kube/client/test_fake_transport.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

crypto::KeyPair make_pair(const std::string& name) {
  return crypto::make_authority(
             {.common_name = name,
              .not_before = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1},
              .lifetime = 24h * 365})
      .value();
}

class ConfigTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "/berth-config-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    set_log_sink([this](std::string_view line) { log_ += line; });
  }
  void TearDown() override {
    set_log_sink({});
    std::filesystem::remove_all(folder_);
  }

  std::string write(const std::string& name, std::string_view content) {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    EXPECT_TRUE(write_file(path, content, 0600));
    return path;
  }
  // A kubeconfig with one context, whose cluster and user are these.
  std::string write_config(std::string_view cluster, std::string_view user) {
    return write("config",
                 fmt::format("current-context: x\n"
                             "clusters: [{{name: c, cluster: {{{}}}}}]\n"
                             "users: [{{name: u, user: {{{}}}}}]\n"
                             "contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\n",
                             cluster, user));
  }
  Identity identity(const ClusterConfig& config) {
    auto got = config.credentials->identity(context_);
    EXPECT_TRUE(got) << got.error().to_string();
    return got.value();
  }

  std::string folder_;
  std::string log_;
  testing::JumpingTasks tasks_;
  Context context_{.tasks = tasks_};
};

TEST_F(ConfigTest, CertificatesComeFromDataOrFiles) {
  const auto ca = make_pair("ca");
  const auto client = make_pair("client");
  write("pki/ca.crt", ca.certificate_pem);
  const auto config = load_kubeconfig(
      {write_config("server: 'https://h', certificate-authority: pki/ca.crt, tls-server-name: k",
                    fmt::format("client-certificate-data: {}, client-key-data: {}",
                                base64_encode(client.certificate_pem),
                                base64_encode(client.key_pem.reveal())))},
      "");
  ASSERT_TRUE(config) << config.error().to_string();
  const Identity who = identity(**config);
  EXPECT_EQ(who.tls->ca_pem, ca.certificate_pem);
  EXPECT_EQ(who.tls->cert_pem, client.certificate_pem);
  EXPECT_EQ(who.tls->key_pem.reveal(), client.key_pem.reveal());
  EXPECT_EQ(who.tls->server_name, "k");
  EXPECT_EQ((*config)->context_name, "x");
  EXPECT_EQ((*config)->default_namespace, "default");
}

TEST_F(ConfigTest, MaterialThatCannotBeUsedIsNamedAndNotShown) {
  const auto one = make_pair("one");
  const auto two = make_pair("two");
  const std::string cert = "client-certificate-data: " + base64_encode(one.certificate_pem);
  const struct {
    std::string cluster, user;
    std::string_view field;
  } cases[] = {
      {"server: 'https://h', certificate-authority: none.crt", "",
       "clusters[0].cluster.certificate-authority: cannot read "},
      {"server: 'https://h', certificate-authority-data: c2VzYW1l", "",
       "clusters[0].cluster.certificate-authority-data: "},
      {"server: 'https://h'", cert + ", client-key-data: c2VzYW1l",
       "users[0].user.client-key-data: "},
      {"server: 'https://h'", cert + ", client-key-data: " + base64_encode(two.key_pem.reveal()),
       "users[0].user.client-key-data: "},
      {"server: 'https://h'", "tokenFile: none", "users[0].user.tokenFile: cannot read "},
      {"server: 'https://h'", "token: \"ses ame\"", "users[0].user.token: the token has "},
  };
  for (const auto& c : cases) {
    const std::string file = write_config(c.cluster, c.user);
    const auto config = load_kubeconfig({file}, "");
    ASSERT_FALSE(config) << c.field;
    EXPECT_THAT(config.error().to_string(), HasSubstr(file + ": " + std::string(c.field)));
    EXPECT_THAT(config.error().to_string(), Not(HasSubstr("ses")));
  }
}

TEST_F(ConfigTest, ATokenFileIsReadAgainEveryMinute) {
  const std::string token = write("token", " one\n");
  const auto config =
      load_kubeconfig({write_config("server: 'https://h'", "tokenFile: token")}, "").value();
  EXPECT_EQ(identity(*config).bearer_token.reveal(), "one");
  write("token", "two");
  tasks_.advance(59s);
  EXPECT_EQ(identity(*config).bearer_token.reveal(), "one");
  tasks_.advance(1s);
  EXPECT_EQ(identity(*config).bearer_token.reveal(), "two");

  std::filesystem::remove(token);
  tasks_.advance(60s);
  EXPECT_EQ(identity(*config).bearer_token.reveal(), "two");
  EXPECT_THAT(log_, HasSubstr("going on with the token read before"));
  write("token", "");
  tasks_.advance(kReloadRetry);
  EXPECT_EQ(identity(*config).bearer_token.reveal(), "two");
  write("token", "three");
  tasks_.advance(kReloadRetry);
  EXPECT_EQ(identity(*config).bearer_token.reveal(), "three");
}

TEST_F(ConfigTest, ARejectedTokenIsReadAgainAtOnce) {
  write("token", "one");
  const auto config =
      load_kubeconfig({write_config("server: 'https://h'", "tokenFile: token")}, "").value();
  const Identity first = identity(*config);
  write("token", "two");
  config->credentials->rejected(first);
  EXPECT_EQ(identity(*config).bearer_token.reveal(), "two");
}

TEST_F(ConfigTest, CertificateFilesAreReadAgain) {
  const auto one = make_pair("one");
  const auto two = make_pair("two");
  write("c.crt", one.certificate_pem);
  write("c.key", one.key_pem.reveal());
  const auto config =
      load_kubeconfig(
          {write_config("server: 'https://h'", "client-certificate: c.crt, client-key: c.key")}, "")
          .value();
  const auto first = identity(*config).tls;
  tasks_.advance(kTlsReload);
  EXPECT_EQ(identity(*config).tls, first) << "unchanged files must keep their connections";

  write("c.crt", two.certificate_pem);
  tasks_.advance(kTlsReload);
  EXPECT_EQ(identity(*config).tls, first) << "half replaced: certificate and key do not fit";
  write("c.key", two.key_pem.reveal());
  tasks_.advance(kReloadRetry);
  EXPECT_EQ(identity(*config).tls->cert_pem, two.certificate_pem);
}

TEST_F(ConfigTest, NoSecretTravelsInTheClear) {
  const auto config =
      load_kubeconfig({write_config("server: 'http://h'", "token: sesame")}, "").value();
  EXPECT_TRUE(identity(*config).bearer_token.empty());
  EXPECT_THAT(log_, HasSubstr("no credentials are sent"));
}

TEST_F(ConfigTest, InsideACluster) {
  const auto ca = make_pair("ca");
  write("sa/ca.crt", ca.certificate_pem);
  write("sa/token", "in\n");
  write("sa/namespace", "games\n");
  ConfigSource source{
      .service_host = "fd00::1", .service_port = "443", .service_account_dir = folder_ + "/sa"};
  const auto config = load_config(source);
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ((*config)->server, "https://[fd00::1]:443");
  EXPECT_EQ((*config)->default_namespace, "games");
  EXPECT_EQ(identity(**config).bearer_token.reveal(), "in");
  EXPECT_EQ(identity(**config).tls->ca_pem, ca.certificate_pem);
  source.service_host = "10.0.0.1";
  EXPECT_EQ(load_config(source).value()->server, "https://10.0.0.1:443");
  source.service_port = "http";
  EXPECT_EQ(load_config(source).error().message, "KUBERNETES_SERVICE_PORT: 'http' is not 1-65535");
}

TEST_F(ConfigTest, TheOrderOfSources) {
  const auto with_server = [&](const std::string& name) {
    return write(name, fmt::format("current-context: x\n"
                                   "clusters: [{{name: c, cluster: {{server: 'https://{}'}}}}]\n"
                                   "contexts: [{{name: x, context: {{cluster: c}}}}]\n",
                                   std::filesystem::path(name).begin()->string()));
  };
  const auto ca = make_pair("ca");
  write("sa/ca.crt", ca.certificate_pem);
  write("sa/token", "in");
  with_server("home/.kube/config");
  ConfigSource source{.explicit_file = with_server("explicit"),
                      .kubeconfig_files = {folder_ + "/missing", "", with_server("listed")},
                      .home = folder_ + "/home",
                      .service_host = "inside",
                      .service_port = "443",
                      .service_account_dir = folder_ + "/sa"};
  EXPECT_EQ(load_config(source).value()->server, "https://explicit");
  source.explicit_file.clear();
  EXPECT_EQ(load_config(source).value()->server, "https://listed");
  source.kubeconfig_files.clear();
  EXPECT_EQ(load_config(source).value()->server, "https://inside:443");
  std::filesystem::remove(folder_ + "/sa/token");
  EXPECT_EQ(load_config(source).value()->server, "https://home");
  source.service_host.clear();
  EXPECT_EQ(load_config(source).value()->server, "https://home");

  source.home = folder_ + "/nowhere";
  EXPECT_EQ(load_config(source).error().code, Code::not_found);
  source.service_host = "inside";
  EXPECT_THAT(load_config(source).error().to_string(), HasSubstr("automountServiceAccountToken"));
  source.explicit_file = folder_ + "/missing";
  EXPECT_EQ(load_config(source).error().message,
            "no kubeconfig: there is no file " + folder_ + "/missing");
  source.explicit_file.clear();
  source.kubeconfig_files = {"/no/1", "/no/2"};
  EXPECT_EQ(load_config(source).error().message, "no kubeconfig: there is no file /no/1, /no/2");
}

}  // namespace
}  // namespace berth::kube
