// Admission webhooks: which ones a write meets, and what they make of it. Called from any handler,
// without a lock held: a hook's handler may call this server itself.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/kube/authentication.h"
#include "sim/kube/core.h"
#include "sim/kube/webhook_caller.h"

namespace berth::sim::kube {

// What is said to the client beside the answer, in `Warning` headers.
using Warnings = std::vector<std::string>;

struct AdmissionRequest {
  const ServedKind& served;
  std::string operation{};  // CREATE, UPDATE or DELETE
  std::string ns{};
  std::string name{};
  std::string subresource{};
  const User& user;
  bool dry_run = false;
  const wire::Value* old = nullptr;
  // Members of the request's CreateOptions, UpdateOptions or DeleteOptions.
  wire::Object options{};
};

class Admission {
 public:
  Admission(Core& core, WebhookCaller* caller) : core_(core), caller_(caller) {}

  // Decodes an object again after a hook has changed it.
  using Decode = std::function<Outcome<>(wire::Value& object)>;
  // `object` is null for a deletion.
  Outcome<> mutate(const AdmissionRequest& request, wire::Value* object, const Decode& decode,
                   Warnings& warnings);
  Outcome<> validate(const AdmissionRequest& request, const wire::Value* object,
                     Warnings& warnings);

 private:
  struct Hook;
  std::vector<Hook> hooks(const AdmissionRequest& request, std::string_view plural);
  Outcome<bool> matches(const Hook& hook, const AdmissionRequest& request,
                        const wire::Value* object) const;
  // The hook's `response`, if it keeps to the rules.
  Outcome<wire::Value> call(const Hook& hook, const AdmissionRequest& request,
                            const wire::Value* object);
  // The patch that the hook wants, if it is concerned, allows and wants one.
  Outcome<std::optional<wire::Value>> ask(const Hook& hook, const AdmissionRequest& request,
                                          const wire::Value* object, Warnings& warnings);
  Outcome<> mutate_once(const Hook& hook, const AdmissionRequest& request, wire::Value* object,
                        const Decode& decode, Warnings& warnings);

  Core& core_;
  WebhookCaller* const caller_;
};

}  // namespace berth::sim::kube
