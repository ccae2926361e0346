#include "lb/health_followers.h"

namespace berth::lb {

class HealthFollowers::Follower {
 public:
  Follower(Place at, RuleRef of, HealthFeed::OnHealth on_health)
      : place(std::move(at)), rule(std::move(of)), on_health_(std::move(on_health)) {}

  // Its lock is held over the call, so that what is told comes in order, and so that nobody is
  // called who has let go.
  void look(const Read& read) {
    const MutexLock lock(mu_);
    if (!on_health_) return;
    std::map<model::Target, Health> now;
    for (const TargetHealth& one : read(place, rule)) {
      now[one.target] = one.health;
      const auto before = told_.find(one.target);
      if (before == told_.end() || before->second != one.health) on_health_(one);
    }
    told_ = std::move(now);
  }
  void let_go() {
    const MutexLock lock(mu_);
    on_health_ = nullptr;
  }

  const Place place;
  const RuleRef rule;

 private:
  Mutex mu_;
  HealthFeed::OnHealth on_health_ GUARDED_BY(mu_);
  std::map<model::Target, Health> told_ GUARDED_BY(mu_);
};

struct HealthFollowers::Book {
  explicit Book(Read reader) : read(std::move(reader)) {}

  using Key = std::pair<model::LoadBalancerRef, RuleRef>;
  const Read read;
  // Most listeners have no follower, and all their changes come by.
  std::atomic<std::size_t> count = 0;
  Mutex mu;
  std::multimap<Key, std::shared_ptr<Follower>> followers GUARDED_BY(mu);
};

class HealthFollowers::Handle final : public Following {
 public:
  Handle(std::shared_ptr<Book> book, std::shared_ptr<Follower> follower)
      : book_(std::move(book)), follower_(std::move(follower)) {}
  ~Handle() override {
    {
      const MutexLock lock(book_->mu);
      const auto [first, last] =
          book_->followers.equal_range({follower_->place.lb, follower_->rule});
      for (auto it = first; it != last; ++it) {
        if (it->second != follower_) continue;
        book_->followers.erase(it);
        --book_->count;
        break;
      }
    }
    follower_->let_go();
  }

 private:
  const std::shared_ptr<Book> book_;
  const std::shared_ptr<Follower> follower_;
};

HealthFollowers::HealthFollowers(Read read) : book_(std::make_shared<Book>(std::move(read))) {}

std::unique_ptr<Following> HealthFollowers::follow(const Place& place, const RuleRef& rule,
                                                   HealthFeed::OnHealth on_health) {
  auto follower = std::make_shared<Follower>(place, rule, std::move(on_health));
  {
    const MutexLock lock(book_->mu);
    book_->followers.emplace(Book::Key{place.lb, rule}, follower);
    ++book_->count;
  }
  auto handle = std::make_unique<Handle>(book_, follower);
  follower->look(book_->read);
  return handle;
}

void HealthFollowers::note_change(const model::LoadBalancerRef& lb, const RuleRef& rule) {
  if (book_->count == 0) return;
  std::vector<std::shared_ptr<Follower>> concerned;
  {
    const MutexLock lock(book_->mu);
    const auto [first, last] = book_->followers.equal_range({lb, rule});
    for (auto it = first; it != last; ++it) concerned.push_back(it->second);
  }
  for (const auto& follower : concerned) follower->look(book_->read);
}

std::map<Place, std::set<RuleRef>> HealthFollowers::followed() const {
  std::map<Place, std::set<RuleRef>> out;
  const MutexLock lock(book_->mu);
  for (const auto& [key, follower] : book_->followers) out[follower->place].insert(follower->rule);
  return out;
}

}  // namespace berth::lb
