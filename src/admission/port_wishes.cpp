#include "admission/port_wishes.h"

#include <boost/json.hpp>
#include <set>

#include "admission/host_port_injection.h"
#include "admission/pod_patch.h"
#include "api/go_duration.h"
#include "api/host_ports.h"
#include "crypto/digest.h"

namespace berth::admission {
namespace {

using wire::Array;
using wire::Value;

struct DeclaredPort {
  model::Port port = 0;
  std::optional<model::Transport> protocol{};  // none: SCTP, which no pool has
  bool has_host_port = false;
};

std::string annotation_path(std::string_view key) {
  return fmt::format("metadata.annotations[{}]", key);
}

DeclaredPort declared(const Value& port) {
  DeclaredPort out{.port =
                       static_cast<model::Port>(wire::int_at(port, "/containerPort").value_or(0))};
  const std::string_view protocol = wire::string_at(port, "/protocol");
  if (protocol == "UDP") out.protocol = model::Transport::udp;
  if (protocol == "TCP" || protocol.empty()) out.protocol = model::Transport::tcp;
  out.has_host_port = wire::int_at(port, "/hostPort").value_or(0) > 0;
  return out;
}

// A container that is reached by TLS declares TCP: TLS ends before it.
bool fits(const DeclaredPort& port, model::Protocol protocol) {
  return port.protocol == api::pool_transport(protocol);
}

// By name, or by number: then with the protocol that is asked for, if the container has both.
std::optional<DeclaredPort> find_port(const Value& pod, const api::PortRequest& request) {
  std::optional<DeclaredPort> found;
  for_each_container(pod, [&](const Value& container) {
    const Array* ports = wire::array_at(container, "/ports");
    for (const Value& one : ports ? *ports : Array{}) {
      const DeclaredPort port = declared(one);
      const bool named = !request.port_name.empty();
      if (named ? wire::string_at(one, "/name") != request.port_name : port.port != request.port)
        continue;
      const bool is_meant = !request.protocols.empty() && fits(port, request.protocols.front());
      if (!found || is_meant || (!found->protocol && port.protocol)) found = port;
    }
  });
  return found;
}

std::string list_ports(const Value& pod) {
  std::string list;
  for_each_container(pod, [&](const Value& container) {
    const Array* ports = wire::array_at(container, "/ports");
    for (const Value& one : ports ? *ports : Array{}) {
      const std::string_view name = wire::string_at(one, "/name");
      list += fmt::format("{}{}{}", list.empty() ? "" : ", ",
                          wire::int_at(one, "/containerPort").value_or(0),
                          name.empty() ? "" : fmt::format(" ({})", name));
    }
  });
  return list.empty() ? "none" : list;
}

// An entry of `ports` with this number and protocol that is, or will be, a port of the node: it has
// one, or the random host ports that the Pod asks for as well give it one. They come first; the
// annotation is read for Pods that are only looked at.
bool has_host_port(const Value& pod, model::Port number, model::Transport protocol) {
  bool found = false;
  for_each_container(pod, [&](const Value& container) {
    const Array* ports = wire::array_at(container, "/ports");
    for (const Value& one : ports ? *ports : Array{}) {
      const DeclaredPort port = declared(one);
      found = found || (port.has_host_port && port.port == number && port.protocol == protocol);
    }
  });
  if (found || annotation_of(pod, api::kHostPortAnnotation) != "true") return found;
  const Result<std::vector<WantedHostPort>> random = wanted_host_ports(pod);
  if (!random) return false;
  for (const WantedHostPort& wanted : *random) {
    for (const std::string& place : wanted.places) {
      const Value* const entry = wire::find(pod, place);
      const DeclaredPort port = entry ? declared(*entry) : DeclaredPort{};
      if (port.port == number && port.protocol == protocol) return true;
    }
  }
  return false;
}

// A port that leads to the node must be one of the node, for each protocol: what gets no host port
// could never be bound.
Result<> check_host_ports(const Value& pod, const claims::SlotRequest& wish,
                          const std::string& shown) {
  if (!wish.pod_port.on_host || wire::bool_at(pod, "/spec/hostNetwork").value_or(false)) return {};
  for (const model::Protocol protocol : wish.protocols) {
    const model::Transport transport = api::pool_transport(protocol);
    if (has_host_port(pod, wish.pod_port.port, transport)) continue;
    const bool random = annotation_of(pod, api::kHostPortAnnotation) == "true";
    const bool has_another = has_host_port(
        pod, wish.pod_port.port,
        transport == model::Transport::tcp ? model::Transport::udp : model::Transport::tcp);
    return fail(
        error_of(Code::invalid, "port {} has no hostPort{}, and /hostport asks for it", shown,
                 has_another ? fmt::format(" for {}", model::to_string(transport)) : "")
            .at(annotation_path(api::kPortsAnnotation))
            .with_hint(fmt::format(
                "{}, or leave /hostport out",
                random ? fmt::format("name it in the annotation {}", api::kHostPortPortsAnnotation)
                       : "set hostPort in spec.containers[].ports")));
  }
  return {};
}

Result<claims::SlotRequest> resolve(const Value& pod, const api::PortRequest& request) {
  const std::string shown =
      request.port_name.empty() ? fmt::format("{}", request.port) : request.port_name;
  const std::optional<DeclaredPort> port = find_port(pod, request);
  if (!port) {
    return fail(error_of(Code::invalid, "no container declares port {}; declared are: {}", shown,
                         list_ports(pod))
                    .at(annotation_path(api::kPortsAnnotation))
                    .with_hint("add it to spec.containers[].ports"));
  }
  claims::SlotRequest wish{.pool = request.pool,
                           .item = request.item,
                           .protocols = request.protocols,
                           .pod_port = {.port = port->port, .on_host = request.host_port}};
  if (wish.protocols.empty() && !port->protocol) {
    return fail(error_of(Code::invalid, "port {} is declared for SCTP, which no pool has", shown)
                    .at(annotation_path(api::kPortsAnnotation))
                    .with_hint("name TCP or UDP: POOL PROTOCOL PORT"));
  }
  if (wish.protocols.empty()) wish.protocols = {model::protocol_of(*port->protocol)};
  if (Result<> possible = check_host_ports(pod, wish, shown); !possible) return pass(possible);
  return wish;
}

// A port that containers declare for another protocol alone.
std::optional<std::string> doubt_about(const Value& pod, const claims::SlotRequest& wish) {
  if (wish.protocols.size() != 1) return std::nullopt;
  const model::Protocol wanted = wish.protocols.front();
  bool declared_so = false;
  for_each_container(pod, [&](const Value& container) {
    const Array* ports = wire::array_at(container, "/ports");
    for (const Value& one : ports ? *ports : Array{}) {
      const DeclaredPort port = declared(one);
      declared_so = declared_so || (port.port == wish.pod_port.port && fits(port, wanted));
    }
  });
  if (declared_so) return std::nullopt;
  return fmt::format("{} is asked for at port {}, which containers declare for another protocol",
                     api::pool_protocol_text(wanted), wish.pod_port.port);
}

// The variable is named for protocol and container port: of several, it tells the last.
std::optional<std::string> doubt_about(const std::vector<claims::SlotRequest>& wishes) {
  std::set<std::pair<model::Protocol, model::Port>> seen;
  for (const claims::SlotRequest& wish : wishes) {
    for (const model::Protocol protocol : wish.protocols) {
      if (seen.emplace(protocol, wish.pod_port.port).second) continue;
      return fmt::format(
          "{} port {} is asked for more than once: its variable has the last address, the "
          "annotation has all",
          api::pool_protocol_text(protocol), wish.pod_port.port);
    }
  }
  return std::nullopt;
}

Result<Duration> keep_of(const Value& pod, Duration max_keep) {
  const std::string_view text = annotation_of(pod, api::kKeepDurationAnnotation);
  if (text.empty()) return Duration::zero();
  Result<Duration> keep = api::parse_go_duration(text);
  if (keep && *keep < Duration::zero())
    keep = fail(Code::invalid, "'{}' is negative: durations are 0 or longer", text);
  if (keep && *keep > max_keep) {
    keep = fail(error_of(Code::invalid, "'{}' is too long: at most {} is allowed", text,
                         api::format_go_duration(max_keep))
                    .with_hint("a longer one needs --max-keep-hours at the controller"));
  }
  if (!keep) return fail(std::move(keep.error()).at(annotation_path(api::kKeepDurationAnnotation)));
  return keep;
}

Result<PortWishes> read(const Value& pod, std::string_view ns, Duration max_keep) {
  if (!has_annotation(pod, api::kPortsAnnotation)) {
    return fail(error_of(Code::invalid, "annotation {} is missing: it says which ports",
                         api::kPortsAnnotation)
                    .with_hint("for example \"rooms TCP 8000\": POOL PROTOCOL PORT"));
  }
  const std::string_view text = annotation_of(pod, api::kPortsAnnotation);
  Result<std::vector<api::PortRequest>> requests = api::parse_port_requests(text, ns);
  if (!requests) return pass(requests);
  PortWishes out;
  for (const api::PortRequest& request : *requests) {
    Result<claims::SlotRequest> wish = resolve(pod, request);
    if (!wish) return pass(wish);
    if (auto doubt = doubt_about(pod, *wish)) out.doubts.push_back(std::move(*doubt));
    out.ports.push_back(std::move(*wish));
  }
  if (auto doubt = doubt_about(out.ports)) out.doubts.push_back(std::move(*doubt));
  Result<Duration> keep = keep_of(pod, max_keep);
  if (!keep) return pass(keep);
  out.keep = *keep;
  out.wants_gate = has_annotation(pod, api::kReadinessGateAnnotation) &&
                   annotation_of(pod, api::kReadinessGateAnnotation) != "false";
  out.hash = crypto::sha256_hex(text).substr(0, 16);
  return out;
}

}  // namespace

bool asks_for_ports(const Value& pod) {
  return has_annotation(pod, api::kPortPoolsAnnotation) &&
         annotation_of(pod, api::kPortPoolsAnnotation) != "false";
}

Result<PortWishes> wishes_of(const kube::AdmissionRequest& request, Duration max_keep) {
  Result<PortWishes> wishes = read(request.object, request.ns, max_keep);
  if (!wishes) return fail(std::move(wishes.error()).about(request.describe()));
  return wishes;
}

std::string controller_uid(const Value& pod) {
  const Array* owners = wire::array_at(pod, "/metadata/ownerReferences");
  for (const Value& owner : owners ? *owners : Array{}) {
    if (wire::bool_at(owner, "/controller").value_or(false))
      return std::string(wire::string_at(owner, "/uid"));
  }
  return {};
}

}  // namespace berth::admission
