#include "kube/client/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

constexpr std::string_view kWhole = R"(
apiVersion: v1
kind: Config
current-context: games
preferences: {}
clusters:
- name: prod
  cluster:
    server: https://[2001:db8::1]:6443/
    certificate-authority: pki/ca.crt
    tls-server-name: kubernetes
    proxy-url: socks5://127.0.0.1:1080
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: {audience: games}
- name: dev
  cluster:
    server: https://dev:6443
    insecure-skip-tls-verify: true
users:
- name: ann
  user:
    client-certificate-data: Y2VydA==
    client-key: /abs/ann.key
- name: robot
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./bin/login
      args: [--cluster, games]
      env:
      - {name: REGION, value: eu}
      interactiveMode: IfAvailable
      provideClusterInfo: true
      installHint: install it
contexts:
- name: games
  context: {cluster: prod, user: ann, namespace: rooms}
- name: robots
  context: {cluster: prod, user: robot}
- name: nobody
  context: {cluster: dev}
)";

Selection select(std::string_view text, std::string_view context) {
  const auto config = parse_kubeconfig(text, "/home/x/config");
  EXPECT_TRUE(config) << config.error().to_string();
  auto selection = select_context(*config, context);
  EXPECT_TRUE(selection) << selection.error().to_string();
  return selection.value();
}

TEST(Kubeconfig, TheCurrentContextIsTakenAndPathsAreResolved) {
  const Selection s = select(kWhole, "");
  EXPECT_EQ(s.context.name, "games");
  EXPECT_EQ(s.context.ns, "rooms");
  EXPECT_EQ(s.cluster.server, "https://[2001:db8::1]:6443");
  EXPECT_EQ(s.cluster.authority.file, "/home/x/pki/ca.crt");
  EXPECT_EQ(s.cluster.tls_server_name, "kubernetes");
  EXPECT_EQ(s.cluster.proxy_url, "socks5://127.0.0.1:1080");
  EXPECT_EQ(s.user.certificate.data.reveal(), "cert");
  EXPECT_EQ(s.user.key.file, "/abs/ann.key");
}

TEST(Kubeconfig, ExecPluginsAreRead) {
  const Selection s = select(kWhole, "robots");
  ASSERT_TRUE(s.user.exec);
  EXPECT_EQ(s.user.exec->command, "/home/x/bin/login");
  EXPECT_THAT(s.user.exec->args, ElementsAre("--cluster", "games"));
  EXPECT_THAT(s.user.exec->env, ElementsAre(Pair("REGION", "eu")));
  EXPECT_EQ(s.user.exec->install_hint, "install it");
  EXPECT_TRUE(s.user.exec->provide_cluster_info);
  EXPECT_EQ(wire::string_at(s.cluster.exec_config, "/audience"), "games");
}

TEST(Kubeconfig, AContextWithoutUserIsAnonymous) {
  const Selection s = select(kWhole, "nobody");
  EXPECT_TRUE(s.user.anonymous());
  EXPECT_TRUE(s.cluster.insecure);
}

TEST(Kubeconfig, JsonAndEmptyTextAreKubeconfigsToo) {
  EXPECT_EQ(select(R"({"clusters":[{"name":"c","cluster":{"server":"http://h"}}],
                       "contexts":[{"name":"x","context":{"cluster":"c"}}]})",
                   "x")
                .cluster.server,
            "http://h");
  EXPECT_TRUE(parse_kubeconfig("", "f"));
  EXPECT_TRUE(parse_kubeconfig("# nothing\n", "f"));
}

TEST(Kubeconfig, TheFirstFileWinsEntryByEntry) {
  auto first = parse_kubeconfig(R"(
clusters: [{name: c, cluster: {server: https://first}}]
users: [{name: u, user: {token: one}}]
)",
                                "/a/config")
                   .value();
  auto second = parse_kubeconfig(R"(
current-context: x
clusters: [{name: c, cluster: {server: https://second, tls-server-name: not-mixed-in}}]
users: [{name: u, user: {username: two}}, {name: v, user: {tokenFile: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}, {name: z, context: {cluster: c, user: v}}]
)",
                                 "/b/config")
                    .value();
  auto third = parse_kubeconfig("current-context: z", "/c/config").value();
  merge_kubeconfig(first, std::move(second));
  merge_kubeconfig(first, std::move(third));
  const Selection x = select_context(first, "").value();
  EXPECT_EQ(x.cluster.server, "https://first");
  EXPECT_EQ(x.cluster.tls_server_name, "");
  EXPECT_EQ(x.user.token.reveal(), "one");
  EXPECT_EQ(x.user.username, "");
  EXPECT_EQ(select_context(first, "z").value().user.token_file, "/b/t");
}

struct BadCase {
  std::string_view text;
  std::string_view error;
};

TEST(Kubeconfig, DefectsNameFileAndField) {
  const BadCase cases[] = {
      {"clusters: 5", "invalid: /f: clusters: must be a list, found a number"},
      {"[]", "invalid: /f: must be a mapping, found a list"},
      {"kind: Pod", "invalid: /f: kind: must be Config"},
      {"clusters: [x]", "invalid: /f: clusters[0]: must be a mapping, found text"},
      {"users: [{user: {}}]", "invalid: /f: users[0].name: must be set"},
      {"users: [{name: a}, {name: b}, {name: c, user: {client-key-data: 'SECRET!'}}]",
       "invalid: /f: users[2].user.client-key-data: not base64: unexpected character at offset 6"},
      {"users: [{name: a, user: {token: 4711}}]",
       "invalid: /f: users[0].user.token: must be text, found a number"},
      {"users: [{name: a, user: []}]",
       "invalid: /f: users[0].user: must be a mapping, found a list"},
      {"users: [{name: a}, {name: a}]", "invalid: /f: users[1].name: 'a' is there twice"},
      {"clusters: [{name: a, cluster: {insecure-skip-tls-verify: 'yes'}}]",
       "invalid: /f: clusters[0].cluster.insecure-skip-tls-verify: must be true or false, found "
       "text"},
      {"users: [{name: a, user: {exec: {command: x}}}]",
       "invalid: /f: users[0].user.exec.apiVersion: must be set"},
      {"users: [{name: a, user: {exec: {command: x, apiVersion: y, args: [1]}}}]",
       "invalid: /f: users[0].user.exec.args[0]: must be text, found a number"},
  };
  for (const BadCase& c : cases) {
    const auto parsed = parse_kubeconfig(c.text, "/f");
    ASSERT_FALSE(parsed) << c.text;
    EXPECT_EQ(parsed.error().to_string(), c.error);
  }
}

TEST(Kubeconfig, NoErrorShowsASecret) {
  for (const std::string_view text :
       {"users: [{name: a, user: {token: !!int sesame}}]",
        "users: [{name: a, user: {token: 'sesame}}]", "users: {sesame: 1, sesame: 2}",
        "{\"users\": \"sesame", "\"sesame\": : :", "users: [{name: a, user: {password: [sesame]}}]",
        "&a [*a, sesame]"}) {
    const auto parsed = parse_kubeconfig(text, "/f");
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().to_string(), HasSubstr("/f: ")) << text;
    EXPECT_THAT(parsed.error().to_string(), Not(HasSubstr("sesame"))) << text;
  }
}

TEST(Kubeconfig, SelectionsThatCannotWork) {
  const std::string clusters = "clusters: [{name: c, cluster: {server: https://h}}]\n";
  const std::string context = "contexts: [{name: x, context: {cluster: c, user: u}}]\n";
  const auto user = [&](std::string_view fields) {
    return clusters + context + fmt::format("users: [{{name: u, user: {{{}}}}}]\n", fields);
  };
  const auto cluster = [&](std::string_view fields) {
    return fmt::format("clusters: [{{name: c, cluster: {{{}}}}}]\n", fields) +
           "contexts: [{name: x, context: {cluster: c}}]\n";
  };
  const auto exec = [&](std::string_view version, std::string_view more) {
    return user(fmt::format("exec: {{command: p, apiVersion: client.authentication.k8s.io/{}{}}}",
                            version, more));
  };
  const struct {
    std::string text;
    std::string_view error;
  } cases[] = {
      {"", "the kubeconfig has no context 'x' (hint: choose one of: none)"},
      {"contexts: [{name: v}, {name: w}]",
       "the kubeconfig has no context 'x' (hint: choose one of: v, w)"},
      {context, "contexts[0].context.cluster: there is no cluster 'c'"},
      {clusters + context, "contexts[0].context.user: there is no user 'u'"},
      {cluster(""), "clusters[0].cluster.server: must be set"},
      {cluster("server: 'h:6443'"), "clusters[0].cluster.server: must be an http"},
      {cluster("server: 'https://ann:sesame@h'"), "clusters[0].cluster.server: must be an http"},
      {cluster("server: 'https://h', proxy-url: 'ftp://ann:sesame@p'"),
       "clusters[0].cluster.proxy-url: must begin with"},
      {cluster("server: 'https://h', insecure-skip-tls-verify: true, certificate-authority: a"),
       "clusters[0].cluster.insecure-skip-tls-verify: cannot be true"},
      {user("auth-provider: {name: gcp}"), "users[0].user.auth-provider: was removed"},
      {user("as: admin"), "users[0].user.as: impersonation is not served"},
      {user("client-certificate: a"), "users[0].user.client-key: certificate and key"},
      {user("client-key-data: eA=="), "users[0].user.client-certificate: certificate and key"},
      {user("token: sesame, username: ann"), "users[0].user.token: only one of"},
      {exec("v1alpha1", ""),
       "users[0].user.exec.apiVersion: 'client.authentication.k8s.io/v1alpha1'"},
      {exec("v1", ""), "users[0].user.exec.interactiveMode: must be Never"},
      {exec("v1", ", interactiveMode: Always"),
       "users[0].user.exec.interactiveMode: Always needs a terminal"},
  };
  for (const auto& c : cases) {
    const auto parsed = parse_kubeconfig(c.text, "/f");
    ASSERT_TRUE(parsed) << parsed.error().to_string();
    const auto selected = select_context(*parsed, "x");
    ASSERT_FALSE(selected) << c.text;
    EXPECT_EQ(selected.error().code, Code::invalid);
    EXPECT_THAT(selected.error().to_string(), HasSubstr(c.error));
    EXPECT_THAT(selected.error().to_string(), Not(HasSubstr("sesame")));
  }
  EXPECT_TRUE(select_context(parse_kubeconfig(exec("v1beta1", ""), "/f").value(), "x"));
  EXPECT_EQ(select_context({}, "").error().message, "the kubeconfig has no current-context");
}

}  // namespace
}  // namespace berth::kube
