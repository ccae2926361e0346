// Directory: which load balancers a provider has. The second of a driver's four seams.
//
// Calls block and obey the context; errors have the codes of listeners.h. Thread-safe.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/context.h"
#include "lb/place.h"

namespace berth::lb {

struct Tag {
  std::string key{};
  std::string value{};

  friend auto operator<=>(const Tag&, const Tag&) = default;
};

// In one region of one account; what is empty does not matter.
struct DirectoryQuery {
  std::string account{};
  std::string region{};
  std::string name{};
  std::vector<Tag> tags{};  // all of them
};

struct FoundLoadBalancer {
  model::LoadBalancerRef ref{};
  model::LoadBalancerInfo info{};
  std::vector<Tag> tags{};
};

class Directory {
 public:
  virtual ~Directory() = default;

  // One outcome per entry, in order: `not_found` for one that does not exist. Any number; the
  // driver makes as few calls as it can.
  virtual std::vector<Result<model::LoadBalancerInfo>> describe(
      const Context& context, const model::CredentialId& credential,
      std::span<const model::LoadBalancerRef> lbs) = 0;
  // All that fit, those of others too: a name may belong to several, or to none.
  virtual Result<std::vector<FoundLoadBalancer>> search(const Context& context,
                                                        const model::CredentialId& credential,
                                                        const DirectoryQuery& query) = 0;
};

// One alone, with the credentials of the process.
inline Result<model::LoadBalancerInfo> describe_one(const Context& context, Directory& directory,
                                                    const model::LoadBalancerRef& lb) {
  auto outcomes = directory.describe(context, {}, std::span(&lb, 1));
  if (outcomes.empty()) return fail(Code::internal, "the driver gave no answer");
  return std::move(outcomes.front());
}

}  // namespace berth::lb
