// create, update and patch. Private to this folder; called from any handler.
//
// A write has two short pieces under the lock: reading what is there, and storing the result if
// that is still what is there. Decoding, webhooks and checks lie between them, without the lock;
// when somebody else wrote meanwhile, a patch starts again and a conditional update is refused, as
// on the real server.
#pragma once

#include <functional>

#include "net/http.h"
#include "sim/kube/admission.h"
#include "sim/kube/core.h"
#include "sim/kube/decoding.h"
#include "sim/kube/managed_fields.h"
#include "sim/kube/request_info.h"

namespace berth::sim::kube {

struct WriteRequest {
  const RequestInfo& info;
  const ServedKind& served;
  const User& user;
  const net::Request& http;
  WallTime now;
  Warnings& warnings;

  const Kind& kind() const { return *served.kind; }
  bool dry_run() const { return info.parameter("dryRun") == "All"; }
  UnknownFields unknown_fields() const {
    return unknown_fields_of(info.parameter("fieldValidation"));
  }
  FieldWriter writer() const {
    return {.served = served,
            .manager = manager_name(info.parameter("fieldManager"), http.headers.get("User-Agent")),
            .subresource = info.subresource,
            .now = now};
  }
  // Empty for cluster-scoped kinds.
  std::string ns() const { return kind().namespaced ? info.ns : std::string(); }
};

struct Written {
  int status = 200;
  ObjectPtr object{};
};

class Writes {
 public:
  Writes(Core& core, Admission& admission) : core_(core), admission_(admission) {}

  Outcome<Written> create(const WriteRequest& request);
  Outcome<Written> update(const WriteRequest& request);
  Outcome<Written> patch(const WriteRequest& request);
  // PUT or PATCH of a Scale: changes the replicas of the object, and answers with the Scale.
  Outcome<Written> scale(const WriteRequest& request);
  // POST of a Binding: gives a Pod its node.
  Outcome<Written> bind(const WriteRequest& request);

 private:
  // The object to store, made from the one that is there (null: none is).
  using Transform = std::function<Outcome<wire::Value>(const wire::Value* current)>;
  enum class Origin : std::uint8_t { post, put, patch, apply };

  // Server-side apply.
  Outcome<Written> apply(const WriteRequest& request, const wire::Value& configuration);
  // Everything up to the point where the object gets its name.
  Outcome<> prepare_new(const WriteRequest& request, Origin origin, wire::Value& object);
  Outcome<Written> create_object(const WriteRequest& request, Origin origin, wire::Value object);
  Outcome<ObjectPtr> commit_create(const WriteRequest& request, wire::Value object);
  Outcome<Written> change(const WriteRequest& request, Origin origin, bool may_create,
                          const Transform& transform);
  // Null: somebody wrote in between.
  Outcome<ObjectPtr> change_once(const WriteRequest& request, Origin origin,
                                 const ObjectPtr& current, wire::Value next);
  ObjectPtr commit_change(const WriteRequest& request, const ObjectPtr& current, wire::Value next);
  Outcome<> admit(const WriteRequest& request, const std::string& operation, wire::Value& object,
                  const wire::Value* old);
  AdmissionRequest admission_request(const WriteRequest& request, std::string operation,
                                     const wire::Value& object, const wire::Value* old) const;
  ObjectPtr find(const WriteRequest& request) const;

  // Who owns which field of what is written.
  void track(const WriteRequest& request, const wire::Value* current, wire::Value& next) const;

  Core& core_;
  Admission& admission_;
};

// Refuses writes into a namespace that is not there or is going away.
Outcome<> check_namespace(const Core& core, const Kind& kind, const std::string& ns,
                          std::string_view name) REQUIRES(core.mu);

}  // namespace berth::sim::kube
