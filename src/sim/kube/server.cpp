#include "sim/kube/server.h"

#include <boost/json.hpp>

#include "sim/kube/account_tokens.h"
#include "sim/kube/admission.h"
#include "sim/kube/builtin_rules.h"
#include "sim/kube/core.h"
#include "sim/kube/deletes.h"
#include "sim/kube/discovery.h"
#include "sim/kube/managed_fields.h"
#include "sim/kube/object_meta.h"
#include "sim/kube/pod_doors.h"
#include "sim/kube/reads.h"
#include "sim/kube/request_info.h"
#include "sim/kube/reviews.h"
#include "sim/kube/scale.h"
#include "sim/kube/write_rules.h"
#include "sim/kube/writes.h"

namespace berth::sim::kube {

namespace {

using wire::Object;
using wire::Value;

// As the real server; larger bodies answer 413.
constexpr std::size_t kMaxBodyBytes = 3u << 20;

net::Reply json_reply(int status, std::string body) {
  return {
      .status = status, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body)};
}

net::Reply reply_of(const ApiError& error) {
  if (error.plain_text) {
    return {.status = error.code,
            .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
            .body = error.message};
  }
  net::Reply reply = json_reply(error.code, wire::to_json(error.to_status()));
  if (error.retry_after_seconds > 0) {
    reply.headers.add("Retry-After", std::to_string(error.retry_after_seconds));
  }
  return reply;
}

// Of one that is not stored.
net::Reply object_reply(int status, const Value& object, const Representation& shape,
                        WallTime now) {
  std::string body;
  append_object(body, object, shape, now);
  return json_reply(status, std::move(body));
}

// 299 - "text", with the quotes inside escaped. Control characters must not end the line.
void add_warnings(net::Reply& reply, const Warnings& warnings) {
  for (const std::string& warning : warnings) {
    std::string text = "299 - \"";
    for (const char c : warning) {
      if (c == '"' || c == '\\') text += '\\';
      text += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    reply.headers.add("Warning", text + '"');
  }
}

Value success_status(const ServedKind& served, const Value& object) {
  Object details{{"name", name_of(object)}};
  const std::string& group = served.kind->group_of(*served.version);
  if (!group.empty()) details["group"] = group;
  details["kind"] = served.kind->plural;
  details["uid"] = wire::string_at(object, "/metadata/uid");
  return Object{{"kind", "Status"},
                {"apiVersion", "v1"},
                {"metadata", Object{}},
                {"status", "Success"},
                {"details", std::move(details)}};
}

bool is_served_subresource(const ServedKind& served, const RequestInfo& info) {
  const std::string& name = info.subresource;
  if (name.empty()) return true;
  const bool core = served.kind->group.empty();
  if (name == "status") return served.version->status_subresource;
  if (name == "scale") return served.version->scale.has_value();
  if (name == "finalize") return core && served.kind->plural == "namespaces";
  if (name == "token") return core && served.kind->plural == "serviceaccounts";
  return (name == "binding" || name == "log" || name == "exec") && core &&
         served.kind->plural == "pods";
}

}  // namespace

struct Backup {
  std::map<GroupResource, Storage::Objects> objects{};
  std::uint64_t version = 0;
  Kinds kinds{};
};

class Server::Impl {
 public:
  explicit Impl(const ServerOptions& options)
      : access_(options.access),
        pod_runtime_(options.pod_runtime),
        core_(options.seed, options.history_changes, options.tracks_fields),
        tokens_(core_,
                options.token_key.empty() ? std::to_string(options.seed) : options.token_key),
        admission_(core_, options.webhooks),
        reads_(core_, faults_, options.watch_buffer_bytes),
        writes_(core_, admission_),
        deletes_(core_, admission_) {}

  Answer handle(const net::Request& request, const net::Peer& peer, WallTime now) {
    Answer answer;
    Warnings warnings;
    Outcome<net::Reply> reply = work_on(request, peer, now, answer, warnings);
    core_.deliver(now);
    answer.reply = reply ? std::move(*reply) : reply_of(reply.error());
    add_warnings(answer.reply, warnings);
    return answer;
  }

  // Fills in what stands beside the reply.
  Outcome<net::Reply> work_on(const net::Request& request, const net::Peer& peer, WallTime now,
                              Answer& answer, Warnings& warnings) {
    const auto issued = [&](std::string_view token) { return tokens_.bearer(token, now); };
    Outcome<User> user = authenticate(access_, issued, request, peer);
    if (!user) return refuse(user);
    Outcome<RequestInfo> info = parse_request(request);
    if (!info) return refuse(info);
    if (Outcome<> allowed = authorize(access_, *user, *info); !allowed) return refuse(allowed);
    if (std::optional<ApiError> fault = faults_.take_refusal(*info)) {
      return refuse(std::move(*fault));
    }
    answer.delay = faults_.take_delay(*info);
    if (!info->is_resource) return discovery(*info, request.headers.get("Accept"));
    if (request.body.size() > kMaxBodyBytes) {
      ApiError error = bad_request("Request entity too large: limit is 3145728");
      error.code = 413;
      error.reason = "RequestEntityTooLarge";
      return refuse(std::move(error));
    }
    Outcome<ServedKind> served = find_kind(*info);
    if (!served) return refuse(served);
    if (!served->version->deprecation_warning.empty()) {
      warnings.push_back(served->version->deprecation_warning);
    }
    if (info->subresource == "log" || info->subresource == "exec") {
      return pod_door({*info, *served, {}, now}, request);
    }
    const bool asks_token = info->subresource == "token";
    const ServedKind& shown = info->subresource == "scale" ? scale_kind()
                              : asks_token                 ? token_request_kind()
                                                           : *served;
    Outcome<Representation> shape = representation_of(shown, request.headers.get("Accept"), *info);
    if (!shape) return refuse(shape);
    if (asks_token) {
      Outcome<Value> token = tokens_.issue({*info, *served, *user, request, now, warnings});
      if (!token) return refuse(token);
      return object_reply(201, *token, *shape, now);
    }
    if (served->kind->question) {
      return review({*info, *served, *user, request, now, warnings}, *shape);
    }
    if (info->verb == "get" || info->verb == "list" || info->verb == "watch") {
      return read({*info, *served, *shape, now});
    }
    return write({*info, *served, *user, request, now, warnings}, *shape, answer.object);
  }

  Outcome<net::Reply> review(const WriteRequest& request, const Representation& shape) {
    if (!request.info.name.empty()) return refuse(unknown_resource());
    if (request.info.verb != "create") return refuse(method_not_allowed());
    Outcome<Value> object =
        decode_body(request.http.body, request.http.headers.get("Content-Type"), request.served);
    if (!object) return refuse(object);
    return object_reply(201,
                        answer_review(access_, request.user, request.kind(), std::move(*object)),
                        shape, request.now);
  }

  Outcome<net::Reply> discovery(const RequestInfo& info, std::string_view accept) {
    if (info.verb != "get" && info.verb != "head") return refuse(page_not_found());
    std::vector<KindPtr> kinds;
    {
      MutexLock lock(core_.mu);
      kinds = core_.kinds.all();
    }
    return discover(info.path, accept, kinds);
  }

  Outcome<ServedKind> find_kind(const RequestInfo& info) {
    MutexLock lock(core_.mu);
    std::optional<ServedKind> served = core_.kinds.find(info.group_resource(), info.version);
    if (served && is_served_subresource(*served, info)) return std::move(*served);
    if (served && served->kind->custom) {
      return refuse(not_found(info.group_resource(), info.name));
    }
    // A group of built-in kinds answers for itself; what nobody serves has no page.
    if (!core_.kinds.has_builtin_group(info.group)) return refuse(page_not_found());
    return refuse(unknown_resource());
  }

  Outcome<net::Reply> read(const ReadRequest& request) {
    if (request.info.subresource == "binding") return refuse(method_not_allowed());
    if (request.info.verb == "watch") return reads_.watch(request);
    if (request.info.verb == "list") {
      Outcome<std::string> list = reads_.list(request);
      if (!list) return refuse(list);
      return json_reply(200, std::move(*list));
    }
    Outcome<ObjectPtr> object = reads_.get(request);
    if (!object) return refuse(object);
    if (request.info.subresource != "scale") {
      return stored_reply(200, *object, request.shape, request.now);
    }
    Outcome<Value> scale = scale_of_object(request.served, **object);
    if (!scale) return refuse(scale);
    return object_reply(200, *scale, request.shape, request.now);
  }

  Outcome<net::Reply> pod_door(const ReadRequest& request, const net::Request& http) {
    const bool log = request.info.subresource == "log";
    if (http.method != "GET" && (log || http.method != "POST")) {
      return refuse(method_not_allowed());
    }
    Outcome<ObjectPtr> pod = reads_.get(request);
    if (!pod) return refuse(pod);
    return log ? read_log(request.info, **pod, pod_runtime_)
               : run_command(request.info, http, **pod, pod_runtime_);
  }

  Outcome<net::Reply> write(const WriteRequest& request, const Representation& shape,
                            ObjectPtr& shown) {
    const std::string& verb = request.info.verb;
    if (verb == "delete" || verb == "deletecollection") return remove(request, shape, shown);
    const bool collection = request.info.name.empty();
    const bool binding = request.info.subresource == "binding";
    // All namespaces at once can be read, but not written.
    const bool placeless = request.kind().namespaced && request.info.ns.empty();
    if ((verb == "create") != (collection || binding) || placeless) {
      return refuse(method_not_allowed());
    }
    const bool applying =
        request.http.headers.get("Content-Type").find("apply-patch") != std::string_view::npos;
    if (Outcome<> fine = check_write_options(request.info, applying); !fine) return refuse(fine);
    const bool scaling = request.info.subresource == "scale";
    Outcome<Written> written = verb == "create"
                                   ? (binding ? writes_.bind(request) : writes_.create(request))
                               : scaling          ? writes_.scale(request)
                               : verb == "update" ? writes_.update(request)
                                                  : writes_.patch(request);
    if (!written) return refuse(written);
    if (binding)
      return json_reply(201, R"({"kind":"Status","apiVersion":"v1","metadata":{},)"
                             R"("status":"Success","code":201})");
    if (!scaling && shape.shows_stored()) shown = written->object;
    return stored_reply(written->status, written->object, shape, request.now);
  }

  Outcome<net::Reply> remove(const WriteRequest& request, const Representation& shape,
                             ObjectPtr& shown) {
    if (!request.info.subresource.empty()) return refuse(method_not_allowed());
    if (request.info.verb == "deletecollection") {
      // What is in all namespaces does not go at once.
      const bool everywhere = request.kind().namespaced && request.info.ns.empty();
      if (everywhere || !request.kind().deletes_many) return refuse(method_not_allowed());
      Outcome<std::vector<ObjectPtr>> removed = deletes_.remove_collection(request);
      if (!removed) return refuse(removed);
      MutexLock lock(core_.mu);
      return json_reply(200, list_text(*removed, {.version = core_.storage.version()}, shape,
                                       request.now, core_.texts));
    }
    Outcome<Deleted> deleted = deletes_.remove(request);
    if (!deleted) return refuse(deleted);
    if (!deleted->gone || request.kind().returns_deleted) {
      if (shape.shows_stored()) shown = deleted->object;
      return stored_reply(200, deleted->object, shape, request.now);
    }
    return json_reply(200, wire::to_json(success_status(request.served, *deleted->object)));
  }

  // The namespaces that every cluster has.
  void create_first_namespaces(WallTime now) {
    MutexLock lock(core_.mu);
    const KindPtr kind = core_.kinds.find({"", "namespaces"});
    for (const char* name : {"default", "kube-node-lease", "kube-public", "kube-system"}) {
      Value object =
          Object{{"kind", "Namespace"}, {"apiVersion", "v1"}, {"metadata", Object{{"name", name}}}};
      set_builtin_defaults(*kind, object);
      const ServedKind served{kind, &kind->versions.front()};
      track_update(nullptr, object, {.served = served, .manager = "kube-apiserver", .now = now});
      prepare_builtin_create(*kind, object);
      fill_new_metadata(*kind, object, now, core_.random);
      core_.put(kind->resource(), name, std::move(object));
    }
  }

  void begin_with(const Backup& backup) {
    MutexLock lock(core_.mu);
    core_.kinds = backup.kinds;
    core_.storage.begin_with(backup.objects, backup.version);
  }

  void restore(const Backup& backup, std::string_view only) {
    MutexLock lock(core_.mu);
    std::map<GroupResource, Storage::Objects> now = core_.storage.everything();
    for (const auto& [resource, objects] : backup.objects) now.try_emplace(resource);
    for (const auto& [resource, objects] : now) {
      if (only.empty() || resource.resource == only) restore(resource, objects, backup);
    }
    serve_definitions(core_);
    core_.hub.close_all();
    core_.storage.compact();
  }

  Core& core() { return core_; }
  Faults& faults() { return faults_; }

 private:
  net::Reply stored_reply(int status, const ObjectPtr& object, const Representation& shape,
                          WallTime now) {
    std::string body;
    append_object(body, object, shape, now, core_.texts);
    return json_reply(status, std::move(body));
  }

  void restore(const GroupResource& resource, const Storage::Objects& now, const Backup& backup)
      REQUIRES(core_.mu) {
    const auto found = backup.objects.find(resource);
    const Storage::Objects then =
        found == backup.objects.end() ? Storage::Objects{} : found->second;
    for (const auto& [key, object] : now) {
      if (!then.contains(key)) core_.remove(resource, key);
    }
    for (const auto& [key, object] : then) {
      const auto standing = now.find(key);
      if (standing == now.end() || standing->second != object) core_.put(resource, key, *object);
    }
  }

  const Access access_;
  PodRuntime* const pod_runtime_;
  Faults faults_;
  Core core_;
  AccountTokens tokens_;
  Admission admission_;
  Reads reads_;
  Writes writes_;
  Deletes deletes_;
};

Server::Server(ServerOptions options, WallTime now) : impl_(std::make_unique<Impl>(options)) {
  if (options.begins_with) {
    impl_->begin_with(*options.begins_with);
  } else {
    impl_->create_first_namespaces(now);
  }
}
Server::~Server() = default;

Answer Server::handle(const net::Request& request, const net::Peer& peer, WallTime now) {
  return impl_->handle(request, peer, now);
}

void Server::tick(WallTime now) {
  {
    MutexLock lock(impl_->core().mu);
    impl_->core().hub.tick(now, impl_->core().storage.version());
  }
  impl_->core().deliver(now);
}

Faults& Server::faults() { return impl_->faults(); }

void Server::drop_watches() {
  {
    MutexLock lock(impl_->core().mu);
    impl_->core().hub.close_all();
  }
  impl_->core().deliver({});
}

void Server::compact() {
  MutexLock lock(impl_->core().mu);
  impl_->core().storage.compact();
}

std::shared_ptr<const Backup> Server::backup() const {
  Core& core = impl_->core();
  MutexLock lock(core.mu);
  return std::make_shared<const Backup>(
      Backup{core.storage.everything(), core.storage.version(), core.kinds});
}

void Server::restore(const Backup& backup, std::string_view resource) {
  impl_->restore(backup, resource);
  impl_->core().deliver({});
}

std::optional<std::vector<ObjectPtr>> Server::objects(std::string_view group,
                                                      std::string_view resource) const {
  const GroupResource of{std::string(group), std::string(resource)};
  Core& core = impl_->core();
  MutexLock lock(core.mu);
  if (core.kinds.find(of) == nullptr) return std::nullopt;
  std::vector<ObjectPtr> found;
  for (const auto& [key, object] : core.storage.all(of)) found.push_back(object);
  return found;
}

std::uint64_t Server::resource_version() const {
  MutexLock lock(impl_->core().mu);
  return impl_->core().storage.version();
}

std::size_t Server::open_watches() const {
  MutexLock lock(impl_->core().mu);
  return impl_->core().hub.size();
}

}  // namespace berth::sim::kube
