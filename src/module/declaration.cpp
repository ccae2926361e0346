#include "module/declaration.h"

#include <algorithm>
#include <boost/json.hpp>
#include <functional>
#include <ranges>
#include <set>

namespace berth::module {
namespace {

// Levels that every cluster has.
constexpr std::string_view kLevelsOfTheCluster[] = {"leader-election", "workload-high",
                                                    "workload-low", "global-default"};

bool has(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

void join(std::vector<std::string>& into, const std::vector<std::string>& more) {
  for (const std::string& one : more)
    if (!has(into, one)) into.push_back(one);
}

// Keeps `sorted` in the order of `place`, equals as they came. Not std::stable_sort: libstdc++ 12
// calls what C++23 has deprecated in it, and clang says so.
template <class Item, class Place>
void insert_after_equals(std::vector<Item>& sorted, const Item& item, Place place) {
  sorted.insert(std::ranges::upper_bound(sorted, std::invoke(place, item), {}, place), item);
}

void join(kube::KeyFilter& into, const kube::KeyFilter& more) {
  into.all = into.all || more.all;
  join(into.prefixes, more.prefixes);
}

void join(std::string& selector, const std::string& other) {
  if (selector != other) selector.clear();
}

void join(Read& into, const Read& more) {
  join(into.meta.labels, more.meta.labels);
  join(into.meta.annotations, more.meta.annotations);
  into.meta.finalizers = into.meta.finalizers || more.meta.finalizers;
  into.meta.owners = into.meta.owners || more.meta.owners;
  join(into.selection.ns, more.selection.ns);
  join(into.selection.label_selector, more.selection.label_selector);
  join(into.selection.field_selector, more.selection.field_selector);
}

std::vector<const Declaration*> core_last(const Declarations& all) {
  std::vector<const Declaration*> out;
  for (const bool core : {false, true})
    for (const Declaration& one : all)
      if (one.is_core == core) out.push_back(&one);
  return out;
}

// Rights on the same objects are one rule.
std::vector<Access> joined(const Declarations& all, std::vector<Access> Declaration::* rules) {
  std::vector<Access> out;
  for (const Declaration* const one : core_last(all)) {
    for (const Access& rule : one->*rules) {
      const auto same = std::ranges::find_if(out, [&](const Access& known) {
        const bool may_join = rule.names.empty() || known.verbs == rule.verbs;
        return known.group == rule.group && known.resources == rule.resources &&
               known.names == rule.names && may_join;
      });
      if (same == out.end()) {
        out.push_back(rule);
      } else {
        join(same->verbs, rule.verbs);
      }
    }
  }
  return out;
}

bool may(const std::vector<Access>& rules, std::string_view verb, std::string_view group,
         std::string_view resource) {
  return std::ranges::any_of(rules, [&](const Access& rule) {
    return rule.group == group && has(rule.resources, resource) && has(rule.verbs, verb);
  });
}

class Judge {
 public:
  explicit Judge(const Declarations& all) : all_(all) {}

  std::vector<std::string> judge() {
    for (const Declaration& one : all_) {
      if (one.name.empty()) flaw(one, "has no name");
      if (one.about.empty()) flaw(one, "does not say what it is for");
      if (!names_.insert(one.name).second) flaw(one, "has the name of another one");
      for (const Kind& kind : one.kinds) look_at(one, kind);
      for (const Read& read : one.reads) look_at(one, read);
      for (const Access& rule : one.access) look_at(one, rule);
      for (const Webhook& hook : one.webhooks) look_at(one, hook);
      for (const Server& server : one.servers) look_at(one, server);
      for (const Flow& flow : one.flows) look_at(one, flow);
      for (const Command& command : one.commands) look_at(one, command);
    }
    const auto cores = std::ranges::count_if(all_, &Declaration::is_core);
    if (cores != 1) out_.push_back(fmt::format("{} modules are the core", cores));
    return std::move(out_);
  }

 private:
  template <class... Args>
  void flaw(const Declaration& of, fmt::format_string<Args...> format, Args&&... args) {
    out_.push_back(of.name + ": " + fmt::format(format, std::forward<Args>(args)...));
  }

  void look_at(const Declaration& of, const Kind& kind) {
    if (!kind.info) return flaw(of, "a kind has no table");
    const kube::ResourceType& type = kind.info->type;
    if (!types_.insert(type.plural + "." + type.group).second)
      flaw(of, "{} is another module's kind", type.kind);
    if (!places_.insert(kind.place).second)
      flaw(of, "{} has the place of another kind in the order of installation", type.kind);
    if (!read_of(all_, type)) flaw(of, "nobody reads {}", type.kind);
    if (kind.guard && kind.guard->remedy.empty())
      flaw(of, "who may not write a {} is not told what to do instead", type.kind);
  }

  void look_at(const Declaration& of, const Read& read) {
    const kube::ResourceType& type = read.type;
    // One that is known by its name is read by its name, and needs no right to all others.
    if (type == kube::types::kSecret)
      return flaw(of, "Secrets are read by name, not through a cache");
    const auto kinds = kinds_of(all_);
    if (std::ranges::any_of(kinds,
                            [&](const Kind& kind) { return kind.info && kind.info->type == type; }))
      return;
    for (const char* verb : {"list", "watch"})
      if (!may(of.access, verb, type.group, type.plural))
        flaw(of, "reads {} without the right to {} them", type.plural, verb);
  }

  void look_at(const Declaration& of, const Access& rule) {
    if (rule.resources.empty() || rule.verbs.empty()) flaw(of, "a right is to nothing");
    for (const auto* const list : {&rule.resources, &rule.verbs})
      for (const std::string& text : *list)
        if (text.find('*') != std::string::npos) flaw(of, "a right is to everything: {}", text);
    if (rule.group.empty() && has(rule.resources, "secrets"))
      flaw(of, "a right is to Secrets of all namespaces");
  }

  void look_at(const Declaration& of, const Webhook& hook) {
    if (hook.name.empty() || !hook.path.starts_with('/'))
      flaw(of, "webhook {} has no path", hook.name);
    for (const std::string& taken : {hook.name, hook.path})
      if (!hooks_.insert(taken).second) flaw(of, "{} is another webhook's", taken);
    for (const char* key :
         {"rules", "failurePolicy", "sideEffects", "timeoutSeconds", "admissionReviewVersions"})
      if (!hook.entry.contains(key)) flaw(of, "webhook {} has no {}", hook.name, key);
  }

  void look_at(const Declaration& of, const Server& server) {
    const auto fits = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    };
    const std::string& name = server.name;
    if (name.empty() || name.size() > kMaxServerName || !std::ranges::all_of(name, fits))
      flaw(of, "'{}' cannot be the name of a server: 1-{} of a-z, 0-9 and -", name, kMaxServerName);
    if (!servers_.insert(name).second) flaw(of, "server {} is there twice", name);
    if (server.port != 0 && !ports_.insert(server.port).second)
      flaw(of, "port {} is another server's", server.port);
  }

  void look_at(const Declaration& of, const Flow& flow) {
    const auto levels = levels_of(all_);
    const bool known =
        std::ranges::find(levels, flow.level, &PriorityLevel::name) != levels.end() ||
        std::ranges::find(kLevelsOfTheCluster, flow.level) != std::end(kLevelsOfTheCluster);
    if (!known) flaw(of, "flow {} goes to level {}, which is not there", flow.name, flow.level);
    if (flow.calls.empty()) flaw(of, "flow {} takes no call", flow.name);
  }

  void look_at(const Declaration& of, const Command& command) {
    const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || c == '-' || c == ' '; };
    const std::string& name = command.name;
    if (name.empty() || !std::ranges::all_of(name, fits) || std::ranges::count(name, ' ') > 1)
      flaw(of, "'{}' cannot be a command: one word or two of a-z and -", name);
    if (!commands_.insert(name).second) flaw(of, "command {} is there twice", name);
    if (command.about.empty()) flaw(of, "command {} does not say what it does", name);
    if (!command.example.starts_with("berth " + name))
      flaw(of, "command {} has no example that begins with 'berth {}'", name, name);
    if (!command.run) flaw(of, "command {} does nothing", name);
    std::set<std::string> keys{"kubeconfig", "context", "output", "help"};
    for (const CommandOption& option : command.options) {
      if (!keys.insert(key_of(option)).second)
        flaw(of, "command {} has {} twice", name, option.name);
      if (option.help.empty()) flaw(of, "command {} does not explain {}", name, option.name);
      if (!option.name.starts_with('-') && option.value.empty())
        flaw(of, "command {}: argument {} cannot be a switch", name, option.name);
    }
  }

  const Declarations& all_;
  std::vector<std::string> out_;
  std::set<std::string> names_, types_, hooks_, servers_, commands_;
  std::set<int> places_, ports_;
};

}  // namespace

wire::Object hook_rule(const kube::ResourceType& type, const std::vector<std::string>& operations) {
  return {{"apiGroups", wire::Array{wire::Value(type.group)}},
          {"apiVersions", wire::Array{wire::Value(type.version)}},
          {"resources", wire::Array{wire::Value(type.plural)}},
          {"operations", wire::Array(operations.begin(), operations.end())},
          {"scope", type.namespaced ? "Namespaced" : "Cluster"}};
}

std::vector<std::string> flaws_of(const Declarations& all) { return Judge(all).judge(); }

std::vector<Kind> kinds_of(const Declarations& all) {
  std::vector<Kind> out;
  for (const Declaration& one : all) out.insert(out.end(), one.kinds.begin(), one.kinds.end());
  std::ranges::sort(out, {}, &Kind::place);
  return out;
}

std::vector<Access> access_of(const Declarations& all) { return joined(all, &Declaration::access); }

std::vector<Access> namespace_access_of(const Declarations& all) {
  return joined(all, &Declaration::namespace_access);
}

std::vector<Webhook> webhooks_of(const Declarations& all, bool mutating) {
  std::vector<Webhook> out;
  for (const Declaration& one : all)
    for (const Webhook& hook : one.webhooks)
      if (hook.mutating == mutating) insert_after_equals(out, hook, &Webhook::order);
  return out;
}

std::map<std::string, std::string> webhook_annotations_of(const Declarations& all) {
  std::map<std::string, std::string> out;
  for (const Declaration& one : all)
    out.insert(one.webhook_annotations.begin(), one.webhook_annotations.end());
  return out;
}

std::vector<Server> servers_of(const Declarations& all) {
  std::vector<Server> out;
  for (const Declaration& one : all) out.insert(out.end(), one.servers.begin(), one.servers.end());
  return out;
}

std::vector<PriorityLevel> levels_of(const Declarations& all) {
  std::vector<PriorityLevel> out;
  for (const Declaration* const one : core_last(all)) {
    for (const PriorityLevel& level : one->levels)
      if (std::ranges::find(out, level.name, &PriorityLevel::name) == out.end())
        out.push_back(level);
  }
  return out;
}

std::vector<Command> commands_of(const Declarations& all) {
  std::vector<Command> out;
  for (const Declaration& one : all)
    out.insert(out.end(), one.commands.begin(), one.commands.end());
  return out;
}

std::string key_of(const CommandOption& option) {
  const std::size_t comma = option.name.rfind(',');
  const std::string last = comma == std::string::npos ? option.name : option.name.substr(comma + 1);
  return last.substr(std::min(last.find_first_not_of('-'), last.size()));
}

std::vector<Flow> flows_of(const Declarations& all) {
  std::vector<Flow> out;
  for (const Declaration* const one : core_last(all)) {
    for (const Flow& flow : one->flows) {
      const auto same = std::ranges::find(out, flow.name, &Flow::name);
      if (same == out.end()) {
        insert_after_equals(out, flow, &Flow::precedence);
      } else {
        same->calls.insert(same->calls.end(), flow.calls.begin(), flow.calls.end());
      }
    }
  }
  return out;
}

std::optional<Read> read_of(const Declarations& all, const kube::ResourceType& type) {
  std::optional<Read> out;
  for (const Declaration& one : all) {
    for (const Read& read : one.reads) {
      if (read.type != type) continue;
      if (out) {
        join(*out, read);
      } else {
        out = read;
      }
    }
  }
  return out;
}

Result<Declarations> without(Declarations all, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all, name, &Declaration::name);
    if (found != all.end() && !found->is_core) continue;
    std::string known;
    for (const Declaration& one : all)
      if (!one.is_core) known += (known.empty() ? "" : ", ") + one.name;
    return fail(error_of(Code::invalid, "'{}' is no module that can be left out", name)
                    .with_hint("there are " + known));
  }
  std::erase_if(all, [&](const Declaration& one) { return has(names, one.name); });
  return all;
}

}  // namespace berth::module
