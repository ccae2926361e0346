// NameBook: what names of load balancers mean, as their providers say. Asked while pools are
// reconciled, which never waits: an answer that is not there yet is fetched, and who asked is told
// to come again.
//
// An answer is good for a while and no longer: names move. What stands on an id does not ask. Runs
// on the leader, where pools are; thread-safe; owned by the composition root.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "base/context.h"
#include "base/mutex.h"
#include "lb/driver.h"

namespace berth::controllers::loadbalancer {

class NameBook {
 public:
  // Hears of each new answer, without a lock held.
  using OnAnswer = std::function<void(const model::LoadBalancerRef& named)>;
  NameBook(Tasks& tasks, lb::Drivers drivers, OnAnswer on_answer);

  // The load balancer of this name, which stands where its id would, as these credentials show it.
  // `unavailable`: it is being looked up, or the provider does not answer. `not_found`: none has
  // the name. `conflict`: several have.
  Result<model::LoadBalancerRef> ask(const model::LoadBalancerRef& named,
                                     const model::CredentialId& credential = {});

  // Looks up what is asked for, until the stop.
  void run(const Context& context);

 private:
  struct Entry {
    Result<model::LoadBalancerRef> answer;
    Instant good_until = Instant::min();
    Instant last_asked{};
    int failures = 0;     // in a row
    bool wanted = false;  // to be looked up, or being so
  };

  // A name, and who asks: what it means to another is another question.
  using Question = lb::Place;

  std::vector<Question> wanted();
  void look_up(const Context& context, const Question& question);
  Result<model::LoadBalancerRef> search(const Context& context, const Question& question) const;
  void make_room() REQUIRES(mu_);

  Tasks& tasks_;
  const lb::Drivers drivers_;
  const OnAnswer on_answer_;
  const std::unique_ptr<Signal> asked_;
  Mutex mu_;
  std::map<Question, Entry> entries_ GUARDED_BY(mu_);
};

}  // namespace berth::controllers::loadbalancer
