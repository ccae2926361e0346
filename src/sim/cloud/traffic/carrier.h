// Carrier: carries on loopback what the simulated cloud's listeners lead to.
//
// One task of its own follows the cloud; everything else that is not const belongs to it. Owned by
// whoever runs the cloud, and ended before it. `follow` is for any thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/mutex.h"
#include "edge/driver.h"
#include "sim/cloud/tencent/cloud.h"

namespace berth::sim::traffic {

struct CarrierOptions {
  std::optional<edge::LowPorts> low_ports{};  // none: what this process may open
};

class Carrier {
 public:
  // Both outlive it.
  static Result<std::unique_ptr<Carrier>> start(Tasks& tasks, tencent::Cloud& cloud,
                                                CarrierOptions options = {});
  ~Carrier();

  // Returns when traffic goes where the cloud said it should when this was called.
  void follow(std::stop_token stop);
  // Nobody is led there.
  void avoid(std::vector<edge::Endpoint> own) { edge_->set_own_endpoints(std::move(own)); }
  const edge::LowPorts& low_ports() const { return low_ports_; }

 private:
  struct Carried {
    model::ListenerId at_edge{};
    model::ListenerSpec spec{};
  };
  using Listeners = std::map<std::string, Carried>;  // by the cloud's id
  using Wished = std::map<std::string, model::ListenerSpec>;
  using Notes = std::map<std::string, std::string>;  // by the cloud's id: what became of it

  Carrier(Tasks& tasks, tencent::Cloud& cloud, edge::LowPorts low_ports,
          std::unique_ptr<edge::EdgeDriver> edge);
  void run(const std::stop_token& stop);
  void carry_all(const Context& context);
  // False: something of it has to be tried again.
  bool carry(const Context& context, const std::string& lb);
  void close_others(const Context& context, const lb::Place& place, Listeners& there,
                    const Wished& wished);
  void open_new(const Context& context, const lb::Place& place, Listeners& there,
                const Wished& wished, Notes& notes);
  void set_rules(const Context& context, const lb::Place& place, Listeners& there,
                 const Wished& wished, Notes& notes);
  void lead(const Context& context, const lb::Place& place, Listeners& there, const Wished& wished,
            Notes& notes);
  std::string where(const std::vector<std::string>& vips, const model::ListenerSpec& spec) const;

  Tasks& tasks_;
  tencent::Cloud& cloud_;
  const edge::LowPorts low_ports_;
  const std::unique_ptr<edge::EdgeDriver> edge_;
  const std::unique_ptr<Signal> wake_;
  Mutex mu_;
  std::vector<std::shared_ptr<Signal>> waiting_ GUARDED_BY(mu_);
  std::map<std::string, Listeners> carried_;  // by load balancer
  std::set<std::string> again_;               // load balancers that are not as they should be
  std::unique_ptr<Task> task_;                // last
};

}  // namespace berth::sim::traffic
