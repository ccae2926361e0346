// For tests: a Transport behind which objects lie as on an API server, and on which chosen calls
// meet what a test says: a refusal, a lost answer, a late one, or somebody who is faster.
//
// It knows what controllers lean on: versions, create once, generated names, merge and JSON patches
// with `test`, preconditions, finalizers, label selectors. It checks no schema, admits everything
// and cannot be watched: `on_change` is where a test feeds its caches. One thread at a time, or one
// fiber.
#pragma once

#include <algorithm>
#include <boost/json.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/client/resource.h"
#include "kube/client/test_fake_transport.h"
#include "net/url.h"
#include "wire/patch.h"
#include "wire/value.h"

namespace berth::kube::testing {

class ScriptedApi final : public net::Transport {
 public:
  // Calls of this method whose path begins so: "pods" (lists, and all Pods), "pods/room-0". The nth
  // of those that come from now on.
  struct Which {
    std::string method{};
    std::string path{};
    int nth = 1;
  };
  // In this order.
  struct Fate {
    std::function<void()> before{};  // somebody is faster
    bool lost_before = false;        // it never arrives; the caller does not know that
    int refused = 0;                 // with this status, and without an effect
    Duration late{};                 // its effect is there, its answer is on the way
    std::function<void()> after{};   // the same: what happens meanwhile
    bool lost_after = false;         // its answer never arrives
  };
  void on(Which which, Fate fate) { rules_.push_back({std::move(which), std::move(fate), 0}); }

  // What others do. An object gets the next version, and a uid if it has none.
  void put(const ResourceType& type, wire::Value object) {
    Address at{type.path(""), "", ""};
    at.ns = wire::string_at(object, "/metadata/namespace");
    at.name = wire::string_at(object, "/metadata/name");
    store(at, std::move(object));
  }
  void erase(const ResourceType& type, const ObjectKey& key) {
    discard({type.path(""), key.ns, key.name});
  }
  // A merge patch.
  void edit(const ResourceType& type, const ObjectKey& key, const wire::Value& patch) {
    const Address at{type.path(""), key.ns, key.name};
    store(at, wire::apply_merge_patch(objects_.at(at), patch));
  }
  // Null: there is none.
  const wire::Value* find(const ResourceType& type, const ObjectKey& key) const {
    const auto it = objects_.find({type.path(""), key.ns, key.name});
    return it == objects_.end() ? nullptr : &it->second;
  }
  std::vector<wire::Value> all(const ResourceType& type) const {
    std::vector<wire::Value> out;
    for (const auto& [at, object] : objects_)
      if (at.collection == type.path("")) out.push_back(object);
    return out;
  }
  ResourceVersion version() const { return version_; }

  // "PATCH listeners/demo-tcp-30000": all calls that left us since these were last forgotten.
  const std::vector<std::string>& calls() const { return calls_; }
  // Those that may change something.
  std::vector<std::string> writes() const {
    std::vector<std::string> out;
    for (const std::string& call : calls_)
      if (!call.starts_with("GET ")) out.push_back(call);
    return out;
  }
  void forget_calls() { calls_.clear(); }

  // Hears of each change, by the plural of its type. Null: the object is gone, as of `version()`.
  std::function<void(std::string_view plural, const ObjectKey& key, const wire::Value* now)>
      on_change;

  Result<net::Response> call(const Context& context, const net::Request& request) override {
    if (context.expired()) return fail(context.end_error());
    const net::Url url = net::parse_url(request.url).value();
    const Target target = target_of(url);
    calls_.push_back(request.method + " " + target.text);
    const Fate fate = fate_of(request.method, target.text);
    if (fate.before) fate.before();
    if (fate.lost_before) return lost();
    if (fate.refused != 0) return status(fate.refused, "", "scripted");
    net::Response answer = handle(request, target, url.query);
    if (fate.late > Duration::zero()) (void)sleep_for(context.tasks, fate.late, context.stop);
    if (fate.after) fate.after();
    if (context.expired()) return fail(context.end_error());
    if (fate.lost_after) return lost();
    return answer;
  }
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    auto answer = call(context, request);
    if (!answer) return pass(answer);
    return std::make_unique<FakeStream>(*std::move(answer));
  }

 private:
  // The collection is the path of its type without a namespace: "/api/v1/pods".
  struct Address {
    std::string collection{};
    std::string ns{};
    std::string name{};
    friend auto operator<=>(const Address&, const Address&) = default;
  };
  struct Target {
    Address at{};
    std::string text{};  // "pods/room-0/status"
  };
  struct Rule {
    Which which;
    Fate fate;
    int seen = 0;
  };

  static Target target_of(const net::Url& url) {
    std::vector<std::string> steps;
    for (std::size_t from = 1; from < url.path.size();) {
      const std::size_t end = std::min(url.path.find('/', from), url.path.size());
      steps.push_back(url.path.substr(from, end - from));
      from = end + 1;
    }
    Target out;
    std::size_t next = steps.at(0) == "api" ? 2 : 3;
    for (std::size_t i = 0; i < next; ++i) out.at.collection += "/" + steps.at(i);
    if (steps.at(next) == "namespaces" && steps.size() > next + 2) {
      out.at.ns = steps[next + 1];
      next += 2;
    }
    out.at.collection += "/" + steps.at(next);
    if (next + 1 < steps.size()) out.at.name = steps[next + 1];
    for (std::size_t i = next; i < steps.size(); ++i)
      out.text += (out.text.empty() ? "" : "/") + steps[i];
    return out;
  }

  Fate fate_of(std::string_view method, const std::string& text) {
    for (auto it = rules_.begin(); it != rules_.end(); ++it) {
      const std::string& path = it->which.path;
      if (method != it->which.method || !(text + "/").starts_with(path.empty() ? "" : path + "/"))
        continue;
      if (++it->seen < it->which.nth) continue;
      Fate fate = std::move(it->fate);
      rules_.erase(it);
      return fate;
    }
    return {};
  }

  static Failure lost() { return fail(Code::timeout, "the answer was lost"); }
  static net::Response status(int code, std::string_view reason, std::string_view message) {
    return {code,
            {},
            wire::to_json(wire::Object{
                {"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", message}})};
  }
  static net::Response ok(const wire::Value& body, int code = 200) {
    return {code, {}, wire::to_json(body)};
  }

  net::Response handle(const net::Request& request, const Target& target,
                       const std::string& query) {
    const Address& at = target.at;
    if (request.method == "GET" && at.name.empty()) return list(at, query);
    if (request.method == "POST") return create(at, wire::parse_json(request.body).value());
    const auto it = objects_.find(at);
    if (it == objects_.end()) return status(404, "NotFound", at.name + " not found");
    if (request.method == "GET") return ok(it->second);
    if (request.method == "PATCH") return patch(at, it->second, request);
    if (request.method == "DELETE") return remove(at, it->second, request.body);
    return status(405, "MethodNotAllowed", request.method);
  }

  net::Response list(const Address& at, const std::string& query) const {
    const net::QueryList parameters = net::parse_query(query).value();
    std::string selector;
    for (const auto& [name, value] : parameters)
      if (name == "labelSelector") selector = value;
    wire::Array items;
    for (const auto& [address, object] : objects_) {
      if (address.collection != at.collection || (!at.ns.empty() && address.ns != at.ns)) continue;
      if (fits(object, selector)) items.push_back(object);
    }
    return ok(wire::Object{{"metadata", wire::Object{{"resourceVersion", text(version_)}}},
                           {"items", std::move(items)}});
  }

  // "a=b,c,!d"
  static bool fits(const wire::Value& object, std::string_view selector) {
    while (!selector.empty()) {
      const std::size_t comma = std::min(selector.find(','), selector.size());
      std::string_view term = selector.substr(0, comma);
      selector.remove_prefix(std::min(comma + 1, selector.size()));
      const bool absent = term.starts_with('!');
      if (absent) term.remove_prefix(1);
      const std::size_t equals = std::min(term.find('='), term.size());
      const wire::Value* const label = wire::find(
          object, "/metadata/labels/" + wire::escape_pointer_step(term.substr(0, equals)));
      if ((label == nullptr) != absent) return false;
      if (equals < term.size() && label->as_string() != term.substr(equals + 1)) return false;
    }
    return true;
  }

  net::Response create(Address at, wire::Value object) {
    at.name = wire::string_at(object, "/metadata/name");
    if (at.name.empty()) {
      at.name =
          fmt::format("{}{}", wire::string_at(object, "/metadata/generateName"), version_ + 1);
      (void)wire::set_at(object, "/metadata/name", wire::Value(at.name));
    }
    if (objects_.contains(at)) return status(409, "AlreadyExists", at.name + " already exists");
    return ok(store(at, std::move(object)), 201);
  }

  net::Response patch(const Address& at, const wire::Value& before, const net::Request& request) {
    const wire::Value body = wire::parse_json(request.body).value();
    const bool is_json = request.headers.get("Content-Type") == "application/json-patch+json";
    Result<wire::Value> after = is_json
                                    ? wire::apply_json_patch(before, body)
                                    : Result<wire::Value>(wire::apply_merge_patch(before, body));
    if (!after) return status(422, "Invalid", after.error().message);
    for (const std::string_view field : {"/metadata/uid", "/metadata/resourceVersion"})
      if (wire::string_at(*after, field) != wire::string_at(before, field))
        return status(409, "Conflict", "the object has been modified");
    const wire::Array* const finalizers = wire::array_at(*after, "/metadata/finalizers");
    const bool is_held = finalizers && !finalizers->empty();
    if (!is_held && wire::find(*after, "/metadata/deletionTimestamp")) {
      discard(at);
      return ok(*after);
    }
    return ok(store(at, std::move(*after)));
  }

  net::Response remove(const Address& at, const wire::Value& before, const std::string& body) {
    const wire::Value options = wire::parse_json(body).value();
    for (const std::string_view field : {"uid", "resourceVersion"}) {
      const std::string_view wanted =
          wire::string_at(options, fmt::format("/preconditions/{}", field));
      if (!wanted.empty() && wanted != wire::string_at(before, fmt::format("/metadata/{}", field)))
        return status(409, "Conflict", "the precondition does not hold");
    }
    const wire::Array* const finalizers = wire::array_at(before, "/metadata/finalizers");
    if (!finalizers || finalizers->empty()) {
      discard(at);
      return status(200, "", "");
    }
    wire::Value leaving = before;
    (void)wire::set_at(leaving, "/metadata/deletionTimestamp", "2026-01-02T00:00:00Z");
    return ok(store(at, std::move(leaving)));
  }

  const wire::Value& store(const Address& at, wire::Value object) {
    (void)wire::set_at(object, "/metadata/resourceVersion", wire::Value(text(++version_)));
    if (wire::string_at(object, "/metadata/uid").empty())
      (void)wire::set_at(object, "/metadata/uid", wire::Value("uid-" + text(version_)));
    const wire::Value& now = objects_[at] = std::move(object);
    tell(at, &now);
    return now;
  }
  void discard(const Address& at) {
    if (objects_.erase(at) == 0) return;
    ++version_;
    tell(at, nullptr);
  }
  void tell(const Address& at, const wire::Value* now) const {
    const std::string plural = at.collection.substr(at.collection.rfind('/') + 1);
    if (on_change) on_change(plural, {at.ns, at.name}, now);
  }
  static std::string text(ResourceVersion version) { return std::to_string(version); }

  std::map<Address, wire::Value> objects_;
  ResourceVersion version_ = 100;
  std::vector<Rule> rules_;
  std::vector<std::string> calls_;
};

}  // namespace berth::kube::testing
