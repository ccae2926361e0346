// Posts to the webhook by somebody who can reach its port, without credentials: `curl -k`.

#include <boost/json.hpp>

#include "attack.h"

namespace berth::adversary {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr auto kPatience = 90s;
constexpr int kPosts = 10;
const kube::ResourceType& mutating() { return kube::types::kMutatingWebhookConfiguration; }
const kube::ResourceType& validating() { return kube::types::kValidatingWebhookConfiguration; }

// The address with the path that every reader of the source knows.
std::string plain_url(Scene& scene) {
  const std::string url = leaked_url(scene, mutating(), "pod-ports.berth.dev");
  return url.substr(0, url.find('/', 8)) + "/mutate-pod-ports";
}

Result<net::Response> post(Scene& scene, const std::string& url, std::string body) {
  net::Request request{.method = "POST", .url = url, .body = std::move(body)};
  request.headers.add("Content-Type", "application/json");
  const auto tls = std::make_shared<net::TlsSettings>();
  tls->insecure = true;
  request.tls = tls;
  return scene.stage.transport().call(scene.cluster().context(), request);
}

std::string pod_review(const std::string& ns, const std::string& name, const std::string& ports) {
  Value pod = bare_room(ns, name, ports);
  pod.as_object()["metadata"].as_object()["annotations"].as_object()[api::kKeepDurationAnnotation] =
      "87600h";
  const Object request{{"uid", "0c3d6d2e-0000-4000-8000-000000000000"},
                       {"operation", "CREATE"},
                       {"resource", Object{{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
                       {"namespace", ns},
                       {"name", name},
                       {"userInfo", Object{{"username", "system:masters"}}},
                       {"object", pod}};
  return wire::to_json(Object{
      {"apiVersion", "admission.k8s.io/v1"}, {"kind", "AdmissionReview"}, {"request", request}});
}

// Neither an answer that lets the Pod in, nor one that could be taken for it.
bool is_allowed(const net::Response& answer) {
  const Result<Value> review = wire::parse_json(answer.body);
  return answer.status == 200 && review &&
         wire::bool_at(*review, "/response/allowed").value_or(false);
}

// Of somebody who has to know the path, not even a review.
enum class Refusal : std::uint8_t { of_the_caller, of_the_pod };

std::string is_refused(const net::Response& answer, Refusal expected) {
  if (is_allowed(answer)) return "it was allowed: " + answer.body;
  const Result<Value> review = wire::parse_json(answer.body);
  const bool is_review = review && wire::find(*review, "/response/allowed");
  if (expected == Refusal::of_the_pod && !is_review && answer.status != 400)
    return fmt::format("it was not judged: {}: {}", answer.status, answer.body);
  if (expected == Refusal::of_the_caller && (answer.status < 400 || is_review))
    return fmt::format("a stranger was answered: {}: {}", answer.status, answer.body);
  return {};
}

std::size_t claims_on(Scene& scene, const std::string& ns) {
  return claims_in(scene.cluster(), ns).size();
}

// Ten of them, each with a name that would keep its port. `ns`: what they say they are.
std::string posts_take_nothing(Scene& scene, const std::string& url, const std::string& ns,
                               Refusal expected) {
  if (url.empty()) return "the webhook has no address";
  Tenant& tenant = scene.tenant;
  scene.ends_here();
  for (int i = 0; i < kPosts; ++i) {
    const std::string ports = fmt::format("rooms.{} TCP 8000", tenant.ns());
    const Result<net::Response> answer =
        post(scene, url, pod_review(ns, fmt::format("ghost-{}", i), ports));
    if (!answer) return "no answer: " + answer.error().to_string();
    if (std::string why = is_refused(*answer, expected); !why.empty()) return why;
  }
  const std::size_t taken = claims_on(scene, tenant.ns());
  return taken == 0 ? "" : fmt::format("{} ports were taken by posts", taken);
}

// With a namespace that is real and may use pools, a post looks like a Pod whose creation is
// refused later: its claim is bounded, and given back when no Pod comes.
std::string posts_are_found_out(Scene& scene) {
  Tenant& tenant = scene.tenant;
  const std::string url = leaked_url(scene, mutating(), "pod-ports.berth.dev");
  for (int i = 0; i < kPosts; ++i) {
    const Result<net::Response> answer =
        post(scene, url, pod_review(tenant.ns(), fmt::format("ghost-{}", i), "rooms TCP 8000"));
    if (!answer) return "no answer: " + answer.error().to_string();
  }
  scene.ends_here();
  const bool freed = eventually(kPatience, [&] { return claims_on(scene, tenant.ns()) == 0; });
  return freed ? "" : "ports are kept for Pods that never were";
}

std::string posts_for_victims_pool(Scene& scene) {
  const std::string url = leaked_url(scene, mutating(), "pod-ports.berth.dev");
  const std::string ports = fmt::format("rooms.{} TCP 8000", scene.victim().ns);
  for (int i = 0; i < kPosts; ++i) {
    const Result<net::Response> answer =
        post(scene, url, pod_review(scene.tenant.ns(), fmt::format("ghost-{}", i), ports));
    if (!answer) return "no answer: " + answer.error().to_string();
    if (std::string why = is_refused(*answer, Refusal::of_the_pod); !why.empty()) return why;
  }
  return scene.fence();
}

// A question about deleting a pool has no effect, whatever the answer.
std::string pool_review(Scene& scene) {
  const Object request{
      {"uid", "0c3d6d2e-0000-4000-8000-000000000001"},
      {"operation", "DELETE"},
      {"resource", Object{{"group", pools().group}, {"version", "v1"}, {"resource", "portpools"}}},
      {"namespace", scene.victim().ns},
      {"name", "rooms"},
      {"oldObject", scene.victim().pool}};
  const std::string url = leaked_url(scene, validating(), "portpools.berth.dev");
  const Result<net::Response> answer =
      post(scene, url,
           wire::to_json(Object{{"apiVersion", "admission.k8s.io/v1"},
                                {"kind", "AdmissionReview"},
                                {"request", request}}));
  return answer ? scene.fence() : "no answer: " + answer.error().to_string();
}

std::string nonsense(Scene& scene) {
  const std::string url = leaked_url(scene, mutating(), "pod-ports.berth.dev");
  for (const std::string& body :
       {std::string("not JSON"), std::string("{}"), std::string(100'000, '['),
        std::string(R"({"request":{"object":[]}})"), std::string(16u << 20, ' ')}) {
    const Result<net::Response> answer = post(scene, url, body);
    if (!answer) continue;  // hung up on: an answer too
    if (is_allowed(*answer)) return "nonsense was allowed";
  }
  return scene.fence();
}

}  // namespace

std::vector<Attack> webhook_attacks() {
  const std::string who = "anybody who reaches the webhook";
  const Walls any = Walls::no_matter;
  const auto leaked = [](Scene& s) { return leaked_url(s, mutating(), "pod-ports.berth.dev"); };
  return {
      {"PostWithoutTheSecret", who, "ten reviews posted to the path that the source shows",
       "refused; no port is taken", Needs::pool, any,
       [](Scene& s) {
         return posts_take_nothing(s, plain_url(s), s.tenant.ns(), Refusal::of_the_caller);
       }},
      {"PostForNoNamespace", who,
       "the address is known; reviews for a namespace that does not exist, kept for ten years",
       "refused; no port is taken", Needs::pool, any,
       [leaked](Scene& s) {
         return posts_take_nothing(s, leaked(s), "nowhere", Refusal::of_the_pod);
       }},
      {"PostForAStrangeNamespace", who, "the same for a namespace `a/b`",
       "refused; no port is taken", Needs::pool, any,
       [leaked](Scene& s) { return posts_take_nothing(s, leaked(s), "a/b", Refusal::of_the_pod); }},
      {"PostForANamespaceWithoutTheLabel", who, "the same for a namespace that may not use pools",
       "refused; no port is taken", Needs::pool, any,
       [leaked](Scene& s) {
         return posts_take_nothing(s, leaked(s), s.tenant.plain(), Refusal::of_the_pod);
       }},
      {"PostForARealNamespace", who,
       "the same for a namespace that may use pools, for Pods that never come",
       "found out and freed; nothing is kept for a name that was no Pod", Needs::pool, any,
       posts_are_found_out},
      {"PostForANeighboursPool", who, "the same for a pool that lets no other namespace in",
       "refused; no port is taken", Needs::nothing, any, posts_for_victims_pool},
      {"PostAboutAPool", who, "a review that deletes a neighbour's pool",
       "an answer, and no effect", Needs::nothing, any, pool_review},
      {"PostOfNonsense", who, "bodies that are no review: text, brackets, 16 MB",
       "refused; others are served", Needs::nothing, any, nonsense},
  };
}

}  // namespace berth::adversary
