#include "uninstall_house.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "app/modules.h"

namespace berth::scenario {

using controllers::install::Survey;
using controllers::install::Uninstaller;
using controllers::install::UninstallOptions;
using controllers::install::Wanted;
using wire::Value;
using world::Cluster;

namespace {

constexpr Duration kPrepareRetry = std::chrono::seconds{1};

std::vector<Wanted> installed() {
  return controllers::install::manifests({.modules = app::all_declarations(),
                                          .replicas = 1,
                                          .with_webhooks = true,
                                          .with_guard = false});
}

UninstallOptions with_all_modules(UninstallOptions options) {
  options.modules = app::all_declarations();
  return options;
}

}  // namespace

OutsideController::OutsideController(Cluster& cluster) : cluster_(cluster) {}

OutsideController::~OutsideController() {
  if (life_) cluster_.kernel().crash(life_->process);
}

void OutsideController::start() {
  const std::string name = fmt::format("controller-{}", generation_++);
  ended_.reset();
  life_ = std::make_unique<Life>(cluster_.kernel().start_process(name, sim::Crashable::yes));
  Life& life = *life_;
  life.network = cluster_.connect(life.process);
  life.driver = std::make_unique<sim::lb::ModelDriver>(provider_, life.process);
  app::Config config;
  config.ns = controllers::install::kDefaultNamespace;
  config.identity = name;
  config.user.user = "berth";
  life.app = std::make_unique<app::App>(
      life.process, *life.network, kube::fixed_config(Cluster::kServerUrl, {}), config,
      lb::Drivers::always(life.driver->seams()), cluster_.kernel().fork_random());
  life.main = life.process.spawn("main", [this, &life](std::stop_token stop) { run(life, stop); });
}

void OutsideController::run(Life& life, const std::stop_token& stop) {
  const Context context{.tasks = life.process, .stop = stop};
  Result<> outcome;
  for (;;) {
    outcome = life.app->prepare(context);
    if (outcome || !life.process.alive()) break;
    if (outcome.error().code == Code::precondition) break;
    if (!sleep_for(life.process, kPrepareRetry, stop)) return;
  }
  if (outcome && life.process.alive()) {
    life.app->set_webhook_address({.url = "https://" + life.process.name()});
    outcome = life.app->run(context);
  }
  if (life.process.alive()) ended_ = outcome;
}

bool OutsideController::restart_after(sim::Process& dead) {
  if (!life_ || &life_->process != &dead) return false;
  life_.reset();
  start();
  return true;
}

bool OutsideController::has_listeners() {
  const auto list = cluster_.list(kHouseListeners);
  return list && !list->empty();
}

struct UninstallHouse::Person {
  Person(Cluster& cluster, const UninstallOptions& options, std::vector<std::string>* told)
      : process(cluster.kernel().start_process("uninstall", sim::Crashable::yes)),
        network(cluster.connect(process)),
        client(*network, kube::fixed_config(Cluster::kServerUrl, {})),
        uninstaller(client, with_all_modules(options), [told](const std::string& step) {
          if (told) told->push_back(step);
        }) {}
  sim::Process& process;
  std::unique_ptr<net::Transport> network;
  kube::Client client;
  Uninstaller uninstaller;
  std::unique_ptr<Task> task;
};

UninstallHouse::UninstallHouse(world::ClusterOptions options) : cluster_(1, std::move(options)) {
  cluster_.kernel().on_crash([this](sim::Process& dead) {
    if (controller_ && controller_->restart_after(dead)) return;
    if (person_ && &person_->process == &dead) begin();
  });
}

UninstallHouse::~UninstallHouse() { cluster_.kernel().on_crash({}); }

Result<> UninstallHouse::furnish(std::string_view objects) {
  for (const Wanted& wanted : installed()) {
    const std::string ns(wire::string_at(wanted.object, "/metadata/namespace"));
    Result<Value> made = cluster_.ask("POST", wanted.type.path(ns), wanted.object);
    if (!made) return fail(std::move(made.error()).about(wanted.name()));
  }
  return cluster_.create_all(objects);
}

Result<> UninstallHouse::start_controller() {
  controller_ = std::make_unique<OutsideController>(cluster_);
  controller_->start();
  return cluster_.run_until(
      [this] { return controller_->leading() && controller_->has_listeners(); });
}

Result<> UninstallHouse::uninstall(UninstallOptions options) {
  options_ = std::move(options);
  outcome_.reset();
  begin();
  if (Result<> ran = cluster_.run_until([this] { return outcome_.has_value(); }); !ran) return ran;
  return *outcome_;
}

Survey UninstallHouse::look() {
  Survey survey;
  bool done = false;
  person_ = std::make_unique<Person>(cluster_, options_, nullptr);
  person_->task = person_->process.spawn("look", [&](std::stop_token stop) {
    survey = person_->uninstaller.survey({.tasks = person_->process, .stop = stop}).value();
    done = true;
  });
  EXPECT_TRUE(cluster_.run_until([&] { return done; }));
  return survey;
}

std::vector<std::string> UninstallHouse::left() {
  std::vector<std::string> out;
  for (const Wanted& wanted : installed()) {
    if (wanted.type == kube::types::kNamespace) continue;  // ends with the help of others
    const std::string ns(wire::string_at(wanted.object, "/metadata/namespace"));
    const std::string path = wanted.type.path(ns, wanted.name());
    if (cluster_.ask("GET", path)) out.push_back(path);
  }
  for (const char* path : {"/api/v1/namespaces/berth-system/secrets",
                           "/apis/networkextension.bkbcs.tencent.com/v1/listeners",
                           "/apis/networkextension.bkbcs.tencent.com/v1/portpools",
                           "/apis/networkextension.bkbcs.tencent.com/v1/ingresses",
                           "/apis/berth.dev/v1/loadbalancers", "/apis/berth.dev/v1/portblocks"}) {
    const auto list = cluster_.list(path);
    if (list && !list->empty()) out.emplace_back(path);
  }
  return out;
}

void UninstallHouse::begin() {
  person_ = std::make_unique<Person>(cluster_, options_, &told_);
  Person& person = *person_;
  person.task = person.process.spawn("main", [this, &person](std::stop_token stop) {
    const Result<> done = person.uninstaller.run({.tasks = person.process, .stop = stop});
    if (person.process.alive()) outcome_ = done;
  });
}

}  // namespace berth::scenario
