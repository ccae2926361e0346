// An attack is a row: who, what, and what must happen. The same rows are the table of
// docs/security.md.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "stage.h"

namespace berth::adversary {

// What an attack finds when it begins.
enum class Needs : std::uint8_t {
  nothing,  // namespaces and rights
  pool,     // and a pool of three ports, Ready
  room,     // and a room `own` on one of them, Ready
};

// The rows about objects that the guard covers are tried with it and without it.
enum class Walls : std::uint8_t { either, no_matter, guard_only };

// One attack on its way.
class Scene {
 public:
  Scene(Stage& on, Tenant& as) : stage(on), tenant(as) {}

  Stage& stage;
  Tenant& tenant;

  BerthCluster& cluster() { return stage.cluster(); }
  const Victim& victim() { return stage.victim(); }

  // A write that only the guard refuses. With it: how the row ends. Without it the write succeeds,
  // and the row goes on to show that it gains nothing.
  std::optional<std::string> forged(const Result<wire::Value>& write);
  std::optional<std::string> forged(const Result<>& write);

  // Stage::fence. A row that never calls it has one behind its act.
  std::string fence();
  // Nothing is left to wait for: the row has seen how it ends.
  void ends_here() { fenced_ = true; }
  bool is_fenced() const { return fenced_; }

  // The tenant's room `own` is Ready, or will be, at the address that it has had, and its port
  // leads to it alone.
  std::string keeps(const std::string& address);
  std::string own_address() { return address_of(tenant.room("own")); }
  // After a fence: the Pod was not called Ready.
  std::string not_ready(const std::string& ns, const std::string& pod);

 private:
  bool fenced_ = false;
};

// Empty, or what went wrong.
using Act = std::function<std::string(Scene&)>;

struct Attack {
  std::string name;  // of the test: CamelCase
  std::string who;
  std::string what;
  std::string must;
  Needs needs = Needs::nothing;
  Walls walls = Walls::no_matter;
  Act act{};
};
void PrintTo(const Attack& attack, std::ostream* out);

std::vector<Attack> listener_attacks();
std::vector<Attack> own_listener_attacks();
std::vector<Attack> pod_attacks();
std::vector<Attack> binding_attacks();
std::vector<Attack> pool_attacks();
std::vector<Attack> webhook_attacks();
std::vector<Attack> crowd_attacks();
std::vector<Attack> rights_attacks();
std::vector<Attack> guard_attacks();
// All of them, in this order.
const std::vector<Attack>& all_attacks();

// Short names for rows.
const kube::ResourceType& listeners();
const kube::ResourceType& bindings();
const kube::ResourceType& pools();
const kube::ResourceType& pods();
std::string name_of(const wire::Value& object);
// {"targetGroup": ...} with one target; null takes it off.
wire::Value target_group(const std::string& ip, std::int64_t port);

// Where the API server calls a webhook of ours: what its errors would give away.
std::string leaked_url(Scene& scene, const kube::ResourceType& type, std::string_view hook);

// For acts: that a call was refused with this code, and with this in its message.
std::string refused(const Result<wire::Value>& result, Code code, std::string_view text = "");
std::string refused(const Result<>& result, Code code, std::string_view text = "");
std::string worked(const Result<wire::Value>& result);
std::string worked(const Result<>& result);

}  // namespace berth::adversary
