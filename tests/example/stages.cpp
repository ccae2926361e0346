#include "stages.h"

#include <boost/json.hpp>

#include "api/decode_kind.h"
#include "api/keys.h"
#include "claims/finalizer.h"
#include "kube/runtime/controller_of.h"

namespace berth::api {
template <>
std::span<const Field> fields_of<example::StageSpec>() {
  using S = example::StageSpec;
  static constexpr Field f[] = {
      field<&S::load_balancer_id>("loadBalancerID", "Where.", {.max_len = 256, .required = true}),
      field<&S::address>("address", "Whom it leads to.", {.max_len = 64, .required = true}),
      field<&S::port>("port", "At which port.", {.min = 1, .max = 65535, .required = true})};
  static_assert(covers<S>(f));
  return f;
}
template <>
std::span<const Field> fields_of<example::StageStatus>() {
  using S = example::StageStatus;
  static constexpr Field f[] = {
      field<&S::public_port>("publicPort", "Where it is reached.", {.min = 0, .max = 65535}),
      field<&S::message>("message", "What is in the way.", {.max_len = 4096})};
  static_assert(covers<S>(f));
  return f;
}
}  // namespace berth::api

namespace berth::example::stages {
namespace {

using kube::Requeue;

constexpr model::PortRange kRange{45000, 45001};
constexpr Duration kTryAgain = std::chrono::seconds{2};
const std::string kPart = "stage";
}  // namespace

const api::KindInfo& kind() {
  static const api::KindInfo kKind{.type = {"example.dev", "v1", "stages", "Stage"},
                                   .singular = "stage",
                                   .doc = "A port of a load balancer for an address.",
                                   .spec_fields = api::fields_of<StageSpec>,
                                   .status_fields = api::fields_of<StageStatus>};
  return kKind;
}
Result<Stage> decode(const wire::Value& object) { return api::decode_value<Stage>(object, kind()); }

namespace {

kube::Projection<Stage> projection() { return api::projection_of<Stage>(kind()); }
// What it wants, once its port is chosen.
frontend::WantedPart want_of(const Stage& stage, const frontend::Owner& owner,
                             const frontend::OpenWant& open, const frontend::Choice& choice,
                             WallTime now) {
  frontend::WantedListener listener{
      .name = fmt::format("{}-{}", choice.lb.id, choice.ports.first),
      .part = kPart,
      .lb = choice.lb,
      .spec = {
          .load_balancer_id = stage.spec.load_balancer_id,
          .port = choice.ports.first,
          .protocol = "TCP",
          .target_group = api::ListenerTargetGroup{
              .protocol = "TCP",
              .backends = {{.ip = stage.spec.address, .port = stage.spec.port, .weight = 10}}}}};
  return {.name = kPart,
          .grants = frontend::grants_of(owner, open, choice, now),
          .listeners = {std::move(listener)}};
}

using Key = kube::KeyOf<Stage>;

struct Parts {
  explicit Parts(module::Platform& p)
      : core(*p.core),
        home(p.config.ns),
        defaults(p.config.load_balancers),
        sealer(p.sealer),
        stages(p.caches.of(projection).store()),
        objects(p.leader_client, stages, kind().type, decode),
        controller(p.tasks, {.name = "stage", .registry = &p.registry},
                   [this](const Context& c, const Key& key) { return reconcile(c, key); }) {
    controller.at_start([this] { core.keeper.forget_contenders(kind().type); });
    controller.watch(stages,
                     [](const auto& change, const auto& emit) { emit(Key::of(change.object())); });
    controller.watch(core.listeners.store(), [](const auto& change, const auto& emit) {
      const claims::OwnerName owner = claims::owner_of(change.object());
      if (owner.kind == kind().type.kind) emit(Key(owner.key));
    });
    p.manager.add(controller.core());
    // Whoever may write a Stage says whom its port leads to.
    core.vouchers.emplace(kind().type.kind, [this](const api::Listener& listener) -> Result<> {
      const auto stage = stages.get(claims::owner_of(listener).key);
      if (stage && api::backends_of(listener.spec).front()->ip == stage->spec.address) return {};
      return fail(Code::forbidden, "no Stage leads there");
    });
  }

  Result<Requeue> reconcile(const Context& context, const Key& key) {
    const auto stage = stages.get(key.object);
    const std::string uid = stage ? stage->meta.uid : "";
    frontend::Round round;
    Result<> settled = core.keeper.settle_grants(context, kind().type, key.object, uid, round);
    if (!settled) return pass(settled);
    if (!stage) return Requeue{};
    const frontend::Owner owner = frontend::owner_of(kind().type, stage->meta, home);
    if (stage->meta.deleting) return let_go(context, *stage, owner, round);
    if (claims::has_our_finalizer(stage->meta)) return keep(context, *stage, owner, round);
    const auto taken = objects.patch(context, key.object, kube::PatchType::json,
                                     claims::finalizer_patch(stage->meta, true));
    return taken ? Result<Requeue>(Requeue{}) : fail(taken.error());
  }

  Result<Requeue> keep(const Context& context, const Stage& stage, const frontend::Owner& owner,
                       frontend::Round& round) {
    const auto lb = model::parse_load_balancer(stage.spec.load_balancer_id, defaults);
    if (!lb) return tell(context, stage, {.message = lb.error().to_string()});
    const frontend::OpenWant open{
        .part = kPart, .lbs = {*lb}, .transports = {model::Transport::tcp}, .range = kRange};
    const Result<frontend::Choice> choice = core.keeper.choose(owner, open);
    if (!choice) return tell(context, stage, {.message = choice.error().to_string()});
    std::vector<frontend::WantedPart> parts{
        want_of(stage, owner, open, *choice, context.tasks.wall_time())};
    core.keeper.settle_names(owner, parts);
    core.keeper.contend(owner, parts.front().grants);
    Result<frontend::PartReport> report =
        core.keeper.ensure_grants(context, owner, parts.front(), [](const Error&) {});
    if (!report) return pass(report);
    const frontend::Survey found =
        core.keeper.survey_of(owner, parts, {{kPart, std::move(*report)}});
    const auto changes = frontend::changes_of(found.outdated, sealer);
    Result<> done = core.keeper.carry_out(context, owner, parts, found, changes, round);
    if (!done) return pass(done);
    const bool leads = !found.found.empty() && claims::is_applied(*found.found.front().listener);
    return tell(context, stage,
                {.public_port = leads ? choice->ports.first : 0,
                 .message = found.reports.at(kPart).problem});
  }

  Result<Requeue> tell(const Context& context, const Stage& stage, const StageStatus& status) {
    const Requeue next{.after = status.message.empty() ? std::nullopt : std::optional(kTryAgain)};
    if (status == stage.status) return next;
    const auto written = objects.patch_status(
        context, stage.meta.key(), kube::PatchType::json,
        wire::Array{
            wire::Object{{"op", "add"}, {"path", "/status"}, {"value", api::encode(status)}}});
    return written ? Result<Requeue>(next) : fail(written.error());
  }

  Result<Requeue> let_go(const Context& context, const Stage& stage, const frontend::Owner& owner,
                         frontend::Round& round) {
    const Result<bool> gone = core.keeper.let_go(context, owner, round);
    if (!gone) return fail(gone.error());
    if (!*gone) return Requeue{.after = kTryAgain};
    Result<> freed = objects.patch_away(context, stage.meta.key(), kube::PatchType::json,
                                        claims::finalizer_patch(stage.meta, false));
    return freed ? Result<Requeue>(Requeue{}) : pass(freed);
  }

  module::Core core;
  const std::string home;
  const model::LoadBalancerDefaults defaults;
  const claims::Sealer& sealer;
  kube::Store<Stage>& stages;
  const kube::Typed<Stage> objects;
  kube::ControllerOf<Key> controller;
};

}  // namespace

module::Declaration declare(const module::Config&) {
  return {.name = "stages",
          .about = "ports of a load balancer for addresses",
          .kinds = {{.info = &kind(), .place = 90, .made_by_users = true}},
          .reads = {{.type = kind().type}},
          .commands = {list_command()}};
}

std::shared_ptr<void> build(module::Platform& p) { return std::make_shared<Parts>(p); }

}  // namespace berth::example::stages
