#include "recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <regex>

#include "api/load_balancer.h"
#include "base/encoding.h"
#include "base/file.h"
#include "rooms.h"
#include "wire/yaml.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using wire::Array;
using wire::Object;
using wire::Value;

constexpr std::size_t kMaxFile = 4u << 20;
constexpr unsigned kFileMode = 0644;
constexpr auto kPatience = 60s;
const std::string kAbout = "recording.yaml";
const std::string kOurs = "app.kubernetes.io/managed-by=berth";

enum class Where { one_namespace, cluster_ours, our_lease };
struct Part {
  kube::ResourceType type;
  Where where = Where::one_namespace;
};

// In the order in which they are played: who is named comes before who names him, and who acts on
// writes comes last.
const std::vector<Part>& parts() {
  using namespace kube::types;
  static const std::string kAdmission = "admissionregistration.k8s.io";
  static const std::vector<Part> kParts{
      {kCustomResourceDefinition, Where::cluster_ours},
      {kPriorityLevelConfiguration, Where::cluster_ours},
      {kFlowSchema, Where::cluster_ours},
      {api::port_pool_kind().type},
      {kStatefulSet},
      {kPod},
      {api::load_balancer_kind().type, Where::cluster_ours},
      {api::listener_kind().type},
      {api::port_binding_kind().type},
      {kLease, Where::our_lease},
      {{kAdmission, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", false},
       Where::cluster_ours},
      {{kAdmission, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding",
        false},
       Where::cluster_ours},
      {kValidatingWebhookConfiguration, Where::cluster_ours},
      {kMutatingWebhookConfiguration, Where::cluster_ours}};
  return kParts;
}

std::filesystem::path file_of(const std::filesystem::path& folder, const Part& part) {
  return folder / (part.type.plural + ".yaml");
}

std::vector<Value> found(BerthCluster& cluster, const Part& part, const std::string& ns) {
  if (part.where == Where::one_namespace) return cluster.list(part.type, ns);
  if (part.where == Where::cluster_ours) {
    // LoadBalancers are ours by their kind.
    const bool by_kind = part.type == api::load_balancer_kind().type;
    return cluster.list(part.type, "", by_kind ? "" : kOurs);
  }
  Result<Value> lease = cluster.get(part.type, "default", "berth");
  return lease ? std::vector{std::move(*lease)} : std::vector<Value>{};
}

// Without what the server writes. Of kinds of its own that is the status, too.
Value cleaned(const Part& part, Value object) {
  if (part.where == Where::cluster_ours && part.type != api::load_balancer_kind().type)
    object.as_object().erase("status");
  Object& meta = object.as_object()["metadata"].as_object();
  for (const char* key : {"managedFields", "resourceVersion", "generation", "creationTimestamp"})
    meta.erase(key);
  return object;
}

// Replaces what the pattern finds.
template <class F>
std::string replaced(const std::string& text, const std::regex& pattern, F with) {
  std::string out;
  std::size_t at = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    out.append(text, at, static_cast<std::size_t>(it->position()) - at);
    out += with(*it);
    at = static_cast<std::size_t>(it->position() + it->length());
  }
  return out.append(text, at);
}

class Player {
 public:
  Player(BerthCluster& cluster, std::filesystem::path folder)
      : cluster_(cluster), folder_(std::move(folder)) {}

  Result<> play() {
    const Result<Value> about = read_one(kAbout);
    if (!about) return fail(about.error());
    const Result<WallTime> then = parse_rfc3339(wire::string_at(*about, "/recorded"));
    if (!then) return fail(then.error());
    later_ = cluster_.tasks().wall_time() - *then;
    if (Result<> made = make_place(std::string(wire::string_at(*about, "/namespace"))); !made)
      return made;
    for (const Part& part : parts())
      if (Result<> made = make_all(part); !made) return made;
    return {};
  }

 private:
  Result<Value> read_one(const std::string& name) const {
    const Result<std::string> text = read_file((folder_ / name).string(), kMaxFile);
    return text ? wire::parse_yaml(*text) : fail(text.error());
  }

  // With the account that Pods need, which a controller would make.
  Result<> make_place(const std::string& ns) {
    const Object labels{{api::kInjectLabel, "true"}};
    const Value place{{"apiVersion", "v1"},
                      {"kind", "Namespace"},
                      {"metadata", Object{{"name", ns}, {"labels", labels}}}};
    const Value account{{"apiVersion", "v1"},
                        {"kind", "ServiceAccount"},
                        {"metadata", Object{{"name", "default"}, {"namespace", ns}}}};
    kube::Client& client = cluster_.client();
    Result<Value> made = client.create(cluster_.context(), kube::types::kNamespace, place);
    if (made) made = client.create(cluster_.context(), kube::types::kServiceAccount, account);
    return made ? Result<>{} : fail(made.error());
  }

  Result<> make_all(const Part& part) {
    const std::filesystem::path path = file_of(folder_, part);
    if (!std::filesystem::exists(path)) return {};  // that version had none of these
    const Result<std::string> text = read_file(path.string(), kMaxFile);
    if (!text) return fail(text.error());
    Result<std::vector<Value>> objects = wire::parse_yaml_documents(*text);
    if (!objects) return pass(objects);
    for (const Value& object : *objects)
      if (Result<> made = make(part.type, object); !made)
        return fail(std::move(made.error()).about(path.filename().string()));
    return {};
  }

  Result<> make(const kube::ResourceType& type, const Value& recorded) {
    Result<Value> object = wire::parse_json(adapted(wire::to_json(recorded)));
    if (!object) return pass(object);
    object->as_object()["metadata"].as_object().erase("uid");
    Result<Value> made = cluster_.client().create(cluster_.context(), type, *object);
    if (!made) return pass(made);
    const std::string uid(wire::string_at(recorded, "/metadata/uid"));
    uids_[uid] = wire::string_at(*made, "/metadata/uid");
    if (type == kube::types::kCustomResourceDefinition) return wait_served(*made);
    return put_status(type, *object, *made);
  }

  // Kinds without the subresource have it from their creation.
  Result<> put_status(const kube::ResourceType& type, const Value& wanted, Value made) {
    const Value* const status = wire::find(wanted, "/status");
    if (status == nullptr) return {};
    const Value* const has = wire::find(made, "/status");
    if (has != nullptr && *has == *status) return {};
    made.as_object()["status"] = *status;
    const Result<Value> put =
        cluster_.client().update(cluster_.context(), type, made, {.subresource = "status"});
    return put ? Result<>{} : fail(put.error());
  }

  Result<> wait_served(const Value& crd) {
    const std::string path = fmt::format("/apis/{}/{}/{}", wire::string_at(crd, "/spec/group"),
                                         wire::string_at(crd, "/spec/versions/0/name"),
                                         wire::string_at(crd, "/spec/names/plural"));
    const bool served = eventually(
        kPatience, [&] { return cluster_.client().raw_get(cluster_.context(), path).has_value(); });
    return served ? Result<>{} : fail(Code::timeout, "{} is not served", path);
  }

  // The same, as if it had happened just now and here.
  std::string adapted(std::string text) const {
    static const std::regex kTime(R"((\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z)");
    static const std::regex kToken(R"(\b([0-9a-f]{8})(-[0-9a-f]{32})\b)");
    static const std::regex kWebhook(R"(https://127\.0\.0\.1:\d+)");
    for (const auto& [recorded, now] : uids_)
      text = replaced(text, std::regex(recorded), [&](const auto&) { return now; });
    text = replaced(text, kTime, [&](const std::smatch& match) {
      const WallTime at = parse_rfc3339(match.str()).value() + later_;
      return match[2].matched ? format_rfc3339_micro(at) : format_rfc3339(at);
    });
    text = replaced(text, kToken, [&](const std::smatch& match) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(later_).count();
      return fmt::format("{:08x}{}", std::stoll(match[1].str(), nullptr, 16) + seconds,
                         match[2].str());
    });
    return replaced(text, kWebhook, [&](const auto&) {
      return fmt::format("https://127.0.0.1:{}", cluster_.webhook_port());
    });
  }

  BerthCluster& cluster_;
  const std::filesystem::path folder_;
  Duration later_{};
  std::map<std::string, std::string> uids_;  // as recorded, and as they are here
};

}  // namespace

std::vector<std::filesystem::path> recordings() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(BERTH_RECORDED))
    if (std::filesystem::exists(entry.path() / kAbout)) out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

Result<> record(BerthCluster& cluster, const std::string& ns, const std::filesystem::path& folder,
                const std::string& version) {
  std::filesystem::create_directories(folder);
  const Value about = Object{{"version", version},
                             {"recorded", format_rfc3339(cluster.tasks().wall_time())},
                             {"namespace", ns}};
  Result<> written = write_file((folder / kAbout).string(), wire::to_yaml(about), kFileMode);
  for (const Part& part : parts()) {
    std::string text;
    for (Value& object : found(cluster, part, ns)) {
      if (!object.as_object().contains("kind")) {
        object.as_object()["kind"] = part.type.kind;
        object.as_object()["apiVersion"] = part.type.api_version();
      }
      text += "---\n" + wire::to_yaml(cleaned(part, std::move(object)));
    }
    if (text.empty() || !written) continue;
    written = write_file(file_of(folder, part).string(), text, kFileMode);
  }
  return written;
}

Result<> play(BerthCluster& cluster, const std::filesystem::path& folder) {
  return Player(cluster, folder).play();
}

}  // namespace berth
