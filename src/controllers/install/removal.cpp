#include "controllers/install/removal.h"

#include <boost/json.hpp>

#include "api/load_balancer.h"

namespace berth::controllers::install {

using wire::Object;
using wire::Value;

std::string marked_crd() {
  const kube::ResourceType& type = api::load_balancer_kind().type;
  return fmt::format("{}.{}", type.plural, type.group);
}

std::string_view to_string(Removal removal) {
  switch (removal) {
    case Removal::none: return "";
    case Removal::draining: return "draining";
    case Removal::leaving: return "leaving";
  }
  return "";
}

Removal parse_removal(std::string_view text) {
  if (text.empty()) return Removal::none;
  return text == to_string(Removal::leaving) ? Removal::leaving : Removal::draining;
}

Result<Removal> read_removal(const Context& context, kube::Client& client) {
  const Result<Value> crd =
      client.get(context, kube::types::kCustomResourceDefinition, {"", marked_crd()});
  if (!crd && crd.error().code == Code::not_found) return Removal::none;
  if (!crd) return fail(crd.error());
  const std::string annotation =
      "/metadata/annotations/" + wire::escape_pointer_step(kRemovalAnnotation);
  return parse_removal(wire::string_at(*crd, annotation));
}

Result<bool> mark_removal(const Context& context, kube::Client& client, Removal removal) {
  const std::string_view text = to_string(removal);
  const Object annotations{{kRemovalAnnotation, text.empty() ? Value(nullptr) : Value(text)}};
  const Result<Value> written = client.patch(
      context, kube::types::kCustomResourceDefinition, {"", marked_crd()}, kube::PatchType::merge,
      Object{{"metadata", Object{{"annotations", annotations}}}});
  if (!written && written.error().code == Code::not_found) return false;
  if (!written) return fail(written.error());
  return true;
}

Error being_removed() {
  return error_of(Code::precondition, "Berth is being removed from this cluster")
      .about("CustomResourceDefinition " + marked_crd())
      .at(fmt::format("metadata.annotations[{}]", kRemovalAnnotation))
      .with_hint(fmt::format("`berth uninstall --yes` finishes it; `kubectl annotate crd {} {}-`, "
                             "or applying what `berth manifests` prints, takes it back",
                             marked_crd(), kRemovalAnnotation));
}

}  // namespace berth::controllers::install
