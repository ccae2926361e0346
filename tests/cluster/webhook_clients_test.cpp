// Client certificates of API servers, set up as docs/install.md says, on a real kube-apiserver: it
// shows its certificate to our webhooks, and nobody without one is answered.

#include <boost/json.hpp>
#include <cstdlib>
#include <fstream>

#include "base/encoding.h"
#include "base/file.h"
#include "crypto/certificates.h"
#include "on_berth_cluster.h"
#include "support/scratch_dir.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using ::testing::HasSubstr;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr auto kPatience = 60s;
constexpr std::size_t kMaxFile = 1u << 20;

std::string read(const std::filesystem::path& path) {
  return read_file(path.string(), kMaxFile).value_or(std::string());
}

std::string page() {
  const char* const source = std::getenv("BERTH_SOURCE_DIR");
  return read(std::filesystem::path(source ? source : ".") / "docs" / "install.md");
}

// What stands between the fences around this text.
std::string block_with(const std::string& text) {
  const std::string all = page();
  const std::size_t at = all.find(text);
  if (at == std::string::npos) return {};
  const std::size_t begin = all.find('\n', all.rfind("```", at)) + 1;
  return all.substr(begin, all.find("```", begin) - begin);
}

std::string replaced(std::string text, std::string_view what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

class WebhookClients : public OnBerthCluster {
 protected:
  static void SetUpTestSuite() {
    auto made = testing::ScratchDir::create("berth-webhook-clients");
    if (!made) {
      start_error_ = made.error();
      return;
    }
    dir_.emplace(std::move(*made));
    start_cluster({.replicas = 0,
                   .with_workloads = false,
                   .api_server_args = {"--admission-control-config-file=" + file("admission.yaml"),
                                       "--disable-admission-plugins=ServiceAccount"},
                   .before_api_server = write_files,
                   .controller_args = {"--webhook-client-ca=" + file("client-ca.crt"),
                                       "--webhook-client-name=kube-apiserver"}});
  }
  static void TearDownTestSuite() {
    OnBerthCluster::TearDownTestSuite();
    dir_.reset();
  }

  static std::string file(const std::string& name) { return (dir_->path() / name).string(); }

  // As the page says, but for the folder and for where our webhooks are.
  static void write_files(int webhook_port) {
    const std::string commands = replaced(block_with("openssl req -x509"), "$ ", "");
    const auto run = testing::run({"/usr/bin/env",
                                   {"bash", "-ec", "cd " + file("") + "\n" + commands},
                                   {std::string("PATH=") + std::getenv("PATH")}},
                                  "", kPatience);
    EXPECT_TRUE(run.ok()) << run.err;
    for (const std::string name : {"admission.yaml", "webhooks.kubeconfig"}) {
      const std::string here =
          replaced(block_with("# " + name + "\n"), "/etc/kubernetes/", file(""));
      EXPECT_THAT(here, HasSubstr(file("")));
      std::ofstream(file(name)) << replaced(here, "berth-webhooks.berth-system.svc:443",
                                            fmt::format("127.0.0.1:{}", webhook_port));
    }
  }

  static crypto::KeyPair certificate_of(const crypto::KeyPair& authority, std::string name) {
    return crypto::issue_certificate(authority, {.common_name = std::move(name),
                                                 .not_before = cluster_->tasks().wall_time() - 1h,
                                                 .lifetime = 24h,
                                                 .client = true})
        .value();
  }
  static crypto::KeyPair from_files(const std::string& certificate, const std::string& key) {
    return {read(file(certificate)), Secret(read(file(key)))};
  }
  // Where the API server calls us for new Pods, the secret part included.
  static std::string pod_hook() {
    const Value hooks =
        cluster_->get(kube::types::kMutatingWebhookConfiguration, "", "berth").value_or(Value());
    const Array* const all = wire::array_at(hooks, "/webhooks");
    for (const Value& hook : all ? *all : Array{}) {
      const std::string_view url = wire::string_at(hook, "/clientConfig/url");
      if (url.find("/mutate-pod-ports/") != std::string_view::npos) return std::string(url);
    }
    return {};
  }
  // A review that would take a port, from somebody who knows the whole address.
  static std::string post(const crypto::KeyPair& shown) {
    Value pod = bare_room("games", "forged");
    const Object request{
        {"uid", "1"},
        {"kind", Object{{"group", ""}, {"version", "v1"}, {"kind", "Pod"}}},
        {"resource", Object{{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
        {"namespace", "games"},
        {"name", "forged"},
        {"operation", "CREATE"},
        {"object", pod}};
    const auto tls = std::make_shared<net::TlsSettings>();
    tls->insecure = true;
    tls->cert_pem = shown.certificate_pem;
    tls->key_pem = shown.key_pem;
    net::CurlTransport transport;
    const Result<net::Response> answer =
        transport.call(cluster_->context().within(30s),
                       {.method = "POST",
                        .url = pod_hook(),
                        .headers = {{"Content-Type", "application/json"}},
                        .body = wire::to_json(Object{{"apiVersion", "admission.k8s.io/v1"},
                                                     {"kind", "AdmissionReview"},
                                                     {"request", request}}),
                        .tls = tls});
    return answer ? std::to_string(answer->status) : answer.error().to_string();
  }

  inline static std::optional<testing::ScratchDir> dir_;
};

TEST_F(WebhookClients, TheApiServerIsAnsweredAndNobodyElse) {
  make(Object{
      {"apiVersion", "v1"},
      {"kind", "Namespace"},
      {"metadata", Object{{"name", "games"}, {"labels", Object{{api::kInjectLabel, "true"}}}}}});
  const std::size_t replica = cluster_->start_replica();
  ASSERT_TRUE(cluster_->wait_until_ready(replica));
  ASSERT_TRUE(eventually(kPatience, [] { return !pod_hook().empty(); }));

  const Result<> made = make_pool(
      *cluster_,
      pool("games", "rooms", {{.load_balancers = {load_balancer_id("clients")}, .end = 30003}}));
  ASSERT_TRUE(made) << made.error().to_string();
  Result<Value> pod = fail(Code::unavailable, "not asked yet");
  // The server may need a moment to learn of the configuration.
  ASSERT_TRUE(eventually(kPatience, [&] {
    if (!(pod = cluster_->create(bare_room("games", "room")))) return false;
    if (!room_of(*pod).ports.empty()) return true;
    (void)cluster_->remove(kube::types::kPod, "games", "room");
    return false;
  })) << error_of(pod);
  const crypto::KeyPair ours = from_files("client-ca.crt", "client-ca.key");
  const crypto::KeyPair theirs =
      crypto::make_authority({.common_name = "webhook-clients",
                              .not_before = cluster_->tasks().wall_time(),
                              .lifetime = 24h})
          .value();
  EXPECT_EQ(post({}), "403") << "without a certificate";
  EXPECT_EQ(post(certificate_of(ours, "somebody")), "403") << "of another name";
  EXPECT_THAT(post(certificate_of(theirs, "kube-apiserver")), HasSubstr("unknown ca"))
      << "of another authority";
  EXPECT_EQ(claims_in(*cluster_, "games").size(), 1u) << "and nobody else has got a port";
  EXPECT_EQ(post(from_files("webhooks.crt", "webhooks.key")), "200") << "all that is missing";
}

// What operators of the printed Deployment do.
TEST_F(WebhookClients, ThePageFitsThePrintedDeployment) {
  std::ofstream(file("webhook-clients.yaml")) << block_with("# webhook-clients.yaml");
  const auto printed = testing::run({BERTH_PROGRAM, {"manifests"}, {}}, "", kPatience);
  std::string deployment =
      printed.out.substr(0, printed.out.find("\n---", printed.out.find("kind: Deployment")));
  deployment.erase(0, deployment.rfind("---\n"));
  const auto patched =
      cluster_->plane().kubectl({"patch", "--local", "-f", "-", "--type=json", "-o", "yaml",
                                 "--patch-file=" + file("webhook-clients.yaml")},
                                deployment);
  ASSERT_TRUE(patched.ok()) << patched.err;
  EXPECT_THAT(patched.out, HasSubstr("- --webhook-client-name=kube-apiserver"));
  EXPECT_THAT(patched.out, HasSubstr("mountPath: /etc/berth/clients"));
}

}  // namespace
}  // namespace berth
