// Maker: load balancers that we make and delete ourselves. The fourth of a driver's seams.
//
// Calls block and obey the context; errors have the codes of listeners.h. A creation whose reply
// was lost, or that was cut off half way, is found again by who asks with the same name and tags.
// Where tags are set by a call of their own, a driver gives the provider a token of these words
// with the creation, and so tells what it began from another's of that name. Until it is finished
// it has no mark: who wants it gone asks for it once more and removes what he gets.
//
// While one is being removed, every other call on it is `unavailable`, a creation of its name
// included, and no search finds it: `not_found` would say that nothing is carried there any more.
// Thread-safe. Nobody asks yet but the conformance suite: front ends whose load balancers are ours
// will.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/context.h"
#include "lb/directory.h"

namespace berth::lb {

struct NewLoadBalancer {
  std::string account{};
  std::string region{};
  std::string name{};  // who asks again for the same name gets the same load balancer
  std::vector<Tag> tags{};
  bool internal = false;
  // What only this provider knows, as the user wrote it.
  std::map<std::string, std::string> parameters{};
};

class Maker {
 public:
  virtual ~Maker() = default;

  // One outcome per entry, in order. `already_exists`: one of that name is there that lacks some of
  // the tags, so it is another's.
  virtual std::vector<Result<model::LoadBalancerRef>> make(
      const Context& context, const model::CredentialId& credential,
      std::span<const NewLoadBalancer> wanted) = 0;
  // With all that it has. One that is gone already is a success; one without the mark is
  // `forbidden` and stays, for we did not make it.
  virtual std::vector<Result<>> remove(const Context& context,
                                       const model::CredentialId& credential,
                                       std::span<const model::LoadBalancerRef> lbs,
                                       const Tag& mark) = 0;
};

}  // namespace berth::lb
