// What a module is before anything runs: its kinds, what it reads and may do, its webhooks, servers
// and its share of the API server. Plain values and pure functions.
//
// `berth manifests`, the installation and its removal, the roles and the caches are made from the
// declarations of the modules that are on. So a module that is off costs no kind, no right, no
// webhook and no watch, and one that forgets something is found by `flaws_of` in a test.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kind.h"
#include "kube/cache/projection.h"
#include "kube/client/resource.h"
#include "module/command.h"
#include "wire/value.h"

namespace berth::module {

// After which the API server gives up on a webhook of ours; hints have less.
inline constexpr int kWebhookTimeoutSeconds = 10;

// What people may not write of a kind's objects; controllers/install/guard_policy.h.
struct Guard {
  bool of_status = false;    // its status subresource, too
  bool of_deletion = false;  // nobody but us deletes one
  std::string remedy{};      // what people change instead
};

// A kind that the module brings. Each kind has one module; others may read it.
struct Kind {
  const api::KindInfo* info = nullptr;
  // Its place in the order of installation; each is taken once.
  int place = 0;
  bool made_by_users = false;  // then we neither create nor delete any
  std::optional<Guard> guard{};
};

// What the module reads through a cache. Several modules that read a kind share one, which holds
// what any of them wants: a module must expect to see more than it asked for.
struct Read {
  kube::ResourceType type;
  // Of kinds that are not ours; of ours everything is kept.
  kube::MetaRules meta{};
  kube::Selection selection{};
};

// A right of the controller. Kinds of the module need none: they follow from `Kind`.
struct Access {
  std::string group{};
  std::vector<std::string> resources{};
  std::vector<std::string> verbs{};
  std::vector<std::string> names{};  // none: all objects

  friend bool operator==(const Access&, const Access&) = default;
};

// An entry of our webhook configurations.
struct Webhook {
  std::string name{};
  std::string path{};
  bool mutating = false;
  int order = 0;  // in which the API server calls those of one configuration
  // All of the entry but its name and where we are called.
  wire::Object entry{};
};

// What a webhook is asked about: these operations on objects of this type.
wire::Object hook_rule(const kube::ResourceType& type, const std::vector<std::string>& operations);

// An HTTP server of the module's own, beside those of webhooks and health. Who answers there is
// said when the module is built (`Platform::answers`).
struct Server {
  std::string name{};      // of its port, too: "netservice"
  std::uint16_t port = 0;  // 0: any free one, which no Service can lead to
  // The leader answers; other replicas hand requests on to it (docs/security.md), and say when to
  // come again where that cannot be. Replies are whole then, not streams without an end.
  bool leader_only = false;
  std::size_t max_body_bytes = 1u << 20;  // past it: 413
};
// As Kubernetes names ports.
inline constexpr std::size_t kMaxServerName = 15;

struct PriorityLevel {
  std::string name{};
  int shares = 0;
};

// These verbs on this resource, in every namespace.
struct Call {
  std::vector<std::string> verbs{};
  std::string group{};
  std::string resource{};
};

// Calls of ours that have seats of their own at the API server. Modules may share one by its name.
struct Flow {
  std::string name{};
  std::string level{};  // one that a module declares, or that every cluster has
  int precedence = 0;
  std::vector<Call> calls{};
};

struct Declaration {
  std::string name{};    // as people write it: "port-pools"
  std::string about{};   // one line of help
  bool is_core = false;  // always on: what every front end stands on
  std::vector<Kind> kinds{};
  std::vector<Read> reads{};
  std::vector<Access> access{};            // in the whole cluster
  std::vector<Access> namespace_access{};  // in our own namespace
  std::vector<Webhook> webhooks{};
  // On the configuration of mutating webhooks, for people and for `berth explain`.
  std::map<std::string, std::string> webhook_annotations{};
  std::vector<Server> servers{};
  std::vector<PriorityLevel> levels{};
  std::vector<Flow> flows{};
  std::vector<Command> commands{};
};

using Declarations = std::vector<Declaration>;

// What is forgotten or contradicts itself, one line each; nothing: they are sound.
std::vector<std::string> flaws_of(const Declarations& all);

// What the modules have together. Front ends first, the core last, where nothing else orders them.
std::vector<Kind> kinds_of(const Declarations& all);
std::vector<Access> access_of(const Declarations& all);
std::vector<Access> namespace_access_of(const Declarations& all);
std::vector<Webhook> webhooks_of(const Declarations& all, bool mutating);
std::map<std::string, std::string> webhook_annotations_of(const Declarations& all);
std::vector<Server> servers_of(const Declarations& all);
std::vector<PriorityLevel> levels_of(const Declarations& all);
std::vector<Command> commands_of(const Declarations& all);
std::vector<Flow> flows_of(const Declarations& all);

// All that is read of a kind; nothing: nobody reads it. Selectors that differ cannot be joined:
// then all objects are read.
std::optional<Read> read_of(const Declarations& all, const kube::ResourceType& type);

// Those that are on. `invalid`: a name that no module has, or one that cannot be off.
Result<Declarations> without(Declarations all, const std::vector<std::string>& names);

}  // namespace berth::module
