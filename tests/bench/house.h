// A running controller for benches: the App in this process, with its webhook server, on an API
// server that runs in another one, and with a provider of load balancers that takes no time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/serve.h"
#include "bench.h"
#include "session.h"
#include "sim/lb/model_driver.h"

namespace berth::bench {

// Counts what changes something on the API server, apart from leases and events.
class CountingTransport final : public net::Transport {
 public:
  explicit CountingTransport(net::Transport& inner) : inner_(inner) {}

  Result<net::Response> call(const Context& context, const net::Request& request) override;
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    return inner_.open(context, request);
  }
  std::uint64_t writes() const { return writes_; }

 private:
  net::Transport& inner_;
  std::atomic<std::uint64_t> writes_{0};
};

class House {
 public:
  // Opens when it serves: webhooks are answered from synced caches. The driver outlives it. A house
  // that takes the place of another one answers webhooks at its port, as behind a Service.
  static Result<std::unique_ptr<House>> open(const std::string& kubeconfig, lb::Drivers drivers,
                                             std::uint16_t webhook_port = 0);
  ~House();

  Tasks& tasks() { return session_.tasks; }
  kube::Client& client() { return *session_.client; }
  app::App& app() { return *app_; }
  Context patiently() { return Context{.tasks = session_.tasks}.within(std::chrono::minutes{5}); }
  std::uint64_t writes() const { return counter_->writes(); }
  // Until it leads: then controllers run.
  Result<> wait_until_leading();
  Duration took_to_serve() const { return took_; }
  std::uint16_t webhook_port() const { return webhook_port_; }

  // The namespace "games", open for ports.
  Result<> need_namespace();
  // A pool of so many TCP ports, in items of at most 4,000; waits until all can be had.
  Result<> need_pool(const std::string& name, int ports);
  Result<> create_pool(const std::string& name, int ports, const std::string& protocol,
                       std::vector<std::string> load_balancers);
  Result<> wait_for_pool(const std::string& name);
  // What pools still write when they are Ready is over.
  void wait_until_quiet();

 private:
  House() = default;

  Session session_;
  std::unique_ptr<net::CurlTransport> own_;
  std::unique_ptr<CountingTransport> counter_;
  app::Config config_;
  std::unique_ptr<app::App> app_;
  std::atomic<std::uint16_t> webhook_port_{0};
  Duration took_{};
  std::unique_ptr<Task> main_;
};

// A Pod of "games" that asks for ports; `ask` is the text of the annotation.
wire::Value room(const std::string& name, const std::string& ask);
// The AdmissionReview that kube-apiserver would send for it.
std::string review_of(const wire::Value& pod);

// A provider of load balancers that takes no time.
struct Model {
  sim::lb::ModelProvider provider{};
  sim::lb::ModelDriver driver{provider};
  lb::Drivers drivers = lb::Drivers::always(driver.seams());
};

// On a fresh embedded server, with the namespace, leading.
Result<std::unique_ptr<House>> embedded_house(Environment& environment, lb::Drivers drivers);

double percentile(std::vector<double> values, double p);
double milliseconds(Duration span);

// Writers at one time, where as many as possible are wanted.
inline constexpr int kWriters = 16;
// Runs `work(i)` for each i on so many threads.
void on_threads(int threads, int count, const std::function<void(int)>& work);

// One claim as it is written, and nothing else: what no admission can do without.
struct BarePatches {
  std::vector<double> times_ms;
  double per_second = 0;
};
Result<BarePatches> bare_patches(House& house, const std::string& pool, int clients, int count);

}  // namespace berth::bench
