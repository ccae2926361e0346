#include "frontend/survey.h"

#include <algorithm>
#include <tuple>

#include "api/keys.h"
#include "claims/grantor.h"
#include "frontend/listener_object.h"

namespace berth::frontend {
namespace {

using claims::ListenerPtr;
using claims::ListenerStore;

bool names_owner(const api::Listener& listener, const Owner& owner) {
  const kube::OwnerReference* const controller = listener.meta.controller();
  return controller && controller->uid == owner.uid;
}

// Names that the part needs and that Listeners of others have.
struct Occupied {
  ListenerPtr first{};
  std::size_t count = 0;
};

std::string problem_with(const Occupied& occupied) {
  const api::Listener& listener = *occupied.first;
  const std::string owner =
      fmt::format("{} {}", kube::get(listener.meta.labels, api::kOwnerKindKey),
                  kube::get(listener.meta.labels, api::kOwnerNameKey));
  const std::string more =
      occupied.count > 1 ? fmt::format(" (and {} more like it)", occupied.count - 1) : "";
  if (!claims::is_foreign(listener))
    return fmt::format("Listener {} belongs to {}{}", listener.meta.name, owner, more);
  return fmt::format(
      "Listener {} was made by another controller, for {}{}: it is left alone, and its port is not "
      "given out; stop that controller and delete its Listeners, then they are made anew",
      listener.meta.name, owner, more);
}

// HTTPS takes a port of TCP.
bool shares_transport(const api::Listener& listener, const api::ListenerSpec& wanted) {
  const Result<model::Protocol> protocol = model::parse_protocol(wanted.protocol);
  if (!protocol) return false;
  return std::ranges::any_of(model::transports_of(*protocol), [&](model::Transport transport) {
    return std::ranges::find(claims::transports_of(listener), transport) !=
           claims::transports_of(listener).end();
  });
}

// Listeners of other controllers on the load balancers of a part. Their names say nothing: what
// they take is a load balancer's port.
class Foreigners {
 public:
  explicit Foreigners(const ListenerStore& listeners) : listeners_(listeners) {}

  // One that takes a port of these, made before `mine`, which may be null.
  ListenerPtr on(const WantedListener& wanted, const api::Listener* mine) {
    const auto [it, is_new] = by_lb_.try_emplace(wanted.lb);
    if (is_new)
      it->second = listeners_.by_index(claims::kForeignIndex, model::object_name(wanted.lb));
    const auto ports = api::ports_of(wanted.spec);
    for (const ListenerPtr& one : it->second) {
      if (!shares_transport(*one, wanted.spec)) continue;
      if (mine && mine->meta.created <= one->meta.created) continue;
      if (api::ports_of(one->spec).overlaps(ports)) return one;
    }
    return nullptr;
  }

 private:
  const ListenerStore& listeners_;
  std::map<model::LoadBalancerRef, std::vector<ListenerPtr>> by_lb_;
};

void note_occupied(Occupied& occupied, const ListenerPtr& listener) {
  if (occupied.count++ == 0) occupied.first = listener;
}

// Its part wants ports of that transport there; which ones is for the grant of them to say. A part
// that cannot be read may want anything.
bool is_wanted_there(const std::vector<WantedPart>& parts, const ledger::Grant& grant,
                     const std::string& balancer) {
  const auto part = std::ranges::find(parts, grant.item, &WantedPart::name);
  if (part == parts.end() || part->grants.empty()) return true;
  return std::ranges::any_of(part->grants, [&](const WantedGrant& wanted) {
    return wanted.grant.transport == grant.transport && model::object_name(wanted.lb) == balancer;
  });
}

// Whoever may edit a Listener can write others of its owner on it as its peers.
bool is_of_another_slot(const api::Listener& peer, const api::Listener& lock) {
  const std::string_view its = kube::get(peer.meta.annotations, claims::kLockAnnotation);
  return claims::is_lock(peer) || (!its.empty() && its != lock.meta.name);
}

// One look at one owner.
class Surveyor {
 public:
  Surveyor(const Owner& owner, const Sight& sight, Survey& out)
      : owner_(owner), sight_(sight), out_(out) {}

  void look_at(const WantedPart& part) {
    PartReport& report = out_.reports[part.name];
    if (part.listeners.empty()) return;
    std::set<std::string>& names = names_[part.name];
    report.wanted = part.listeners.size();
    const bool granted = report.problem.empty();  // that somebody else owns the ports says more
    Occupied occupied;
    Foreigners foreigners(sight_.listeners);
    for (const WantedListener& one : part.listeners) {
      const ListenerPtr listener = sight_.listeners.get(owner_.listeners_ns, one.name);
      if (const ListenerPtr foreign = foreigners.on(one, listener.get())) {
        note_occupied(occupied, foreign);
        continue;  // what is there of ours goes when nobody has it
      }
      names.insert(one.name);
      if (listener) {
        look_at(one, listener, granted, report, occupied);
      } else if (granted) {
        out_.missing.push_back(&one);
      }
    }
    if (granted && occupied.count > 0) report.problem = problem_with(occupied);
  }

  // All that the owner has, after all of its parts.
  void look_at_own(const std::vector<WantedPart>& parts) {
    for (const WantedPart& part : parts) names_.try_emplace(part.name);
    for (const ListenerPtr& listener : sight_.listeners.by_index(
             claims::kOwnerIndex,
             claims::owner_key(owner_.type.kind, {owner_.listeners_ns, owner_.key.name}))) {
      const std::string part(claims::item_of(*listener));
      const auto wanted = names_.find(part);
      if (wanted != names_.end()) out_.present.insert(part);
      // Of a part that cannot be read, nothing is known.
      const bool stays = wanted != names_.end() && !going_.contains(listener->meta.name) &&
                         (wanted->second.empty() || wanted->second.contains(listener->meta.name));
      if (!stays) let_go(listener, part);
    }
  }

  // One port has one listener at a load balancer: what comes waits until what has it is gone.
  void hold_back_missing() {
    const auto leaving = leaving_by_port();
    if (leaving.empty()) return;
    std::erase_if(out_.missing, [&](const WantedListener* wanted) {
      const ListenerPtr there = first_in(leaving, *wanted);
      if (!there) return false;
      std::string& problem = out_.reports[wanted->part].problem;
      if (problem.empty())
        problem = fmt::format("Listener {} is still there, and goes first", there->meta.name);
      return true;
    });
  }

 private:
  using ByPort = std::map<std::tuple<model::LoadBalancerRef, model::Transport, int>, ListenerPtr>;

  ByPort leaving_by_port() const {
    ByPort out;
    for (const auto& [part, listeners] : out_.leaving) {
      for (const ListenerPtr& one : listeners) {
        const auto lb = claims::load_balancer_of(*one, sight_.defaults);
        const model::PortRange ports = api::ports_of(one->spec);
        for (const model::Transport transport : claims::transports_of(*one))
          for (int port = ports.first; lb && port <= ports.last; ++port)
            out.emplace(std::tuple(*lb, transport, port), one);
      }
    }
    return out;
  }

  // By the lowest of its ports that one of them has; null: none.
  static ListenerPtr first_in(const ByPort& leaving, const WantedListener& wanted) {
    const Result<model::Protocol> protocol = model::parse_protocol(wanted.spec.protocol);
    if (!protocol) return nullptr;
    const model::PortRange ports = api::ports_of(wanted.spec);
    for (const model::Transport transport : model::transports_of(*protocol)) {
      const auto it = leaving.lower_bound(std::tuple(wanted.lb, transport, int{ports.first}));
      if (it != leaving.end() && it->first <= std::tuple(wanted.lb, transport, int{ports.last}))
        return it->second;
    }
    return nullptr;
  }

  void look_at(const WantedListener& wanted, const ListenerPtr& listener, bool granted,
               PartReport& report, Occupied& occupied) {
    // A Listener of that name that is another's: an Ingress, a pool of this namespace, or this
    // owner under another controller.
    const bool changed = granted && was_changed(*listener);
    if (!is_its_own(*listener, owner_) && !changed) return note_occupied(occupied, listener);
    // Another part had the port, and is leaving; unless somebody wrote that.
    if (claims::item_of(*listener) != wanted.part &&
        sight_.sealer.judge(*listener) != claims::Trust::forged) {
      if (report.problem.empty())
        report.problem =
            fmt::format("Listener {} is still of item {}", wanted.name, claims::item_of(*listener));
      return;
    }
    if (listener->meta.deleting) return;
    if (is_of_another_protocol(wanted, *listener)) {
      going_.insert(wanted.name);  // and comes back as what is wanted
      return;
    }
    if (!listener->status.listener_id.empty()) ++report.ready;
    if (const std::string_view trouble = trouble_of(*listener);
        !trouble.empty() && report.troubled++ == 0)
      report.trouble = fmt::format("Listener {}: {}", wanted.name, trouble);
    compare(wanted, listener, granted);
    out_.found.push_back({&wanted, listener});
  }

  void compare(const WantedListener& wanted, const ListenerPtr& listener, bool granted) {
    const bool strange = !is_its_own(*listener, owner_) || !names_owner(*listener, owner_);
    const bool seal = granted && (strange || may_be_sealed(wanted, *listener));
    const api::ListenerSpec& leading =
        wanted.leads == Leads::by_claim ? listener->spec : wanted.spec;
    api::ListenerSpec spec = seal ? wanted.spec : listener->spec;
    spec.protocol = wanted.spec.protocol;  // one that is spelt otherwise is no slot
    spec.listener_attribute = wanted.spec.listener_attribute;
    spec.certificate = wanted.spec.certificate;
    spec.target_group = leading.target_group;
    spec.rules = leading.rules;
    if (!seal && spec == listener->spec) return;
    OutdatedListener outdated{.listener = listener, .spec = std::move(spec)};
    if (seal) outdated.to_seal = identity_of(owner_, wanted);
    if (seal && strange) outdated.belonging = belonging_of(owner_, wanted);
    out_.outdated.push_back(std::move(outdated));
  }

  // What a listener speaks is part of what it is: no provider changes it, and it is sealed.
  bool is_of_another_protocol(const WantedListener& wanted, const api::Listener& listener) const {
    if (sight_.sealer.judge(listener) != claims::Trust::ours) return false;
    const std::optional<claims::Identity> identity = claims::identity_of(listener);
    return identity && identity->protocol != identity_of(owner_, wanted).protocol;
  }

  // A Listener under a name that the owner wants and whose ports it was granted: was it ours, and
  // did somebody write something else on it? What we sealed for another is that one's.
  bool was_changed(const api::Listener& listener) const {
    if (!claims::has_marks(listener) || claims::is_foreign(listener)) return false;
    return sight_.sealer.judge(listener) != claims::Trust::ours || names_owner(listener, owner_);
  }

  // One whose owner is gone goes with it, by the garbage collector.
  bool may_be_sealed(const WantedListener& wanted, const api::Listener& listener) const {
    const bool is_right =
        sight_.sealer.is_current(listener) && claims::found_by(listener) == wanted.found_by;
    if (!sight_.sealer.is_ready() || is_right) return false;
    // What we sealed for another load balancer stays there, whatever the text means by now.
    return sight_.sealer.judge(listener) != claims::Trust::ours ||
           claims::identity_of(listener)->lb == wanted.lb;
  }

  void let_go(const ListenerPtr& listener, const std::string& part) {
    out_.leaving[part].push_back(listener);
    if (!is_left_unsealed(*listener)) return;
    if (auto identity = claims::identity_without_seal(*listener, sight_.defaults))
      out_.outdated.push_back({listener, listener->spec, std::move(*identity)});
  }

  // Of the version before us, of a part that has left.
  bool is_left_unsealed(const api::Listener& listener) const {
    return !listener.meta.deleting && sight_.sealer.may_seal_again(listener) &&
           !claims::claim_text(listener).empty();
  }

  const Owner& owner_;
  const Sight& sight_;
  Survey& out_;
  std::map<std::string, std::set<std::string>> names_;  // by part: of its Listeners
  std::set<std::string> going_;                         // Listeners that have the name of another
};

}  // namespace

std::string_view trouble_of(const api::Listener& listener) {
  if (listener.meta.deleting || listener.status.status == api::kSynced) return {};
  const bool is_made = !listener.status.listener_id.empty();
  const bool is_behind = claims::are_targets_applied(listener) && !claims::is_applied(listener);
  return is_made && !is_behind ? std::string_view() : std::string_view(listener.status.message);
}

bool is_its_own(const api::Listener& listener, const Owner& owner) {
  const claims::OwnerName named = claims::owner_of(listener);
  return named.kind == owner.type.kind && named.key.ns == owner.listeners_ns &&
         named.key.name == api::label_value(owner.key.name) && !claims::is_foreign(listener);
}

Survey survey(const Owner& owner, const std::vector<WantedPart>& parts,
              std::map<std::string, PartReport> reports, const Sight& sight) {
  Survey out{.reports = std::move(reports)};
  Surveyor surveyor(owner, sight, out);
  for (const WantedPart& part : parts) surveyor.look_at(part);
  surveyor.look_at_own(parts);
  surveyor.hold_back_missing();
  return out;
}

std::vector<ChangedListener> changes_of(const std::vector<OutdatedListener>& outdated,
                                        const claims::Sealer& sealer) {
  std::vector<ChangedListener> out;
  for (const OutdatedListener& one : outdated) {
    ChangedListener& next = out.emplace_back(ChangedListener{.listener = one.listener});
    if (one.spec != one.listener->spec) next.change.spec = one.spec;
    if (one.to_seal) next.change.marks = sealer.marks(*one.to_seal);
    next.change.belonging = one.belonging;
  }
  return out;
}

std::vector<ListenerPtr> removable(const std::vector<ListenerPtr>& listeners) {
  std::vector<ListenerPtr> out;
  std::set<std::string> led;  // peers that go with a lock
  for (const ListenerPtr& listener : listeners) {
    if (!claims::is_lock(*listener)) continue;
    for (std::string& peer : peers_of(*listener)) led.insert(std::move(peer));
    if (claims::claim_text(*listener).empty()) out.push_back(listener);
  }
  for (const ListenerPtr& listener : listeners) {
    // A claim on what says that it is a peer: one of the two was written by somebody.
    const bool is_clean = !claims::is_lock(*listener) && claims::claim_text(*listener).empty();
    if (is_clean && !led.contains(listener->meta.name)) out.push_back(listener);
  }
  return out;
}

std::vector<std::string> peers_of(const api::Listener& lock) {
  std::vector<std::string> names;
  std::string_view rest = kube::get(lock.meta.annotations, claims::kPeersAnnotation);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    names.emplace_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return names;
}

std::vector<ListenerPtr> peers_in(const ListenerStore& listeners, const api::Listener& lock) {
  std::vector<ListenerPtr> out;
  for (const std::string& name : peers_of(lock)) {
    ListenerPtr peer = listeners.get(lock.meta.ns.view(), name);
    if (peer && !claims::is_foreign(*peer) && claims::owner_of(*peer) == claims::owner_of(lock) &&
        !is_of_another_slot(*peer, lock))
      out.push_back(std::move(peer));
  }
  return out;
}

std::map<std::string, std::vector<ledger::Grant>> grants_to_release(
    const Owner& owner, const std::vector<WantedPart>& parts, const Survey& survey,
    const std::map<std::string, std::vector<ledger::Grant>>& granted) {
  std::map<std::string, std::vector<ledger::Grant>> out;
  for (const auto& [balancer, grants] : granted) {
    for (const ledger::Grant& grant : grants) {
      if (grant.owner.uid != owner.uid) continue;
      const auto report = survey.reports.find(grant.item);
      const bool is_part = report != survey.reports.end() && !report->second.refused;
      const bool used = survey.present.contains(grant.item) || survey.leaving.contains(grant.item);
      const bool stays = is_part ? is_wanted_there(parts, grant, balancer) : used;
      if (!stays) out[balancer].push_back(grant);
    }
  }
  return out;
}

}  // namespace berth::frontend
