// Load balancers: whose they are, how they are found, how they are made and removed.
#include <algorithm>

#include "sim/lb/model_provider.h"

namespace berth::sim::lb {
namespace {

using berth::lb::FoundLoadBalancer;
using berth::lb::NewLoadBalancer;
using berth::lb::Place;
using berth::lb::Tag;
using model::CredentialId;
using model::ListenerId;
using model::LoadBalancerRef;

bool has_all(const std::vector<Tag>& there, const std::vector<Tag>& wanted) {
  return std::ranges::all_of(
      wanted, [&](const Tag& tag) { return std::ranges::find(there, tag) != there.end(); });
}

Failure unknown(const LoadBalancerRef& lb) {
  return fail(Code::not_found, "load balancer {} does not exist", to_string(lb));
}

}  // namespace

// --- The test's side.

void ModelProvider::set_tags(const LoadBalancerRef& lb, std::vector<Tag> tags) {
  const MutexLock lock(mu_);
  find_balancer(lb)->tags = std::move(tags);
}

void ModelProvider::set_account(const LoadBalancerRef& lb, std::string account) {
  const MutexLock lock(mu_);
  find_balancer(lb)->account = std::move(account);
}

void ModelProvider::set_credential(const CredentialId& credential, std::string account,
                                   CredentialState state) {
  const MutexLock lock(mu_);
  credentials_[credential] = {std::move(account), state};
}

std::map<LoadBalancerRef, std::set<CredentialId>> ModelProvider::callers() const {
  const MutexLock lock(mu_);
  return callers_;
}

std::uint64_t ModelProvider::calls_with(const CredentialId& credential) const {
  const MutexLock lock(mu_);
  const auto it = calls_with_.find(credential);
  return it == calls_with_.end() ? 0 : it->second;
}

void ModelProvider::set_health(const LoadBalancerRef& lb, berth::lb::TargetHealth health) {
  const MutexLock lock(mu_);
  auto& all = find_balancer(lb)->health;
  std::erase_if(all, [&](const berth::lb::TargetHealth& old) {
    return old.rule == health.rule && old.target == health.target;
  });
  all.push_back(std::move(health));
}

std::vector<berth::lb::TargetHealth> ModelProvider::health(const LoadBalancerRef& lb) const {
  const MutexLock lock(mu_);
  const auto it = balancers_.find(lb);
  return it == balancers_.end() ? std::vector<berth::lb::TargetHealth>{} : it->second.health;
}

// --- Who may see what.

void ModelProvider::count(const Place& place) {
  ++calls_with_[place.credential];
  if (!place.lb.id.empty()) callers_[place.lb].insert(place.credential);
}

Result<> ModelProvider::may_use(const CredentialId& credential, std::string_view account) const {
  const auto it = credentials_.find(credential);
  if (it == credentials_.end()) {
    const bool any_is_good = credentials_.empty() && !options_.strict;
    if (credential.empty() || any_is_good) return {};
    return fail(Code::forbidden, "the credentials of {} are not known", credential);
  }
  if (it->second.state == CredentialState::expired) {
    return fail(Code::forbidden, "the credentials of {} have expired", credential);
  }
  if (it->second.state == CredentialState::forbidden || it->second.account != account) {
    return fail(Code::forbidden, "the credentials of {} do not suffice", credential);
  }
  return {};
}

bool ModelProvider::sees(const CredentialId& credential, std::string_view account) const {
  return may_use(credential, account).has_value();
}

Result<ModelProvider::Balancer*> ModelProvider::reach(const Place& place) {
  const auto it = balancers_.find(place.lb);
  const std::string account = it == balancers_.end() ? place.lb.account : it->second.account;
  if (auto may = may_use(place.credential, account); !may) return pass(may);
  Balancer* balancer = find_balancer(place.lb);
  if (!balancer) return unknown(place.lb);
  if (balancer->ending) return fail(Code::unavailable, "the load balancer is being removed");
  return balancer;
}

// --- The driver's side.

Result<std::vector<Result<model::LoadBalancerInfo>>> ModelProvider::describe(
    const CredentialId& credential, std::span<const LoadBalancerRef> lbs, Instant now) {
  advance(now);
  const MutexLock lock(mu_);
  count(Call::describe, lbs.size());
  if (auto error = next_read_error(Call::describe)) return fail(std::move(*error));
  std::vector<Result<model::LoadBalancerInfo>> out;
  for (const LoadBalancerRef& lb : lbs) {
    callers_[lb].insert(credential);
    const Result<Balancer*> balancer = reach({lb, credential});
    if (!balancer) {
      out.emplace_back(fail(balancer.error()));
      continue;
    }
    out.emplace_back((*balancer)->info);
    out.back()->listener_quota = quota_;
  }
  ++calls_with_[credential];
  return out;
}

Result<std::vector<FoundLoadBalancer>> ModelProvider::search(const CredentialId& credential,
                                                             const berth::lb::DirectoryQuery& query,
                                                             Instant now) {
  advance(now);
  const MutexLock lock(mu_);
  count(Call::search, 1);
  ++calls_with_[credential];
  if (auto error = next_read_error(Call::search)) return fail(std::move(*error));
  const auto known = credentials_.find(credential);
  const std::string own = known == credentials_.end() ? query.account : known->second.account;
  if (auto may = may_use(credential, own); !may) return pass(may);
  std::vector<FoundLoadBalancer> out;
  for (const auto& [lb, balancer] : balancers_) {
    const bool fits = (query.account.empty() || query.account == balancer.account) &&
                      (query.region.empty() || query.region == lb.region) &&
                      (query.name.empty() || query.name == balancer.info.name) &&
                      has_all(balancer.tags, query.tags);
    if (fits && !balancer.ending && sees(credential, balancer.account))
      out.push_back({.ref = lb, .info = balancer.info, .tags = balancer.tags});
  }
  return out;
}

Reply ModelProvider::make(const CredentialId& credential, NewLoadBalancer wanted, Instant now) {
  const Place place{LoadBalancerRef{.account = wanted.account}, credential};
  return write(Call::make, place, {1, 1}, now,
               [this, credential, wanted = std::move(wanted)](std::size_t)
                   REQUIRES(mu_) -> Result<ListenerId> {
                     if (auto may = may_use(credential, wanted.account); !may) return pass(may);
                     return make_one(wanted);
                   });
}

Reply ModelProvider::tag(const Place& place, Instant now) {
  return write(Call::tag, place, {1, 1}, now,
               [this, lb = place.lb](std::size_t) REQUIRES(mu_) { return tag_one(lb); });
}

std::optional<LoadBalancerRef> ModelProvider::made(const NewLoadBalancer& wanted) const {
  const MutexLock lock(mu_);
  for (const auto& [lb, balancer] : balancers_) {
    if (is_made_by(lb, balancer, wanted)) return lb;
  }
  return std::nullopt;
}

Reply ModelProvider::unmake(const Place& place, const Tag& mark, Instant now) {
  Reply reply;
  {
    const MutexLock lock(mu_);
    land_due(now);
    if (!balancers_.contains(place.lb)) {
      count(Call::remove_load_balancer, 1);
      count(place);
      return {.results = {ListenerId{}}};
    }
    reply = write_locked(Call::remove_load_balancer, place, {1, 1}, now,
                         [this, lb = place.lb, mark](std::size_t)
                             REQUIRES(mu_) { return unmake_one(lb, mark); });
    const auto it = balancers_.find(place.lb);
    if (reply.task && it != balancers_.end()) it->second.ending = has_all(it->second.tags, {mark});
  }
  tell();
  return reply;
}

// --- One entry each.

bool ModelProvider::is_named(const LoadBalancerRef& lb, const Balancer& balancer,
                             const NewLoadBalancer& wanted) {
  return balancer.account == wanted.account && lb.region == wanted.region &&
         balancer.info.name == wanted.name;
}

bool ModelProvider::is_made_by(const LoadBalancerRef& lb, const Balancer& balancer,
                               const NewLoadBalancer& wanted) {
  if (!is_named(lb, balancer, wanted)) return false;
  return balancer.begun ? *balancer.begun == wanted.tags : has_all(balancer.tags, wanted.tags);
}

Result<ListenerId> ModelProvider::make_one(const NewLoadBalancer& wanted) {
  bool is_taken = false;
  for (const auto& [lb, balancer] : balancers_) {
    if (!is_named(lb, balancer, wanted)) continue;
    if (balancer.ending) return fail(Code::unavailable, "one of that name is being removed");
    if (is_made_by(lb, balancer, wanted)) return ListenerId{};
    is_taken = true;
  }
  if (is_taken) return fail(Code::already_exists, "{} is another's", wanted.name);
  const LoadBalancerRef lb{options_.provider, wanted.region, fmt::format("lb-made-{}", next_id_++),
                           wanted.account};
  Balancer& fresh = balancers_[lb];
  fresh.account = wanted.account;
  fresh.info = {.name = wanted.name,
                .vips = {"vip-of-" + lb.id},
                .type = wanted.internal ? "INTERNAL" : "OPEN"};
  fresh.begun = wanted.tags;
  return ListenerId{};
}

Result<ListenerId> ModelProvider::tag_one(const LoadBalancerRef& lb) {
  Balancer* balancer = find_balancer(lb);
  if (!balancer) return unknown(lb);
  if (balancer->begun) balancer->tags = std::move(*std::exchange(balancer->begun, {}));
  return ListenerId{};
}

Result<ListenerId> ModelProvider::unmake_one(const LoadBalancerRef& lb, const Tag& mark) {
  const auto it = balancers_.find(lb);
  if (it == balancers_.end()) return ListenerId{};
  if (!has_all(it->second.tags, {mark})) {
    return fail(Code::forbidden, "load balancer {} is not marked as ours", to_string(lb));
  }
  for (auto& [id, listener] : it->second.listeners)
    changed({lb, std::move(listener), std::nullopt});
  balancers_.erase(it);
  return ListenerId{};
}

}  // namespace berth::sim::lb
