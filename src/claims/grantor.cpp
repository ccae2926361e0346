#include "claims/grantor.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "api/keys.h"

namespace berth::claims {
namespace {

using ledger::Grant;

// The leader alone grants: more than a few losses in a row are a defect.
constexpr int kMaxTries = 10;

// A pool has many Listeners, and nearly all of them do: what they hold is not written out for that.
bool stands_in(const api::Listener& listener, const std::vector<ledger::Grant>& grants) {
  const kube::OwnerReference* const owner = listener.meta.controller();
  if (!owner) return true;  // nobody's
  return std::ranges::all_of(transports_of(listener), [&](model::Transport transport) {
    return ledger::is_granted(grants, {owner->uid, listener.meta.ns.view(), item_of(listener),
                                       transport, api::ports_of(listener.spec)});
  });
}

// One too many is refused alone, and not all that are written with it.
Result<std::vector<ledger::Grant>> with_one(const std::vector<ledger::Grant>& grants,
                                            const ledger::Grant& wanted,
                                            const std::vector<ledger::Holding>& held) {
  Result<std::vector<ledger::Grant>> next = ledger::with_grant(grants, wanted, held);
  if (!next || next->size() <= api::kMaxGrants) return next;
  return fail(error_of(Code::exhausted, "has {} ranges of ports in use, as many as it can have",
                       grants.size())
                  .with_hint("use another load balancer, or fewer and longer ranges"));
}

bool is_lost_block(const Grant& grant) { return ledger::is_block(grant); }

// Listeners that may matter when these are granted: all of their owners, and what lies on them.
WhichListeners around_all(const std::vector<const Grant*>& wanted) {
  std::set<std::string, std::less<>> owners;
  std::vector<bool> ports(65536);
  for (const Grant* const one : wanted) {
    owners.insert(one->owner.uid);
    for (std::uint32_t port = one->ports.first; port <= one->ports.last; ++port) ports[port] = true;
  }
  return [owners = std::move(owners), ports = std::move(ports)](const api::Listener& listener) {
    const bool is_theirs = std::ranges::any_of(
        listener.meta.owners, [&](const auto& owner) { return owners.contains(owner.uid); });
    if (is_theirs) return true;
    const model::PortRange own = api::ports_of(listener.spec);
    if (own.last < own.first) return false;  // no range that anybody could have
    return std::find(ports.begin() + own.first, ports.begin() + own.last + 1, true) !=
           ports.begin() + own.last + 1;
  };
}

Result<> about(const model::LoadBalancerRef& lb, Result<> answer) {
  return answer ? answer : Result<>(fail(Error(answer.error()).about(model::to_string(lb))));
}

Error changes_too_often(const model::LoadBalancerRef& lb) {
  return error_of(Code::conflict, "grants changed {} times in a row", kMaxTries)
      .about(model::to_string(lb));
}

bool collides_with(const std::vector<Grant>& grants, const Grant& wanted) {
  return std::ranges::any_of(grants, [&](const Grant& one) {
    return one.transport == wanted.transport && one.ports.overlaps(wanted.ports) &&
           !is_same_place(one, wanted);
  });
}

bool may_try_again(const Error& error) {
  return kube::was_overtaken(error) || error.code == Code::already_exists;
}

}  // namespace

std::vector<Grant> Grantor::grants(const model::LoadBalancerRef& lb) const {
  return book_.on(model::object_name(lb));
}

std::vector<ledger::Holding> Grantor::holdings(std::string_view balancer,
                                               const WhichListeners& which) const {
  return holdings_on(
      listeners_, balancer, sealer_,
      [&](const ledger::Stand& stand) {
        return ledger::is_granted(book_.on(balancer, stand.ports), stand);
      },
      which);
}

std::vector<ledger::Holding> Grantor::holdings(const model::LoadBalancerRef& lb,
                                               const WhichListeners& which) const {
  return holdings(model::object_name(lb), which);
}

Result<> Grantor::grant(const Context& context, const model::LoadBalancerRef& lb,
                        const ledger::Grant& wanted) {
  const std::string name = model::object_name(lb);
  const auto mine =
      std::make_shared<Waiting>(Waiting{.wanted = wanted, .changed = context.tasks.signal()});
  {
    const MutexLock lock(mu_);
    const auto [it, is_first] = waiting_.try_emplace(name);
    it->second.push_back(mine);
    mine->writes = is_first;
  }
  for (;;) {
    bool writes = false;
    {
      const MutexLock lock(mu_);
      if (mine->answer) return std::move(*mine->answer);
      writes = mine->writes;
      if (!writes && context.stop.stop_requested()) {
        std::erase(waiting_.at(name), mine);  // there until everybody in it is answered
        return fail(context.end_error());
      }
    }
    if (writes) {
      const Batch batch = begin_write(name);
      end_write(name, batch, decide(context, lb, batch));
    } else {
      // Whoever writes has a deadline.
      (void)context.tasks.wait(*mine->changed, Instant::max(), context.stop);
    }
  }
}

bool Grantor::begin_turn(const std::string& balancer) {
  const MutexLock lock(mu_);
  return waiting_.try_emplace(balancer).second;
}

Grantor::Batch Grantor::begin_write(const std::string& balancer) {
  const MutexLock lock(mu_);
  return std::exchange(waiting_[balancer], {});
}

void Grantor::end_write(const std::string& balancer, const Batch& batch, Answers answers) {
  const MutexLock lock(mu_);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    batch[i]->answer = std::move(answers[i]);
    batch[i]->changed->notify();
  }
  const auto it = waiting_.find(balancer);
  if (it->second.empty()) {
    waiting_.erase(it);
  } else {
    it->second.front()->writes = true;
    it->second.front()->changed->notify();
  }
}

Grantor::Answers Grantor::decide(const Context& context, const model::LoadBalancerRef& lb,
                                 const Batch& batch) {
  Answers answers(batch.size());
  Result<Tried> tried = Tried::again;
  // Each may need a change of the layout or two before it is written.
  const std::size_t most = kMaxTries + 2 * batch.size();
  for (std::size_t i = 0; i < most && tried && *tried == Tried::again; ++i)
    tried = try_write(context, lb, batch, answers);
  if (tried && *tried == Tried::again) tried = fail(changes_too_often(lb));
  for (std::optional<Result<>>& answer : answers)
    if (!answer) answer = tried ? Result<>{} : Result<>(fail(tried.error()));
  return answers;
}

Result<Grantor::Tried> Grantor::try_write(const Context& context, const model::LoadBalancerRef& lb,
                                          const Batch& batch, Answers& answers) {
  const std::string name = model::object_name(lb);
  const auto after = [&](const Result<>& step) -> Result<Tried> {
    if (!step && !may_try_again(step.error())) return fail(step.error());
    if (step) return Tried::again;
    if (Result<> fresh = refresh(context, name); !fresh) return pass(fresh);
    return Tried::again;
  };
  const BalancerPtr object = book_.balancers().get("", name);
  // One that was made anew is looked at once more.
  if (!object) return after(rebuild(context, lb, batch));
  std::vector<const Grant*> wanted;
  for (std::size_t i = 0; i < batch.size(); ++i)
    if (!answers[i]) wanted.push_back(&batch[i]->wanted);
  const std::vector<ledger::Holding> held = holdings(name, around_all(wanted));
  answer_known(lb, held, batch, answers);
  std::vector<std::size_t> open;
  wanted.clear();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (answers[i]) continue;
    open.push_back(i);
    wanted.push_back(&batch[i]->wanted);
  }
  const Routes routes = route(*object, wanted);
  if (!routes.are_clear()) {
    const Result<> changed = change_layout(context, lb, *object, routes);
    if (changed || may_try_again(changed.error())) return after(changed);
    // Whoever does not need that change is served without it.
    answer_waiting(lb, routes, changed.error(), batch, open, answers);
    return Tried::again;
  }
  if (remove_former(context, lb, object, routes, batch, open, answers)) return Tried::again;
  std::map<std::string, std::vector<std::size_t>> by_home;
  for (std::size_t k = 0; k < open.size(); ++k)
    if (routes.homes[k]) by_home[*routes.homes[k]].push_back(open[k]);
  for (const auto& [home_name, members] : by_home) {
    const std::optional<Home> home = home_of(object, home_name);
    if (home) write_home(context, lb, *home, held, batch, members, answers);
  }
  const bool all = std::ranges::all_of(answers, [](const auto& one) { return one.has_value(); });
  return all ? Tried::done : Tried::again;
}

void Grantor::answer_known(const model::LoadBalancerRef& lb,
                           const std::vector<ledger::Holding>& held, const Batch& batch,
                           Answers& answers) const {
  const std::string name = model::object_name(lb);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (answers[i]) continue;
    const Grant& wanted = batch[i]->wanted;
    const std::vector<Grant> near = book_.around(name, wanted.owner.uid, wanted.ports);
    // Until it is rebuilt, nobody knows who has what in it.
    if (std::ranges::any_of(near, is_lost_block)) continue;
    if (ledger::has_grant(near, wanted) && !ledger::may_shrink(near, wanted, held)) {
      answers[i] = about(lb, ledger::check_unheld(held, wanted));
    } else if (const auto next = ledger::with_grant(near, wanted, held); !next) {
      answers[i] = about(lb, fail(next.error()));
    }
  }
}

void Grantor::write_home(const Context& context, const model::LoadBalancerRef& lb, const Home& home,
                         const std::vector<ledger::Holding>& held, const Batch& batch,
                         const std::vector<std::size_t>& members, Answers& answers) {
  std::vector<Grant> next = home.grants;
  std::vector<std::size_t> added;
  for (const std::size_t i : members) {
    if (Result<std::vector<Grant>> more = with_one(next, batch[i]->wanted, held)) {
      next = std::move(*more);
      added.push_back(i);
    } else {
      answers[i] = about(lb, pass(more));
    }
  }
  if (added.empty()) return;
  Result<> written = swap(context, home, next);
  if (!written && kube::was_overtaken(written.error())) {
    written = refresh(context, lb, home);
    if (written) return;
  } else if (written) {
    const Result<bool> is_named = is_still_named(context, home);
    if (is_named && !*is_named) return;  // nobody is told; it is tried again
    if (!is_named) written = fail(is_named.error());
  }
  // Whoever waited for another object has nothing to do with it.
  for (const std::size_t i : added) answers[i] = written;
}

// A write to a block tests the block alone, and somebody may have taken it out of the LoadBalancer
// object meanwhile, or made that anew. What is named now was named then: nobody names a block
// twice.
Result<bool> Grantor::is_still_named(const Context& context, const Home& home) const {
  if (!home.block) return true;
  const Result<BalancerPtr> now = lists_.read(context, home.balancer->meta.name);
  if (!now) return fail(now.error());
  return *now && std::ranges::any_of(list_of(**now), [&](const Grant& grant) {
    return ledger::is_block(grant) && grant.owner == home.named.owner &&
           grant.transport == home.named.transport && grant.ports == home.named.ports;
  });
}

bool Grantor::remove_former(const Context& context, const model::LoadBalancerRef& lb,
                            const BalancerPtr& object, const Routes& routes, const Batch& batch,
                            const std::vector<std::size_t>& open, Answers& answers) {
  for (std::size_t k = 0; k < open.size(); ++k) {
    const Grant& one = batch[open[k]]->wanted;
    const auto near = book_.around(object->meta.name, one.owner.uid, one.ports);
    if (!routes.homes[k] || ledger::own_grants(near, one).empty()) continue;
    for (const Home& home : homes_of(object, one.owner.uid)) {
      if ((home.block ? home.block->meta.name : "") == *routes.homes[k]) continue;
      std::vector<Grant> next = home.grants;
      if (std::erase_if(next, [&](const Grant& own) { return is_same_place(own, one); }) == 0)
        continue;
      Result<> written = swap(context, home, next);
      if (!written && kube::was_overtaken(written.error())) written = refresh(context, lb, home);
      if (!written) answers[open[k]] = written;
      return true;
    }
  }
  return false;
}

Grantor::Routes Grantor::route(const api::LoadBalancer& object,
                               const std::vector<const Grant*>& wanted) const {
  Routes out{.homes = std::vector<std::optional<std::string>>(wanted.size())};
  // As it will be when those that came first are written.
  std::vector<Grant> list = list_of(object);
  bool is_any_routed = false;
  const auto add_once = [](std::vector<Grant>& to, const Grant& block) {
    if (std::ranges::find(to, block) == to.end()) to.push_back(block);
  };
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const ledger::Site site = ledger::site_of(list, *wanted[i], layout_);
    bool waits = false;
    for (const Grant& block : site.blocks) {
      const BlockPtr known = book_.block_of(object.meta.name, block);
      if (!known) add_once(out.lost, block);
      if (known && is_closed(*known)) add_once(out.to_call_in, block);
      waits = waits || !known || is_closed(*known);
    }
    if (waits) continue;
    if (site.where == ledger::Where::new_block) {
      if (std::ranges::find(out.to_hand_on, site.handed_on) == out.to_hand_on.end())
        out.to_hand_on.push_back(site.handed_on);
    } else if (site.where == ledger::Where::cut) {
      // Those that came first are written first: they may be in its way.
      if (is_any_routed) continue;
      for (const Grant& block : site.blocks) add_once(out.to_call_in, block);
    } else {
      const bool in_list = site.where == ledger::Where::list;
      out.homes[i] = in_list ? "" : site.blocks.front().owner.name;
      if (in_list) list.push_back(*wanted[i]);
      is_any_routed = true;
    }
  }
  return out;
}

// One kind of change at a time: each is a write of the LoadBalancer object.
Result<> Grantor::change_layout(const Context& context, const model::LoadBalancerRef& lb,
                                const api::LoadBalancer& object, const Routes& routes) {
  if (!routes.lost.empty()) return rebuild_blocks(context, lb, routes.lost);
  if (!routes.to_call_in.empty()) {
    const Grant& named = routes.to_call_in.front();
    const BlockPtr block = book_.block_of(object.meta.name, named);
    return block ? lists_.call_in(context, object, named, *block) : Result<>{};
  }
  return lists_.hand_on(context, object, routes.to_hand_on);
}

// Those that `change_layout` tried to make the way clear for.
void Grantor::answer_waiting(const model::LoadBalancerRef& lb, const Routes& routes,
                             const Error& error, const Batch& batch,
                             const std::vector<std::size_t>& open, Answers& answers) {
  std::vector<ledger::BlockPorts> concerned;
  for (const Grant& lost : routes.lost) concerned.push_back(ledger::ports_of(lost));
  if (concerned.empty() && !routes.to_call_in.empty())
    concerned.push_back(ledger::ports_of(routes.to_call_in.front()));
  if (concerned.empty()) {
    concerned = routes.to_hand_on;
    // There was no room for the first of them; the others may have what lies in theirs moved.
    if (error.code == Code::exhausted) concerned.resize(1);
  }
  for (std::size_t k = 0; k < open.size(); ++k) {
    const bool waits = std::ranges::any_of(concerned, [&](const ledger::BlockPorts& block) {
      return lies_on(batch[open[k]]->wanted, block);
    });
    if (waits && !routes.homes[k]) answers[open[k]] = about(lb, fail(error));
  }
}

std::optional<Grantor::Home> Grantor::home_of(const BalancerPtr& object,
                                              const std::string& name) const {
  if (name.empty()) return Home{.balancer = object, .grants = list_of(*object)};
  for (const Grant& named : list_of(*object)) {
    if (!ledger::is_block(named) || named.owner.name != name) continue;
    const BlockPtr block = book_.block_of(object->meta.name, named);
    if (!block) return std::nullopt;
    return Home{
        .balancer = object, .block = block, .named = named, .grants = list_of(*block, named)};
  }
  return std::nullopt;
}

std::vector<Grantor::Home> Grantor::homes_of(const BalancerPtr& object,
                                             std::string_view owner_uid) const {
  std::vector<Home> out{*home_of(object, "")};
  for (const BlockPtr& block : blocks_.by_index(kGrantOwnerIndex, owner_uid))
    if (auto home = home_of(object, block->meta.name)) out.push_back(std::move(*home));
  return out;
}

Result<> Grantor::swap(const Context& context, const Home& home,
                       const std::vector<Grant>& grants) const {
  // What it has is on its way back: the caller comes again, and finds it there.
  if (home.block && is_closed(*home.block))
    return fail(error_of(Code::precondition, "is being called in")
                    .about("PortBlock " + home.block->meta.name));
  return home.block ? lists_.swap(context, *home.block, grants)
                    : lists_.swap(context, *home.balancer, grants);
}

Result<> Grantor::restore(const Context& context, const std::vector<ListenerPtr>& listeners) {
  struct Ground {
    std::optional<model::LoadBalancerRef> lb{};
    std::vector<Grant> grants{};
  };
  // By the text on Listeners and by owner: they have few of either.
  std::map<std::pair<std::string_view, std::string_view>, Ground> grounds;
  std::map<model::LoadBalancerRef, std::vector<ledger::Holding>> lost;
  for (const ListenerPtr& listener : listeners) {
    const std::string_view text = kube::get(listener->meta.annotations, kBalancerAnnotation);
    const kube::OwnerReference* const owner = listener->meta.controller();
    const std::string_view uid = owner ? std::string_view(owner->uid) : std::string_view();
    const auto [it, is_new] = grounds.try_emplace({text, uid});
    Ground& ground = it->second;
    // Port 0 is none: what the owner has is all that is asked for.
    if (is_new && (ground.lb = model::parse_canonical(text)))
      ground.grants = book_.around(model::object_name(*ground.lb), uid, {});
    if (!ground.lb || stands_in(*listener, ground.grants)) continue;
    if (sealer_.judge(*listener) != Trust::ours) continue;
    std::ranges::move(holdings_of(*listener), std::back_inserter(lost[*ground.lb]));
  }
  for (const auto& [lb, own] : lost)
    if (Result<> restored = restore(context, lb, own); !restored) return restored;
  return {};
}

Result<> Grantor::restore(const Context& context, const model::LoadBalancerRef& lb,
                          const std::vector<ledger::Holding>& own) {
  const std::string name = model::object_name(lb);
  for (std::size_t i = 0; i < kMaxTries + 2 * own.size(); ++i) {
    const BalancerPtr object = book_.balancers().get("", name);
    if (!object) {
      // Whoever has the turn rebuilds it, too.
      if (!begin_turn(name)) return fail(changes_too_often(lb));
      Result<> rebuilt = rebuild(context, lb, {});
      end_write(name, {}, {});
      return rebuilt;
    }
    const Result<Tried> tried = try_restore(context, lb, object, own);
    if (!tried) return fail(tried.error());
    if (*tried == Tried::done) return {};
  }
  return fail(changes_too_often(lb));
}

std::vector<Grant> Grantor::lost_of(std::string_view balancer,
                                    const std::vector<ledger::Holding>& own, WallTime now) const {
  std::vector<Grant> stands;
  for (const ledger::Holding& holding : own)
    stands.push_back({holding.transport, holding.ports, holding.owner, holding.item, now});
  std::vector<const Grant*> wanted;
  for (const Grant& one : stands) wanted.push_back(&one);
  const std::vector<ledger::Holding> all = holdings(balancer, around_all(wanted));
  std::vector<ledger::Holding> lost;
  for (std::size_t i = 0; i < own.size(); ++i) {
    std::vector<Grant> near = book_.around(balancer, own[i].owner.uid, own[i].ports);
    std::erase_if(near, is_lost_block);
    const std::vector<Grant> one = ledger::with_holdings(near, {&own[i], 1}, all, now);
    if (one.size() > near.size()) lost.push_back(own[i]);
  }
  return ledger::rebuilt(lost, now);
}

Result<Grantor::Tried> Grantor::try_restore(const Context& context,
                                            const model::LoadBalancerRef& lb,
                                            const BalancerPtr& object,
                                            const std::vector<ledger::Holding>& own) {
  const std::vector<Grant> lost = lost_of(object->meta.name, own, context.tasks.wall_time());
  std::vector<const Grant*> wanted;
  for (const Grant& one : lost) wanted.push_back(&one);
  const Routes routes = route(*object, wanted);
  if (!routes.are_clear()) {
    if (Result<> changed = change_layout(context, lb, *object, routes); !changed)
      return pass(changed);
    return Tried::again;
  }
  std::map<std::string, std::vector<Grant>> by_home;
  for (std::size_t i = 0; i < lost.size(); ++i)
    if (routes.homes[i]) by_home[*routes.homes[i]].push_back(lost[i]);
  for (auto& [name, grants] : by_home) {
    const std::optional<Home> home = home_of(object, name);
    if (!home) return Tried::again;
    std::vector<Grant> next = home->grants;
    // What was found lost a moment ago may have been given away since.
    if (std::ranges::any_of(grants, [&](const Grant& one) { return collides_with(next, one); }))
      return Tried::again;
    std::ranges::move(grants, std::back_inserter(next));
    ledger::sort_by_port(next);
    if (Result<> written = swap(context, *home, next); !written) return pass(written);
  }
  const bool all =
      std::ranges::all_of(routes.homes, [](const auto& one) { return one.has_value(); });
  return all ? Tried::done : Tried::again;
}

Result<> Grantor::undo(const Context& context, const model::LoadBalancerRef& lb, const Grant& given,
                       const std::vector<Grant>& before) {
  const std::string name = model::object_name(lb);
  for (int i = 0; i < kMaxTries; ++i) {
    const BalancerPtr object = book_.balancers().get("", name);
    if (!object) return {};
    std::vector<const Grant*> all{&given};
    for (const Grant& one : before) all.push_back(&one);
    const Routes routes = route(*object, all);
    const bool is_one_home =
        std::ranges::all_of(routes.homes, [&](const auto& one) { return one == routes.homes[0]; });
    const auto held = holdings(name, of_owner(given.owner.uid));
    Result<> written;
    Home at;
    for (Home& home : homes_of(object, given.owner.uid)) {
      const std::vector<Grant> next = ledger::without_given(
          home.grants, given, is_one_home ? before : std::vector<Grant>{}, held);
      if (next != home.grants) written = swap(context, home, next);
      at = std::move(home);
      if (!written) break;
    }
    if (written || written.error().code == Code::not_found) {
      // What it had lies in another object: it is asked for anew, if nobody has it by now.
      if (is_one_home || before.size() != 1) return {};
      Result<> again = grant(context, lb, before.front());
      return !again && again.error().code == Code::conflict ? Result<>{} : again;
    }
    if (!kube::was_overtaken(written.error())) return written;
    if (Result<> fresh = refresh(context, lb, at); !fresh) return fresh;
  }
  return fail(changes_too_often(lb));
}

Result<> Grantor::release(const Context& context, std::string_view owner_uid) {
  for (const auto& [balancer, own] : book_.of_owner(owner_uid))
    if (Result<> released = release(context, balancer, own); !released) return released;
  return {};
}

Result<> Grantor::release(const Context& context, const std::string& balancer,
                          const std::vector<Grant>& grants) {
  const BalancerPtr object = book_.balancers().get("", balancer);
  if (!object || grants.empty()) return {};
  const std::string& uid = grants.front().owner.uid;
  const std::vector<ledger::Holding> held = holdings(balancer, of_owner(uid));
  for (const Home& home : homes_of(object, uid)) {
    const std::vector<Grant> after = ledger::without_unused(home.grants, grants, held);
    if (after.size() == home.grants.size()) continue;
    const Result<> written = swap(context, home, after);
    // Known only from the cache, which may be behind: the caller comes again.
    if (!written && written.error().code != Code::not_found) return written;
  }
  return {};
}

Result<> Grantor::rebuild(const Context& context, const model::LoadBalancerRef& lb,
                          const Batch& wanted) {
  if (Result<> listed = list_listeners(context, lb); !listed) return listed;
  const std::vector<ledger::Holding> held =
      holdings_on(listeners_, model::object_name(lb), sealer_, std::vector<Grant>{});
  ledger::LaidOut laid =
      ledger::laid_out(ledger::rebuilt(held, context.tasks.wall_time()), layout_);
  for (const WaitingPtr& one : wanted) {
    // Where there are many, and where it cannot be had, the next try sees to it.
    if (!laid.blocks.empty() || laid.list.size() >= layout_.long_list) break;
    if (Result<std::vector<Grant>> more = with_one(laid.list, one->wanted, held))
      laid.list = std::move(*more);
  }
  return lists_.create(context, lb, std::move(laid));
}

Result<> Grantor::rebuild_blocks(const Context& context, const model::LoadBalancerRef& lb,
                                 std::vector<Grant> lost) {
  const std::string name = model::object_name(lb);
  std::vector<Rebuilt> blocks;
  for (Grant& one : lost) {
    const Result<BlockPtr> found = lists_.read_block(context, one.owner.name);
    if (!found) return fail(found.error());
    // Else our cache was behind.
    if (!counts(name, to_api(one), found->get())) blocks.push_back({.lost = std::move(one)});
  }
  if (blocks.empty()) return {};
  if (Result<> listed = list_listeners(context, lb); !listed) return listed;
  for (Rebuilt& block : blocks) {
    const ledger::BlockPorts ports = ledger::ports_of(block.lost);
    std::vector<ledger::Holding> held = holdings_on(
        listeners_, name, sealer_, std::vector<Grant>{}, [&](const api::Listener& listener) {
          return ports.ports.contains(api::ports_of(listener.spec));
        });
    std::erase_if(held, [&](const auto& one) { return one.transport != ports.transport; });
    block.grants = ledger::rebuilt(held, context.tasks.wall_time());
  }
  const BalancerPtr object = book_.balancers().get("", name);
  return object ? lists_.replace(context, *object, std::move(blocks)) : Result<>{};
}

Result<bool> Grantor::tidy(const Context& context, const std::string& balancer) {
  const BalancerPtr object = book_.balancers().get("", balancer);
  const bool names_any = object && std::ranges::any_of(list_of(*object), ledger::is_block);
  if (!names_any && blocks_.by_index(kBlockBalancerIndex, balancer).empty()) return true;
  if (!begin_turn(balancer)) return false;
  const Result<bool> tidied = tidy_blocks(context, balancer);
  end_write(balancer, {}, {});
  return tidied;
}

Result<bool> Grantor::tidy_blocks(const Context& context, const std::string& balancer) {
  // Before the object that may name them: one that comes later is for the next time.
  const std::vector<BlockPtr> there = blocks_.by_index(kBlockBalancerIndex, balancer);
  const Result<BalancerPtr> first = lists_.read(context, balancer);
  if (!first) return fail(first.error());
  if (!*first) return lists_.remove_unnamed(context, there, nullptr);
  std::vector<Grant> lost;
  for (const Grant& named : list_of(**first)) {
    if (!ledger::is_block(named)) continue;
    // As the step before has left it.
    const BalancerPtr object = book_.balancers().get("", balancer);
    if (!object) return false;
    const BlockPtr block = book_.block_of(balancer, named);
    if (!block) {
      lost.push_back(named);
    } else if (is_closed(*block) || list_of(*block, named).empty()) {
      if (Result<> done = lists_.call_in(context, *object, named, *block); !done)
        return fail(done.error());
    }
  }
  if (!lost.empty()) {
    const Result<model::LoadBalancerRef> lb = ref_of(**first);
    if (!lb) return fail(lb.error());
    // Its name says the same, and nobody can edit that.
    const bool is_it = model::object_name(*lb) == balancer;
    if (Result<> done = is_it ? rebuild_blocks(context, *lb, std::move(lost)) : Result<>{}; !done)
      return fail(done.error());
  }
  const BalancerPtr last = book_.balancers().get("", balancer);
  // One that is gone by now is read again.
  return last ? lists_.remove_unnamed(context, there, last) : Result<bool>(false);
}

Result<> Grantor::list_listeners(const Context& context, const model::LoadBalancerRef& lb) {
  return listener_objects_.list(context, {.label_selector = api::load_balancer_selector(lb)});
}

Result<> Grantor::refresh(const Context& context, const std::string& balancer) const {
  const Result<BalancerPtr> found = lists_.read(context, balancer);
  if (!found) return fail(found.error());
  if (*found) return {};
  // Gone, and our cache does not know it yet.
  return fail(error_of(Code::unavailable, "is being removed").about("LoadBalancer " + balancer));
}

Result<> Grantor::refresh(const Context& context, const model::LoadBalancerRef& lb,
                          const Home& home) {
  if (!home.block) return refresh(context, home.balancer->meta.name);
  const Result<BlockPtr> found = lists_.read_block(context, home.block->meta.name);
  if (!found) return fail(found.error());
  if (*found && (*found)->meta.uid == home.block->meta.uid) return {};
  // Our cache does not know yet that it is lost.
  Result<> rebuilt = rebuild_blocks(context, lb, {home.named});
  if (rebuilt || !may_try_again(rebuilt.error())) return rebuilt;
  return refresh(context, home.balancer->meta.name);
}

}  // namespace berth::claims
