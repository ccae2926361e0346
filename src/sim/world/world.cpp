#include "sim/world/world.h"

#include <algorithm>

#include "app/driver_set.h"
#include "sim/lb/model_driver.h"

namespace berth::world {
namespace {

// How often the API server's side of a webhook call looks whether the replica still lives.
constexpr Duration kConnectionCheck = std::chrono::seconds{1};
// Tasks at the provider land as late as this.
constexpr Duration kProviderTick = std::chrono::milliseconds{500};
constexpr Duration kPrepareRetry = std::chrono::seconds{1};

ClusterOptions with_webhooks(ClusterOptions options, sim::kube::WebhookCaller& webhooks) {
  options.webhooks = &webhooks;
  return options;
}

berth::kube::Identity our_identity() { return {.bearer_token = Secret(std::string(kOurUser))}; }

}  // namespace

// What a webhook said, once it did.
struct World::Answered {
  std::optional<net::Reply> reply{};
  std::unique_ptr<Signal> done{};
};

class World::Replica {
 public:
  Replica(World& world, const std::string& name, Duration clock_ahead)
      : process_(world.kernel().start_process(name, sim::Crashable::yes)),
        network_(world.cluster_.connect(process_)),
        drivers_({world.connect(process_, *network_)}) {
    const WorldOptions& options = world.options_;
    process_.skew_clock(clock_ahead);
    if (options.around_transport) planted_network_ = options.around_transport(*network_);
    lb::Drivers drivers = drivers_.seams();
    if (options.around_listeners) {
      lb::Driver driver = drivers.all().begin()->second;  // there is one
      planted_listeners_ = options.around_listeners(*driver.listeners);
      if (planted_listeners_) driver.listeners = planted_listeners_.get();
      drivers = lb::Drivers::always(driver);
    }
    app_ = std::make_unique<app::App>(
        process_, planted_network_ ? *planted_network_ : *network_,
        berth::kube::fixed_config(Cluster::kServerUrl, our_identity()),
        config_of(options.config, name), drivers, world.kernel().fork_random(), options.modules);
    main_ = process_.spawn("main", [this](std::stop_token stop) { run(stop); });
  }

  sim::Process& process() { return process_; }
  bool listening() const { return listening_ && process_.alive(); }
  bool leading() const { return app_->leading() && process_.alive(); }

  // Answers in a task of this process, as its webhook server would.
  void serve(net::Request request, std::shared_ptr<Answered> answered) {
    std::erase_if(handlers_, [](const Handler& handler) { return handler.answered->reply; });
    handlers_.push_back(
        {answered, process_.spawn("webhook", [this, request, answered](std::stop_token stop) {
           answered->reply = app_->admit(request, std::move(stop));
           answered->done->notify();
         })});
  }

  // As after SIGTERM: returns when everything has ended in order.
  void stop() {
    stopping_ = true;
    main_->request_stop();
    main_->join();
  }

 private:
  struct Handler {
    std::shared_ptr<Answered> answered;
    std::unique_ptr<Task> task;
  };

  static app::Config config_of(app::Config config, const std::string& name) {
    config.identity = name;
    config.user.user = std::string(kOurUser);
    return config;
  }

  void run(const std::stop_token& stop) {
    const Context context{.tasks = process_, .stop = stop};
    while (!stop.stop_requested()) {
      if (app_->prepare(context)) {
        app_->set_webhook_address({.url = "https://" + process_.name()});
        listening_ = true;
        (void)app_->run(context);
        listening_ = false;
        break;
      }
      (void)sleep_for(process_, kPrepareRetry, stop);
    }
    // A process that ends by itself is replaced like one that crashed.
    if (!stopping_) process_.kernel().crash(process_);
  }

  sim::Process& process_;
  std::unique_ptr<net::Transport> network_;
  app::DriverSet drivers_;
  std::unique_ptr<net::Transport> planted_network_;
  std::unique_ptr<lb::Listeners> planted_listeners_;
  std::unique_ptr<app::App> app_;
  bool listening_ = false;
  bool stopping_ = false;
  std::vector<Handler> handlers_;
  std::unique_ptr<Task> main_;  // last: joined first
};

World::World(std::uint64_t seed, WorldOptions options)
    : options_(std::move(options)),
      cluster_(seed, with_webhooks(options_.cluster, *this)),
      kubelet_(cluster_, options_.kubelet),
      provider_(options_.provider),
      random_(kernel().fork_random()) {
  kernel().on_crash([this](sim::Process& dead) { replace(dead); });
  (void)cluster_.play("provider", [this](std::stop_token stop) {
    do {
      provider_.advance(kernel().now());
      if (options_.cloud) options_.cloud->advance(kernel());
    } while (cluster_.pause(kProviderTick, stop));
  });
  replicas_.resize(static_cast<std::size_t>(options_.replicas));
  for (std::size_t i = 0; i < replicas_.size(); ++i) start_replica(i);
}

World::~World() {
  cluster_.end_players();
  kernel().on_crash({});
  for (const auto& replica : replicas_) {
    if (replica) kernel().crash(replica->process());
  }
  replicas_.clear();
}

sim::lb::ProviderView& World::view() {
  if (options_.cloud) return options_.cloud->view();
  return provider_;
}

app::DriverPart World::connect(sim::Process& process, net::Transport& to_server) {
  if (options_.cloud) return options_.cloud->connect(process, to_server);
  const auto driver = std::make_shared<sim::lb::ModelDriver>(provider_, process);
  return {.seams = driver->seams(), .owner = driver};
}

void World::start_replica(std::size_t index) {
  const std::vector<Duration>& clocks = options_.clocks_ahead;
  replicas_[index] = std::make_unique<Replica>(*this, fmt::format("berth-{}", generation_++),
                                               index < clocks.size() ? clocks[index] : Duration{});
}

void World::replace(sim::Process& dead) {
  const auto at = std::ranges::find_if(
      replicas_, [&](const auto& replica) { return replica && &replica->process() == &dead; });
  if (at == replicas_.end()) return;
  const auto index = static_cast<std::size_t>(at - replicas_.begin());
  cluster_.gateway().note_activity();  // it is not quiet while one is missing
  // Taken out first: while its tasks end, others must not find it.
  std::unique_ptr<Replica> ended = std::move(*at);
  ended.reset();
  (void)cluster_.pause(options_.restart_delay, {});
  cluster_.gateway().note_activity();
  start_replica(index);
}

void World::crash_all() {
  for (const auto& replica : replicas_)
    if (replica) kernel().crash(replica->process());
}

void World::restart(std::size_t index) {
  if (!replicas_[index] || !replicas_[index]->process().alive()) return;  // being replaced already
  stop(index);
  start_replica(index);
}

void World::stop(std::size_t index) {
  // Taken out first: if it crashes while it stops, nobody else replaces it.
  const auto leaving = leaving_.insert(leaving_.end(), std::move(replicas_[index]));
  (*leaving)->stop();
  leaving_.erase(leaving);
}

void World::restore(const sim::kube::Backup& backup, std::string_view resource) {
  cluster_.gateway().note_activity();
  cluster_.server().restore(backup, resource);
  kubelet_.look_around();
}

int World::leaders() const {
  const auto leads = [](const auto& replica) { return replica && replica->leading(); };
  return static_cast<int>(std::ranges::count_if(replicas_, leads) +
                          std::ranges::count_if(leaving_, leads));
}

int World::listening() const { return static_cast<int>(reachable().size()); }

std::vector<World::Replica*> World::reachable() const {
  std::vector<Replica*> out;
  for (const auto& replica : replicas_) {
    if (replica && replica->listening()) out.push_back(replica.get());
  }
  return out;
}

Result<net::Response> World::call(const sim::kube::WebhookTarget& target, const std::string& body,
                                  Duration timeout) {
  if (options_.answer_webhook) {
    if (auto reply = options_.answer_webhook(target.url, body)) {
      return net::Response{
          .status = reply->status, .headers = std::move(reply->headers), .body = reply->body};
    }
  }
  // A Service sends the call to any replica; which one is part of the schedule.
  const std::vector<Replica*> candidates = reachable();
  if (candidates.empty()) return fail(Code::unavailable, "connection refused");
  Replica& chosen = *candidates[random_.below(candidates.size())];

  const auto answered = std::make_shared<Answered>();
  answered->done = kernel().world().signal();
  const std::size_t path = target.url.find('/', std::string_view("https://").size());
  chosen.serve({.method = "POST", .url = target.url.substr(path), .body = body}, answered);
  // The replica may die and be replaced while we wait; its process remains.
  const sim::Process& process = chosen.process();
  const Instant until = kernel().now() + timeout;
  while (!answered->reply && kernel().now() < until && process.alive()) {
    (void)kernel().world().wait(*answered->done, std::min(until, kernel().now() + kConnectionCheck),
                                {});
  }
  if (!answered->reply || !process.alive()) return fail(Code::timeout, "context deadline exceeded");
  const net::Reply& reply = *answered->reply;
  return net::Response{.status = reply.status, .headers = reply.headers, .body = reply.body};
}

}  // namespace berth::world
