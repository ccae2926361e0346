#include "transcript.h"

#include <boost/json.hpp>

#include "base/encoding.h"
#include "protobuf_message.h"
#include "wire/splitters.h"

namespace berth::parity {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

constexpr Duration kStepTimeout = std::chrono::seconds{30};
constexpr std::string_view kTable = "application/json;as=Table;v=v1;g=meta.k8s.io";
constexpr Duration kPollInterval = std::chrono::milliseconds{20};

std::string text_at(const Value& step, std::string_view pointer, std::string_view otherwise = {}) {
  const Value* found = wire::find(step, pointer);
  return std::string(found != nullptr && found->is_string() ? found->get_string() : otherwise);
}

std::string warnings_of(const net::Response& response) {
  std::string text;
  for (const auto value : response.headers.all("Warning")) text.append(" warning ").append(value);
  return text;
}

// A body that would be too long to write down.
std::string repeated(const Value& repeat) {
  std::string body = text_at(repeat, "/before");
  const std::string part = text_at(repeat, "/text");
  for (std::int64_t left = wire::int_at(repeat, "/times").value_or(0); left > 0; --left) {
    body += part;
  }
  return body + text_at(repeat, "/after");
}

class Case {
 public:
  Case(const Context& context, const Peer& peer, Variables variables)
      : context_(context), peer_(peer), variables_(std::move(variables)) {
    variables_["hooks"] = peer.hooks.url() + hook_path({});
    variables_["ca"] = base64_encode(peer.hooks.ca_pem());
  }

  Result<std::string> run_step(const Value& step) {
    if (wire::find(step, "/watch")) return watch(step);
    if (wire::find(step, "/until")) return repeat_until(step, {});
    if (wire::find(step, "/webhook")) return add_webhook(step);
    if (wire::find(step, "/answers")) return script(step);
    if (wire::find(step, "/calls")) return show_calls(step);
    if (wire::find(step, "/compact")) return compact();
    return exchange(step);
  }

 private:
  std::string hook_path(const std::string& name) const {
    return "/" + peer_.name + "/" + variables_.at("ns") + (name.empty() ? "" : "/" + name);
  }

  Result<net::Request> request_of(const Value& step, std::string what) {
    what = expand(std::move(what), variables_);
    const std::size_t space = what.find(' ');
    const auto identity = peer_.identities.find(text_at(step, "/as", "admin"));
    if (identity == peer_.identities.end()) {
      return fail(Code::invalid, "{}: nobody is called {}", what, text_at(step, "/as"));
    }
    net::Request request{.method = what.substr(0, space),
                         .url = peer_.server + what.substr(space + 1)};
    request.tls = identity->second.tls;
    if (!identity->second.bearer_token.empty()) {
      request.headers.set("Authorization", "Bearer " + identity->second.bearer_token.reveal());
    }
    if (const std::string token = text_at(step, "/bearer"); !token.empty()) {
      request.headers.set("Authorization", "Bearer " + expand(token, variables_));
    }
    const std::string accept = text_at(step, "/accept", "application/json");
    request.headers.set("Accept", accept == "table" ? std::string(kTable) : accept);
    add_body(step, request);
    return request;
  }

  void add_body(const Value& step, net::Request& request) {
    const Value* body = wire::find(step, "/body");
    const Value* repeat = wire::find(step, "/repeat");
    if (const Value* of = wire::find(step, "/protobuf")) {
      const std::string fields = expand(wire::to_json(*wire::find(step, "/fields")), variables_);
      request.headers.set("Content-Type", "application/vnd.kubernetes.protobuf");
      request.body = protobuf_message(*of, wire::parse_json(fields).value());
      return;
    }
    if (!body && !repeat) return;
    request.headers.set("Content-Type", text_at(step, "/type", "application/json"));
    // A string is sent as it is: for bodies that are no JSON.
    request.body = expand(repeat              ? repeated(*repeat)
                          : body->is_string() ? std::string(body->get_string())
                                              : wire::to_json(*body),
                          variables_);
  }

  // The real server changes an object first as its cache has it, which may be behind, and then
  // again as it is: webhooks hear of both. A list waits until the cache has caught up.
  Result<> let_cache_catch_up(const net::Request& write) {
    if (write.method == "GET" || write.method == "POST") return {};
    const std::size_t name = write.url.rfind('/', write.url.find('?'));
    net::Request list{.method = "GET", .url = write.url.substr(0, name)};
    list.tls = write.tls;
    list.headers.set("Authorization", std::string(write.headers.get("Authorization")));
    Result<net::Response> listed = peer_.transport.call(context_.within(kStepTimeout), list);
    if (!listed) return pass(listed);
    return {};
  }

  Result<std::string> exchange(const Value& step) {
    Result<net::Request> request = request_of(step, text_at(step, "/do"));
    if (!request) return pass(request);
    if (has_webhooks_) {
      if (Result<> ready = let_cache_catch_up(*request); !ready) return pass(ready);
    }
    Result<net::Response> response = peer_.transport.call(context_.within(kStepTimeout), *request);
    if (!response) return pass(response);
    std::string line = fmt::format("{} {}", text_at(step, "/do"), response->status);
    const Array* headers = wire::array_at(step, "/headers");
    for (const Value& name : headers ? *headers : Array{}) {
      line += fmt::format(" [{}]", response->headers.get(std::string(name.as_string())));
    }
    const bool quiet = wire::bool_at(step, "/quiet").value_or(false);
    line += (quiet ? "" : warnings_of(*response)) + " ";
    Result<Value> body = wire::parse_json(response->body);
    if (!body) return line + collapse(response->body, variables_);
    save(step, *body);
    return line + collapse(wire::to_json(selected(*body, step)), variables_);
  }

  void save(const Value& step, const Value& body) {
    const Object* wanted = wire::object_at(step, "/save");
    for (const auto& member : wanted ? *wanted : Object{}) {
      variables_[std::string(member.key())] =
          std::string(wire::string_at(body, member.value().get_string()));
    }
  }

  // Asks again until the answer has the wanted status (200), or until a hook was called: the real
  // server learns of definitions and webhooks a moment after they were created.
  Result<std::string> repeat_until(const Value& step, const std::string& hook) {
    const Context bounded = context_.within(kStepTimeout);
    const std::int64_t wanted = wire::int_at(step, "/status").value_or(200);
    for (;;) {
      Result<net::Request> request = request_of(step, text_at(step, "/until"));
      if (!request) return pass(request);
      Result<net::Response> response = peer_.transport.call(bounded, *request);
      if (!response) return pass(response);
      if (hook.empty() ? response->status == wanted
                       : !peer_.hooks.take_calls(hook_path(hook)).empty()) {
        return text_at(step, "/until") + " came";
      }
      if (!sleep_for(bounded.tasks, kPollInterval, bounded.stop) || bounded.expired()) {
        return fail(Code::timeout, "{}: not within {} s; the last answer was {} {}",
                    text_at(step, "/until"),
                    std::chrono::duration_cast<std::chrono::seconds>(kStepTimeout).count(),
                    response->status, response->body);
      }
    }
  }

  // A webhook of the case's own namespace, for creations of ConfigMaps unless the step says
  // otherwise. Returns when the server calls it.
  Result<std::string> add_webhook(const Value& step) {
    const std::string name = text_at(step, "/webhook");
    const std::string type = text_at(step, "/type");
    Object entry{{"name", name + ".parity.berth.dev"},
                 {"clientConfig", Object{{"url", "$hooks/" + name}, {"caBundle", "$ca"}}},
                 {"namespaceSelector",
                  Object{{"matchLabels", Object{{"kubernetes.io/metadata.name", "$ns"}}}}},
                 {"sideEffects", "None"},
                 {"admissionReviewVersions", Array{"v1"}},
                 {"rules", Array{Object{{"operations", Array{"CREATE"}},
                                        {"apiGroups", Array{""}},
                                        {"apiVersions", Array{"v1"}},
                                        {"resources", Array{"configmaps"}}}}}};
    const Object* given = wire::object_at(step, "/with");
    for (const auto& member : given ? *given : Object{}) entry[member.key()] = member.value();
    Result<std::string> made = exchange(Object{
        {"do",
         fmt::format("POST /apis/admissionregistration.k8s.io/v1/{}webhookconfigurations", type)},
        {"body", Object{{"metadata", Object{{"name", "$ns-" + name}}},
                        {"webhooks", Array{std::move(entry)}}}}});
    if (!made) return made;
    static const Value kProbe =
        Object{{"until", "POST /api/v1/namespaces/$ns/configmaps?dryRun=All"},
               {"body", Object{{"metadata", Object{{"name", "probe"}}}}}};
    const Value* probe = wire::find(step, "/probe");
    Result<std::string> called = repeat_until(probe ? *probe : kProbe, name);
    if (!called) return called;
    peer_.hooks.forget_calls(hook_path({}) + "/");
    has_webhooks_ = true;
    return *made + ", " + *called;
  }

  Result<std::string> script(const Value& step) {
    Result<Value> answer =
        wire::parse_json(expand(wire::to_json(*wire::find(step, "/with")), variables_));
    if (!answer) return pass(answer);
    peer_.hooks.script(hook_path(text_at(step, "/answers")), *answer);
    return std::string("answers");
  }

  Result<std::string> show_calls(const Value& step) {
    std::string shown = "calls of " + text_at(step, "/calls");
    for (const Value& call : peer_.hooks.take_calls(hook_path(text_at(step, "/calls")))) {
      shown += "\n  " + wire::to_json(selected(call, step));
    }
    return collapse(shown, variables_);
  }

  Result<std::string> compact() {
    if (Result<> done = peer_.compact(context_.within(kStepTimeout)); !done) return pass(done);
    return std::string("compacted");
  }

  Result<std::string> watch(const Value& step) {
    const auto wanted = static_cast<std::size_t>(wire::int_at(step, "/events").value_or(1));
    Result<net::Request> request = request_of(step, "GET " + text_at(step, "/watch"));
    if (!request) return pass(request);
    const Context bounded = context_.within(kStepTimeout);
    Result<std::unique_ptr<net::Stream>> stream = peer_.transport.open(bounded, *request);
    if (!stream) return pass(stream);
    std::string shown = fmt::format("watch {}", (*stream)->status());
    // What happens while the watch is open.
    const Array* meanwhile = wire::array_at(step, "/meanwhile");
    for (const Value& one : meanwhile ? *meanwhile : Array{}) {
      Result<std::string> line = exchange(one);
      if (!line) return line;
      shown += "\n  " + *line;
    }
    std::size_t seen = 0;
    wire::LineSplitter lines;
    while (seen < wanted) {
      Result<std::optional<std::string>> chunk = (*stream)->read(bounded);
      if (!chunk) return pass(chunk);
      if (!*chunk) return collapse(shown, variables_) + " ended";
      Result<> fed = lines.feed(**chunk, [&](std::string_view line) -> Result<> {
        Result<Value> event = wire::parse_json(line);
        if (!event) return pass(event);
        if (seen++ < wanted) shown += "\n  " + wire::to_json(selected(*event, step));
        return {};
      });
      if (!fed) return pass(fed);
    }
    return collapse(shown, variables_);
  }

  const Context& context_;
  const Peer& peer_;
  Variables variables_;
  bool has_webhooks_ = false;
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
