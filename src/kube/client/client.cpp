#include "kube/client/client.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "kube/client/exchange.h"
#include "kube/client/status.h"
#include "net/url.h"

namespace berth::kube {
namespace {

// As client-go's pager: large enough for few round trips, small enough for the server's memory.
constexpr std::size_t kPageSize = 500;
// Of an answer that tells why a stream was refused.
constexpr std::size_t kMaxErrorBody = 64u << 10;

using Query = net::QueryList;

void add(Query& query, std::string_view name, const std::string& value) {
  if (!value.empty()) query.emplace_back(name, value);
}

std::string with_query(std::string path, const Query& query) {
  return query.empty() ? path : path + "?" + net::build_query(query);
}

std::string label(const ResourceType& type, std::string_view name) {
  return object_label(type.plural, type.group, name);
}

std::string label_of(const ResourceType& type, const wire::Value& object) {
  return label(type, wire::string_at(object, "/metadata/name"));
}

// What kube-apiserver takes as one step of a path. An empty name would address the collection: a
// delete of it would be a delete of everything.
Result<> check_step(const ResourceType& type, std::string_view field, std::string_view step) {
  if (step.empty())
    return fail(
        error_of(Code::invalid, "must be set").about(label(type, "")).at(std::string(field)));
  if (step == "." || step == ".." || step.find_first_of("/%") != std::string_view::npos)
    return fail(error_of(Code::invalid, "'{}' cannot be a name", printable(step, 253))
                    .about(label(type, ""))
                    .at(std::string(field)));
  return {};
}

Result<> check_key(const ResourceType& type, const ObjectKey& key) {
  if (type.namespaced) {
    if (auto checked = check_step(type, "metadata.namespace", key.ns); !checked) return checked;
  }
  return check_step(type, "metadata.name", key.name);
}

ObjectKey key_of(const wire::Value& object) {
  return {std::string(wire::string_at(object, "/metadata/namespace")),
          std::string(wire::string_at(object, "/metadata/name"))};
}

Query write_query(const WriteOptions& options) {
  Query query;
  add(query, "fieldManager", options.field_manager);
  if (options.dry_run) query.emplace_back("dryRun", "All");
  if (options.strict) query.emplace_back("fieldValidation", "Strict");
  return query;
}

std::string_view content_type_of(PatchType type) {
  switch (type) {
    case PatchType::json: return "application/json-patch+json";
    case PatchType::merge: return "application/merge-patch+json";
    case PatchType::strategic: return "application/strategic-merge-patch+json";
    case PatchType::apply: break;
  }
  return "application/apply-patch+yaml";
}

bool tests_something(const wire::Value& json_patch) {
  const wire::Array* operations = json_patch.if_array();
  return operations != nullptr && std::ranges::any_of(*operations, [](const wire::Value& one) {
           return wire::string_at(one, "/op") == "test";
         });
}

// kube-apiserver tells a failed `test` by a 422 that names no cause; a result that breaks the
// schema names the fields.
bool is_failed_test(const net::Response& answer, const wire::Value& json_patch) {
  if (answer.status != 422 || !tests_something(json_patch)) return false;
  const auto status = wire::parse_json(answer.body);
  const wire::Array* causes = status ? wire::array_at(*status, "/details/causes") : nullptr;
  return causes == nullptr || causes->empty();
}

std::string delete_body(const DeleteOptions& options) {
  wire::Object body{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (!options.propagation.empty()) body["propagationPolicy"] = options.propagation;
  if (options.grace_seconds) body["gracePeriodSeconds"] = *options.grace_seconds;
  if (options.dry_run) body["dryRun"] = wire::Array{"All"};
  wire::Object preconditions;
  if (!options.uid.empty()) preconditions["uid"] = options.uid;
  if (!options.resource_version.empty())
    preconditions["resourceVersion"] = options.resource_version;
  if (!preconditions.empty()) body["preconditions"] = std::move(preconditions);
  return wire::to_json(body);
}

Query list_query(const ListOptions& options) {
  Query query;
  add(query, "labelSelector", options.label_selector);
  add(query, "fieldSelector", options.field_selector);
  add(query, "resourceVersion", options.resource_version);
  add(query, "resourceVersionMatch", options.resource_version_match);
  if (options.limit > 0) query.emplace_back("limit", std::to_string(options.limit));
  add(query, "continue", options.continue_token);
  return query;
}

Result<ListPage> page_of(wire::Value document, const ResourceType& type) {
  ListPage page;
  auto version = parse_resource_version(wire::string_at(document, "/metadata/resourceVersion"));
  if (!version) {
    version.error().code = Code::internal;
    return fail(std::move(version.error()).about(label(type, "")).at("metadata.resourceVersion"));
  }
  page.resource_version = *version;
  page.continue_token = wire::string_at(document, "/metadata/continue");
  // Go writes an empty list as null when it never held anything.
  wire::Value* items = wire::find(document, "/items");
  if (items == nullptr || items->is_null()) return page;
  wire::Array* array = items->if_array();
  if (array == nullptr)
    return fail(
        error_of(Code::internal, "the answer has no list").about(label(type, "")).at("items"));
  page.items.reserve(array->size());
  std::ranges::move(*array, std::back_inserter(page.items));
  return page;
}

// Reads what a refused stream says, as far as it matters.
std::string error_body(const Context& context, net::Stream& stream) {
  std::string body;
  while (body.size() < kMaxErrorBody) {
    auto chunk = stream.read(context);
    if (!chunk || !*chunk) break;
    body += **chunk;
  }
  return body;
}

}  // namespace

class Client::Impl {
 public:
  Impl(net::Transport& transport, std::shared_ptr<const ClusterConfig> cluster,
       ClientOptions options)
      : call_timeout(options.call_timeout),
        exchange(transport, std::move(cluster), std::move(options)) {}

  static Error named(Error error, const std::string& subject) {
    if (error.object.empty()) error.object = subject;
    return error;
  }

  // The answer when it is a success.
  static Result<net::Response> checked(Result<net::Response> answer, const std::string& subject) {
    if (!answer) return fail(named(std::move(answer.error()), subject));
    if (answer->status >= 200 && answer->status < 300) return answer;
    return fail(named(error_from_response(answer->status, answer->headers, answer->body), subject));
  }

  static Result<std::string> text_of(Result<net::Response> answer, const std::string& subject) {
    auto good = checked(std::move(answer), subject);
    if (!good) return pass(good);
    return std::move(good->body);
  }

  static Result<wire::Value> object_of(Result<std::string> text, const std::string& subject) {
    if (!text) return pass(text);
    auto document = wire::parse_json(*text);
    if (document && document->is_object()) return document;
    return fail(error_of(Code::internal, "the server answered with a body that is no object: {}",
                         printable(*text, kMaxForeignBody))
                    .about(subject));
  }

  Result<std::string> write(const Context& context, const ResourceType& type, std::string method,
                            const ObjectKey& key, const wire::Value& object,
                            const WriteOptions& options) {
    const Call call{.method = std::move(method),
                    .target = with_query(type.path(key.ns, key.name, options.subresource),
                                         write_query(options)),
                    .content_type = std::string(kJson),
                    .body = wire::to_json(object)};
    return text_of(exchange.call(context, call), label_of(type, object));
  }

  const Duration call_timeout;
  Exchange exchange;
};

Client::Client(net::Transport& transport, std::shared_ptr<const ClusterConfig> cluster,
               ClientOptions options)
    : impl_(std::make_unique<Impl>(transport, std::move(cluster), std::move(options))) {}

Client::~Client() = default;

Result<wire::Value> Client::get(const Context& context, const ResourceType& type,
                                const ObjectKey& key, const GetOptions& options) {
  return Impl::object_of(get_text(context, type, key, options), label(type, key.name));
}

Result<std::string> Client::get_text(const Context& context, const ResourceType& type,
                                     const ObjectKey& key, const GetOptions& options) {
  if (auto checked = check_key(type, key); !checked) return pass(checked);
  Query query;
  add(query, "resourceVersion", options.resource_version);
  const Call call{.target = with_query(type.path(key.ns, key.name), query)};
  return Impl::text_of(impl_->exchange.call(context, call), label(type, key.name));
}

Result<ListPage> Client::list(const Context& context, const ResourceType& type,
                              const ListOptions& options) {
  if (!options.ns.empty()) {
    if (auto checked = check_step(type, "namespace", options.ns); !checked) return pass(checked);
  }
  const Call call{.target = with_query(type.path(options.ns), list_query(options))};
  const std::string subject = label(type, "");
  auto document =
      Impl::object_of(Impl::text_of(impl_->exchange.call(context, call), subject), subject);
  if (!document) return pass(document);
  return page_of(*std::move(document), type);
}

Result<ListPage> Client::list_all(const Context& context, const ResourceType& type,
                                  ListOptions options) {
  const ListOptions first = options;
  // With a version, a limit would mean "exactly that one" and pass the server's cache by.
  const bool at_version = !options.resource_version.empty() && options.resource_version != "0";
  if (options.limit == 0 && !at_version) options.limit = kPageSize;
  ListPage all;
  for (;;) {
    auto page = list(context, type, options);
    if (!page && page.error().code == Code::expired && !options.continue_token.empty()) {
      ListOptions whole = first;
      whole.limit = 0;
      whole.continue_token.clear();
      return list(context, type, whole);
    }
    if (!page) return page;
    std::ranges::move(page->items, std::back_inserter(all.items));
    all.resource_version = page->resource_version;
    if (page->continue_token.empty()) return all;
    if (page->continue_token == options.continue_token)
      return fail(error_of(Code::internal, "the server gave the same continue token twice")
                      .about(label(type, "")));
    options.continue_token = std::move(page->continue_token);
    options.resource_version.clear();  // the token carries it
    options.resource_version_match.clear();
  }
}

Result<wire::Value> Client::create(const Context& context, const ResourceType& type,
                                   const wire::Value& object, const WriteOptions& options) {
  return Impl::object_of(create_text(context, type, object, options), label_of(type, object));
}

Result<std::string> Client::create_text(const Context& context, const ResourceType& type,
                                        const wire::Value& object, const WriteOptions& options) {
  ObjectKey key = key_of(object);
  if (type.namespaced) {
    if (auto checked = check_step(type, "metadata.namespace", key.ns); !checked)
      return pass(checked);
  }
  if (options.subresource.empty()) {
    key.name.clear();  // the collection takes new objects
  } else if (auto checked = check_key(type, key); !checked) {
    return pass(checked);
  }
  return impl_->write(context, type, "POST", key, object, options);
}

Result<wire::Value> Client::update(const Context& context, const ResourceType& type,
                                   const wire::Value& object, const WriteOptions& options) {
  const ObjectKey key = key_of(object);
  if (auto checked = check_key(type, key); !checked) return pass(checked);
  return Impl::object_of(impl_->write(context, type, "PUT", key, object, options),
                         label_of(type, object));
}

Result<wire::Value> Client::patch(const Context& context, const ResourceType& type,
                                  const ObjectKey& key, PatchType patch_type,
                                  const wire::Value& body, const WriteOptions& options) {
  return Impl::object_of(patch_text(context, type, key, patch_type, body, options),
                         label(type, key.name));
}

Result<std::string> Client::patch_text(const Context& context, const ResourceType& type,
                                       const ObjectKey& key, PatchType patch_type,
                                       const wire::Value& body, const WriteOptions& options) {
  if (auto checked = check_key(type, key); !checked) return pass(checked);
  Query query = write_query(options);
  if (patch_type == PatchType::apply && options.force) query.emplace_back("force", "true");
  const Call call{.method = "PATCH",
                  .target = with_query(type.path(key.ns, key.name, options.subresource), query),
                  .content_type = std::string(content_type_of(patch_type)),
                  .body = wire::to_json(body)};
  auto answer = impl_->exchange.call(context, call);
  const bool failed_test = patch_type == PatchType::json && answer && is_failed_test(*answer, body);
  auto text = Impl::text_of(std::move(answer), label(type, key.name));
  if (!text && failed_test) {
    text.error().code = Code::precondition;
    text.error().message = "a test of the patch did not hold: " + text.error().message;
  }
  return text;
}

Result<> Client::remove(const Context& context, const ResourceType& type, const ObjectKey& key,
                        const DeleteOptions& options) {
  if (auto checked = check_key(type, key); !checked) return pass(checked);
  const Call call{.method = "DELETE",
                  .target = type.path(key.ns, key.name),
                  .content_type = std::string(kJson),
                  .body = delete_body(options)};
  auto answer = Impl::checked(impl_->exchange.call(context, call), label(type, key.name));
  if (answer) return {};
  const bool had_precondition = !options.uid.empty() || !options.resource_version.empty();
  if (had_precondition && answer.error().code == Code::conflict)
    answer.error().code = Code::precondition;
  return pass(answer);
}

Result<std::string> Client::raw_get(const Context& context, std::string_view path_and_query) {
  const Call call{.target = std::string(path_and_query), .accept = "application/json, */*"};
  auto answer = Impl::checked(impl_->exchange.call(context, call), call.target);
  if (!answer) return pass(answer);
  return std::move(answer->body);
}

Result<std::unique_ptr<net::Stream>> Client::open(const Context& context,
                                                  std::string_view path_and_query,
                                                  std::string_view accept) {
  const Call call{.target = std::string(path_and_query), .accept = std::string(accept)};
  const std::string path(net::split_target(call.target).path);
  auto stream = impl_->exchange.open(context, call);
  if (!stream) return fail(Impl::named(std::move(stream.error()), path));
  if ((*stream)->status() == 200) return stream;
  const std::string body = error_body(context.within(impl_->call_timeout), **stream);
  return fail(
      Impl::named(error_from_response((*stream)->status(), (*stream)->headers(), body), path));
}

}  // namespace berth::kube
