#include "controllers/loadbalancer/name_book.h"

#include <algorithm>

#include "base/parallel.h"

namespace berth::controllers::loadbalancer {
namespace {

using model::LoadBalancerRef;

// Long enough to grant what was asked for, too short for a name to have moved unseen for long.
constexpr Duration kGood = std::chrono::seconds{60};
// What is not so now may be so soon: somebody makes the load balancer, or renames the second one.
// What is not so for long is asked for less and less: calls are counted, and anybody may write
// names.
constexpr Duration kBad = std::chrono::seconds{5};
constexpr Duration kBadForLong = std::chrono::minutes{5};
// A provider that takes longer is not there.
constexpr Duration kAnswersWithin = std::chrono::seconds{20};
// Names that are remembered; pools have few each. The one that nobody asked for longest goes.
constexpr std::size_t kMaxNames = 4096;
// Providers are asked side by side: one that hangs holds no other up.
constexpr std::size_t kAtOnce = 4;
// Ids in a message.
constexpr std::size_t kShown = 4;

std::string where(const LoadBalancerRef& named) {
  return named.region.empty() ? std::string() : " in " + named.region;
}

Failure no_such(const LoadBalancerRef& named) {
  return fail(error_of(Code::not_found, "no {} load balancer{} has the name '{}'",
                       model::traits_of(named.provider).title, where(named), named.id)
                  .with_hint("it is looked for again; or write the id"));
}

Failure several(const LoadBalancerRef& named, const std::vector<LoadBalancerRef>& found) {
  std::string ids;
  for (std::size_t i = 0; i < std::min(found.size(), kShown); ++i)
    ids.append(ids.empty() ? "" : ", ").append(model::to_string(found[i]));
  if (found.size() > kShown) ids += fmt::format(" and {} more", found.size() - kShown);
  return fail(error_of(Code::conflict, "{} load balancers{} have the name '{}': {}", found.size(),
                       where(named), named.id, ids)
                  .with_hint("write the id"));
}

Duration good_for(int failures) {
  Duration out = failures == 0 ? kGood : kBad;
  for (int i = 1; i < failures && out < kBadForLong; ++i) out *= 2;
  return std::min(out, kBadForLong);
}

Failure not_asked_yet(const LoadBalancerRef& named) {
  return fail(Code::unavailable, "the load balancer of the name '{}' is being looked up", named.id);
}

}  // namespace

NameBook::NameBook(Tasks& tasks, lb::Drivers drivers, OnAnswer on_answer)
    : tasks_(tasks),
      drivers_(std::move(drivers)),
      on_answer_(std::move(on_answer)),
      asked_(tasks.signal()) {}

Result<LoadBalancerRef> NameBook::ask(const LoadBalancerRef& named,
                                      const model::CredentialId& credential) {
  const Instant now = tasks_.now();
  const Question question{named, credential};
  const MutexLock lock(mu_);
  if (!entries_.contains(question)) make_room();
  Entry& entry =
      entries_.try_emplace(question, Entry{.answer = not_asked_yet(named)}).first->second;
  entry.last_asked = now;
  if (now < entry.good_until) return entry.answer;
  if (!entry.wanted) {
    entry.wanted = true;
    asked_->notify();
  }
  // Nothing is granted on what was true once; what was wrong is said until it is known better.
  if (entry.answer) return not_asked_yet(named);
  return entry.answer;
}

void NameBook::make_room() {
  if (entries_.size() < kMaxNames) return;
  const auto oldest = std::ranges::min_element(
      entries_, {}, [](const auto& entry) { return entry.second.last_asked; });
  entries_.erase(oldest);
}

void NameBook::run(const Context& context) {
  while (!context.expired()) {
    const std::vector<Question> names = wanted();
    (void)for_each_parallel(context, names.size(), kAtOnce,
                            [&](const Context& own, std::size_t i) -> Result<> {
                              look_up(own, names[i]);
                              return {};
                            });
    if (names.empty()) (void)tasks_.wait(*asked_, context.deadline, context.stop);
  }
}

std::vector<NameBook::Question> NameBook::wanted() {
  std::vector<Question> out;
  const MutexLock lock(mu_);
  for (const auto& [question, entry] : entries_)
    if (entry.wanted) out.push_back(question);
  return out;
}

void NameBook::look_up(const Context& context, const Question& question) {
  Result<LoadBalancerRef> answer = search(context.within(kAnswersWithin), question);
  if (context.stop.stop_requested()) return;
  {
    const MutexLock lock(mu_);
    const auto it = entries_.find(question);
    if (it == entries_.end()) return;  // nobody asks any more
    it->second.failures = answer ? 0 : it->second.failures + 1;
    it->second.good_until = saturating_add(tasks_.now(), good_for(it->second.failures));
    it->second.answer = std::move(answer);
    it->second.wanted = false;
  }
  on_answer_(question.lb);
}

Result<LoadBalancerRef> NameBook::search(const Context& context, const Question& question) const {
  const LoadBalancerRef& named = question.lb;
  const lb::Driver* const driver = drivers_.of(named);
  if (!driver) {
    return fail(Code::unsupported, "nothing here serves {} load balancers: '{}' is not looked up",
                model::traits_of(named.provider).title, named.id);
  }
  Result<std::vector<lb::FoundLoadBalancer>> found = driver->directory->search(
      context, question.credential,
      {.account = named.account, .region = named.region, .name = named.id});
  if (!found)
    return fail(std::move(found.error()).about(fmt::format("load balancer name '{}'", named.id)));
  std::vector<LoadBalancerRef> exact;  // some providers answer with all that begin so
  for (lb::FoundLoadBalancer& one : *found) {
    const bool fits = one.info.name == named.id && one.ref.provider == named.provider &&
                      one.ref.account == named.account &&
                      (named.region.empty() || one.ref.region == named.region);
    if (!fits) continue;
    one.ref.address = named.address;  // of a gateway, which has a name as a whole
    exact.push_back(std::move(one.ref));
  }
  if (exact.empty()) return no_such(named);
  if (exact.size() > 1) return several(named, exact);
  return std::move(exact.front());
}

}  // namespace berth::controllers::loadbalancer
