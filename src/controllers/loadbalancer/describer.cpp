#include "controllers/loadbalancer/describer.h"

namespace berth::controllers::loadbalancer {
namespace {

// Load balancers of pools that are made together are asked about together.
constexpr Duration kGather = std::chrono::milliseconds{10};
// A provider that takes longer is not there.
constexpr Duration kAnswersWithin = std::chrono::seconds{30};
// Nobody came for it, because we did not lead meanwhile: by then it may be wrong.
constexpr Duration kGoodFor = std::chrono::seconds{10};

}  // namespace

Describer::Describer(Tasks& tasks, const lb::Drivers& drivers, OnAnswer on_answer)
    : tasks_(tasks), on_answer_(std::move(on_answer)) {
  using enum model::Provider;
  for (const model::Provider provider : {edge, tencent, aws, gcp}) {
    const lb::Driver* const driver = drivers.of({.provider = provider});
    if (driver)
      queues_[provider] = {.directory = driver->directory, .asked = tasks.signal(), .due = {}};
  }
}

std::optional<Result<model::LoadBalancerInfo>> Describer::take(const model::LoadBalancerRef& lb,
                                                               const Credentials& credentials) {
  const Instant now = tasks_.now();
  const MutexLock lock(mu_);
  const auto queue = queues_.find(lb.provider);
  if (queue == queues_.end()) {
    return fail(error_of(Code::unsupported, "nothing here serves {} load balancers",
                         model::to_string(lb.provider))
                    .about(model::to_string(lb)));
  }
  if (const auto known = answers_.extract(lb); known && now - known.mapped().at < kGoodFor)
    return std::move(known.mapped().info);
  queue->second.due.insert_or_assign(lb, credentials);
  queue->second.asked->notify();
  return std::nullopt;
}

void Describer::run(const Context& context) {
  std::vector<std::unique_ptr<Task>> serving;
  const auto start = [&](model::Provider provider) {
    serving.push_back(context.tasks.spawn(fmt::format("describe {}", model::to_string(provider)),
                                          [&, provider](std::stop_token stop) {
                                            Context own = context;
                                            own.stop = std::move(stop);
                                            serve(own, provider);
                                          }));
  };
  std::vector<model::Provider> providers;
  {
    const MutexLock lock(mu_);
    for (const auto& [provider, queue] : queues_) providers.push_back(provider);
  }
  for (const model::Provider provider : providers) start(provider);
  const auto stopped = context.tasks.signal();
  (void)context.tasks.wait(*stopped, context.deadline, context.stop);
}

void Describer::serve(const Context& context, model::Provider provider) {
  Queue* queue = nullptr;
  {
    const MutexLock lock(mu_);
    queue = &queues_.at(provider);
  }
  while (!context.expired()) {
    if (!tasks_.wait(*queue->asked, context.deadline, context.stop)) continue;
    if (!sleep_for(tasks_, kGather, context.stop)) return;
    const Due due = due_at(provider);
    if (!due.empty()) describe(context, *queue->directory, due);
  }
}

Describer::Due Describer::due_at(model::Provider provider) {
  const MutexLock lock(mu_);
  return std::exchange(queues_.at(provider).due, {});
}

// Round by round: all that have the same credentials next are asked about in one call.
void Describer::describe(const Context& outer, lb::Directory& directory, const Due& due) {
  const Context context = outer.within(kAnswersWithin);
  std::map<model::LoadBalancerRef, Result<model::LoadBalancerInfo>> refused;
  for (std::size_t round = 0;; ++round) {
    std::map<model::CredentialId, Refs> calls;
    for (const auto& [lb, credentials] : due) {
      if (round < credentials.size() && (round == 0 || refused.contains(lb)))
        calls[credentials[round]].push_back(lb);
    }
    if (calls.empty()) break;
    for (const auto& [credential, lbs] : calls) {
      auto outcomes = directory.describe(context, credential, lbs);
      if (context.stop.stop_requested()) return;
      for (std::size_t i = 0; i < lbs.size(); ++i) {
        Result<model::LoadBalancerInfo> info =
            i < outcomes.size() ? std::move(outcomes[i])
                                : fail(Code::internal, "the driver gave no answer");
        if (!info) {
          refused.emplace(lbs[i], std::move(info));  // the first one is told
          continue;
        }
        refused.erase(lbs[i]);
        answer(lbs[i], std::move(info));
      }
    }
  }
  for (auto& [lb, info] : refused) answer(lb, std::move(info));
}

void Describer::answer(const model::LoadBalancerRef& lb, Result<model::LoadBalancerInfo> info) {
  {
    const MutexLock lock(mu_);
    answers_.insert_or_assign(lb, Answer{std::move(info), tasks_.now()});
  }
  on_answer_(lb);
}

}  // namespace berth::controllers::loadbalancer
