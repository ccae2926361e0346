#include "kube/cache/core_types.h"

namespace berth::kube {
namespace {

using wire::JsonNode;
using wire::ProtoField;

// The API refuses numbers outside of 0-65535, so cutting loses nothing.
template <class Number>
std::uint16_t port_number(Number number) {
  return static_cast<std::uint16_t>(number);
}

void read_target_port(JsonNode node, ServicePort& port) {
  if (node.is_string()) {
    port.target_port_name = Interned(node.string());
  } else {
    port.target_port = port_number(node.integer());
  }
}

void read_port(JsonNode node, Service& out) {
  ServicePort& port = out.ports.emplace_back();
  node.fields([&](std::string_view key, JsonNode value) {
    if (key == "name") port.name = Interned(value.string());
    if (key == "protocol") port.protocol = Interned(value.string());
    if (key == "port") port.port = port_number(value.integer());
    if (key == "nodePort") port.node_port = port_number(value.integer());
    if (key == "targetPort") read_target_port(value, port);
  });
}

void read_spec(JsonNode node, Service& out) {
  node.fields([&](std::string_view key, JsonNode value) {
    if (key == "type") {
      out.type = Interned(value.string());
    } else if (key == "clusterIP") {
      out.cluster_ip = value.string();
    } else if (key == "loadBalancerClass") {
      out.load_balancer_class = Interned(value.string());
    } else if (key == "externalTrafficPolicy") {
      out.external_traffic_policy = Interned(value.string());
    } else if (key == "ports") {
      value.items([&](JsonNode item) { read_port(item, out); });
    } else if (key == "selector") {
      value.fields([&](std::string_view label, JsonNode wanted) {
        out.selector.emplace_back(Interned(label), std::string(wanted.string()));
      });
    }
  });
}

void read_ingress(JsonNode node, Service& out) {
  LoadBalancerIngress& ingress = out.ingress.emplace_back();
  node.fields([&](std::string_view key, JsonNode value) {
    if (key == "ip") ingress.ip = value.string();
    if (key == "hostname") ingress.hostname = value.string();
  });
}

void read_status(JsonNode node, Service& out) {
  node.fields([&](std::string_view key, JsonNode value) {
    if (key != "loadBalancer") return;
    value.fields([&](std::string_view part, JsonNode list) {
      if (part == "ingress") list.items([&](JsonNode item) { read_ingress(item, out); });
    });
  });
}

// IntOrString: 1 type (0 number, 1 text), 2 number, 3 text.
bool read_target_port(std::string_view message, ServicePort& port) {
  return for_each_field(message, [&](const ProtoField& field) {
    if (field.number == 2) port.target_port = port_number(field.scalar);
    if (field.number == 3) port.target_port_name = Interned(field.bytes);
    return true;
  });
}

bool read_port(std::string_view message, Service& out) {
  ServicePort& port = out.ports.emplace_back();
  return for_each_field(message, [&](const ProtoField& field) {
    switch (field.number) {
      case 1: port.name = Interned(field.bytes); break;
      case 2: port.protocol = Interned(field.bytes); break;
      case 3: port.port = port_number(field.scalar); break;
      case 4: return read_target_port(field.bytes, port);
      case 5: port.node_port = port_number(field.scalar); break;
      default: break;
    }
    return true;
  });
}

bool read_selector(std::string_view message, Service& out) {
  std::string_view label;
  std::string_view wanted;
  if (!decode_map_entry(message, label, wanted)) return false;
  out.selector.emplace_back(Interned(label), std::string(wanted));
  return true;
}

bool read_spec(std::string_view message, Service& out) {
  return for_each_field(message, [&](const ProtoField& field) {
    switch (field.number) {
      case 1: return read_port(field.bytes, out);
      case 2: return read_selector(field.bytes, out);
      case 3: out.cluster_ip = field.bytes; break;
      case 4: out.type = Interned(field.bytes); break;
      case 11: out.external_traffic_policy = Interned(field.bytes); break;
      case 21: out.load_balancer_class = Interned(field.bytes); break;
      default: break;
    }
    return true;
  });
}

bool read_ingress(std::string_view message, Service& out) {
  LoadBalancerIngress& ingress = out.ingress.emplace_back();
  return for_each_field(message, [&](const ProtoField& field) {
    if (field.number == 1) ingress.ip = field.bytes;
    if (field.number == 2) ingress.hostname = field.bytes;
    return true;
  });
}

bool read_status(std::string_view message, Service& out) {
  return for_each_field(message, [&](const ProtoField& field) {
    return field.number != 1 || for_each_field(field.bytes, [&](const ProtoField& part) {
             return part.number != 1 || read_ingress(part.bytes, out);
           });
  });
}

Result<Service> service_from_json(const MetaRules& rules, wire::JsonReader& reader,
                                  std::string_view text) {
  Service out;
  auto decoded = decode_object(reader, text, types::kService, rules, out.meta,
                               [&](std::string_view key, JsonNode value) {
                                 if (key == "spec") read_spec(value, out);
                                 if (key == "status") read_status(value, out);
                               });
  if (!decoded) return pass(decoded);
  tidy(out.selector);
  return out;
}

Result<Service> service_from_protobuf(const MetaRules& rules, std::string_view message) {
  Service out;
  auto decoded =
      decode_object(message, types::kService, rules, out.meta, [&](const ProtoField& field) {
        if (field.number == 2) return read_spec(field.bytes, out);
        return field.number != 3 || read_status(field.bytes, out);
      });
  if (!decoded) return pass(decoded);
  tidy(out.selector);
  return out;
}

}  // namespace

Projection<Service> service_projection(MetaRules rules, Selection selection) {
  return make_projection(types::kService, std::move(rules), std::move(selection),
                         &service_from_json, &service_from_protobuf);
}

}  // namespace berth::kube
