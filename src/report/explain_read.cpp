#include <algorithm>
#include <boost/json.hpp>

#include "report/explain.h"
#include "report/teller.h"
#include "report/workloads.h"

namespace berth::report {
namespace {

using wire::Array;
using wire::Value;

bool is_controlled_by(const Value& object, const Value& owner) {
  const Value* const by = controller_of(object);
  return by && wire::string_at(*by, "/uid") == wire::string_at(owner, "/metadata/uid");
}

// As the first part says of which it asks for something.
bool has_its_ports(const Parts& parts, const Value& pod) {
  for (const Part* const part : parts) {
    const std::optional<bool> served = part->is_served ? part->is_served(pod) : std::nullopt;
    if (served) return *served;
  }
  return false;
}

class Reader {
 public:
  Reader(const Context& context, kube::Client& client, ExplainView& view)
      : context_(context), client_(client), view_(view) {}

  Result<> read() {
    Result<Value> ns = find_object(context_, client_, kube::types::kNamespace, {"", view_.key.ns});
    if (!ns) return pass(ns);
    view_.ns = std::move(*ns);
    if (const FoundKind asked = explained_kind(view_.kind, view_.cluster.parts); asked.kind)
      return read_object(*asked.kind);
    Result<Value> object = find_object(context_, client_, *type_of_kind(view_.kind), view_.key);
    if (!object) return pass(object);
    if (view_.kind == "Pod" ? object->is_null() : false) return read_owner_by_name();
    if (object->is_null())
      return fail(Code::not_found, "there is no {} {}", view_.kind, view_.key.to_string());
    if (view_.kind == "Pod") {
      view_.pod = std::move(*object);
      if (Result<> read = read_owners(); !read) return read;
    } else {
      view_.workload = std::move(*object);
      if (Result<> read = choose_pod(); !read) return read;
    }
    return read_failures();
  }

 private:
  Result<> read_object(const ExplainedKind& asked) {
    Result<Value> found = client_.get(context_, asked.kind().type, view_.key);
    if (!found && found.error().code == Code::unsupported)
      return fail(Code::not_found, "there is no kind {}: Berth is not installed", view_.kind);
    if (!found && found.error().code == Code::not_found)
      return fail(Code::not_found, "there is no {} {}", view_.kind, view_.key.to_string());
    if (!found) return pass(found);
    view_.object = std::move(*found);
    return asked.read ? asked.read(context_, client_, view_) : Result<>{};
  }

  // The workload at the top: ReplicaSets belong to Deployments.
  Result<> read_owners() {
    Value current = view_.pod;
    for (int depth = 0; depth < 2; ++depth) {
      const Value* const owner = controller_of(current);
      if (!owner) return {};
      const kube::ResourceType* const type = type_of_kind(wire::string_at(*owner, "/kind"));
      if (!type) return {};
      Result<Value> found = find_object(
          context_, client_, *type, {view_.key.ns, std::string(wire::string_at(*owner, "/name"))});
      if (!found) return pass(found);
      if (found->is_null()) return {};
      view_.workload = *found;
      current = std::move(*found);
    }
    return {};
  }

  // A Pod that does not exist may be one that a StatefulSet cannot make: "room-3" of "room".
  Result<> read_owner_by_name() {
    const std::size_t dash = view_.key.name.rfind('-');
    for (const kube::ResourceType* type :
         {&kube::types::kStatefulSet, type_of_kind("GameStatefulSet")}) {
      if (dash == std::string::npos) break;
      Result<Value> found =
          find_object(context_, client_, *type, {view_.key.ns, view_.key.name.substr(0, dash)});
      if (!found) return pass(found);
      if (found->is_null()) continue;
      view_.workload = std::move(*found);
      return read_failures();
    }
    // Of one that nobody owned, its name may be left.
    if (!kept_for(view_.cluster, view_.key).empty()) return {};
    return fail(error_of(Code::not_found, "there is no Pod {}", view_.key.to_string())
                    .with_hint("ask about its workload: deployment/NAME, statefulset/NAME"));
  }

  // Of the workload's Pods the first that waits for its ports; one that has them when all do.
  Result<> choose_pod() {
    Result<std::vector<Value>> owners = replica_sets();
    if (!owners) return pass(owners);
    owners->push_back(view_.workload);
    Result<kube::ListPage> pods =
        client_.list_all(context_, kube::types::kPod, {.ns = view_.key.ns});
    if (!pods) return pass(pods);
    std::size_t found = 0;
    for (const Value& pod : pods->items) {
      const bool ours = std::ranges::any_of(
          *owners, [&](const Value& owner) { return is_controlled_by(pod, owner); });
      if (!ours) continue;
      ++found;
      if (view_.pod.is_null() || !has_its_ports(view_.cluster.parts, pod)) view_.pod = pod;
      if (!has_its_ports(view_.cluster.parts, pod)) break;
    }
    // All Pods that are there have their ports, and some are missing: that is what was asked about.
    const auto wanted = wire::int_at(view_.workload, "/spec/replicas").value_or(1);
    const bool missing = static_cast<std::int64_t>(found) < wanted;
    if (missing && !view_.pod.is_null() && has_its_ports(view_.cluster.parts, view_.pod))
      view_.pod = Value();
    if (!view_.pod.is_null()) {
      view_.kind = "Pod";
      view_.key.name = wire::string_at(view_.pod, "/metadata/name");
    }
    return {};
  }

  Result<std::vector<Value>> replica_sets() {
    std::vector<Value> out;
    if (wire::string_at(view_.workload, "/kind") != "Deployment") return out;
    Result<kube::ListPage> sets =
        client_.list_all(context_, kube::types::kReplicaSet, {.ns = view_.key.ns});
    if (!sets) return pass(sets);
    for (Value& set : sets->items)
      if (is_controlled_by(set, view_.workload)) out.push_back(std::move(set));
    return out;
  }

  Result<> read_failures() {
    if (view_.workload.is_null()) return {};
    Result<std::vector<Value>> owners = replica_sets();
    if (!owners) return pass(owners);
    owners->push_back(view_.workload);
    Result<kube::ListPage> events =
        client_.list_all(context_, kube::types::kEvent, {.ns = view_.key.ns});
    if (!events) return pass(events);
    std::vector<std::pair<std::string, std::string>> found;  // by time
    for (const Value& event : events->items) {
      const std::string_view reason = wire::string_at(event, "/reason");
      const std::string_view uid = wire::string_at(event, "/involvedObject/uid");
      const bool ours = std::ranges::any_of(*owners, [&](const Value& owner) {
        return wire::string_at(owner, "/metadata/uid") == uid;
      });
      if (ours && reason == "FailedCreate")
        found.emplace_back(wire::string_at(event, "/lastTimestamp"),
                           wire::string_at(event, "/message"));
    }
    std::ranges::sort(found);
    for (auto& [time, message] : found) view_.failures.push_back(std::move(message));
    return {};
  }

  const Context context_;
  kube::Client& client_;
  ExplainView& view_;
};

}  // namespace

Result<std::pair<std::string, std::string>> parse_target(std::string_view text,
                                                         const Parts& parts) {
  const std::size_t slash = text.find('/');
  const std::string_view word = slash == std::string_view::npos ? "pod" : text.substr(0, slash);
  const std::string_view name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  for (const KnownKind& kind : known_kinds()) {
    const bool same = word == kind.word || word == kind.type->plural || word == kind.type->kind ||
                      (!kind.short_word.empty() && word == kind.short_word);
    if (same && !name.empty()) return std::pair(kind.type->kind, std::string(name));
  }
  std::vector<const ExplainedKind*> others{&kListenerExplained};
  for (const Part* const part : parts)
    for (const ExplainedKind& one : part->explained) others.push_back(&one);
  std::string more;
  for (const ExplainedKind* const one : others) {
    const kube::ResourceType& type = one->kind().type;
    const bool same = word == type.plural || word == type.kind ||
                      std::ranges::find(one->words, word) != one->words.end();
    if (same && !name.empty()) return std::pair(type.kind, std::string(name));
    more += fmt::format(", {}/NAME", one->words.front());
  }
  return fail(Code::invalid,
              "'{}' is none of pod/NAME, deployment/NAME, statefulset/NAME, replicaset/NAME, "
              "gamestatefulset/NAME{} (po, deploy, sts and rs for short)",
              text, more);
}

Result<ExplainView> read_for_explain(const Context& context, kube::Client& client,
                                     const Parts& parts, const std::string& controller_ns,
                                     const std::string& kind, const kube::ObjectKey& key) {
  Result<ClusterView> cluster = read_cluster(context, client, parts, controller_ns);
  if (!cluster) return pass(cluster);
  ExplainView view{.cluster = std::move(*cluster), .kind = kind, .key = key};
  if (Result<> read = Reader(context, client, view).read(); !read) return pass(read);
  return view;
}

}  // namespace berth::report
