#include "stages.h"

#include <boost/json.hpp>

#include "api/decode_kind.h"
#include "api/keys.h"
#include "frontend/steps.h"
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

using Key = kube::KeyOf<Stage>;
using kube::Requeue;

constexpr model::PortRange kRange{45000, 45001};
constexpr Duration kTryAgain = std::chrono::seconds{2};
const std::string kPart = "stage";

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

struct Parts {
  explicit Parts(module::Platform& p)
      : core(*p.core),
        config(p.config),
        sealer(p.sealer),
        stages(p.caches.of(projection).store()),
        objects(p.leader_client, stages, kind().type, api::read_text<Stage, kind>),
        controller(p.tasks, {.name = "stage", .registry = &p.registry},
                   [this](const Context& c, const Key& key) { return reconcile(c, key); }) {
    controller.at_start([this] { core.keeper.forget_contenders(kind().type); });
    controller.watch(stages,
                     [](const auto& change, const auto& emit) { emit(Key::of(change.object())); });
    controller.watch(core.listeners.store(), [](const auto& change, const auto& emit) {
      if (const auto owner = frontend::owner_named_by(change.object(), kind().type))
        emit(Key(*owner));
    });
    p.manager.add(controller.core());
    // Whoever may write a Stage says whom its port leads to.
    core.vouchers.emplace(kind().type.kind, [this](const api::Listener& listener) -> Result<> {
      const auto owner = frontend::owner_named_by(listener, kind().type);
      const auto stage = owner ? stages.get(*owner) : nullptr;
      if (stage && api::backends_of(listener.spec).front()->ip == stage->spec.address) return {};
      return fail(Code::forbidden, "no Stage leads there");
    });
  }

  Result<Requeue> reconcile(const Context& context, const Key& key) {
    const auto stage = stages.get(key.object);
    const auto over = frontend::begin(context, core.keeper, objects, key.object, stage.get());
    if (!over) return fail(over.error());
    if (*over) return **over;
    const frontend::Owner owner = frontend::owner_of(kind().type, stage->meta, config.ns);
    return stage->meta.deleting ? frontend::let_go(context, core.keeper, objects, *stage, owner)
                                : keep(context, *stage, owner);
  }

  Result<Requeue> keep(const Context& context, const Stage& stage, const frontend::Owner& owner) {
    // A text means what it meant when its owner got what it has, whatever the defaults are by now.
    const auto lbs = core.resolver.load_balancers_of(
        {.kind = kind().type.kind, .key = frontend::listeners_key(owner), .uid = owner.uid},
        {&stage.spec.load_balancer_id, 1});
    if (!lbs) return tell(context, stage, {.message = lbs.error().to_string()});
    const frontend::OpenWant open{
        .part = kPart, .lbs = *lbs, .transports = {model::Transport::tcp}, .range = kRange};
    const Result<frontend::Choice> choice = core.keeper.choose(owner, open);
    if (!choice) return tell(context, stage, {.message = choice.error().to_string()});
    std::vector<frontend::WantedPart> parts{
        want_of(stage, owner, open, *choice, context.tasks.wall_time())};
    core.keeper.settle_names(owner, parts);
    core.keeper.contend(owner, parts.front().grants);
    auto reports =
        frontend::ensure_all(context, core.keeper, owner, parts, {}, [](const Error&) {});
    if (!reports) return pass(reports);
    const auto found = core.keeper.survey_of(owner, parts, std::move(*reports));
    const auto changes = frontend::changes_of(found.outdated, sealer);
    frontend::Round round;
    Result<> done = core.keeper.carry_out(context, owner, parts, found, changes, round);
    if (!done) return pass(done);
    const bool leads = !found.found.empty() && claims::is_applied(*found.found.front().listener);
    return tell(context, stage,
                {.public_port = leads ? choice->ports.first : 0,
                 .message = found.reports.at(kPart).problem});
  }

  Result<Requeue> tell(const Context& context, const Stage& stage, const StageStatus& status) {
    const Result<bool> told = frontend::write_status(context, objects, kind(), stage, status);
    if (!told) return fail(told.error());
    const bool again = !*told || !status.message.empty();
    return Requeue{.after = again ? std::optional(kTryAgain) : std::nullopt};
  }

  module::Core core;
  const module::Config& config;
  const claims::Sealer& sealer;
  kube::Store<Stage>& stages;
  const kube::Typed<Stage> objects;
  kube::ControllerOf<Key> controller;
};

}  // namespace

const api::KindInfo& kind() {
  static const api::KindInfo kKind{.type = {"example.dev", "v1", "stages", "Stage", false},
                                   .singular = "stage",
                                   .doc = "A port of a load balancer for an address.",
                                   .spec_fields = api::fields_of<StageSpec>,
                                   .status_fields = api::fields_of<StageStatus>};
  return kKind;
}
Result<Stage> decode(const wire::Value& object) { return api::decode_value<Stage>(object, kind()); }

module::Declaration declare(const module::Config&) {
  return {.name = "stages",
          .about = "ports of a load balancer for addresses",
          .kinds = {{.info = &kind(), .place = 90, .made_by_users = true}},
          .reads = {{.type = kind().type}}};
}

std::shared_ptr<void> build(module::Platform& p) { return std::make_shared<Parts>(p); }

}  // namespace berth::example::stages
