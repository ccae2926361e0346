// What a PortPool asks for that nobody does: the part of port_pool.h that people read as warnings.
#include <algorithm>

#include "api/listener_rules.h"
#include "api/port_pool.h"

namespace berth::api {
namespace {

class Warnings {
 public:
  explicit Warnings(const PortPool& pool) : object_("PortPool " + pool.meta.key().to_string()) {
    look_at_policy(pool.spec.allocate_policy);
    for (std::size_t i = 0; i < pool.spec.pool_items.size(); ++i)
      look_at_item(pool.spec.pool_items[i], fmt::format("spec.poolItems[{}]", i));
    if (pool.spec.listener_attribute) {
      look_at_attribute(*pool.spec.listener_attribute);
      look_at_session_type(*pool.spec.listener_attribute, pool.spec.pool_items);
    }
  }
  std::vector<std::string> take() && { return std::move(out_); }

 private:
  void warn(std::string_view field, std::string_view what) {
    out_.push_back(fmt::format("{}: {}: {}", object_, field, what));
  }

  void look_at_policy(const std::string& policy) {
    if (policy.empty() || policy == kDefaultPolicy || policy == kAveragePolicy) return;
    warn("spec.allocatePolicy",
         fmt::format("'{}' is neither {} nor {}: items are used in their order", policy,
                     kDefaultPolicy, kAveragePolicy));
  }

  void look_at_item(const PortPoolItem& item, const std::string& path) {
    // What separates words of the annotation.
    if (item.item_name.find_first_of(" \t./;") != std::string::npos) {
      warn(path + ".itemName",
           fmt::format("'{}' has a blank, '.', '/' or ';': Pods cannot name this item as POOL/ITEM",
                       item.item_name));
    }
    const std::int64_t rest = (item.end_port - item.start_port) -
                              slot_count(item) * std::max<std::int64_t>(item.segment_length, 1);
    if (rest > 0) {
      warn(path + ".endPort",
           fmt::format("[{}, {}) in segments of {}: the last {} ports are not used",
                       item.start_port, item.end_port, item.segment_length, rest));
    }
    const auto protocols = protocols_of(item);
    const bool is_tls =
        protocols && std::ranges::find(*protocols, model::Protocol::tls) != protocols->end();
    if (item.certificate && !is_tls)
      warn(path + ".certificate", "is kept and not used: it is for protocol TCP_SSL");
    if (is_dialled(item.uptime_check)) warn(path + ".uptimeCheck", kNoDialTest);
  }

  void look_at_attribute(const ListenerAttribute& attribute) {
    const std::string path = "spec.listenerAttribute";
    if (is_dialled(attribute.uptime_check)) warn(path + ".uptimeCheck", kNoDialTest);
    std::string unused;
    const auto note = [&](bool given, std::string_view name) {
      if (given) unused += fmt::format("{}{}", unused.empty() ? "" : ", ", name);
    };
    note(attribute.sni_switch != 0, "sniSwitch");
    note(attribute.keep_alive_enable != 0, "keepAliveEnable");
    note(attribute.backend_insecure, "backendInsecure");
    note(!attribute.aws_attributes.empty(), "awsAttributes");
    note(attribute.priority != 0, "priority");
    if (!unused.empty()) warn(path, fmt::format("kept and not acted on: {}", unused));
    if (attribute.health_check)
      look_at_health_check(*attribute.health_check, path + ".healthCheck");
  }

  void look_at_health_check(const ListenerHealthCheck& check, const std::string& path) {
    if (!check.enabled) {
      if (check != ListenerHealthCheck{}) warn(path, kSwitchedOff);
      return;
    }
    if (!check.health_check_protocol.empty() && check.health_check_protocol != "TCP")
      warn(path + ".healthCheckProtocol",
           fmt::format("'{}' is kept and not acted on", check.health_check_protocol));
    const std::string idle = idle_without_path(check);
    if (!idle.empty()) warn(path, fmt::format("{}: {}", kIdleWithoutPath, idle));
  }

  void look_at_session_type(const ListenerAttribute& attribute,
                            const std::vector<PortPoolItem>& items) {
    if (attribute.session_type != kQuicSessions) return;
    const std::string path = "spec.listenerAttribute";
    const bool has_udp = std::ranges::any_of(items, [](const PortPoolItem& item) {
      const auto protocols = protocols_of(item);
      return protocols && std::ranges::find(*protocols, model::Protocol::udp) != protocols->end();
    });
    if (!has_udp)
      warn(path + ".sessionType",
           fmt::format("'{}' is kept and not acted on: it is for UDP, which no item has",
                       kQuicSessions));
    else if (attribute.lb_policy == "LEAST_CONN")
      warn(path + ".lbPolicy", fmt::format("'LEAST_CONN' does nothing with UDP beside sessionType "
                                           "{}, which goes with WRR alone",
                                           kQuicSessions));
  }

  const std::string object_;
  std::vector<std::string> out_;
};

}  // namespace

std::vector<std::string> warnings_about(const PortPool& pool) { return Warnings(pool).take(); }

}  // namespace berth::api
