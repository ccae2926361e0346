// One call under way: what was asked, by whom, on what, and the steps that many operations share.
// Lives on the stack of `Cloud::handle`, under its lock.
#pragma once

#include <string>
#include <vector>

#include "sim/cloud/tencent/api_error.h"
#include "sim/cloud/tencent/faults.h"
#include "sim/cloud/tencent/parameters.h"
#include "sim/cloud/tencent/state.h"
#include "sim/cloud/tencent/task_book.h"

namespace berth::sim::tencent {

struct Call {
  State& state;
  TaskBook& tasks;
  Faults& faults;
  const Account& account;
  std::string region;
  std::string service;
  std::string action;
  std::string request_id;
  WallTime now;
  Params in;

  const Settings& settings() const { return state.settings; }
};

// The load balancer of that id, if this account has it in this region.
LoadBalancer* find_load_balancer(const Call& call, const std::string& id);
Outcome<LoadBalancer*> load_balancer(const Call& call, const std::string& id);
// The same for a write: refused while another one's task runs there.
Outcome<LoadBalancer*> writable(const Call& call, const std::string& id);
Outcome<Listener*> listener(LoadBalancer& lb, const std::string& id);
// The rule that LocationId, or Domain and Url, of `where` name; at layer 4 the only one.
Outcome<Rule*> rule(Listener& listener, const Params& where);

// What a parameter that does not apply gets: nothing, or a refusal (settings.h).
Outcome<> applies(const Call& call, const Params& in, std::string_view parameter, bool applicable);

// The write was accepted: `effect` happens when its task ends. Its answer says no more than the
// request's id.
void begin_task(Call& call, std::vector<std::string> load_balancers, Effect effect,
                Effect undo = {});
// The same for what is done when it is answered.
void do_at_once(Call& call, std::vector<std::string> load_balancers, Effect effect);

}  // namespace berth::sim::tencent
