#include "controllers/install/uninstall.h"

#include <algorithm>
#include <array>
#include <ranges>

#include "api/decode.h"
#include "api/kind.h"
#include "api/listener.h"
#include "controllers/install/holders.h"
#include "controllers/install/object_sweep.h"
#include "controllers/install/removal.h"

namespace berth::controllers::install {
namespace {

using kube::ResourceType;
using wire::Value;

constexpr Duration kPause = std::chrono::milliseconds{100};
// A controller has half a minute to end, and a CRD goes when its objects have gone.
constexpr Duration kPatience = std::chrono::seconds{90};
constexpr Duration kClockDifference = std::chrono::minutes{2};
constexpr std::size_t kNamedPods = 10;

bool is_webhook(const ResourceType& type) {
  return type == kube::types::kMutatingWebhookConfiguration ||
         type == kube::types::kValidatingWebhookConfiguration;
}

bool is_missing(const Error& error) {
  return error.code == Code::not_found || error.code == Code::unsupported;
}

// Waits for something to be true. An answer that is an error ends it; a deadline says no.
template <class Ask>
Result<bool> eventually(const Context& context, Ask ask) {
  for (;;) {
    Result<bool> yes = ask();
    if (!yes || *yes) return yes;
    if (!sleep_for(context.tasks, kPause, context.stop)) return fail(context.end_error());
    if (context.expired()) return false;
  }
}

std::string some_of(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names | std::views::take(kNamedPods))
    out += (out.empty() ? "" : ", ") + name;
  if (names.size() > kNamedPods) out += fmt::format(" and {} more", names.size() - kNamedPods);
  return out;
}

// The leader's lease as far as it says whether somebody holds it.
struct LeaseView {
  std::string holder{};
  std::string renewed{};
  Duration duration{};
};

LeaseView view_of(const Value& lease) {
  return {.holder = std::string(wire::string_at(lease, "/spec/holderIdentity")),
          .renewed = std::string(wire::string_at(lease, "/spec/renewTime")),
          .duration =
              std::chrono::seconds{wire::int_at(lease, "/spec/leaseDurationSeconds").value_or(0)}};
}

// By the clock, and only roughly: the holder's may differ from ours.
bool may_be_held(const LeaseView& view, WallTime now) {
  const Result<WallTime> renewed = parse_rfc3339(view.renewed);
  return !view.holder.empty() && renewed && now < *renewed + view.duration + kClockDifference;
}

}  // namespace

Uninstaller::Uninstaller(kube::Client& client, UninstallOptions options, Tell tell)
    : client_(client), options_(std::move(options)), tell_(std::move(tell)) {}

// The other way round than they were applied; what carries the mark goes last, so that a controller
// that is started in between knows.
std::vector<Uninstaller::Doomed> Uninstaller::doomed() const {
  std::vector<Doomed> out;
  for (const Wanted& wanted : manifests({.modules = options_.modules,
                                         .ns = options_.ns,
                                         .with_webhooks = true,
                                         .apiserver_cidrs = {"0.0.0.0/0"}})) {
    if (wanted.type == kube::types::kNamespace) continue;
    if (options_.keep_crds && wanted.type == kube::types::kCustomResourceDefinition) continue;
    out.push_back({wanted.type, {wanted.type.namespaced ? options_.ns : "", wanted.name()}});
  }
  std::ranges::reverse(out);
  for (const std::string_view secret : {kCertificateSecret, kKeysSecret})
    out.push_back({kube::types::kSecret, {options_.ns, std::string(secret)}, false});
  out.push_back({kube::types::kLease, {options_.ns, std::string(kLeaseName)}, false});
  const auto marked = std::ranges::find_if(out, [](const Doomed& one) {
    return one.type == kube::types::kCustomResourceDefinition && one.key.name == marked_crd();
  });
  if (marked != out.end()) std::rotate(marked, marked + 1, out.end());
  return out;
}

Result<std::string> Uninstaller::uid_of(const Context& context, const Doomed& one) {
  const Result<Value> found = client_.get(context, one.type, one.key);
  if (!found && is_missing(found.error())) return std::string();
  if (!found) return fail(found.error());
  const std::string label =
      fmt::format("/metadata/labels/{}", wire::escape_pointer_step(kManagedByLabel));
  const bool ours = !one.must_be_labelled || wire::string_at(*found, label) == kManagedBy;
  return std::string(ours ? wire::string_at(*found, "/metadata/uid") : "");
}

Result<bool> Uninstaller::is_there(const Context& context, const Doomed& one) {
  Result<std::string> uid = uid_of(context, one);
  if (!uid) return pass(uid);
  return !uid->empty();
}

Result<bool> Uninstaller::is_running(const Context& context) {
  const Result<Value> lease =
      client_.get(context, kube::types::kLease, {options_.ns, std::string(kLeaseName)});
  if (!lease && is_missing(lease.error())) return false;
  if (!lease) return fail(lease.error());
  return may_be_held(view_of(*lease), context.tasks.wall_time());
}

Result<std::vector<std::string>> Uninstaller::holders(const Context& context) {
  const Result<kube::ListPage> page = client_.list_all(context, api::listener_kind().type);
  if (!page && is_missing(page.error())) return std::vector<std::string>();
  if (!page) return fail(page.error());
  std::vector<api::Listener> listeners;
  for (const Value& object : page->items) {
    Result<api::Listener> listener = api::decode_listener(object);
    if (!listener) return pass(listener);
    listeners.push_back(std::move(*listener));
  }
  if (listeners.empty()) return std::vector<std::string>();
  const Result<kube::ListPage> pods = client_.list_all(context, kube::types::kPod);
  if (!pods) return fail(pods.error());
  return port_holders(listeners, pods->items);
}

Result<Survey> Uninstaller::survey(const Context& context) {
  Survey out;
  for (const Doomed& one : doomed()) {
    Result<bool> there = is_there(context, one);
    if (!there) return pass(there);
    if (*there) out.objects.push_back(one.shown());
  }
  const Doomed home{kube::types::kNamespace, {"", options_.ns}};
  if (!is_shared_namespace(options_.ns)) {
    Result<bool> there = is_there(context, home);
    if (!there) return pass(there);
    if (*there) out.objects.push_back(home.shown());
  }
  for (const module::Kind& kind : module::kinds_of(options_.modules)) {
    const kube::ResourceType& type = kind.info->type;
    Result<std::size_t> count = count_objects(context, client_, type);
    if (!count) return pass(count);
    if (*count > 0) out.of_kind[type.kind] = *count;
  }
  Result<std::vector<std::string>> pods = holders(context);
  if (!pods) return pass(pods);
  out.holders = std::move(*pods);
  return out;
}

Result<> Uninstaller::run(const Context& context) {
  const Result<std::vector<std::string>> pods = holders(context);
  if (!pods) return fail(pods.error());
  if (!pods->empty() && !options_.force) {
    return fail(error_of(Code::precondition, "{} {} ports: {}", pods->size(),
                         pods->size() == 1 ? "Pod still holds" : "Pods still hold", some_of(*pods))
                    .with_hint("delete them first, or use --force: they lose their ports"));
  }
  // Webhook configurations three times: a controller may have been about to write them when it was
  // told, and must not leave before they are gone; and one that does not heed us writes them until
  // it ends.
  for (const auto step :
       {&Uninstaller::announce, &Uninstaller::remove_webhooks, &Uninstaller::let_go_of_listeners,
        &Uninstaller::remove_webhooks, &Uninstaller::stop_controller, &Uninstaller::remove_webhooks,
        &Uninstaller::sweep_objects, &Uninstaller::remove_rest, &Uninstaller::remove_namespace,
        &Uninstaller::check_nothing_came_back, &Uninstaller::unmark}) {
    if (Result<> done = (this->*step)(context); !done) return done;
  }
  return {};
}

Result<> Uninstaller::announce(const Context& context) {
  const Result<bool> marked = mark_removal(context, client_, Removal::draining);
  if (!marked) return fail(marked.error());
  const Result<bool> running = is_running(context);
  if (!running) return fail(running.error());
  if (*marked && *running) tell_("told the controller that it is being removed");
  return {};
}

Result<> Uninstaller::remove(const Context& context, const Doomed& one) {
  Result<std::string> uid = uid_of(context, one);
  if (!uid) return pass(uid);
  if (uid->empty()) return {};
  Result<> done = client_.remove(context, one.type, one.key, {.uid = *uid});
  const bool replaced = !done && done.error().code == Code::precondition;
  if (!done && !replaced && !is_missing(done.error()))
    return fail(std::move(done.error()).about(one.shown()));
  const Result<bool> gone = eventually(context.within(kPatience), [&]() -> Result<bool> {
    Result<std::string> now = uid_of(context, one);
    if (!now) return pass(now);
    return *now != *uid;
  });
  if (!gone) return fail(gone.error());
  if (!*gone) return fail(error_of(Code::timeout, "does not go").about(one.shown()));
  ++removed_[one.type.kind];
  tell_("removed " + one.shown());
  return {};
}

Result<> Uninstaller::remove_webhooks(const Context& context) {
  for (const Doomed& one : doomed()) {
    if (!is_webhook(one.type)) continue;
    if (Result<> done = remove(context, one); !done) return done;
  }
  return {};
}

// Only a controller can do it. Without one, or when it takes too long, they stay where they are.
Result<> Uninstaller::let_go_of_listeners(const Context& context) {
  const ResourceType& listeners = api::listener_kind().type;
  Result<std::size_t> count = count_objects(context, client_, listeners);
  if (!count) return pass(count);
  Result<bool> running = is_running(context);
  if (!running) return pass(running);
  if (*count == 0) return {};
  if (*running && options_.grace > Duration::zero()) {
    const Result<std::string> deleted = delete_owners(context);
    if (!deleted) return fail(deleted.error());
    tell_(fmt::format("deleted {}; the controller takes {} listeners off the load balancers",
                      *deleted, *count));
    const Result<bool> gone =
        eventually(context.within(options_.grace), [&] { return have_none(context, listeners); });
    if (!gone) return fail(gone.error());
    if (*gone) return {};
    count = count_objects(context, client_, listeners);
    if (!count) return pass(count);
  }
  tell_(fmt::format("{} listeners may stay at the load balancers", *count));
  return {};
}

Result<std::string> Uninstaller::delete_owners(const Context& context) {
  std::string out;
  for (const module::Kind& kind : module::kinds_of(options_.modules)) {
    if (!kind.made_by_users) continue;
    const Result<std::size_t> count = delete_all(context, kind.info->type);
    if (!count) return fail(count.error());
    if (*count > 0)
      out += fmt::format("{}{} of kind {}", out.empty() ? "" : ", ", *count, kind.info->type.kind);
  }
  return out.empty() ? "nothing" : out;
}

Result<std::size_t> Uninstaller::delete_all(const Context& context, const ResourceType& type) {
  const Result<kube::ListPage> page = client_.list_all(context, type);
  if (!page && is_missing(page.error())) return 0;
  if (!page) return fail(page.error());
  for (const Value& object : page->items) {
    const kube::ObjectKey key{std::string(wire::string_at(object, "/metadata/namespace")),
                              std::string(wire::string_at(object, "/metadata/name"))};
    const Result<> done = client_.remove(context, type, key);
    if (done || is_missing(done.error())) continue;
    // The controller may have put its webhooks back, and one of them may refuse.
    tell_(fmt::format("{} {} stays until the controller is stopped: {}", type.kind, key.to_string(),
                      done.error().message));
  }
  return page->items.size();
}

Result<bool> Uninstaller::have_none(const Context& context, const ResourceType& type) {
  const Result<kube::ListPage> page = client_.list(context, type, {.limit = 1});
  if (!page && is_missing(page.error())) return true;
  if (!page) return fail(page.error());
  return page->items.empty();
}

// What is left, nobody must work on any more.
Result<> Uninstaller::stop_controller(const Context& context) {
  const kube::ObjectKey app{options_.ns, std::string(kAppName)};
  if (Result<> done = remove(context, {kube::types::kDeployment, app}); !done) return done;
  const Result<bool> ended = eventually(context.within(kPatience), [&]() -> Result<bool> {
    const Result<kube::ListPage> pods = client_.list(
        context, kube::types::kPod,
        {.ns = options_.ns, .label_selector = fmt::format("{}={}", kAppLabel, kAppName)});
    if (!pods) return fail(pods.error());
    return pods->items.empty();
  });
  if (!ended) return fail(ended.error());
  if (!*ended) return fail(Code::timeout, "Pods of the controller in {} do not end", options_.ns);
  // Only now: a Pod that ends by itself is started again.
  const Result<bool> marked = mark_removal(context, client_, Removal::leaving);
  if (!marked) return fail(marked.error());
  return wait_for_lease(context);
}

// A controller may run elsewhere. Until its lease is given up, or was not renewed for as long as it
// lasts; another replica may take it in between, and leaves too.
Result<> Uninstaller::wait_for_lease(const Context& context) {
  LeaseView last;
  Instant changed = context.tasks.now();
  const Result<bool> quiet = eventually(context.within(kPatience), [&]() -> Result<bool> {
    const Result<Value> lease =
        client_.get(context, kube::types::kLease, {options_.ns, std::string(kLeaseName)});
    if (!lease && is_missing(lease.error())) return true;
    if (!lease) return fail(lease.error());
    const LeaseView view = view_of(*lease);
    if (!may_be_held(view, context.tasks.wall_time())) return true;
    if (view.renewed != last.renewed) changed = context.tasks.now();
    last = view;
    return context.tasks.now() - changed >= view.duration;
  });
  if (!quiet) return fail(quiet.error());
  if (*quiet) return {};
  return fail(error_of(Code::precondition, "a controller still runs: {}", last.holder)
                  .with_hint("it does not heed that it is being removed, as one of an older "
                             "version: stop it, and run this again"));
}

Result<> Uninstaller::sweep_objects(const Context& context) {
  for (const module::Kind& kind : module::kinds_of(options_.modules)) {
    const std::string& name = kind.info->type.kind;
    ObjectSweep sweep(client_, kind.info->type, [&](std::size_t count) {
      tell_(fmt::format("removed {} of kind {} so far", count, name));
    });
    const Result<std::size_t> count = sweep.run(context);
    if (!count) return fail(count.error());
    if (*count == 0) continue;
    removed_[name] += *count;
    tell_(fmt::format("removed {} of kind {}", *count, name));
  }
  return {};
}

Result<> Uninstaller::remove_rest(const Context& context) {
  for (const Doomed& one : doomed()) {
    if (Result<> done = remove(context, one); !done) return done;
  }
  return {};
}

// Only one that our manifests made, and that nobody else has moved into.
Result<> Uninstaller::remove_namespace(const Context& context) {
  if (is_shared_namespace(options_.ns)) return {};
  const Doomed home{kube::types::kNamespace, {"", options_.ns}};
  Result<bool> there = is_there(context, home);
  if (!there) return pass(there);
  if (!*there) return {};
  // What every namespace has by itself.
  constexpr std::array<std::string_view, 2> kBuiltIn{"kube-root-ca.crt", "default"};
  for (const ResourceType* type :
       {&kube::types::kPod, &kube::types::kService, &kube::types::kConfigMap, &kube::types::kSecret,
        &kube::types::kServiceAccount, &kube::types::kDeployment, &kube::types::kStatefulSet}) {
    const Result<kube::ListPage> page = client_.list(context, *type, {.ns = options_.ns});
    if (!page) return fail(page.error());
    for (const Value& object : page->items) {
      const std::string_view name = wire::string_at(object, "/metadata/name");
      if (std::ranges::find(kBuiltIn, name) != kBuiltIn.end()) continue;
      tell_(fmt::format("kept {}: {} {} lives there", home.shown(), type->kind, name));
      return {};
    }
  }
  Result<> going = client_.remove(context, home.type, home.key);
  if (!going && !is_missing(going.error())) return going;
  // Whether it goes soon depends on every API of the cluster, not on us.
  const Result<bool> gone = eventually(context.within(kPatience), [&]() -> Result<bool> {
    Result<bool> still = is_there(context, home);
    if (!still) return still;
    return !*still;
  });
  if (!gone) return fail(gone.error());
  if (*gone) ++removed_[home.type.kind];
  tell_(fmt::format("{} {}", *gone ? "removed" : "left to end by itself:", home.shown()));
  return {};
}

Result<> Uninstaller::check_nothing_came_back(const Context& context) {
  for (const Doomed& one : doomed()) {
    Result<bool> back = is_there(context, one);
    if (!back) return pass(back);
    if (!*back) continue;
    return fail(error_of(Code::precondition, "is there again after it was removed")
                    .about(one.shown())
                    .with_hint("a controller still runs somewhere: stop it, and run this again"));
  }
  return {};
}

// CRDs that stay must not keep the next controller away.
Result<> Uninstaller::unmark(const Context& context) {
  if (!options_.keep_crds) return {};
  const Result<bool> done = mark_removal(context, client_, Removal::none);
  return done ? Result<>{} : fail(done.error());
}

}  // namespace berth::controllers::install
