// What `berth explain` says of a Listener.
#include <array>
#include <boost/json.hpp>

#include "api/decode.h"
#include "model/load_balancer.h"
#include "report/teller.h"

namespace berth::report {
namespace {

class ListenerTeller : private Teller {
 public:
  ListenerTeller(const ExplainView& view, Explanation& out) : Teller(view, out) {}

  void tell() {
    const Result<api::Listener> listener = api::decode_listener(view_.object);
    if (!listener) {
      bad(fmt::format("it cannot be read: {}", listener.error().message),
          "delete it: whoever wants it makes it anew");
      return;
    }
    if (claims::is_foreign(*listener)) {
      bad("another controller made it: it is left alone",
          "ask that one, or delete the Listener when it is gone");
      return;
    }
    (void)(controller_runs() && is_owned(*listener) && has_balancer(*listener) &&
           is_synced(*listener) && leads(*listener));
  }

 private:
  bool is_owned(const api::Listener& listener) {
    if (listener.meta.deleting)
      return wait("it is being deleted: it goes when its load balancer has let its port go");
    const claims::OwnerName owner = claims::owner_of(listener);
    if (owner.kind.empty())
      return bad("it belongs to nobody: a Listener that people write leads nowhere",
                 "write an Ingress or a PortPool; Listeners are made for them");
    const std::string_view part = claims::item_of(listener);
    return good(fmt::format("belongs to {} {}{}{}", owner.kind, owner.key.to_string(),
                            part.empty() ? "" : ", ", part));
  }

  bool has_balancer(const api::Listener& listener) {
    const auto lb = claims::load_balancer_of(listener, {});
    return !lb || balancer_is_known(model::object_name(*lb));
  }

  bool is_synced(const api::Listener& listener) {
    const std::string port = fmt::format(
        "{} {}{}{}", listener.spec.protocol, listener.spec.port,
        listener.spec.end_port > 0 ? "-" : "",
        listener.spec.end_port > 0 ? std::to_string(listener.spec.end_port) : std::string());
    if (claims::is_applied(listener))
      return good(fmt::format("{} is as written at the load balancer{}{}", port,
                              listener.status.listener_id.empty() ? "" : ", as ",
                              listener.status.listener_id));
    if (!listener.status.message.empty())
      return refused(port + " is not synced", listener.status.message);
    return wait(port + " is being synced");
  }

  bool leads(const api::Listener& listener) {
    std::string targets;
    std::size_t count = 0;
    for (const api::ListenerBackend* const one : api::backends_of(listener.spec)) {
      if (++count > kMostTargets) continue;
      targets += fmt::format("{}{}:{}{}", targets.empty() ? "" : ", ", one->ip, one->port,
                             one->weight == 0 ? " (no new connections)" : "");
    }
    if (count > kMostTargets) targets += fmt::format(" and {} more", count - kMostTargets);
    if (count > 0) return good("leads to " + targets);
    if (const auto claim = claims::claim_of(listener))
      return wait(fmt::format("leads nowhere yet; it is {} for {}/{}",
                              ledger::to_string(claim->state), claim->ns, claim->pod_name));
    if (claims::is_lock(listener) || claims::is_peer(listener)) return good("free: no Pod has it");
    return wait("leads nowhere: ask about its owner");
  }

  static constexpr std::size_t kMostTargets = 10;
};

void tell(const ExplainView& view, Explanation& out) { ListenerTeller(view, out).tell(); }

constexpr std::array<std::string_view, 1> kWords{"listener"};

}  // namespace

const ExplainedKind kListenerExplained{.kind = api::listener_kind, .words = kWords, .tell = tell};

}  // namespace berth::report
