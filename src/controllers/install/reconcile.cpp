#include "controllers/install/reconcile.h"

#include <set>

#include "base/log.h"
#include "controllers/install/guard_policy.h"

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

Settings Installer::settings_now() const {
  Settings out = settings_;
  out.webhooks.segment = segment_();
  return out;
}

std::shared_ptr<const std::vector<Wanted>> Installer::wanted_now() {
  Settings settings = settings_now();
  std::string ca_bundle = ca_bundle_();
  const MutexLock lock(mu_);
  const bool is_same = wanted_ && wanted_->webhooks == settings.webhooks &&
                       wanted_->known_as == settings.known_as && wanted_->guard == settings.guard &&
                       wanted_->ca_bundle == ca_bundle;
  if (!is_same) {
    std::vector<Wanted> objects = wanted_objects(settings, ca_bundle);
    wanted_ = std::make_shared<const WantedFor>(
        WantedFor{std::move(settings.webhooks), std::move(settings.known_as), settings.guard,
                  std::move(ca_bundle), std::move(objects)});
  }
  return {wanted_, &wanted_->objects};
}

void Installer::refresh() {
  const auto all = wanted_now();
  for (const Wanted& wanted : *all) {
    controller_.add(key_of(wanted.type, wanted.name()));
  }
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
  for (const Wanted& wanted : wanted_objects(settings_, "")) {
    if (Result<> done = ensure(context, wanted); !done) return done;
    if (wanted.type == kube::types::kCustomResourceDefinition) {
      if (Result<> served = wait_established(context, wanted.name()); !served) return served;
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
  const auto all = wanted_now();
  for (const Wanted& wanted : *all) {
    if (key_of(wanted.type, wanted.name()) != key) continue;
    if (Result<> done = ensure(context, wanted); !done) return pass(done);
  }
  return kube::Requeue{};
}

Result<> Installer::ensure(const Context& context, const Wanted& wanted) {
  const std::string shown = wanted.type.kind + " " + wanted.name();
  const Result<wire::Value> found = client_.get(context, wanted.type, {"", wanted.name()});
  if (!found && found.error().code != Code::not_found) return fail(found.error());
  if (found && is_satisfied(wanted.object, *found)) return {};
  // Asked of the server: the cache may be a moment late, and this object gone because of it.
  if (Result<> still = check_wanted(context); !still) return still;

  Result<wire::Value> written =
      client_.patch(context, wanted.type, {"", wanted.name()}, kube::PatchType::apply,
                    wanted.object, {.force = true});
  if (!written)
    return fail(error_of(written.error().code, "could not be installed")
                    .about(shown)
                    .because(written.error()));
  log_info(found ? "updated" : "installed", {{"object", shown}});
  return {};
}

Result<> Installer::wait_established(const Context& context, const std::string& crd) {
  const Context bounded = context.within(kEstablishedTimeout);
  for (;;) {
    const Result<wire::Value> found =
        client_.get(bounded, kube::types::kCustomResourceDefinition, {"", crd});
    if (!found) return fail(found.error());
    const wire::Array* conditions = wire::array_at(*found, "/status/conditions");
    for (const wire::Value& condition : conditions ? *conditions : wire::Array{}) {
      const bool established = wire::string_at(condition, "/type") == "Established";
      if (established && wire::string_at(condition, "/status") == "True") return {};
      if (wire::string_at(condition, "/type") == "NamesAccepted" &&
          wire::string_at(condition, "/status") == "False") {
        return fail(error_of(Code::conflict, "{}", wire::string_at(condition, "/message"))
                        .about("CRD " + crd));
      }
    }
    if (!sleep_for(bounded.tasks, kEstablishedPoll, bounded.stop) || bounded.expired())
      return fail(bounded.end_error());
  }
}

}  // namespace berth::controllers::install
