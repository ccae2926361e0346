#include "sim/world/server_gateway.h"

namespace berth::world {
namespace {

// Leases are renewed for ever, so they say nothing about whether work is left.
bool is_work(const net::Request& request) {
  return request.method != "GET" && request.url.find("/leases") == std::string::npos;
}

}  // namespace

const wire::Value* SeenReply::object() const {
  if (answer_.object) return answer_.object.get();
  if (!object_) object_ = wire::parse_json(answer_.reply.body);
  return *object_ ? &**object_ : nullptr;
}

std::shared_ptr<ServerGateway::Exchange> ServerGateway::accept(net::Request request) {
  reap();
  auto exchange = std::make_shared<Exchange>();
  std::string name = "serve " + request.method;
  works_.push_back(
      {exchange, kernel_.world().spawn(
                     std::move(name), [this, exchange, sent = std::move(request)](std::stop_token) {
                       exchange->answer = handle(sent);
                       exchange->done = true;
                       if (exchange->wake) exchange->wake->notify();
                     })});
  return exchange;
}

sim::kube::Answer ServerGateway::handle(const net::Request& request) {
  const bool work = is_work(request);
  writes_under_way_ += work ? 1 : 0;
  sim::kube::Answer answer = server_.handle(request, {}, kernel_.wall_time());
  writes_under_way_ -= work ? 1 : 0;
  if (work) note_activity();
  const SeenReply seen(answer);
  for (const auto& observer : observers_) {
    if (const auto listening = observer.lock()) (*listening)(request, seen);
  }
  return answer;
}

std::shared_ptr<const ServerGateway::Observer> ServerGateway::observe(Observer observer) {
  auto listening = std::make_shared<const Observer>(std::move(observer));
  observers_.push_back(listening);
  return listening;
}

Instant ServerGateway::last_activity() const {
  return writes_under_way_ > 0 ? kernel_.now() : last_activity_;
}

void ServerGateway::reap() {
  std::erase_if(works_, [](const Work& work) { return work.exchange->done; });
}

}  // namespace berth::world
