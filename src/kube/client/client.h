// The Kubernetes API as blocking calls over net::Transport. Thread-safe; owned by the composition
// root.
//
// Status answers become errors (`kube/client/status.h`). Reads and answers that carry Retry-After
// are tried again as the server asks; a write whose fate is unknown is never repeated blindly: the
// caller gets `timeout` or `unavailable` and plans anew. `not_found` is said of objects alone: a
// type that the server does not serve (a missing CRD) is `unsupported`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "kube/client/config.h"
#include "kube/client/resource.h"
#include "metrics/registry.h"
#include "net/transport.h"
#include "wire/value.h"

namespace berth::kube {

// `strategic` is for built-in kinds alone: lists are merged by their keys.
enum class PatchType : std::uint8_t { json, merge, strategic, apply };

struct GetOptions {
  std::string resource_version{};  // empty: the most recent; "0": any
};

struct ListOptions {
  std::string ns{};  // empty: all namespaces
  std::string label_selector{};
  std::string field_selector{};
  std::string resource_version{};
  std::string resource_version_match{};
  std::size_t limit = 0;  // 0: everything in one answer
  std::string continue_token{};
};

struct WriteOptions {
  std::string subresource{};
  std::string field_manager = "berth";
  bool force = false;  // server-side apply: take over fields that others own
  bool dry_run = false;
  bool strict = false;  // fieldValidation=Strict: unknown fields are errors
};

struct DeleteOptions {
  std::string uid{};  // preconditions: empty for none; one that fails is Code::precondition
  std::string resource_version{};
  std::string propagation = "Background";
  std::optional<int> grace_seconds{};
  bool dry_run = false;
};

// A write of ours found its object changed or gone: somebody was faster. Nothing was written and
// nothing is wrong; it is read again and planned again.
inline bool was_overtaken(const Error& error) {
  return error.code == Code::precondition || error.code == Code::not_found ||
         error.code == Code::conflict;
}

struct ListPage {
  std::vector<wire::Value> items;
  ResourceVersion resource_version = 0;
  std::string continue_token;
};

struct ClientOptions {
  std::string user_agent = "berth";
  Duration call_timeout =
      std::chrono::seconds{30};  // of one call, where the context has no earlier deadline
  int max_retries = 10;          // of answers with Retry-After, as client-go
  metrics::Registry* registry = nullptr;
};

class Client {
 public:
  Client(net::Transport& transport, std::shared_ptr<const ClusterConfig> cluster,
         ClientOptions options = {});
  ~Client();

  // Of what answers with one object there are two: the object, and its text as the server wrote it,
  // which nobody has looked at, for those who read a few fields of it.
  Result<wire::Value> get(const Context&, const ResourceType&, const ObjectKey&,
                          const GetOptions& = {});
  Result<std::string> get_text(const Context&, const ResourceType&, const ObjectKey&,
                               const GetOptions& = {});
  Result<ListPage> list(const Context&, const ResourceType&, const ListOptions& = {});
  // Every page; a continue token that expires on the way starts one full list instead.
  Result<ListPage> list_all(const Context&, const ResourceType&, ListOptions = {});
  Result<wire::Value> create(const Context&, const ResourceType&, const wire::Value& object,
                             const WriteOptions& = {});
  Result<std::string> create_text(const Context&, const ResourceType&, const wire::Value& object,
                                  const WriteOptions& = {});
  Result<wire::Value> update(const Context&, const ResourceType&, const wire::Value& object,
                             const WriteOptions& = {});
  // A failed `test` of a JSON patch is Code::precondition.
  Result<wire::Value> patch(const Context&, const ResourceType&, const ObjectKey&, PatchType,
                            const wire::Value& body, const WriteOptions& = {});
  Result<std::string> patch_text(const Context&, const ResourceType&, const ObjectKey&, PatchType,
                                 const wire::Value& body, const WriteOptions& = {});
  // Success also when the server answers with the object that is still terminating.
  Result<> remove(const Context&, const ResourceType&, const ObjectKey&, const DeleteOptions& = {});

  // Any path: discovery, health, metrics. The answer's body when the status is 2xx.
  Result<std::string> raw_get(const Context&, std::string_view path_and_query);
  // A response read as it arrives; a status other than 200 is read and returned as its error. For
  // the reflector.
  Result<std::unique_ptr<net::Stream>> open(const Context&, std::string_view path_and_query,
                                            std::string_view accept);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::kube
