#include "report/installation.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "controllers/install/manifests.h"
#include "report/cluster.h"

namespace berth::report {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;
namespace install = controllers::install;

// Null when it is not there; what is not for us to see is noted.
Result<Value> look(const Context& context, kube::Client& client, const kube::ResourceType& type,
                   const kube::ObjectKey& key, ClusterView& view) {
  Result<Value> found = client.get(context, type, key);
  if (found) return found;
  if (found.error().code == Code::not_found || found.error().code == Code::unsupported)
    return Value();
  if (found.error().code != Code::forbidden) return found;
  if (std::ranges::find(view.unseen, type.plural) == view.unseen.end())
    view.unseen.push_back(type.plural);
  return Value();
}

Result<> read_kinds(const Context& context, kube::Client& client, ClusterView& view) {
  std::vector<const api::KindInfo*> kinds{&api::listener_kind(), &api::load_balancer_kind()};
  for (const Part* const part : view.parts) {
    if (!part->kinds || is_off(view, part->module)) continue;
    for (const api::KindInfo* const kind : part->kinds()) kinds.push_back(kind);
  }
  for (const api::KindInfo* const kind : kinds) {
    const std::string name = fmt::format("{}.{}", kind->type.plural, kind->type.group);
    const std::size_t unseen = view.unseen.size();
    Result<Value> crd =
        look(context, client, kube::types::kCustomResourceDefinition, {"", name}, view);
    if (!crd) return pass(crd);
    if (view.unseen.size() > unseen) return {};
    if (crd->is_null()) {
      view.installation.missing_kinds.push_back(name);
    } else {
      view.installation.kinds.push_back(std::move(*crd));
    }
  }
  return {};
}

// Of a controller that never led there is no lease that names its namespace.
Result<> read_pods(const Context& context, kube::Client& client, ClusterView& view) {
  kube::ListOptions ours{
      .ns = view.ns, .label_selector = fmt::format("{}={}", install::kAppLabel, install::kAppName)};
  Result<kube::ListPage> pods = client.list_all(context, kube::types::kPod, ours);
  if (!pods && pods.error().code == Code::forbidden && ours.ns.empty()) {
    ours.ns = std::string(install::kDefaultNamespace);
    pods = client.list_all(context, kube::types::kPod, ours);
  }
  if (!pods && pods.error().code != Code::forbidden) return pass(pods);
  if (!pods) {
    view.unseen.emplace_back("pods of the controller");
    return {};
  }
  view.installation.pods = std::move(pods->items);
  std::string ns = view.ns.empty() ? std::string(install::kDefaultNamespace) : view.ns;
  if (!view.installation.pods.empty())
    ns = wire::string_at(view.installation.pods.front(), "/metadata/namespace");
  Result<Value> deployment =
      look(context, client, kube::types::kDeployment, {ns, std::string(install::kAppName)}, view);
  if (!deployment) return pass(deployment);
  view.installation.deployment = std::move(*deployment);
  return {};
}

Result<> read_endpoints(const Context& context, kube::Client& client, ClusterView& view) {
  const Value* const service = wire::find(view.webhooks, "/webhooks/0/clientConfig/service");
  if (!service || !service->is_object()) return {};
  const kube::ObjectKey key{std::string(wire::string_at(*service, "/namespace")),
                            std::string(wire::string_at(*service, "/name"))};
  view.installation.webhook_service = key.to_string();
  const std::size_t unseen = view.unseen.size();
  const Result<Value> found = look(context, client, kube::types::kEndpoints, key, view);
  if (!found) return fail(found.error());
  if (view.unseen.size() > unseen) return {};
  std::size_t ready = 0;
  const Array* const subsets = wire::array_at(*found, "/subsets");
  for (const Value& subset : subsets ? *subsets : Array{})
    if (const Array* const addresses = wire::array_at(subset, "/addresses"))
      ready += addresses->size();
  view.installation.webhook_endpoints = ready;
  return {};
}

constexpr std::string_view kSecretFix =
    "a Secret that the controller's variables come from has bytes that are no text: in `data` "
    "SecretId and SecretKey are base64 of the text without a line break (echo -n ... | base64), "
    "in `stringData` the text itself; then delete the Pod";

bool is_about_image(std::string_view reason) {
  constexpr std::array<std::string_view, 6> kReasons{"ImagePullBackOff",  "ErrImagePull",
                                                     "InvalidImageName",  "ErrImageNeverPull",
                                                     "ImageInspectError", "RegistryUnavailable"};
  return std::ranges::find(kReasons, reason) != kReasons.end();
}

// "reason: message", of what there is.
std::string words_of(const Value& state) {
  const std::string_view reason = wire::string_at(state, "/reason");
  const std::string_view message = wire::string_at(state, "/message");
  return fmt::format("{}{}{}", reason, reason.empty() || message.empty() ? "" : ": ", message);
}

// What keeps this container from running; nothing: it runs, or is about to.
std::optional<Trouble> trouble_of(const std::string& pod, const Value& container) {
  const Value* const waiting = wire::find(container, "/state/waiting");
  const Value* const ended = wire::find(container, "/state/terminated");
  const Value* const before = wire::find(container, "/lastState/terminated");
  const std::string now = waiting ? words_of(*waiting) : ended ? words_of(*ended) : std::string();
  const std::string_view reason = waiting ? wire::string_at(*waiting, "/reason") : "";
  if (is_about_image(reason))
    return Trouble{fmt::format("Pod {} cannot pull its image {}: {}", pod,
                               wire::string_at(container, "/image"), now),
                   "see that the image is there and that the nodes may pull it, then: berth "
                   "manifests --image REGISTRY/berth:TAG | kubectl apply -f -"};
  const bool is_trouble = ended || reason == "CrashLoopBackOff" || reason.ends_with("Error");
  if (!is_trouble) return std::nullopt;
  const std::string last = before ? words_of(*before) : std::string();
  const std::string all = last.empty() ? now : fmt::format("{}; before: {}", now, last);
  if (all.find("setenv") != std::string::npos)
    return Trouble{fmt::format("Pod {} cannot start: {}", pod, all), std::string(kSecretFix)};
  const std::size_t slash = pod.find('/');
  return Trouble{
      fmt::format("Pod {} does not keep running: {}", pod, all),
      fmt::format("kubectl logs -n {} {} --previous", pod.substr(0, slash), pod.substr(slash + 1))};
}

std::optional<Trouble> trouble_of_scheduling(const std::string& name, const Value& pod) {
  const Array* const conditions = wire::array_at(pod, "/status/conditions");
  for (const Value& one : conditions ? *conditions : Array{}) {
    if (wire::string_at(one, "/type") == "PodScheduled" &&
        wire::string_at(one, "/status") == "False")
      return Trouble{fmt::format("Pod {} has no node: {}", name, wire::string_at(one, "/message")),
                     "give the cluster a node that it fits on"};
  }
  return std::nullopt;
}

void add_trouble_of(const Value& pod, std::vector<Trouble>& out) {
  const std::string name = fmt::format("{}/{}", wire::string_at(pod, "/metadata/namespace"),
                                       wire::string_at(pod, "/metadata/name"));
  for (const char* const list : {"/status/initContainerStatuses", "/status/containerStatuses"}) {
    const Array* const containers = wire::array_at(pod, list);
    for (const Value& one : containers ? *containers : Array{})
      if (auto trouble = trouble_of(name, one)) out.push_back(std::move(*trouble));
  }
  if (auto trouble = trouble_of_scheduling(name, pod)) out.push_back(std::move(*trouble));
}

// A Deployment whose Pods are refused, or that wants none.
std::optional<Trouble> trouble_of_deployment(const Value& deployment) {
  if (!deployment.is_object()) return std::nullopt;
  const std::string ns(wire::string_at(deployment, "/metadata/namespace"));
  const std::string name(wire::string_at(deployment, "/metadata/name"));
  if (wire::int_at(deployment, "/spec/replicas").value_or(1) == 0)
    return Trouble{fmt::format("Deployment {}/{} is scaled to 0", ns, name),
                   fmt::format("kubectl scale deployment/{} --replicas=2 -n {}", name, ns)};
  const Array* const conditions = wire::array_at(deployment, "/status/conditions");
  for (const Value& one : conditions ? *conditions : Array{}) {
    if (wire::string_at(one, "/type") == "ReplicaFailure" &&
        wire::string_at(one, "/status") == "True")
      return Trouble{fmt::format("Deployment {}/{} cannot create its Pods: {}", ns, name,
                                 wire::string_at(one, "/message")),
                     fmt::format("kubectl describe deployment/{} -n {}", name, ns)};
  }
  return std::nullopt;
}

}  // namespace

Result<> read_installation(const Context& context, kube::Client& client, ClusterView& view) {
  for (const auto read : {read_kinds, read_pods, read_endpoints})
    if (Result<> done = read(context, client, view); !done) return done;
  return {};
}

std::vector<Trouble> troubles_of_kinds(const ClusterView& view) {
  std::vector<Trouble> out;
  for (const Value& crd : view.installation.kinds) {
    if (wire::string_at(crd, "/metadata/deletionTimestamp").empty()) continue;
    out.push_back(
        {fmt::format("CustomResourceDefinition {} is being deleted, and waits for its objects to "
                     "go: new ones are refused",
                     wire::string_at(crd, "/metadata/name")),
         "let a controller run until they are gone, or take everything off with berth uninstall "
         "--yes; then install again: the controller makes its kinds anew by itself"});
  }
  // Before anything was installed, that none is there says enough.
  const bool some_are_there = !view.installation.kinds.empty();
  for (const std::string& name : view.installation.missing_kinds) {
    if (!some_are_there) break;
    out.push_back({fmt::format("CustomResourceDefinition {} is not there", name),
                   "berth manifests | kubectl apply -f -; a controller that runs makes it by "
                   "itself"});
  }
  return out;
}

std::vector<Trouble> troubles_of_pods(const ClusterView& view) {
  std::vector<Trouble> out;
  if (auto trouble = trouble_of_deployment(view.installation.deployment))
    out.push_back(std::move(*trouble));
  for (const Value& pod : view.installation.pods) add_trouble_of(pod, out);
  return out;
}

std::vector<Trouble> troubles_of_webhooks(const ClusterView& view) {
  if (view.installation.webhook_endpoints != 0) return {};
  return {{fmt::format("Service {} has no Pod that is ready: nobody answers the webhooks, and Pods "
                       "that ask for ports are refused",
                       view.installation.webhook_service),
           "see that the Pods of the controller run and are ready"}};
}

}  // namespace berth::report
