#include "sim/cloud/tencent/cloud.h"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "net/url.h"
#include "sim/cloud/tencent/authentication.h"
#include "sim/cloud/tencent/page.h"

namespace berth::sim::tencent {
namespace {

using wire::Object;

constexpr std::size_t kMaxBody = 10u << 20;
constexpr int kBadGateway = 502;

net::Reply json_reply(Object response, const std::string& request_id, WallTime now) {
  response["RequestId"] = request_id;
  net::Reply out;
  out.headers = {{"Content-Type", "application/json"}, {"Date", http_date(now)}};
  out.body = wire::to_json(Object{{"Response", std::move(response)}});
  return out;
}

Object encode(const ApiError& error) {
  return {{"Error", Object{{"Code", error.code}, {"Message", error.message}}}};
}

net::Reply bad_gateway() { return {.status = kBadGateway, .body = "bad gateway\n"}; }

bool has_lists(const Object& answer) {
  return std::ranges::any_of(answer, [](const auto& member) {
    const auto* list = member.value().if_array();
    return list != nullptr && !list->empty();
  });
}

// The answer's lists, as a server that loses count has them.
void shorten(Object& answer) {
  for (auto& member : answer)
    if (auto* list = member.value().if_array(); list != nullptr && !list->empty()) list->pop_back();
}

void lengthen(Object& answer) {
  for (auto& member : answer)
    if (auto* list = member.value().if_array(); list != nullptr && !list->empty())
      list->push_back(wire::Value(list->back()));
}

Outcome<wire::Object> read_body(const std::string& body) {
  if (body.size() > kMaxBody)
    return refuse("RequestSizeLimitExceeded", "The request is larger than 10 MB.");
  Result<wire::Value> parsed = wire::parse_json(body);
  if (!parsed || !parsed->is_object())
    return refuse("InvalidParameter", "The body of the request is no JSON object.");
  return std::move(parsed->get_object());
}

// What a fault or a permission may be about.
std::string load_balancer_of(const Object& body) {
  const wire::Value* one = body.if_contains("LoadBalancerId");
  return one != nullptr && one->is_string() ? std::string(one->get_string()) : std::string{};
}

Outcome<> check_region(const Settings& settings, const Action& action, const std::string& region) {
  if (!action.regional && region.empty()) return {};
  if (region.empty())
    return refuse("MissingParameter", "The request is missing a required parameter `X-TC-Region`.");
  if (settings.regions.contains(region)) return {};
  return refuse("UnsupportedRegion", "The region {} is not supported.", region);
}

Outcome<const Action*> find_action(const std::map<std::string, Service>& services,
                                   const std::string& service, const std::string& action,
                                   std::string_view version) {
  const auto known = services.find(service);
  if (known == services.end())
    return refuse("NoSuchProduct", "The product `{}` does not exist.", service);
  if (version != known->second.version) {
    return refuse("NoSuchVersion", "The version `{}` of `{}` does not exist.", version, service);
  }
  const auto it = known->second.actions.find(action);
  if (it != known->second.actions.end()) return &it->second;
  return refuse("InvalidAction", "The action `{}` of `{}` does not exist.", action, service);
}

bool is_served(const std::map<std::string, Service>& services, const std::string& action) {
  return std::ranges::any_of(services,
                             [&](const auto& one) { return one.second.actions.contains(action); });
}

Outcome<> check_policy(const Settings& settings, const AccessKey& key, const std::string& operation,
                       const std::string& region, const std::string& lb) {
  if (!settings.check_policies || allows(key.policy, operation)) return {};
  return refuse("UnauthorizedOperation",
                "you are not authorized to perform operation ({}) resource "
                "(qcs::clb:{}:uin/{}:clb/{}) has no permission",
                operation, region, key.account, lb.empty() ? "*" : lb);
}

bool wants_page(const net::Request& request) {
  return net::split_target(request.url).path == "/" &&
         request.headers.get("Accept").find("text/html") != std::string_view::npos;
}

}  // namespace

struct Cloud::Request {
  const AccessKey* key = nullptr;
  const Action* action = nullptr;
  std::string service{};
  std::string name{};
  std::string region{};
};

Cloud::Cloud(Settings settings)
    : state_(std::move(settings)), services_(make_services(state_.settings.limits)) {}

net::Reply Cloud::handle(const net::Request& request, WallTime now) {
  const MutexLock lock(mu_);
  tasks_.advance(state_, now);
  if (request.method == "GET") return show_state(dump_locked(), wants_page(request));
  if (request.method != "POST" || net::split_target(request.url).path != "/")
    return {.status = 404, .body = "POST / is the API, GET / its state\n"};
  return answer(request, now);
}

net::Reply Cloud::answer(const net::Request& request, WallTime now) {
  const std::string id = state_.make_request_id();
  auto admitted = admit(request, now);
  const std::string name(request.headers.get("X-TC-Action"));
  auto served = admitted ? serve(request, *admitted, id, now)
                         : Outcome<Object>(std::unexpected(admitted.error()));
  // Names that nobody serves share one count: anybody may send them.
  CallCount& count = calls_[is_served(services_, name) ? name : "(other)"];
  if (served) {
    ++count.answered;
    if (faults_.waiting() == 0) return json_reply(std::move(*served), id, now);
    const std::string lb = load_balancer_of(read_body(request.body).value_or(Object{}));
    if (faults_.take(FaultKind::lose_reply, name, lb)) return {.status = kLostReply};
    if (faults_.take(FaultKind::gateway_after, name, lb)) return bad_gateway();
    if (has_lists(*served)) {
      if (faults_.take(FaultKind::short_answer, name, lb)) shorten(*served);
      if (faults_.take(FaultKind::long_answer, name, lb)) lengthen(*served);
    }
    return json_reply(std::move(*served), id, now);
  }
  ++count.refused;
  if (served.error().code == "RequestLimitExceeded") ++count.throttled;
  if (served.error().code.empty()) return bad_gateway();
  return json_reply(encode(served.error()), id, now);
}

// Who calls what, where; whether there is such a thing, and room for one more of it.
Outcome<Cloud::Request> Cloud::admit(const net::Request& request, WallTime now) {
  auto caller = authenticate(request, state_.keys, now, state_.settings.max_clock_skew);
  if (!caller) return pass(caller);
  Request out{.key = caller->key,
              .service = caller->service,
              .name = std::string(request.headers.get("X-TC-Action")),
              .region = std::string(request.headers.get("X-TC-Region"))};
  auto action = find_action(services_, out.service, out.name, request.headers.get("X-TC-Version"));
  if (!action) return pass(action);
  out.action = *action;
  if (auto good = check_region(state_.settings, *out.action, out.region); !good) return pass(good);
  if (auto good =
          throttle_.admit(state_.settings.limits, out.key->account, out.region, out.name, now);
      !good)
    return pass(good);
  return out;
}

Outcome<Object> Cloud::serve(const net::Request& request, const Request& admitted,
                             const std::string& id, WallTime now) {
  auto body = read_body(request.body);
  if (!body) return pass(body);
  const std::string lb = load_balancer_of(*body);
  if (faults_.take(FaultKind::gateway, admitted.name, lb)) return std::unexpected(ApiError{});
  if (const auto fault = faults_.take(FaultKind::refuse, admitted.name, lb))
    return std::unexpected(fault->error);
  if (auto good = check_policy(state_.settings, *admitted.key,
                               admitted.service + ":" + admitted.name, admitted.region, lb);
      !good)
    return pass(good);
  if (auto good = check(admitted.action->fields, *body); !good) return pass(good);
  Call call{.state = state_,
            .tasks = tasks_,
            .faults = faults_,
            .account = state_.accounts[admitted.key->account],
            .region = admitted.region,
            .service = admitted.service,
            .action = admitted.name,
            .request_id = id,
            .now = now,
            .in = Params(*body)};
  return admitted.action->run(call);
}

void Cloud::add_account(Account account) {
  const MutexLock lock(mu_);
  std::string uin = account.uin;
  state_.accounts.insert_or_assign(std::move(uin), std::move(account));
}

void Cloud::add_key(AccessKey key) {
  const MutexLock lock(mu_);
  if (!state_.accounts.contains(key.account))
    state_.accounts[key.account] = Account{.uin = key.account};
  std::string id = key.secret_id;
  state_.keys.insert_or_assign(std::move(id), std::move(key));
}

void Cloud::remove_key(const std::string& secret_id) {
  const MutexLock lock(mu_);
  state_.keys.erase(secret_id);
}

std::string Cloud::add_load_balancer(LoadBalancer lb, WallTime now) {
  const MutexLock lock(mu_);
  if (lb.id.empty()) lb.id = state_.make_id("lb-");
  if (lb.name.empty()) lb.name = lb.id;
  if (lb.vips.empty() && lb.domain.empty()) lb.vips = {state_.make_vip(lb)};
  lb.created = now;
  const std::string id = lb.id;
  state_.changed.insert(id);
  state_.load_balancers.insert_or_assign(id, std::move(lb));
  return id;
}

std::string Cloud::add_listener(const std::string& lb, Listener listener) {
  const MutexLock lock(mu_);
  const auto it = state_.load_balancers.find(lb);
  if (it == state_.load_balancers.end()) return {};
  if (listener.id.empty()) listener.id = state_.make_id("lbl-");
  if (!is_layer7(listener.protocol) && listener.rules.empty()) listener.rules.emplace_back();
  const std::string id = listener.id;
  state_.changed.insert(lb);
  it->second.listeners.insert_or_assign(id, std::move(listener));
  return id;
}

bool Cloud::edit(const std::string& lb, const std::function<void(LoadBalancer&)>& change) {
  const MutexLock lock(mu_);
  const auto it = state_.load_balancers.find(lb);
  if (it == state_.load_balancers.end()) return false;
  change(it->second);
  state_.changed.insert(lb);
  return true;
}

bool Cloud::edit_account(const std::string& uin, const std::function<void(Account&)>& change) {
  const MutexLock lock(mu_);
  const auto it = state_.accounts.find(uin);
  if (it == state_.accounts.end()) return false;
  change(it->second);
  return true;
}

bool Cloud::remove_load_balancer(const std::string& lb) {
  const MutexLock lock(mu_);
  state_.changed.insert(lb);
  return state_.load_balancers.erase(lb) != 0;
}

void Cloud::set_health(const std::string& ip, std::int64_t port, std::optional<Health> health) {
  const MutexLock lock(mu_);
  if (health) {
    state_.health[{ip, port}] = *health;
  } else {
    state_.health.erase({ip, port});
  }
}

void Cloud::inject(Fault fault) {
  const MutexLock lock(mu_);
  faults_.add(std::move(fault));
}

void Cloud::clear_faults() {
  const MutexLock lock(mu_);
  faults_.clear();
}

FaultsTaken Cloud::faults_taken() const {
  const MutexLock lock(mu_);
  return faults_.taken();
}

std::size_t Cloud::faults_waiting() const {
  const MutexLock lock(mu_);
  return faults_.waiting();
}

void Cloud::change_settings(const std::function<void(Settings&)>& change) {
  const MutexLock lock(mu_);
  change(state_.settings);
  services_ = make_services(state_.settings.limits);
}

void Cloud::advance(WallTime now) {
  const MutexLock lock(mu_);
  tasks_.advance(state_, now);
}

std::optional<LoadBalancer> Cloud::load_balancer(const std::string& id) const {
  const MutexLock lock(mu_);
  const auto it = state_.load_balancers.find(id);
  if (it == state_.load_balancers.end()) return std::nullopt;
  return it->second;
}

std::vector<std::string> Cloud::load_balancer_ids() const {
  const MutexLock lock(mu_);
  std::vector<std::string> out;
  for (const auto& [id, lb] : state_.load_balancers) out.push_back(id);
  return out;
}

std::size_t Cloud::running_tasks() const {
  const MutexLock lock(mu_);
  return tasks_.running();
}

std::map<std::string, CallCount> Cloud::calls() const {
  const MutexLock lock(mu_);
  return calls_;
}

void Cloud::reset_calls() {
  const MutexLock lock(mu_);
  calls_.clear();
}

wire::Value Cloud::dump() const {
  const MutexLock lock(mu_);
  return dump_locked();
}

std::set<std::string> Cloud::take_changed() {
  const MutexLock lock(mu_);
  return std::exchange(state_.changed, {});
}

std::vector<std::string> Cloud::vips(const std::string& lb) const {
  const MutexLock lock(mu_);
  const auto it = state_.load_balancers.find(lb);
  return it == state_.load_balancers.end() ? std::vector<std::string>{} : it->second.vips;
}

void Cloud::tell_traffic(const std::string& lb, std::map<std::string, std::string> by_listener) {
  const MutexLock lock(mu_);
  if (by_listener.empty()) {
    state_.traffic.erase(lb);
  } else {
    state_.traffic[lb] = std::move(by_listener);
  }
}

wire::Value Cloud::dump_locked() const {
  Object calls;
  for (const auto& [name, count] : calls_) {
    calls[name] = Object{
        {"answered", count.answered}, {"refused", count.refused}, {"throttled", count.throttled}};
  }
  Object out = dump_state(state_, tasks_);
  out["calls"] = std::move(calls);
  out["faultsWaiting"] = faults_.waiting();
  return out;
}

}  // namespace berth::sim::tencent
