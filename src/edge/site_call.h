// Inside of the driver: what one call changes of sites, so that it can be taken back; and what
// several of its files say the same way.
#pragma once

#include <map>

#include "edge/driver.h"

namespace berth::edge {

struct SiteCall {
  struct Before {
    ForwardSpec spec{};
    SitePart site{};
    bool open = false;
  };
  model::LoadBalancerRef lb{};
  std::map<model::ListenerId, Before> before{};
  std::map<std::size_t, model::ListenerId> entries{};  // which of the call's is about which

  // Before it is changed.
  void note(const ListenerRecord& record, std::size_t entry) {
    lb = record.lb;
    if (!before.contains(record.id))
      before.emplace(record.id, Before{record.spec, record.site, record.open});
    entries.emplace(entry, record.id);
  }
};

inline Failure no_such_listener(const model::LoadBalancerRef& lb, const model::ListenerId& id) {
  return fail(error_of(Code::not_found, "it has no listener {}", id)
                  .about("load balancer " + model::to_string(lb)));
}

inline Failure no_such_rule(const model::LoadBalancerRef& lb, const lb::RuleRef& rule) {
  return fail(error_of(Code::not_found, "listener {} has no rule for {}", rule.listener,
                       model::to_string(rule.key))
                  .about("load balancer " + model::to_string(lb)));
}

// The same error for each entry of a call.
template <class T>
std::vector<Result<T>> all_failed(std::size_t count, const Error& error) {
  return std::vector<Result<T>>(count, Result<T>(fail(error)));
}

}  // namespace berth::edge
