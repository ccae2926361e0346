#include "transcript.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "wire/splitters.h"

namespace berth::parity {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

constexpr Duration kStepTimeout = std::chrono::seconds{30};
constexpr Duration kLookAgain = std::chrono::milliseconds{20};

std::string expand(std::string text, const Variables& variables) {
  for (const auto& [name, value] : variables) {
    const std::string key = "$" + name;
    for (std::size_t at = text.find(key); at != std::string::npos;
         at = text.find(key, at + value.size())) {
      text.replace(at, key.size(), value);
    }
  }
  return text;
}

// The other way round: what a variable stands for differs between servers.
std::string collapse(std::string text, const Variables& variables) {
  for (const auto& [name, value] : variables) {
    if (value.empty()) continue;
    const std::string key = "$" + name;
    for (std::size_t at = text.find(value); at != std::string::npos;
         at = text.find(value, at + key.size())) {
      text.replace(at, value.size(), key);
    }
  }
  return text;
}

// Values that differ between servers or runs; that they are there still counts.
const std::set<std::string_view> kMasked{"uid",
                                         "resourceVersion",
                                         "creationTimestamp",
                                         "deletionTimestamp",
                                         "lastTransitionTime",
                                         "continue",
                                         "time"};
const std::set<std::string_view> kDropped{"selfLink", "remainingItemCount"};

// The entries of managedFields are sorted by time, in seconds: the order says when a case ran. The
// owners that an apply has met are in no order.
void sort_owners(Array& list) {
  const auto is_owner = [](const Value& one) {
    return wire::find(one, "/fieldsType") != nullptr ||
           wire::string_at(one, "/reason") == "FieldManagerConflict";
  };
  if (!std::ranges::all_of(list, is_owner)) return;
  std::ranges::sort(list, {}, [](const Value& one) { return wire::to_json(one); });
}

Value masked(const Value& value) {
  if (value.is_array()) {
    Array out;
    for (const Value& item : value.get_array()) out.push_back(masked(item));
    sort_owners(out);
    return out;
  }
  if (!value.is_object()) return value;
  std::map<std::string, Value> sorted;  // the order of members says nothing
  for (const auto& member : value.get_object()) {
    if (kDropped.contains(member.key())) continue;
    // The real server writes an empty token for custom kinds and none for built-in ones.
    if (member.key() == "continue" && member.value() == Value("")) continue;
    const bool mask = kMasked.contains(member.key()) && !member.value().is_null();
    sorted[std::string(member.key())] = mask ? Value("<set>") : masked(member.value());
  }
  Object out;
  for (auto& [key, member] : sorted) out[key] = std::move(member);
  return out;
}

Value selected(const Value& body, const Array* only) {
  if (!only) return masked(body);
  Object out;
  for (const Value& pointer : *only) {
    const std::string_view path = pointer.get_string();
    const Value* found = wire::find(body, path);
    out[path] = found ? masked(*found) : Value("<absent>");
  }
  return out;
}

class Case {
 public:
  Case(const Context& context, const Peer& peer, Variables variables)
      : context_(context), peer_(peer), variables_(std::move(variables)) {}

  Result<std::string> run_step(const Value& step) {
    if (!wire::string_at(step, "/watch").empty()) return watch(step);
    if (!wire::string_at(step, "/until").empty()) return wait_until_served(step);
    return exchange(step);
  }

 private:
  Result<net::Request> request_of(const std::string& method, const std::string& path) {
    Result<kube::Identity> identity = peer_.cluster->credentials->identity(context_);
    if (!identity) return pass(identity);
    net::Request request{.method = method, .url = peer_.cluster->server + path};
    request.tls = identity->tls;
    if (!identity->bearer_token.empty()) {
      request.headers.set("Authorization", "Bearer " + identity->bearer_token.reveal());
    }
    request.headers.set("Accept", "application/json");
    return request;
  }

  Result<std::string> exchange(const Value& step) {
    const std::string what = expand(std::string(wire::string_at(step, "/do")), variables_);
    const std::size_t space = what.find(' ');
    Result<net::Request> request = request_of(what.substr(0, space), what.substr(space + 1));
    if (!request) return pass(request);
    add_body(step, *request);
    Result<net::Response> response = peer_.transport.call(context_.within(kStepTimeout), *request);
    if (!response) return pass(response);
    Result<Value> body = wire::parse_json(response->body);
    if (!body) return fmt::format("{} {}", response->status, collapse(response->body, variables_));
    save(step, *body);
    const std::string shown = wire::to_json(selected(*body, wire::array_at(step, "/only")));
    return fmt::format("{} {} {}", wire::string_at(step, "/do"), response->status,
                       collapse(shown, variables_));
  }

  // Asks again until the answer is 200: a kind is served a moment after its definition was created.
  Result<std::string> wait_until_served(const Value& step) {
    const std::string what = expand(std::string(wire::string_at(step, "/until")), variables_);
    const std::size_t space = what.find(' ');
    const Context bounded = context_.within(kStepTimeout);
    for (;;) {
      Result<net::Request> request = request_of(what.substr(0, space), what.substr(space + 1));
      if (!request) return pass(request);
      Result<net::Response> response = peer_.transport.call(bounded, *request);
      if (!response) return pass(response);
      if (response->status == 200) return std::string("served");
      if (!sleep_for(bounded.tasks, kLookAgain, bounded.stop) || bounded.expired())
        return fail(bounded.end_error());
    }
  }

  void add_body(const Value& step, net::Request& request) {
    const Value* body = wire::find(step, "/body");
    if (!body) return;
    const std::string_view type = wire::string_at(step, "/type");
    request.headers.set("Content-Type", std::string(type.empty() ? "application/json" : type));
    // A string is sent as it is: for bodies that are no JSON.
    request.body = expand(
        body->is_string() ? std::string(body->get_string()) : wire::to_json(*body), variables_);
  }

  void save(const Value& step, const Value& body) {
    const Object* wanted = wire::object_at(step, "/save");
    for (const auto& member : wanted ? *wanted : Object{}) {
      variables_[std::string(member.key())] =
          std::string(wire::string_at(body, member.value().get_string()));
    }
  }

  Result<std::string> watch(const Value& step) {
    const std::string path = expand(std::string(wire::string_at(step, "/watch")), variables_);
    const auto wanted = static_cast<std::size_t>(wire::int_at(step, "/events").value_or(1));
    Result<net::Request> request = request_of("GET", path);
    if (!request) return pass(request);
    const Context bounded = context_.within(kStepTimeout);
    Result<std::unique_ptr<net::Stream>> stream = peer_.transport.open(bounded, *request);
    if (!stream) return pass(stream);
    std::string shown = fmt::format("watch {}", (*stream)->status());
    std::size_t seen = 0;
    wire::LineSplitter lines;
    while (seen < wanted) {
      Result<std::optional<std::string>> chunk = (*stream)->read(bounded);
      if (!chunk) return pass(chunk);
      if (!*chunk) return shown + " ended";
      Result<> fed = lines.feed(**chunk, [&](std::string_view line) -> Result<> {
        Result<Value> event = wire::parse_json(line);
        if (!event) return pass(event);
        if (seen++ < wanted)
          shown += "\n  " + wire::to_json(selected(*event, wire::array_at(step, "/only")));
        return {};
      });
      if (!fed) return pass(fed);
    }
    return collapse(shown, variables_);
  }

  const Context& context_;
  const Peer& peer_;
  Variables variables_;
};

}  // namespace

Result<std::vector<std::string>> run_case(const Context& context, const Peer& peer,
                                          const Value& steps, Variables variables) {
  std::vector<std::string> transcript;
  Case one(context, peer, std::move(variables));
  for (const Value& step : steps.as_array()) {
    Result<std::string> line = one.run_step(step);
    if (!line) return pass(line);
    transcript.push_back(std::move(*line));
  }
  return transcript;
}

}  // namespace berth::parity
