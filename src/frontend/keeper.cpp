#include "frontend/keeper.h"

#include <algorithm>
#include <boost/json.hpp>
#include <span>

#include "base/parallel.h"
#include "claims/claim_patch.h"
#include "frontend/listener_object.h"
#include "frontend/names.h"

namespace berth::frontend {
namespace {

using claims::ListenerPtr;
using kube::was_overtaken;

// Writes for one owner at one time. The API server gives our bulk work seats of its own; more would
// only queue there.
constexpr std::size_t kWritesAtOnce = 16;
// Then the status shows how far it is.
constexpr std::size_t kCreationsPerPass = 1000;

Result<> note(Round& round) {
  round.overtaken = true;
  return {};
}

}  // namespace

std::vector<ListenerPtr> Keeper::listeners_of(std::string_view kind,
                                              const kube::ObjectKey& key) const {
  return house_.listeners.by_index(claims::kOwnerIndex, claims::owner_key(kind, key));
}

Result<> Keeper::settle_grants(const Context& context, const kube::ResourceType& type,
                               const kube::ObjectKey& key, const std::string& uid,
                               Round& round) const {
  const kube::ObjectKey named = listeners_key(type, key, house_.home);
  house_.contenders.erase_former(type.kind, named, uid);
  // Of all parts: one that has left its owner asks for none.
  Result<> restored = house_.grantor.restore(context, listeners_of(type.kind, named));
  if (!restored &&
      (was_overtaken(restored.error()) || restored.error().code == Code::already_exists))
    return note(round);
  if (!restored) return restored;
  for (const std::string& former : book().uids_of(type.kind, named)) {
    if (former == uid) continue;
    // Where a Listener of it is left, the grant stays; its end brings us back.
    Result<> released = house_.grantor.release(context, former);
    if (!released && !was_overtaken(released.error())) return released;
    if (!released) return fail(Code::unavailable, "grants of a former owner are not released yet");
  }
  return {};
}

Standing Keeper::standing() const {
  return {.grants_on =
              [this](const model::LoadBalancerRef& lb, const ledger::Grant& wanted) {
                std::vector<ledger::Grant> out =
                    book().around(model::object_name(lb), wanted.owner.uid, wanted.ports);
                // Who has what in a block that is lost is known when it is rebuilt, which the
                // grantor does for whoever asks first.
                std::erase_if(out, ledger::is_block);
                return out;
              },
          .holdings_on =
              [this](const model::LoadBalancerRef& lb, const claims::WhichListeners& which) {
                return house_.grantor.holdings(lb, which);
              },
          .rival_of =
              [this](const Owner& owner, const WantedGrant& wanted) {
                return house_.contenders.older_than(owner, wanted);
              }};
}

Result<PartReport> Keeper::ensure_grants(const Context& context, const Owner& owner,
                                         const WantedPart& part,
                                         const std::function<void(const Error&)>& refused) const {
  const auto no = [&](const Error& error) {
    refused(error);
    return PartReport{.problem = error.to_string(), .refused = true};
  };
  const GrantPlan plan = plan_grants(owner, part.grants, standing());
  if (!plan.waits_for.empty()) return PartReport{.problem = plan.waits_for, .refused = true};
  if (plan.refused) return no(*plan.refused);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const WantedGrant& one = plan.steps[i].wanted;
    Result<> granted = house_.grantor.grant(context, one.lb, one.grant);
    if (granted) continue;
    const Code why = granted.error().code;
    if (why != Code::conflict && why != Code::exhausted) return pass(granted);
    // The cache was behind. What others may want is not held for a part that cannot be used.
    for (const GrantStep& step : std::span(plan.steps).first(i)) {
      if (Result<> back =
              house_.grantor.undo(context, step.wanted.lb, step.wanted.grant, step.before);
          !back)
        return pass(back);
    }
    return no(granted.error());
  }
  for (const WantedGrant& one : part.grants) {
    std::string twin = same_address(one, book());
    if (!twin.empty()) return PartReport{.problem = std::move(twin)};
  }
  return PartReport{};
}

Result<Choice> Keeper::choose(const Owner& owner, const OpenWant& want) const {
  return frontend::choose(
      owner, want,
      {.grants_on =
           [&](const model::LoadBalancerRef& lb) {
             return book().around(model::object_name(lb), owner.uid, want.range);
           },
       .holdings_in =
           [this](const model::LoadBalancerRef& lb, const model::PortRange& ports) {
             return house_.grantor.holdings(lb, claims::around("", ports));
           },
       .has_room =
           [this](const model::LoadBalancerRef& lb, std::size_t listeners) {
             const auto object = book().balancers().get({"", model::object_name(lb)});
             const std::int64_t quota = object ? object->status.listener_quota : 0;
             return quota == 0 ||
                    object->status.listeners_used + static_cast<std::int64_t>(listeners) <= quota;
           }});
}

void Keeper::settle_names(const Owner& owner, std::vector<WantedPart>& parts) const {
  frontend::settle_names(owner, parts, {house_.listeners, house_.sealer, house_.defaults});
}

Survey Keeper::survey_of(const Owner& owner, const std::vector<WantedPart>& parts,
                         std::map<std::string, PartReport> reports) const {
  return survey(owner, parts, std::move(reports),
                {house_.listeners, house_.sealer, house_.defaults});
}

Result<> Keeper::carry_out(const Context& context, const Owner& owner,
                           const std::vector<WantedPart>& parts, const Survey& survey,
                           const std::vector<ChangedListener>& changes, Round& round) const {
  if (Result<> made = create_missing(context, owner, survey.missing, round); !made) return made;
  if (Result<> done = write_changes(context, changes, round); !done) return done;
  if (Result<> released = release_left(context, owner, parts, survey); !released) return released;
  for (const auto& [part, listeners] : survey.leaving)
    if (Result<> removed = remove_free(context, listeners, round); !removed) return removed;
  return {};
}

Result<> Keeper::create_missing(const Context& context, const Owner& owner,
                                const std::vector<const WantedListener*>& missing,
                                Round& round) const {
  const std::size_t count = std::min(missing.size(), kCreationsPerPass);
  round.goes_on = missing.size() > kCreationsPerPass;
  return for_each_parallel(
      context, count, kWritesAtOnce, [&](const Context& own, std::size_t i) -> Result<> {
        house_.courtesy.give_way(own);
        const claims::Marks marks = house_.sealer.marks(identity_of(owner, *missing[i]));
        const auto created = objects_.create(own, new_listener(owner, *missing[i], marks));
        if (created || created.error().code == Code::already_exists) return {};  // cache is behind
        return fail(created.error());
      });
}

Result<> Keeper::write_changes(const Context& context, const std::vector<ChangedListener>& changes,
                               Round& round) const {
  return for_each_parallel(
      context, changes.size(), kWritesAtOnce, [&](const Context& own, std::size_t i) -> Result<> {
        house_.courtesy.give_way(own);
        const api::Listener& known = *changes[i].listener;
        Result<> changed = claims::write_listener(own, house_.client, house_.listeners, known,
                                                  claims::change_patch(known, changes[i].change));
        if (!changed && was_overtaken(changed.error())) return note(round);
        return changed;
      });
}

// Slots that nobody has; the others are waited for.
Result<> Keeper::remove_free(const Context& context, const std::vector<ListenerPtr>& listeners,
                             Round& round) const {
  const std::vector<ListenerPtr> locks = removable(listeners);
  return for_each_parallel(context, locks.size(), kWritesAtOnce,
                           [&](const Context& own, std::size_t i) {
                             house_.courtesy.give_way(own);
                             return remove_slot(own, *locks[i], round);
                           });
}

// The lock first, and only as we know it: from then on nobody can claim the slot.
Result<> Keeper::remove_slot(const Context& context, const api::Listener& lock,
                             Round& round) const {
  Result<> removed = remove_listener(context, lock);
  if (!removed && removed.error().code == Code::not_found) removed = {};
  if (!removed && was_overtaken(removed.error())) return note(round);
  if (!removed) return removed;
  // So are its peers: such a request may arrive late, when the slot was made anew and given away.
  for (const ListenerPtr& peer : peers_in(house_.listeners, lock)) {
    Result<> gone = remove_listener(context, *peer);
    if (gone || gone.error().code == Code::not_found) continue;
    if (!was_overtaken(gone.error())) return gone;
    round.overtaken = true;
  }
  return {};
}

Result<> Keeper::remove_listener(const Context& context, const api::Listener& listener) const {
  if (listener.meta.deleting) return {};
  return objects_.remove(context, listener.meta.key(),
                         {.uid = listener.meta.uid,
                          .resource_version = std::to_string(listener.meta.resource_version)});
}

Result<> Keeper::release_left(const Context& context, const Owner& owner,
                              const std::vector<WantedPart>& parts, const Survey& survey) const {
  for (const auto& [balancer, grants] :
       grants_to_release(owner, parts, survey, book().of_owner(owner.uid))) {
    if (Result<> released = house_.grantor.release(context, balancer, grants); !released)
      return released;
  }
  return {};
}

Result<bool> Keeper::let_go(const Context& context, const Owner& owner, Round& round) const {
  house_.contenders.erase(owner.uid);
  const auto listeners = listeners_of(owner.type.kind, listeners_key(owner));
  if (!listeners.empty()) {
    if (Result<> removed = remove_free(context, listeners, round); !removed) return pass(removed);
    return false;  // the end of the last one brings its owner back
  }
  if (Result<> released = house_.grantor.release(context, owner.uid); !released)
    return pass(released);
  return true;
}

}  // namespace berth::frontend
