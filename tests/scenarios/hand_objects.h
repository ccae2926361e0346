// Objects that people write in tests of single deeds.
#pragma once

#include <boost/json.hpp>
#include <string_view>

#include "api/pod_ports.h"
#include "wire/value.h"

namespace berth::scenario {

inline wire::Object pod(std::string_view ns, std::string_view name, wire::Object labels,
                        wire::Object annotations) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", wire::Object{{"namespace", ns},
                                    {"name", name},
                                    {"labels", std::move(labels)},
                                    {"annotations", std::move(annotations)}}},
          {"spec",
           wire::Object{{"containers",
                         wire::Array{wire::Object{
                             {"name", "room"},
                             {"image", "room:1"},
                             {"ports", wire::Array{wire::Object{{"containerPort", 8000}}}}}}}}}};
}

inline wire::Object asking(std::string_view ns, std::string_view name, std::string_view request,
                           std::string_view keep = {}) {
  wire::Object annotations{{api::kPortPoolsAnnotation, "true"}, {api::kPortsAnnotation, request}};
  if (!keep.empty()) annotations[api::kKeepDurationAnnotation] = keep;
  return pod(ns, name, {}, std::move(annotations));
}

inline wire::Object item(std::string_view name, int first, int end) {
  return {{"itemName", name},
          {"loadBalancerIDs", wire::Array{"edge:demo"}},
          {"protocol", "TCP"},
          {"startPort", first},
          {"endPort", end}};
}

}  // namespace berth::scenario
