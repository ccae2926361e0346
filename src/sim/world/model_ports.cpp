#include "sim/world/model_ports.h"

namespace berth::world {

const ModelPorts::Targets* ModelPorts::find(const std::string& address, model::Protocol protocol,
                                            model::Port port) const {
  const auto it = ports_.find({address, protocol, port});
  return it == ports_.end() ? nullptr : &it->second;
}

void ModelPorts::set(const lb::Forwarding& wanted) {
  ports_[{wanted.address, wanted.protocol, wanted.port}] = wanted.targets;
  if (observer_) observer_(wanted);
}

std::string ModelForwarder::address_of(const std::string& load_balancer_id) {
  return "vip-of-" + load_balancer_id;
}

Result<> ModelForwarder::apply(const Context& context, const lb::Forwarding& wanted) {
  if (context.expired()) return fail(context.end_error());
  return sim::seam(process_, fmt::format("forward {}:{}", wanted.address, wanted.port),
                   sim::Effect::write, [&] { ports_.set(wanted); });
}

}  // namespace berth::world
