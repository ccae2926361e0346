#include "preview/documents.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include "api/ingress.h"
#include "api/port_pool.h"
#include "base/spelling.h"
#include "wire/yaml.h"

namespace berth::preview {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

const std::array<const api::KindInfo* (*)(), 2> kKinds{+[] { return &api::port_pool_kind(); },
                                                       +[] { return &api::ingress_kind(); }};

// Of the schema that the API server checks against, and prunes by.
class Fields {
 public:
  explicit Fields(std::string object) : object_(std::move(object)) {}

  Result<> check(const Value& value, const Value& schema, const std::string& path) const {
    if (wire::bool_at(schema, "/x-kubernetes-preserve-unknown-fields").value_or(false)) return {};
    if (value.is_object()) return check_members(value.get_object(), schema, path);
    const Value* const items = wire::find(schema, "/items");
    if (!value.is_array() || !items) return {};
    for (std::size_t i = 0; i < value.get_array().size(); ++i)
      if (Result<> good = check(value.get_array()[i], *items, fmt::format("{}[{}]", path, i));
          !good)
        return good;
    return {};
  }

 private:
  Result<> check_members(const Object& members, const Value& schema,
                         const std::string& path) const {
    const Value* const known = wire::find(schema, "/properties");
    if (!known || !known->is_object()) return {};  // a map of users' own keys
    std::vector<std::string_view> names;
    for (const auto& one : known->get_object()) names.push_back(one.key());
    for (const auto& one : members) {
      const Value* const its = known->get_object().if_contains(one.key());
      const std::string at = fmt::format("{}.{}", path, std::string_view(one.key()));
      if (its) {
        if (Result<> good = check(one.value(), *its, at); !good) return good;
        continue;
      }
      std::string all;
      for (const std::string_view name : names)
        all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
      const std::string_view meant = nearest_word(one.key(), names);
      return fail(error_of(Code::invalid, "there is no such field; there are {}", all)
                      .about(object_)
                      .at(at)
                      .with_hint(meant.empty() ? "kubectl would refuse it"
                                               : fmt::format("did you mean {}?", meant)));
    }
    return {};
  }

  const std::string object_;
};

Result<> check_fields(const Document& document) {
  const Value crd = api::crd_of(*document.kind);
  const Value* const schema = wire::find(crd, "/spec/versions/0/schema/openAPIV3Schema");
  const Value* const spec = schema ? wire::find(*schema, "/properties/spec") : nullptr;
  const Value* const written = wire::find(document.object, "/spec");
  for (const auto& member : document.object.get_object()) {
    const std::string_view name = member.key();
    if (name != "apiVersion" && name != "kind" && name != "metadata" && name != "spec" &&
        name != "status")
      return fail(error_of(Code::invalid,
                           "there is no such field; there are apiVersion, kind, "
                           "metadata, spec")
                      .about(document.to_string())
                      .at(std::string(name)));
  }
  if (!spec || !written) return {};
  return Fields(document.to_string()).check(*written, *spec, "spec");
}

Result<const api::KindInfo*> kind_of(const Value& object, const std::string& about) {
  const std::string_view version = wire::string_at(object, "/apiVersion");
  const std::string_view kind = wire::string_at(object, "/kind");
  const std::string group = kKinds.front()()->type.group;
  if (version.substr(0, version.find('/')) != group) return nullptr;
  std::vector<std::string_view> names;
  for (const auto one : kKinds) {
    if (one()->type.kind == kind && one()->type.api_version() == version) return one();
    names.push_back(one()->type.kind);
  }
  if (std::ranges::find(names, kind) != names.end())
    return fail(
        error_of(Code::invalid, "'{}' is not {}", version, kKinds.front()()->type.api_version())
            .about(about)
            .at("apiVersion"));
  const std::string_view meant = nearest_word(kind, names);
  return fail(error_of(Code::invalid,
                       "'{}' of {} is nothing that people write; PortPool and "
                       "Ingress are",
                       kind, group)
                  .about(about)
                  .at("kind")
                  .with_hint(meant.empty() ? std::string("Listeners and PortBindings are made for "
                                                         "you")
                                           : fmt::format("did you mean {}?", meant)));
}

Result<> add(const Value& object, const std::string& place, const std::string& ns, Documents& out) {
  const std::string_view kind = object.is_object() ? wire::string_at(object, "/kind") : "";
  if (kind.empty())
    return fail(
        error_of(Code::invalid, "it is no object of Kubernetes: it has no kind").about(place));
  if (const Array* const items = wire::array_at(object, "/items");
      items && kind.ends_with("List")) {
    for (std::size_t i = 0; i < items->size(); ++i)
      if (Result<> done = add((*items)[i], fmt::format("{}, items[{}]", place, i), ns, out); !done)
        return done;
    return {};
  }
  const std::string name(wire::string_at(object, "/metadata/name"));
  std::string own(wire::string_at(object, "/metadata/namespace"));
  const Result<const api::KindInfo*> known = kind_of(object, fmt::format("{} ({})", place, name));
  if (!known) return fail(known.error());
  if (!*known) {
    out.others.push_back(fmt::format("{} {}{}{}", kind, own, own.empty() ? "" : "/", name));
    return {};
  }
  if (name.empty())
    return fail(error_of(Code::invalid, "it has no name").about(place).at("metadata.name"));
  Document document{*known, {own.empty() ? ns : own, name}, object};
  document.object.get_object()["metadata"].get_object()["namespace"] = document.key.ns;
  if (Result<> good = check_fields(document); !good) return good;
  out.ours.push_back(std::move(document));
  return {};
}

}  // namespace

Result<Documents> parse_documents(std::string_view text, const std::string& ns) {
  const Result<std::vector<Value>> documents = wire::parse_yaml_documents(text);
  if (!documents) return fail(documents.error());
  Documents out;
  for (std::size_t i = 0; i < documents->size(); ++i)
    if (Result<> done = add((*documents)[i], fmt::format("document {}", i + 1), ns, out); !done)
      return pass(done);
  if (!out.ours.empty()) return out;
  return fail(error_of(Code::invalid, "there is no PortPool and no Ingress in it{}{}",
                       out.others.empty() ? "" : "; there is ",
                       out.others.empty() ? std::string() : out.others.front())
                  .with_hint("nothing else costs listeners"));
}

}  // namespace berth::preview
