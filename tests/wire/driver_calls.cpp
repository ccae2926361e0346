#include "driver_calls.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "cloud/tencent/health.h"
#include "cloud/tencent/test_simulated_clb.h"

namespace berth::testing {
namespace {

using cloud::tencent::testing::SimulatedClb;
using lb::NewRule;
using lb::RuleChange;
using lb::TargetChange;
using model::HealthCheck;
using model::ListenerAttributes;
using model::ListenerId;
using model::ListenerSpec;
using model::Protocol;
using model::RuleAttributes;
using model::RuleKey;
using model::Scheduler;
using model::TargetProtocol;
using model::Tls;

// Hands calls on and keeps them.
class Recorder final : public net::Transport {
 public:
  explicit Recorder(net::Transport& inner) : inner_(inner) {}

  Result<net::Response> call(const Context& context, const net::Request& request) override {
    Result<net::Response> answer = inner_.call(context, request);
    const auto asked = wire::parse_json(request.body);
    const auto told = answer ? wire::parse_json(answer->body) : Result<wire::Value>(wire::Value());
    EXPECT_TRUE(asked && told) << request.body;
    if (!asked || !told) return answer;
    const wire::Value* const response = wire::find(*told, "/Response");
    calls.push_back({{"action", request.headers.get("X-TC-Action")},
                     {"request", *asked},
                     {"response", response ? *response : wire::Value(wire::Object())}});
    return answer;
  }
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    return inner_.open(context, request);
  }

  std::vector<wire::Object> calls;

 private:
  net::Transport& inner_;
};

Tls certificate(std::initializer_list<const char*> ids) {
  Tls out;
  for (const char* id : ids) out.certificates.push_back({.reference = id});
  return out;
}

HealthCheck whole_check() {
  return {.timeout_seconds = 3,
          .interval_seconds = 6,
          .healthy_count = 2,
          .unhealthy_count = 4,
          .port = 81,
          .http_path = "/ready",
          .http_method = "GET",
          .http_codes = "2"};
}

ListenerSpec plain(Protocol protocol, model::PortRange ports, RuleAttributes rule = {},
                   ListenerAttributes attributes = {}) {
  ListenerSpec out = model::plain_listener(
      protocol, ports, fmt::format("{}-{}", model::to_string(protocol), ports.first), {},
      std::move(rule));
  out.attributes = std::move(attributes);
  return out;
}
ListenerSpec site(Protocol protocol, model::Port port, ListenerAttributes attributes) {
  return {.protocol = protocol,
          .ports = {port, port},
          .name = fmt::format("site-{}", port),
          .attributes = std::move(attributes)};
}

class Story {
 public:
  std::vector<wire::Object> tell() {
    create();
    change();
    lead();
    look();
    remove();
    return std::move(recorder_.calls);
  }

 private:
  Context context() { return clb_.context(); }
  lb::Listeners& listeners() { return *driver_.seams().listeners; }
  template <class Results>
  static void expect_all(const Results& results) {
    for (const auto& one : results) EXPECT_TRUE(one) << one.error().to_string();
  }

  void create() {
    Tls mutual = certificate({"cert-1"});
    mutual.client_ca = model::Certificate{.reference = "cert-ca"};
    const std::vector<ListenerSpec> wanted{
        plain(Protocol::tcp, {1000, 1000}, {.session_seconds = 60, .health_check = whole_check()},
              {.max_rate = 100}),
        plain(Protocol::tcp, {1001, 1001}, {.scheduler = Scheduler::least_connections}),
        plain(Protocol::udp, {2000, 2009}),
        plain(Protocol::udp, {2100, 2100}, {.session_by_quic_id = true}),
        plain(Protocol::tls, {3000, 3000}, {}, {.tls = mutual}),
        plain(Protocol::quic, {3001, 3001}, {}, {.tls = certificate({"cert-1"})}),
        site(Protocol::http, 80, {.keep_alive = true}),
        site(Protocol::https, 443, {.tls = certificate({"cert-1", "cert-2"})}),
        site(Protocol::https, 444, {.by_server_name = true})};
    const auto made = listeners().create(context(), clb_.first, wanted);
    expect_all(made);
    for (const auto& one : made) ids_.push_back(one.value_or(ListenerId()));
    const std::vector<NewRule> rules{
        {{http(), a_}, {.scheduler = Scheduler::source_ip, .session_seconds = 60}},
        {{http(), b_}, {.health_check = whole_check()}},
        {{https(), a_}, {.to_targets = TargetProtocol::grpc}},
        {{https(), b_}, {.over_quic = true}},
        {{by_name(), a_}, {.tls = certificate({"cert-1"})}}};
    expect_all(listeners().create_rules(context(), clb_.first, rules));
  }

  // To what else there is, and back to defaults.
  void change() {
    const std::vector<lb::ListenerChange> changes{{ids_[0], {}},
                                                  {ids_[1], {.max_rate = 10}},
                                                  {http(), {}},
                                                  {https(), {.tls = certificate({"cert-3"})}}};
    expect_all(listeners().change(context(), clb_.first, changes));
    const std::vector<RuleChange> rules{
        {{ids_[0], {}}, {}},
        {{ids_[1], {}}, {.session_seconds = 90, .health_check = whole_check()}},
        {{ids_[3], {}}, {}},
        {{http(), a_}, {.scheduler = Scheduler::least_connections}},
        {{https(), a_}, {.to_targets = TargetProtocol::https, .over_quic = true}},
        {{https(), b_}, {.to_targets = TargetProtocol::grpc}},
        {{by_name(), a_}, {.health_check = whole_check(), .tls = certificate({"cert-2"})}}};
    expect_all(listeners().change_rules(context(), clb_.first, rules));
  }

  void lead() {
    const model::Target one{"10.0.0.1", 8000}, two{"10.0.0.2", 8000};
    for (const std::uint32_t weight : {10u, 0u}) {
      const std::vector<TargetChange> changes{{{ids_[0], {}}, {{one, weight}, {two, weight}}, {}},
                                              {{http(), a_}, {{one, weight}}, {}}};
      expect_all(listeners().change_targets(context(), clb_.first, changes));
    }
    const std::vector<TargetChange> changes{{{ids_[0], {}}, {}, {two}}, {{http(), a_}, {}, {one}}};
    expect_all(listeners().change_targets(context(), clb_.first, changes));
  }

  void look() {
    EXPECT_TRUE(listeners().list(context(), clb_.first));
    const lb::Question question{.id = http()};
    EXPECT_TRUE(listeners().look_up(context(), clb_.first, {&question, 1}));
    lb::Directory& directory = *driver_.seams().directory;
    EXPECT_TRUE(lb::describe_one(context(), directory, clb_.first.lb));
    EXPECT_TRUE(directory.search(context(), {}, {.name = "name-of-lb-first"}));
    EXPECT_TRUE(directory.search(context(), {}, {.tags = {{"team", "rooms"}}}));
    const lb::RuleRef rule{ids_[0], {}};
    const auto health = cloud::tencent::ask_health(api_);
    EXPECT_TRUE(health(context(), clb_.first, {&rule, 1}));
    EXPECT_TRUE(health(context(), clb_.first, {}));
  }

  void remove() {
    // The default domain of this listener goes, and another one stays.
    const lb::RuleRef rule{http(), a_};
    expect_all(listeners().remove_rules(context(), clb_.first, {&rule, 1}));
    expect_all(listeners().remove(context(), clb_.first, ids_));
  }

  const ListenerId& http() const { return ids_[6]; }
  const ListenerId& https() const { return ids_[7]; }
  const ListenerId& by_name() const { return ids_[8]; }

  SimulatedClb clb_;
  Recorder recorder_{clb_.transport};
  cloud::tencent::Options options_{.region = clb_.first.lb.region};
  cloud::tencent::ClbDriver driver_{clb_.process, recorder_, clb_.credentials, options_};
  cloud::tencent::Api api_{recorder_, clb_.credentials, options_};
  const RuleKey a_{"a.example.com", "/"};
  const RuleKey b_{"b.example.com", "/lobby"};
  std::vector<ListenerId> ids_;
};

}  // namespace

std::vector<wire::Object> calls_of_the_driver() { return Story().tell(); }

}  // namespace berth::testing
