// A fixture: a playground with Ingresses in it. Where their Listeners lead, what a simulated cloud
// has of them, and who answers at their doors.
#pragma once

#include <gmock/gmock.h>

#include <map>

#include "../playground/world.h"
#include "api/ingress.h"
#include "base/subprocess.h"
#include "crypto/certificates.h"
#include "edge/echo_server.h"
#include "edge/haproxy/runner.h"
#include "support/cloud_dump.h"

namespace berth {

class IngressWorld : public World {
 protected:
  using Array = wire::Array;
  using Value = wire::Value;

  static constexpr int kAnswerMs = 20'000;
  // The same for everybody who runs the tests.
  static constexpr edge::LowPorts kLow{.limit = 1024, .offset = edge::kLowPortOffset};

  // HTTP and TLS are carried by it. A CI that has lost it fails instead of passing over what it
  // proves.
  static bool has_haproxy() {
    const bool found = !edge::haproxy::find_program().empty();
    EXPECT_TRUE(found || std::getenv("CI") == nullptr) << "CI lacks haproxy";
    return found;
  }

  // --- objects ---
  Value pod_of(const std::string& ns, const std::string& prefix) {
    Value found;
    EXPECT_TRUE(eventually([&] {
      for (const Value& pod : list(kube::types::kPod, ns)) {
        if (wire::string_at(pod, "/metadata/name").starts_with(prefix) &&
            !wire::string_at(pod, "/status/podIP").empty())
          found = pod;
      }
      return !found.is_null();
    })) << prefix;
    return found;
  }
  static std::string ip(const Value& pod) {
    return std::string(wire::string_at(pod, "/status/podIP"));
  }
  static std::string node_ip(const Value& pod) {
    return std::string(wire::string_at(pod, "/status/hostIP"));
  }
  // "default/web-0", as it says itself.
  static std::string name_of(const Value& pod) {
    return fmt::format("{}/{}", wire::string_at(pod, "/metadata/namespace"),
                       wire::string_at(pod, "/metadata/name"));
  }
  std::int64_t node_port(const std::string& ns, const std::string& service) {
    return wire::int_at(get(kube::types::kService, ns, service), "/spec/ports/0/nodePort")
        .value_or(0);
  }
  // A Deployment of one Pod and a NodePort Service of it.
  struct Web {
    std::string ns = "default";
    std::string name{};
    int port = 8080;          // of the Service
    int target = 8080;        // of the Pods
    int node_port = 0;        // 0: any
    std::string labels{};     // ", version: v1" of the Pods
    std::string container{};  // ", hostPort: 18080" of the container's port
  };
  void make_service(const Web& web) {
    const std::string chosen =
        web.node_port == 0 ? "" : fmt::format(", nodePort: {}", web.node_port);
    create(fmt::format(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {0}, namespace: {1}}}
spec:
  replicas: 1
  selector: {{matchLabels: {{run: {0}}}}}
  template:
    metadata: {{labels: {{run: {0}, app: {0}{4}}}}}
    spec: {{containers: [{{name: main, image: main, ports: [{{containerPort: {3}{5}}}]}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: {0}, namespace: {1}}}
spec:
  type: NodePort
  selector: {{app: {0}}}
  ports: [{{protocol: TCP, port: {2}, targetPort: {3}{6}}}]
)",
                       web.name, web.ns, web.port, web.target, web.labels, web.container, chosen));
  }
  // A Secret with a certificate for this domain, of an authority whose certificate is returned.
  std::string make_certificate(const std::string& ns, const std::string& name,
                               const std::string& domain) {
    const WallTime since = tasks_.wall_time() - std::chrono::hours{1};
    const crypto::KeyPair authority =
        crypto::make_authority(
            {.common_name = "test", .not_before = since, .lifetime = std::chrono::hours{24}})
            .value();
    const crypto::KeyPair own =
        crypto::issue_certificate(authority, {.common_name = domain,
                                              .dns_names = {domain},
                                              .not_before = since,
                                              .lifetime = std::chrono::hours{24}})
            .value();
    const wire::Object secret{
        {"apiVersion", "v1"},
        {"kind", "Secret"},
        {"metadata", wire::Object{{"name", name}, {"namespace", ns}}},
        {"type", "kubernetes.io/tls"},
        {"stringData", wire::Object{{"tls.crt", own.certificate_pem},
                                    {"tls.key", std::string(own.key_pem.reveal())}}}};
    create(wire::to_json(secret));
    return authority.certificate_pem;
  }

  // --- what becomes of an Ingress ---
  // "ip:port weight" of each backend of a Listener, over all its rules.
  std::vector<std::string> backends(const std::string& ns, const std::string& listener) {
    const Value object = get(api::listener_kind().type, ns, listener);
    std::vector<std::string> out;
    const auto add = [&](const Value& holder) {
      const Array* list = wire::array_at(holder, "/targetGroup/backends");
      for (const Value& one : list ? *list : Array{})
        out.push_back(fmt::format("{}:{} {}", wire::string_at(one, "/IP"),
                                  wire::int_at(one, "/port").value_or(0),
                                  wire::int_at(one, "/weight").value_or(0)));
    };
    if (const Value* spec = wire::find(object, "/spec")) add(*spec);
    const Array* rules = wire::array_at(object, "/spec/rules");
    for (const Value& rule : rules ? *rules : Array{}) add(rule);
    return out;
  }
  bool leads(const std::string& ns, const std::string& listener, std::vector<std::string> wanted) {
    std::ranges::sort(wanted);
    std::vector<std::string> found;
    const bool yes = eventually([&] {
      found = backends(ns, listener);
      std::ranges::sort(found);
      return found == wanted;
    });
    EXPECT_EQ(found, wanted) << listener;
    return yes;
  }
  bool is_ready(const std::string& ns, const std::string& name) {
    const bool yes = eventually([&] {
      return wire::string_at(get(api::ingress_kind().type, ns, name), "/status/status") == "Ready";
    });
    EXPECT_TRUE(yes) << wire::to_json(get(api::ingress_kind().type, ns, name));
    return yes;
  }
  // Where that port of the n-th load balancer of the Ingress is reached.
  model::Target door(const std::string& ns, const std::string& ingress, model::Port port,
                     int nth = 0) {
    std::string address;
    EXPECT_TRUE(eventually([&] {
      address = wire::string_at(get(api::ingress_kind().type, ns, ingress),
                                fmt::format("/status/loadbalancers/{}/ips/0", nth));
      return !address.empty();
    })) << ns
        << "/" << ingress;
    return {address, kLow.opened_at(port)};
  }

  // --- what the simulated cloud has of it ---
  Value cloud_listener(const std::string& lb, int port, const std::string& protocol) {
    return testing::cloud_listener(cloud(), lb, port, protocol);
  }
  // Once it is as wished; its last state otherwise, with a failure.
  Value expect_in_cloud(const std::string& lb, int port, const std::string& protocol,
                        std::vector<std::string> targets) {
    std::ranges::sort(targets);
    Value found;
    EXPECT_TRUE(eventually([&] {
      found = cloud_listener(lb, port, protocol);
      return !found.is_null() && testing::cloud_targets(found) == targets;
    })) << lb
        << ":" << port << " is " << wire::to_json(found) << ", wanted "
        << fmt::format("{}", fmt::join(targets, ", "));
    return found;
  }

  // --- who answers ---
  // "default/web-0", as it says itself; or what was heard instead.
  static std::string who(const model::Target& at) {
    const auto heard = edge::ask_over_tcp(at, "ahoy", kAnswerMs);
    if (!heard) return heard.error().to_string();
    constexpr std::string_view kGreeting = "this is ", kEcho = "\nahoy";
    if (!heard->starts_with(kGreeting) || !heard->ends_with(kEcho)) return *heard;
    return heard->substr(kGreeting.size(), heard->size() - kGreeting.size() - kEcho.size());
  }
  // Somebody answers there by now: traffic follows what Listeners say in a moment.
  void expect_answer(const model::Target& at, const std::string& pod) {
    std::string heard;
    EXPECT_TRUE(eventually([&] { return (heard = who(at)) == pod; }))
        << model::to_string(at) << " says " << heard << ", not " << pod;
  }
  // So many connections one after the other, by who answered.
  static std::map<std::string, int> spread(const model::Target& at, int connections) {
    std::map<std::string, int> out;
    for (int i = 0; i < connections; ++i) ++out[who(at)];
    return out;
  }
  // An echo over UDP, which the Pod's log tells of, too.
  void expect_echo_over_udp(const model::Target& at, const std::string& ns, const std::string& pod,
                            model::Port inside) {
    EXPECT_TRUE(eventually([&] {
      return edge::ask_over_udp(at, "ahoy", 1'000).value_or("") == "ahoy";
    })) << model::to_string(at);
    const auto log = play_->client().raw_get(
        context_.within(60s), fmt::format("/api/v1/namespaces/{}/pods/{}/log", ns, pod));
    ASSERT_TRUE(log) << log.error().to_string();
    EXPECT_NE(log->find(fmt::format("\nudp {}: ", inside)), std::string::npos)
        << pod << " heard nothing:\n"
        << *log;
  }
  // "200 this is default/web-0", "404": the status and the first line that a room said.
  std::string ask_over_http(const std::string& scheme, const model::Target& at,
                            const std::string& domain, const std::string& path,
                            const std::vector<std::string>& more = {}) {
    Command curl{.program = "curl",
                 .args = {"-sS", "--max-time", "20", "-w", "\n%{http_code}", "--resolve",
                          fmt::format("{}:{}:{}", domain, at.port, at.ip),
                          fmt::format("{}://{}:{}{}", scheme, domain, at.port, path)}};
    curl.args.insert(curl.args.end(), more.begin(), more.end());
    const auto result = run_command(context_.within(60s), curl);
    if (!result) return result.error().to_string();
    if (result->exit_code != 0) return result->err;
    const std::string& text = result->out;
    const std::string status = text.substr(text.rfind('\n') + 1);
    return status == "200" ? "200 " + text.substr(0, text.find('\n')) : status;
  }
  void expect_http(const std::string& scheme, const model::Target& at, const std::string& domain,
                   const std::string& path, const std::string& wanted,
                   const std::vector<std::string>& more = {}) {
    std::string heard;
    EXPECT_TRUE(eventually([&] {
      return (heard = ask_over_http(scheme, at, domain, path, more)) == wanted;
    })) << scheme
        << "://" << domain << path << " says " << heard << ", not " << wanted;
  }
};

}  // namespace berth
