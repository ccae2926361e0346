#include "sim/world/cluster.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <utility>

#include "kube/client/status.h"
#include "wire/yaml.h"

namespace berth::world {
namespace {

using wire::Value;

constexpr Duration kAskPatience = std::chrono::seconds{1};

std::string collection_path(const Value& object) {
  const std::string version(wire::string_at(object, "/apiVersion"));
  std::string plural(wire::string_at(object, "/kind"));
  std::ranges::transform(plural, plural.begin(),
                         [](char c) { return static_cast<char>(std::tolower(c)); });
  plural += plural.ends_with('s') ? "es" : "s";
  const std::string_view ns = wire::string_at(object, "/metadata/namespace");
  const std::string root = version.find('/') == std::string::npos ? "/api/" : "/apis/";
  return root + version + (ns.empty() ? "" : fmt::format("/namespaces/{}", ns)) + "/" + plural;
}

Result<Value> document_of(const net::Reply& reply) {
  if (reply.status >= 300)
    return fail(berth::kube::error_from_response(reply.status, reply.headers, reply.body));
  return wire::parse_json(reply.body);
}

}  // namespace

net::Request request_of(const std::string& method, const std::string& path, const Value& body) {
  net::Request request{.method = method, .url = path};
  request.headers.set("Content-Type",
                      method == "PATCH" ? "application/merge-patch+json" : "application/json");
  if (!body.is_null()) request.body = wire::to_json(body);
  return request;
}

Cluster::Cluster(std::uint64_t seed, ClusterOptions options)
    : kernel_(seed, options.kernel),
      link_(options.link),
      server_(std::make_unique<sim::kube::Server>(
          sim::kube::ServerOptions{.seed = seed,
                                   .history_changes = options.history_changes,
                                   .access = access_of(options.people),
                                   .webhooks = options.webhooks,
                                   .tracks_fields = options.tracks_fields,
                                   .begins_with = options.begins_with},
          kernel_.wall_time())),
      gateway_(kernel_, *server_) {
  play("tick", [this, tick = options.tick](std::stop_token stop) {
    while (pause(tick, stop)) server_->tick(kernel_.wall_time());
  });
}

Cluster::~Cluster() = default;

std::unique_ptr<net::Transport> Cluster::connect(sim::Process& process) {
  return std::make_unique<SimTransport>(process, gateway_, link_);
}

std::shared_ptr<const bool> Cluster::play(std::string name,
                                          std::function<void(std::stop_token)> body) {
  auto through = std::make_shared<bool>(false);
  chores_.push_back(kernel_.world().spawn(std::move(name),
                                          [body = std::move(body), through](std::stop_token stop) {
                                            body(std::move(stop));
                                            *through = true;
                                          }));
  return through;
}

void Cluster::end_players() {
  // One that ends may start another on its way.
  while (!chores_.empty()) std::exchange(chores_, {}).clear();
}

bool Cluster::pause(Duration span, std::stop_token stop) {
  return sleep_for(kernel_.world(), span, std::move(stop));
}

Result<Value> Cluster::ask(const std::string& method, const std::string& path, const Value& body) {
  return ask(request_of(method, path, body));
}

Result<Value> Cluster::ask(const net::Request& request) {
  const auto answered = kernel_.world().signal();
  const auto exchange = gateway_.accept(request);
  exchange->wake = answered.get();
  while (!exchange->done && !kernel_.failure()) {
    (void)kernel_.world().wait(*answered, kernel_.now() + kAskPatience, {});
  }
  exchange->wake = nullptr;
  if (!exchange->done) return fail(*kernel_.failure());
  return document_of(exchange->answer.reply);
}

Result<> Cluster::create_all(std::string_view yaml) {
  Result<std::vector<Value>> documents = wire::parse_yaml_documents(yaml);
  if (!documents) return pass(documents);
  for (const Value& document : *documents) {
    if (Result<Value> created = ask("POST", collection_path(document), document); !created)
      return pass(created);
  }
  return {};
}

Result<> Cluster::create_missing(std::string_view yaml) {
  Result<std::vector<Value>> documents = wire::parse_yaml_documents(yaml);
  if (!documents) return pass(documents);
  for (const Value& document : *documents) {
    Result<Value> created = ask("POST", collection_path(document), document);
    if (!created && created.error().code != Code::already_exists) return pass(created);
  }
  return {};
}

Result<std::vector<Value>> Cluster::list(const std::string& path) {
  Result<Value> found = document_of(gateway_.handle({.url = path}).reply);
  if (!found) return pass(found);
  const wire::Array* items = wire::array_at(*found, "/items");
  if (!items) return fail(Code::internal, "{} is no list", path);
  return std::vector<Value>(items->begin(), items->end());
}

Result<> Cluster::run_until(const std::function<bool()>& done, sim::RunLimits limits) {
  return kernel_.run_until(done, limits);
}

Result<> Cluster::run_for(Duration span) {
  const Instant until = kernel_.now() + span;
  return kernel_.run_until([&] { return kernel_.now() >= until; });
}

Result<> Cluster::settle(Duration idle, sim::RunLimits limits) {
  gateway_.note_activity();
  return kernel_.run_until([&] { return kernel_.now() - gateway_.last_activity() >= idle; },
                           limits);
}

}  // namespace berth::world
