#include "edge/tcp_forwarder.h"

#include <algorithm>
#include <list>
#include <map>

#include "edge/relay.h"

namespace berth::edge {
namespace {

// FNV-1a: the same id has the same address in every process and on every machine.
std::uint32_t stable_hash(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

// What `apply` hands to the loop and waits for.
struct Outcome {
  std::unique_ptr<Signal> done;
  Mutex mu{};
  std::optional<Result<>> result GUARDED_BY(mu) = std::nullopt;
};

}  // namespace

// Everything below runs on the loop's thread.
class TcpForwarder::Impl {
 public:
  Result<> apply(EventLoop& loop, const lb::Forwarding& wanted) {
    const model::Target at{wanted.address, wanted.port};
    if (wanted.targets.empty()) {
      close(loop, at);
      return {};
    }
    if (wanted.protocol != model::Protocol::tcp) {
      return fail(error_of(Code::unsupported, "the edge load balancer forwards TCP, not {}",
                           model::to_string(wanted.protocol))
                      .about(model::to_string(at)));
    }
    if (!ports_.contains(at)) {
      if (Result<> opened = open(loop, at); !opened) return opened;
    }
    Port& port = *ports_.at(at);
    port.targets = wanted.targets;
    abort_relays(port, [&](const model::Target& target) {
      return !std::ranges::count(port.targets, target);
    });
    return {};
  }

 private:
  struct Port {
    Fd listener;
    std::vector<model::Target> targets;
    std::size_t next = 0;
    std::list<std::unique_ptr<Relay>> relays{};
  };

  Result<> open(EventLoop& loop, const model::Target& at) {
    Result<Fd> listener = listen_tcp(at);
    if (!listener) return pass(listener);
    auto port = std::make_unique<Port>(Port{.listener = std::move(*listener), .targets = {}});
    Port* const raw = port.get();
    if (!loop.watch(raw->listener.get(), EventLoop::kReadable,
                    [this, &loop, raw](std::uint32_t) { accept_all(loop, *raw); })) {
      return fail(Code::exhausted, "cannot watch {}", model::to_string(at));
    }
    ports_.emplace(at, std::move(port));
    return {};
  }

  void close(EventLoop& loop, const model::Target& at) {
    const auto it = ports_.find(at);
    if (it == ports_.end()) return;
    loop.forget(it->second->listener.get());
    abort_relays(*it->second, [](const model::Target&) { return true; });
    ports_.erase(it);
  }

  void abort_relays(Port& port, const auto& which) {
    std::vector<Relay*> doomed;
    for (const auto& relay : port.relays) {
      if (which(relay->target())) doomed.push_back(relay.get());
    }
    for (Relay* relay : doomed) relay->abort();
  }

  void accept_all(EventLoop& loop, Port& port) {
    for (Fd client = accept_tcp(port.listener); client.valid();
         client = accept_tcp(port.listener)) {
      if (connections_ >= kMaxConnections || port.targets.empty()) {
        close_with_reset(client);
        continue;
      }
      const model::Target target = port.targets[port.next++ % port.targets.size()];
      Result<Fd> upstream = connect_tcp(target);
      if (!upstream) {
        close_with_reset(client);
        continue;
      }
      add_relay(loop, port, std::move(client), std::move(*upstream), target);
    }
  }

  void add_relay(EventLoop& loop, Port& port, Fd client, Fd upstream, const model::Target& target) {
    const auto it = port.relays.emplace(port.relays.end());
    ++connections_;
    *it = std::make_unique<Relay>(loop, std::move(client), std::move(upstream), target,
                                  [this, &port, it] {
                                    --connections_;
                                    port.relays.erase(it);
                                  });
    if (!(*it)->begin()) (*it)->abort();
  }

  std::map<model::Target, std::unique_ptr<Port>> ports_;
  std::size_t connections_ = 0;
};

Result<std::unique_ptr<TcpForwarder>> TcpForwarder::start() {
  Result<std::unique_ptr<EventLoop>> loop = EventLoop::start("edge");
  if (!loop) return pass(loop);
  return std::unique_ptr<TcpForwarder>(new TcpForwarder(std::move(*loop)));
}

TcpForwarder::TcpForwarder(std::unique_ptr<EventLoop> loop)
    : impl_(std::make_unique<Impl>()), loop_(std::move(loop)) {}

TcpForwarder::~TcpForwarder() {
  loop_->post([this] { impl_.reset(); });  // relays and listeners leave the loop on its own thread
}

std::string TcpForwarder::address_of(const std::string& load_balancer_id) {
  const std::uint32_t hash = stable_hash(load_balancer_id);
  // 127.64.0.0/10, without the ends of a /24: apart from 127.0.0.1 and from the addresses of Pods.
  return fmt::format("127.{}.{}.{}", 64 + (hash >> 16) % 64, (hash >> 8) % 256, 1 + hash % 254);
}

Result<> TcpForwarder::apply(const Context& context, const lb::Forwarding& wanted) {
  const auto outcome = std::make_shared<Outcome>(context.tasks.signal());
  loop_->post([this, outcome, wanted] {
    {
      const MutexLock lock(outcome->mu);
      outcome->result = impl_->apply(*loop_, wanted);
    }
    outcome->done->notify();
  });
  for (;;) {
    {
      const MutexLock lock(outcome->mu);
      if (outcome->result) return *outcome->result;
    }
    if (context.expired()) return fail(context.end_error());
    (void)context.tasks.wait(*outcome->done, context.deadline, context.stop);
  }
}

}  // namespace berth::edge
