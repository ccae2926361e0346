#include "controllers/install/reconcile.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "controllers/install/guard_policy.h"
#include "wire/equal.h"

namespace berth::controllers::install {
namespace {

constexpr Duration kEstablishedTimeout = std::chrono::seconds{30};
constexpr Duration kEstablishedPoll = std::chrono::milliseconds{50};

// Only that the object is there, its version, and whether it is marked: the content is read when
// something has changed.
struct Presence {
  kube::ObjectMeta meta;
};

kube::MetaRules kept_of_presence() {
  kube::MetaRules rules;
  rules.annotations = kube::KeyFilter::only({std::string(kRemovalAnnotation)});
  return rules;
}

kube::Projection<Presence> presence_of(const kube::ResourceType& type) {
  return {.type = type,
          .selection = {.label_selector = fmt::format("{}={}", kManagedByLabel, kManagedBy)},
          .from_json = [type](wire::JsonReader& reader, std::string_view text) -> Result<Presence> {
            Presence object;
            Result<> read = kube::decode_object(reader, text, type, kept_of_presence(), object.meta,
                                                [](auto, auto) {});
            if (!read) return pass(read);
            return object;
          }};
}

InstalledKey key_of(const kube::ResourceType& type, std::string_view name) {
  return {type.plural, std::string(name)};
}

const kube::ResourceType* const kWatchedTypes[] = {&kube::types::kCustomResourceDefinition,
                                                   &kube::types::kMutatingWebhookConfiguration,
                                                   &kube::types::kValidatingWebhookConfiguration,
                                                   &kube::types::kPriorityLevelConfiguration,
                                                   &kube::types::kFlowSchema,
                                                   &kGuardPolicy,
                                                   &kGuardPolicyBinding};

bool is_webhook(const kube::ResourceType& type) {
  return type == kube::types::kMutatingWebhookConfiguration ||
         type == kube::types::kValidatingWebhookConfiguration;
}

const kube::ResourceType kWhoAmI{"authentication.k8s.io", "v1", "selfsubjectreviews",
                                 "SelfSubjectReview", false};

}  // namespace

struct Installer::Watched {
  struct One {
    const kube::ResourceType* type;
    std::unique_ptr<kube::Informer<Presence>> informer;
  };
  std::vector<One> all;
};

Installer::Installer(Tasks& tasks, kube::Client& client, Settings settings,
                     std::function<std::string()> ca_bundle, std::function<std::string()> segment,
                     Random random, metrics::Registry* registry)
    : client_(client),
      settings_(std::move(settings)),
      ca_bundle_(std::move(ca_bundle)),
      segment_(std::move(segment)),
      controller_(tasks, {.name = "install", .registry = registry},
                  [this](const Context& context, const InstalledKey& key) {
                    return reconcile(context, key);
                  }),
      watched_(std::make_unique<Watched>()) {
  for (const kube::ResourceType* type : kWatchedTypes) {
    auto informer = std::make_unique<kube::Informer<Presence>>(tasks, client, presence_of(*type),
                                                               random.fork());
    controller_.watch(informer->store(),
                      [type](const kube::Change<Presence>& change, const auto& emit) {
                        emit(key_of(*type, change.object().meta.name));
                      });
    // One that is gone says nothing: a removal goes on, and what somebody deletes is put back.
    informer->store().on_change([this, type](const kube::Change<Presence>& change) {
      if (*type != kube::types::kCustomResourceDefinition || !change.after) return;
      if (change.after->meta.name == marked_crd())
        heed(parse_removal(kube::get(change.after->meta.annotations, kRemovalAnnotation)));
    });
    watched_->all.push_back({type, std::move(informer)});
  }
}

Installer::~Installer() = default;

void Installer::add_to(kube::Manager& manager) {
  for (const auto& [type, informer] : watched_->all)
    if (!is_guard(*type)) manager.add(informer->core());
  manager.add(controller_.core());
  controller_.at_start([this] { refresh(); });  // also what is not there
}

void Installer::add_guard_to(kube::Manager& manager) {
  if (!settings_.guard) return;
  for (const auto& [type, informer] : watched_->all)
    if (is_guard(*type)) manager.add(informer->core());
}

std::vector<WantedPtr> Installer::wanted_now() {
  WebhookAddress webhooks = settings_.webhooks;
  webhooks.segment = segment_();
  std::string ca_bundle = ca_bundle_();
  const MutexLock lock(mu_);
  const bool stands =
      wanted_ && wanted_->known_as == settings_.known_as && wanted_->guard == settings_.guard;
  if (!stands) {
    wanted_ = WantedFor{.known_as = settings_.known_as,
                        .guard = settings_.guard,
                        .standing = standing_objects(settings_)};
  }
  if (!stands || wanted_->webhooks != webhooks || wanted_->ca_bundle != ca_bundle) {
    wanted_->hooks = webhook_objects(settings_, webhooks, ca_bundle);
    wanted_->webhooks = std::move(webhooks);
    wanted_->ca_bundle = std::move(ca_bundle);
  }
  std::vector<WantedPtr> all = wanted_->standing;
  all.insert(all.end(), wanted_->hooks.begin(), wanted_->hooks.end());
  return all;
}

void Installer::refresh() {
  for (const WantedPtr& wanted : wanted_now())
    controller_.add(key_of(wanted->type, wanted->name()));
}

void Installer::heed(Removal removal) {
  const Removal before = removal_.exchange(removal);
  if (removal == Removal::leaving && on_leave_) on_leave_();
  if (before == removal) return;
  if (removal == Removal::none) {
    log_info("the removal was taken back: installing again", {});
    refresh();
  } else {
    log_warn("Berth is being removed: nothing is put back any more",
             {{"removal", std::string(to_string(removal))}});
  }
}

Result<> Installer::check_wanted(const Context& context) {
  const Result<Removal> removal = read_removal(context, client_);
  if (!removal) return fail(removal.error());
  return *removal == Removal::none ? Result<>{} : fail(being_removed());
}

Result<> Installer::install(const Context& context) {
  if (settings_.guard) {
    if (Result<> prepared = prepare_guard(context); !prepared) return prepared;
  }
  for (const WantedPtr& wanted : wanted_now()) {
    if (is_webhook(wanted->type) || is_known_good(wanted)) continue;
    Result<wire::Value> there = ensure(context, wanted);
    if (!there) return pass(there);
    if (wanted->type == kube::types::kCustomResourceDefinition) {
      if (Result<> served = wait_established(context, std::move(*there)); !served) return served;
    }
  }
  return {};
}

Result<> Installer::prepare_guard(const Context& context) {
  for (const kube::ResourceType* type : {&kGuardPolicy, &kGuardPolicyBinding}) {
    const Result<kube::ListPage> any = client_.list(context, *type, {.limit = 1});
    if (any) continue;
    const Code code = any.error().code;
    // A list is not found when its kind is not.
    if (code != Code::unsupported && code != Code::not_found && code != Code::forbidden)
      return fail(any.error());
    settings_.guard = false;
    log_info("what people write of our Listeners is not guarded",
             {{"object", type->kind}, {"error", any.error().to_string()}});
    return {};
  }
  const wire::Object question{{"apiVersion", kWhoAmI.api_version()}, {"kind", kWhoAmI.kind}};
  const Result<wire::Value> answer = client_.create(context, kWhoAmI, question);
  if (!answer) return {};
  settings_.known_as = wire::string_at(*answer, "/status/userInfo/username");
  const std::string configured = user_name(settings_.identity);
  if (settings_.known_as == configured) return {};
  log_warn("the API server knows us by another name than --user and --service-account say",
           {{"user", settings_.known_as}, {"configured", configured}});
  return {};
}

Result<kube::Requeue> Installer::reconcile(const Context& context, const InstalledKey& key) {
  // Taken back, it begins with everything.
  if (is_being_removed()) return kube::Requeue{};
  for (const WantedPtr& wanted : wanted_now()) {
    if (key_of(wanted->type, wanted->name()) != key || is_known_good(wanted)) continue;
    if (Result<wire::Value> there = ensure(context, wanted); !there) return pass(there);
  }
  return kube::Requeue{};
}

Result<wire::Value> Installer::ensure(const Context& context, const WantedPtr& wanted) {
  const std::string shown = wanted->type.kind + " " + wanted->name();
  Result<wire::Value> found = client_.get(context, wanted->type, {"", wanted->name()});
  if (!found && found.error().code != Code::not_found) return found;
  if (found && is_satisfied(wanted->object, *found)) {
    note_good(wanted, *found);
    return found;
  }
  // Asked of the server: the cache may be a moment late, and this object gone because of it.
  if (Result<> still = check_wanted(context); !still) return pass(still);

  Result<wire::Value> written =
      client_.patch(context, wanted->type, {"", wanted->name()}, kube::PatchType::apply,
                    wanted->object, {.force = true});
  if (!written)
    return fail(error_of(written.error().code, "could not be installed")
                    .about(shown)
                    .because(written.error()));
  log_info(found ? "updated" : "installed", {{"object", shown}});
  if (is_satisfied(wanted->object, *written)) note_good(wanted, *written);
  return written;
}

bool Installer::is_known_good(const WantedPtr& wanted) {
  const auto watched = std::ranges::find_if(
      watched_->all, [&](const Watched::One& one) { return *one.type == wanted->type; });
  const auto cached = watched->informer->store().get("", wanted->name());
  if (!cached) return false;
  const MutexLock lock(mu_);
  const auto good = good_.find(key_of(wanted->type, wanted->name()).queued());
  return good != good_.end() && good->second.uid == cached->meta.uid &&
         good->second.version == std::to_string(cached->meta.resource_version) &&
         (good->second.wanted == wanted ||
          wire::equal(good->second.wanted->object, wanted->object));
}

void Installer::note_good(const WantedPtr& wanted, const wire::Value& found) {
  Good good{.uid = std::string(wire::string_at(found, "/metadata/uid")),
            .version = std::string(wire::string_at(found, "/metadata/resourceVersion")),
            .wanted = wanted};
  const MutexLock lock(mu_);
  good_[key_of(wanted->type, wanted->name()).queued()] = std::move(good);
}

Result<> Installer::wait_established(const Context& context, wire::Value crd) {
  const Context bounded = context.within(kEstablishedTimeout);
  const std::string name(wire::string_at(crd, "/metadata/name"));
  for (;;) {
    const wire::Array* conditions = wire::array_at(crd, "/status/conditions");
    for (const wire::Value& condition : conditions ? *conditions : wire::Array{}) {
      const bool established = wire::string_at(condition, "/type") == "Established";
      if (established && wire::string_at(condition, "/status") == "True") return {};
      if (wire::string_at(condition, "/type") == "NamesAccepted" &&
          wire::string_at(condition, "/status") == "False") {
        return fail(error_of(Code::conflict, "{}", wire::string_at(condition, "/message"))
                        .about("CRD " + name));
      }
    }
    if (!sleep_for(bounded.tasks, kEstablishedPoll, bounded.stop) || bounded.expired())
      return fail(bounded.end_error());
    Result<wire::Value> now =
        client_.get(bounded, kube::types::kCustomResourceDefinition, {"", name});
    if (!now) return pass(now);
    crd = std::move(*now);
  }
}

}  // namespace berth::controllers::install
