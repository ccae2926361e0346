#include "sim/kube/reviews.h"

#include <boost/json.hpp>

#include "sim/kube/request_info.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// The request that the review is about.
RequestInfo asked_request(const Value& review) {
  RequestInfo info;
  if (const Value* of = wire::find(review, "/spec/nonResourceAttributes")) {
    info.path = wire::string_at(*of, "/path");
    info.verb = wire::string_at(*of, "/verb");
    return info;
  }
  const auto text = [&review](std::string_view key) {
    return std::string(wire::string_at(review, "/spec/resourceAttributes/" + std::string(key)));
  };
  info.is_resource = true;
  info.verb = text("verb");
  info.group = text("group");
  info.version = text("version");
  info.resource = text("resource");
  info.subresource = text("subresource");
  info.ns = text("namespace");
  info.name = text("name");
  return info;
}

Object access_status(const Access& access, const User& user, const Value& review) {
  const bool allowed = authorize(access, user, asked_request(review)).has_value();
  return {{"allowed", allowed}};
}

// Whoever may do everything has one rule; who asks an authorizer has rules that nobody can list.
Object rules_status(const Access& access, const User& user) {
  Object status{{"resourceRules", Array{}}, {"nonResourceRules", Array{}}, {"incomplete", true}};
  RequestInfo anything;
  anything.is_resource = true;
  anything.verb = anything.group = anything.resource = "*";
  if (!authorize(access, user, anything)) return status;
  status["resourceRules"] =
      Array{Object{{"verbs", Array{"*"}}, {"apiGroups", Array{"*"}}, {"resources", Array{"*"}}}};
  status["nonResourceRules"] =
      Array{Object{{"verbs", Array{"*"}}, {"nonResourceURLs", Array{"*"}}}};
  status["incomplete"] = false;
  return status;
}

Object user_status(const User& user) {
  Array groups;
  for (const std::string& group : user.groups) groups.emplace_back(std::string_view(group));
  Object info{{"username", user.name}, {"groups", std::move(groups)}};
  if (!user.uid.empty()) info["uid"] = user.uid;
  return {{"userInfo", std::move(info)}};
}

}  // namespace

Value answer_review(const Access& access, const User& user, const Kind& kind, Value review) {
  Object status = kind.kind == "SelfSubjectReview"        ? user_status(user)
                  : kind.kind == "SelfSubjectRulesReview" ? rules_status(access, user)
                                                          : access_status(access, user, review);
  Object& fields = review.get_object();
  if (!fields.contains("metadata")) fields["metadata"] = Object{};
  fields["status"] = std::move(status);
  return review;
}

}  // namespace berth::sim::kube
