// What `berth explain` says of random host ports.
#include <algorithm>
#include <boost/json.hpp>

#include "admission/host_port_injection.h"
#include "admission/pod_patch.h"
#include "admission/webhooks.h"
#include "api/host_ports.h"
#include "modules/host_ports/module.h"
#include "report/teller.h"

namespace berth::modules::host_ports {
namespace {

using admission::annotation_of;
using admission::has_annotation;
using model::Port;
using wire::Array;
using wire::Value;

constexpr std::string_view kAnew = "delete the Pod: the one that comes in its place gets them";

// "8080, 8081"
template <class Ports, class Project>
std::string list_of(const Ports& ports, Project project) {
  std::string out;
  for (const auto& port : ports) out += fmt::format("{}{}", out.empty() ? "" : ", ", project(port));
  return out;
}

// What the scheduler says about a Pod that has no node.
std::string_view unscheduled_reason(const Value& pod) {
  const Array* conditions = wire::array_at(pod, "/status/conditions");
  for (std::size_t i = 0; conditions && i < conditions->size(); ++i) {
    const Value& condition = (*conditions)[i];
    if (wire::string_at(condition, "/type") == "PodScheduled" &&
        wire::string_at(condition, "/status") == "False")
      return wire::string_at(condition, "/message");
  }
  return {};
}

class HostPortTeller : private report::Teller {
 public:
  HostPortTeller(const report::ExplainView& view, report::Explanation& out) : Teller(view, out) {
    const Value* const text =
        wire::find(view.cluster.webhooks,
                   fmt::format("/metadata/annotations/{}",
                               wire::escape_pointer_step(admission::kHostPortsAnnotation)));
    if (!text || !text->is_string()) return;
    if (const auto range = api::parse_host_port_range(text->get_string())) range_ = *range;
  }

  void tell() {
    const bool given =
        view_.pod.is_object() && admission::label_of(view_.pod, api::kHostPortLabel) == "true";
    if (given) {
      (void)(pod_lives() && is_told() && has_node() && is_reached());
    } else {
      (void)(asks() && annotation_reads() && network_allows() && is_hooked() && controller_runs() &&
             range_suffices() && was_asked("host ports"));
    }
  }

 private:
  bool asks() {
    const std::string_view value =
        asking_ ? annotation_of(*asking_, api::kHostPortAnnotation) : std::string_view();
    if (asking_ && has_annotation(*asking_, api::kHostPortAnnotation) && value != "true") {
      return bad(fmt::format("annotation {} is \"{}\": only \"true\" asks for host ports",
                             api::kHostPortAnnotation, value),
                 "set it to \"true\"");
    }
    return is_asked(api::kHostPortAnnotation, "random host ports", api::kHostPortPortsAnnotation);
  }

  bool annotation_reads() {
    Result<std::vector<admission::WantedHostPort>> wanted = admission::wanted_host_ports(*asking_);
    if (!wanted) {
      const Error& error = wanted.error();
      return bad(error.field + ": " + error.message, error.hint);
    }
    wanted_ = std::move(*wanted);
    return good(fmt::format("for container ports {}",
                            list_of(wanted_, [](const auto& one) { return one.container_port; })));
  }

  bool network_allows() {
    const Result<> possible = admission::check_network(*asking_);
    if (possible) return true;
    const Error& error = possible.error();
    return bad(error.field + ": " + error.message, error.hint);
  }

  bool is_hooked() {
    return webhook_is_there(admission::kHostPortsHook, "Pods are created without their host ports");
  }

  bool range_suffices() {
    if (!range_) return true;  // a controller that does not tell
    std::vector<Port> fixed = admission::fixed_host_ports(*asking_, wanted_);
    std::erase_if(fixed, [this](Port port) { return !range_->contains(port); });
    std::ranges::sort(fixed);
    const auto twice = std::ranges::unique(fixed);
    fixed.erase(twice.begin(), twice.end());
    const std::string range = fmt::format("{}-{}", range_->first, range_->last);
    if (wanted_.size() + fixed.size() <= range_->size())
      return good(fmt::format("the range {} has enough ports", range));
    return bad(
        fmt::format("asks for {} host ports, the range {} has {}{}", wanted_.size(), range,
                    range_->size(),
                    fixed.empty() ? "" : fmt::format(" and the Pod has {} of them", fixed.size())),
        "a larger range, with --host-ports of berth controller, or fewer ports");
  }

  bool pod_lives() {
    const std::string_view phase = wire::string_at(view_.pod, "/status/phase");
    if (phase == "Succeeded" || phase == "Failed")
      return bad(fmt::format("the Pod has ended ({}): its host ports are free again", phase),
                 "delete it, or look why it ended");
    return good("was given host ports when it was created");
  }

  // All that makes a host port one: the entry in the container, the label and the term that keep
  // Pods apart, and the variable from which the Pod knows it.
  bool is_told() {
    given_ = admission::carried_host_ports(view_.pod);
    if (given_.empty())
      return bad(fmt::format("no container has a variable {}...: somebody changed the Pod",
                             api::kHostPortVariablePrefix),
                 std::string(kAnew));
    return std::ranges::all_of(
        given_, [this](const auto& one) { return is_complete(one.first, one.second); });
  }

  bool is_complete(Port container, Port host) {
    const std::string about = fmt::format("host port {} of container port {}", host, container);
    if (!is_declared(host))
      return bad(fmt::format("{}: no container has hostPort {}: another webhook took it away",
                             about, host),
                 "see the webhooks that change Pods after Berth's");
    const std::string label = api::host_port_label(host);
    if (admission::label_of(view_.pod, label) != fmt::format("{}", host))
      return bad(fmt::format("{}: label {} is gone: others with this port may come to its node",
                             about, label),
                 fmt::format("kubectl label pod {} {}={}", view_.key.name, label, host));
    if (!admission::has_anti_affinity(view_.pod, host))
      return bad(fmt::format("{}: the anti-affinity to others with this port is gone", about),
                 std::string(kAnew));
    const bool outside = range_ && !range_->contains(host);
    return good(fmt::format(
        "{}: variable, label and anti-affinity are there{}", about,
        outside ? fmt::format("; the range is {}-{} by now", range_->first, range_->last) : ""));
  }

  bool is_declared(Port host) const {
    bool found = false;
    admission::for_each_container(view_.pod, [&](const Value& container) {
      const Array* ports = wire::array_at(container, "/ports");
      for (std::size_t i = 0; ports && i < ports->size(); ++i)
        found = found || wire::int_at((*ports)[i], "/hostPort") == host;
    });
    return found;
  }

  bool has_node() {
    if (!wire::string_at(view_.pod, "/spec/nodeName").empty()) return true;
    const std::string reason(unscheduled_reason(view_.pod));
    const bool crowded = reason.find("free ports") != std::string::npos ||
                         reason.find("anti-affinity") != std::string::npos;
    if (crowded)
      return bad(fmt::format("no node has all of its ports free: {}", reason),
                 "more nodes, or delete the Pod: the one that comes in its place gets other ports");
    return wait(fmt::format("waits for a node{}{}", reason.empty() ? "" : ": ", reason));
  }

  bool is_reached() {
    const std::string_view host = wire::string_at(view_.pod, "/status/hostIP");
    const std::string_view phase = wire::string_at(view_.pod, "/status/phase");
    if (host.empty() || phase != "Running")
      return wait(fmt::format("waits to run on node {}; its phase is {}",
                              wire::string_at(view_.pod, "/spec/nodeName"), phase));
    return good(fmt::format("is reached at {}", list_of(given_, [&](const auto& one) {
                              return fmt::format("{}:{} (container port {})", host, one.second,
                                                 one.first);
                            })));
  }

  std::optional<model::PortRange> range_;
  std::vector<admission::WantedHostPort> wanted_;
  admission::HostPortMap given_;
};

bool is_asked(const report::ExplainView& view) {
  const auto says = [](const Value* object) {
    return object && object->is_object() &&
           (has_annotation(*object, api::kHostPortAnnotation) ||
            has_annotation(*object, api::kHostPortPortsAnnotation));
  };
  return says(&view.pod) || says(&view.workload) ||
         says(wire::find(view.workload, "/spec/template"));
}

void tell(const report::ExplainView& view, report::Explanation& out) {
  HostPortTeller(view, out).tell();
}

std::optional<bool> is_served(const Value& pod) {
  if (admission::label_of(pod, api::kHostPortLabel) != "true") return std::nullopt;
  return !wire::string_at(pod, "/status/hostIP").empty();
}

constexpr std::string_view kKeys[] = {api::kHostPortAnnotation, api::kHostPortPortsAnnotation};

}  // namespace

const report::Part kReport{
    .module = kName, .is_asked = is_asked, .tell = tell, .is_served = is_served, .keys = kKeys};

}  // namespace berth::modules::host_ports
