#include "attack.h"

#include <boost/json.hpp>
#include <ostream>

namespace berth::adversary {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 60s;
constexpr std::string_view kGuardSays = "by Berth alone";

template <class Answer>
std::string is_refused(const Answer& result, Code code, std::string_view text) {
  if (result) return fmt::format("it succeeded, instead of being refused ({})", text);
  const std::string said = result.error().to_string();
  if (result.error().code != code) return "another refusal was expected: " + said;
  return said.find(text) != std::string::npos ? "" : fmt::format("no '{}' in: {}", text, said);
}

template <class Answer>
std::string has_worked(const Answer& result) {
  return result ? "" : "it failed: " + result.error().to_string();
}

template <class Answer>
std::optional<std::string> judge(const Answer& write, bool guarded) {
  if (guarded) return is_refused(write, Code::forbidden, kGuardSays);
  if (!write) return has_worked(write);
  return std::nullopt;
}

}  // namespace

void PrintTo(const Attack& attack, std::ostream* out) {
  *out << attack.who << ": " << attack.what << " -> " << attack.must;
}

std::optional<std::string> Scene::forged(const Result<wire::Value>& write) {
  if (stage.guarded()) ends_here();
  return judge(write, stage.guarded());
}
std::optional<std::string> Scene::forged(const Result<>& write) {
  if (stage.guarded()) ends_here();
  return judge(write, stage.guarded());
}

std::string Scene::fence() {
  ends_here();
  return stage.fence();
}

std::string Scene::keeps(const std::string& address) {
  ends_here();
  std::string why;
  const bool kept = testing::eventually(kPatience, [&] {
    const Room own = tenant.room("own");
    if (why = tenant.is_led_to(own); !why.empty()) return false;
    why = address_of(own) == address ? "" : "own moved to " + address_of(own);
    return why.empty();
  });
  return kept ? "" : why;
}

std::string Scene::not_ready(const std::string& ns, const std::string& pod) {
  const Result<wire::Value> found = cluster().get(pods(), ns, pod);
  if (!found) return {};
  const Room room = room_of(*found);
  return room.told == api::kReady || room.gate_open ? pod + " was called Ready" : "";
}

const kube::ResourceType& listeners() { return api::listener_kind().type; }
const kube::ResourceType& bindings() { return api::port_binding_kind().type; }
const kube::ResourceType& pools() { return api::port_pool_kind().type; }
const kube::ResourceType& pods() { return kube::types::kPod; }
std::string name_of(const wire::Value& object) {
  return std::string(wire::string_at(object, "/metadata/name"));
}

std::string leaked_url(Scene& scene, const kube::ResourceType& type, std::string_view hook) {
  const Result<wire::Value> found = scene.cluster().get(type, "", "berth");
  const wire::Array* hooks = found ? wire::array_at(*found, "/webhooks") : nullptr;
  for (const wire::Value& one : hooks ? *hooks : wire::Array{})
    if (wire::string_at(one, "/name") == hook)
      return std::string(wire::string_at(one, "/clientConfig/url"));
  return {};
}

wire::Value target_group(const std::string& ip, std::int64_t port) {
  return wire::Object{
      {"protocol", "TCP"},
      {"backends", wire::Array{wire::Object{{"IP", ip}, {"port", port}, {"weight", 10}}}}};
}

const std::vector<Attack>& all_attacks() {
  static const std::vector<Attack> kAll = [] {
    std::vector<Attack> out;
    for (const auto part :
         {&listener_attacks, &own_listener_attacks, &pod_attacks, &binding_attacks, &pool_attacks,
          &webhook_attacks, &crowd_attacks, &rights_attacks, &guard_attacks}) {
      std::vector<Attack> rows = part();
      out.insert(out.end(), rows.begin(), rows.end());
    }
    return out;
  }();
  return kAll;
}

std::string refused(const Result<wire::Value>& result, Code code, std::string_view text) {
  return is_refused(result, code, text);
}
std::string refused(const Result<>& result, Code code, std::string_view text) {
  return is_refused(result, code, text);
}
std::string worked(const Result<wire::Value>& result) { return has_worked(result); }
std::string worked(const Result<>& result) { return has_worked(result); }

}  // namespace berth::adversary
