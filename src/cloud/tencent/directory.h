// Which load balancers an account has in a region, by id, name and tag. Thread-safe.
#pragma once

#include <map>

#include "base/mutex.h"
#include "cloud/tencent/api.h"
#include "lb/directory.h"

namespace berth::cloud::tencent {

class ClbDirectory final : public lb::Directory {
 public:
  explicit ClbDirectory(Api& api) : api_(api) {}

  std::vector<Result<model::LoadBalancerInfo>> describe(
      const Context& context, const model::CredentialId& credential,
      std::span<const model::LoadBalancerRef> lbs) override;
  Result<std::vector<lb::FoundLoadBalancer>> search(const Context& context,
                                                    const model::CredentialId& credential,
                                                    const lb::DirectoryQuery& query) override;

 private:
  struct Quota {
    std::uint32_t listeners = 0;
    Instant until{};
  };
  using Found = std::map<std::string, model::LoadBalancerInfo>;

  // By id. What is not there is left out.
  Result<Found> describe_region(const Context& context, const Caller& caller,
                                const std::vector<std::string>& ids);
  // In halves, where one that is not there hides the others.
  Result<> describe_chunk(const Context& context, const Caller& caller,
                          std::span<const std::string> ids, Found& out);
  // All pages of a search, one after the other.
  struct Reading {
    std::vector<lb::FoundLoadBalancer> found{};  // each once, also what only looks like it
    std::size_t total = 0;                       // as the cloud says it; 0: it does not
    bool moved = false;                          // the list changed between two pages
    bool is_whole() const;
  };
  Result<Reading> read_pages(const Context& context, const Caller& caller,
                             const lb::DirectoryQuery& query);
  static Error partial(const Reading& read);
  // Of one load balancer, as the account has it; 0 where it may not be asked for.
  std::uint32_t listener_quota(const Context& context, const Caller& caller);

  Api& api_;
  Mutex mu_;
  std::map<std::pair<model::CredentialId, std::string>, Quota> quotas_ GUARDED_BY(mu_);
};

}  // namespace berth::cloud::tencent
