#include "admission/namespaces.h"

#include <boost/json.hpp>

#include "api/pod_ports.h"

namespace berth::admission {

Result<bool> Namespaces::fits(const Context& context, const std::string& ns,
                              const Rule& rule) const {
  if (const auto known = store_.get("", ns)) {
    Labels labels;
    for (const auto& [key, value] : known->meta.labels) labels.emplace(key.view(), value);
    if (rule(labels)) return true;
  }
  // Made, or labelled, a moment ago.
  const Result<wire::Value> found = client_.get(context, kube::types::kNamespace, {"", ns});
  if (!found && found.error().code == Code::not_found)
    return fail(error_of(Code::not_found, "does not exist").about("Namespace " + ns));
  if (!found) return fail(found.error());
  Labels labels;
  if (const wire::Object* const map = wire::object_at(*found, "/metadata/labels")) {
    for (const auto& [key, value] : *map)
      if (value.is_string()) labels.emplace(key, value.get_string());
  }
  return rule(labels);
}

Result<> Namespaces::need_inject_label(const Context& context, const std::string& ns) const {
  const Result<bool> labelled = fits(context, ns, [](const Labels& labels) {
    const auto label = labels.find(std::string(api::kInjectLabel));
    return label != labels.end() && label->second == "true";
  });
  if (!labelled) return fail(labelled.error());
  if (*labelled) return {};
  return fail(error_of(Code::forbidden, "its Pods may not use port pools")
                  .about("Namespace " + ns)
                  .at("metadata.labels")
                  .with_hint(fmt::format("label it {}=true", api::kInjectLabel)));
}

}  // namespace berth::admission
