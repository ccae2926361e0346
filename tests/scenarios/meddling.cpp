#include "meddling.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/encoding.h"
#include "lb/test_forwarding_listeners.h"

namespace berth::scenario {
namespace {

using wire::Value;

constexpr std::string_view kKeys = "/api/v1/namespaces/default/secrets/berth-keys";

bool is_about(const net::Request& request, const std::string& resource) {
  const std::string path = request.url.substr(0, request.url.find('?')) + "/";
  return path.find("/" + resource + "/") != std::string::npos;
}

// The ring that replicas seal with, as the Secret has it.
std::optional<crypto::KeyRing> ring_in(const Value& secret) {
  const Result<std::string> text = base64_decode(wire::string_at(secret, "/data/seals"));
  const Result<Value> ring = text ? wire::parse_json(*text) : fail(text.error());
  const wire::Array* const list = ring ? wire::array_at(*ring, "/keys") : nullptr;
  std::vector<crypto::Key> keys;
  for (const Value& key : list ? *list : wire::Array{}) {
    Result<std::string> bytes = base64_decode(wire::string_at(key, "/key"));
    const Result<WallTime> made = parse_rfc3339(wire::string_at(key, "/made"));
    if (!bytes || !made) return std::nullopt;
    keys.push_back({.id = std::string(wire::string_at(key, "/id")),
                    .bytes = Secret(std::move(*bytes)),
                    .made = *made});
  }
  if (keys.empty()) return std::nullopt;
  return crypto::KeyRing(std::move(keys));
}

using Change = std::function<void(Value& object)>;

// Of a single object or of all of a list.
std::string changed_document(std::string body, const Change& change) {
  Result<Value> document = wire::parse_json(body);
  if (!document || !document->is_object()) return body;
  if (const auto items = document->as_object().find("items");
      items != document->get_object().end()) {
    for (Value& item : items->value().as_array()) change(item);
  } else if (wire::string_at(*document, "/kind") != "Status") {
    change(*document);
  }
  return wire::to_json(*document);
}

std::string changed_event(const std::string& line, const Change& change) {
  Result<Value> event = wire::parse_json(line);
  const std::string_view type = event ? wire::string_at(*event, "/type") : "";
  if (type != "ADDED" && type != "MODIFIED" && type != "DELETED") return line;
  change(event->as_object()["object"]);
  return wire::to_json(*event);
}

// A list, which is changed when it is whole, or a watch, line by line.
class RereadStream final : public net::Stream {
 public:
  using Learn = std::function<Change(const Context& context)>;

  RereadStream(std::unique_ptr<net::Stream> inner, bool watches, Learn learn)
      : inner_(std::move(inner)), watches_(watches), learn_(std::move(learn)) {}

  int status() const override { return inner_->status(); }
  const net::Headers& headers() const override { return inner_->headers(); }

  Result<std::optional<std::string>> read(const Context& context) override {
    for (;;) {
      Result<std::optional<std::string>> bytes = inner_->read(context);
      if (!bytes) return bytes;
      if (!*bytes) return take_rest(context);
      pending_ += **bytes;
      const std::size_t end = watches_ ? pending_.rfind('\n') : std::string::npos;
      if (end == std::string::npos) continue;
      const std::string whole = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return std::optional(changed_lines(whole, learn_(context)));
    }
  }

 private:
  static std::string changed_lines(std::string_view whole, const Change& change) {
    std::string out;
    while (!whole.empty()) {
      const std::size_t end = std::min(whole.find('\n'), whole.size());
      out += changed_event(std::string(whole.substr(0, end)), change) + "\n";
      whole.remove_prefix(std::min(end + 1, whole.size()));
    }
    return out;
  }

  std::optional<std::string> take_rest(const Context& context) {
    if (pending_.empty()) return std::nullopt;
    std::string rest = std::exchange(pending_, {});
    return watches_ ? rest : changed_document(std::move(rest), learn_(context));
  }

  std::unique_ptr<net::Stream> inner_;
  const bool watches_;
  const Learn learn_;
  std::string pending_;
};

class RereadingNetwork final : public net::Transport {
 public:
  RereadingNetwork(net::Transport& inner, ReadMeddler meddler)
      : inner_(inner), meddler_(std::move(meddler)) {}

  Result<net::Response> call(const Context& context, const net::Request& request) override {
    const net::Request sent = in_json(meddler_.writes(request).value_or(request));
    Result<net::Response> answer = inner_.call(context, sent);
    if (!answer || answer->status >= 300 || !is_about(sent, meddler_.resource)) return answer;
    answer->body = changed_document(std::move(answer->body), change(context, sent));
    return answer;
  }
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    const net::Request sent = in_json(request);
    Result<std::unique_ptr<net::Stream>> stream = inner_.open(context, sent);
    if (!stream || !is_about(sent, meddler_.resource)) return stream;
    const bool watches = sent.url.find("watch=") != std::string::npos;
    return std::make_unique<RereadStream>(
        std::move(*stream), watches,
        [this, sent](const Context& own) { return change(own, sent); });
  }

 private:
  net::Request in_json(net::Request request) const {
    if (is_about(request, meddler_.resource)) request.headers.set("Accept", "application/json");
    return request;
  }

  // Nothing is changed before there are keys.
  Change change(const Context& context, const net::Request& like) {
    if (!ring_) {
      net::Request look{.url = like.url.substr(0, like.url.find('/', like.url.find("://") + 3)),
                        .headers = like.headers};
      look.url += kKeys;
      look.headers.set("Accept", "application/json");
      const Result<net::Response> found = inner_.call(context, look);
      const Result<Value> secret =
          found && found->status == 200 ? wire::parse_json(found->body) : Result<Value>(Value());
      if (secret) ring_ = ring_in(*secret);
    }
    return [this](Value& object) {
      if (ring_) meddler_.reads(object, *ring_);
    };
  }

  net::Transport& inner_;
  const ReadMeddler meddler_;
  std::optional<crypto::KeyRing> ring_;
};

class MeddlingNetwork final : public net::Transport {
 public:
  MeddlingNetwork(net::Transport& inner, Rewrite rewrite)
      : inner_(inner), rewrite_(std::move(rewrite)) {}

  Result<net::Response> call(const Context& context, const net::Request& request) override {
    if (const auto changed = rewrite_(request)) return inner_.call(context, *changed);
    const net::Request look{.url = request.url.substr(0, request.url.find('?')),
                            .headers = {{"Accept", "application/json"}}};
    return inner_.call(context, look);
  }
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    return inner_.open(context, rewrite_(request).value_or(request));
  }

 private:
  net::Transport& inner_;
  const Rewrite rewrite_;
};

class MeddlingListeners final : public lb::ForwardingListeners {
 public:
  MeddlingListeners(lb::Listeners& inner, DriverMeddler meddler)
      : ForwardingListeners(inner), meddler_(std::move(meddler)) {}

  std::vector<Result<model::ListenerId>> create(
      const Context& context, const lb::Place& place,
      std::span<const model::ListenerSpec> wanted) override {
    remove_more(context, place, {});
    return inner_.create(context, place, wanted);
  }
  std::vector<Result<>> remove(const Context& context, const lb::Place& place,
                               std::span<const model::ListenerId> ids) override {
    remove_more(context, place, ids);
    return inner_.remove(context, place, ids);
  }
  std::vector<Result<>> change_targets(const Context& context, const lb::Place& place,
                                       std::span<const lb::TargetChange> changes) override {
    remove_more(context, place, {});
    std::vector<lb::TargetChange> changed(changes.begin(), changes.end());
    for (lb::TargetChange& change : changed) meddler_.changes(place.lb, change);
    return inner_.change_targets(context, place, changed);
  }

 private:
  void remove_more(const Context& context, const lb::Place& place,
                   std::span<const model::ListenerId> meant) {
    if (!meddler_.also_removes) return;
    const auto all = inner_.list(context, place);
    if (!all) return;
    std::vector<model::ListenerId> more = meddler_.also_removes(*all, meant);
    std::erase_if(more, [&](const model::ListenerId& id) {
      return std::ranges::find(*all, id, &lb::ObservedListener::id) == all->end() ||
             std::ranges::find(meant, id) != meant.end();
    });
    if (!more.empty()) (void)inner_.remove(context, place, more);
  }

  const DriverMeddler meddler_;
};

}  // namespace

Plant meddle(Rewrite rewrite) {
  return [rewrite = std::move(rewrite)](world::WorldOptions& options) {
    options.around_transport = [rewrite](net::Transport& inner) {
      return std::make_unique<MeddlingNetwork>(inner, rewrite);
    };
  };
}

net::Request with_operations(net::Request request, std::string_view resource,
                             const std::function<void(wire::Array& operations)>& change) {
  if (request.method != "PATCH" || !is_about(request, std::string(resource))) return request;
  Result<Value> patch = wire::parse_json(request.body);
  if (!patch || !patch->is_array()) return request;
  change(patch->get_array());
  request.body = wire::to_json(*patch);
  return request;
}

Plant meddle_with_reads(ReadMeddler meddler) {
  return [meddler = std::move(meddler)](world::WorldOptions& options) {
    options.around_transport = [meddler](net::Transport& inner) {
      return std::make_unique<RereadingNetwork>(inner, meddler);
    };
  };
}

Plant meddle_with_each(
    std::function<net::Request(const net::Request& request, int replica)> change) {
  return [change = std::move(change)](world::WorldOptions& options) {
    options.around_transport = [change, next = std::make_shared<int>(0)](net::Transport& inner) {
      return std::make_unique<MeddlingNetwork>(
          inner, [change, mine = (*next)++](const net::Request& request) {
            return std::optional(change(request, mine));
          });
    };
  };
}

Plant meddle_with_driver(DriverMeddler meddler) {
  return [meddler = std::move(meddler)](world::WorldOptions& options) {
    options.around_listeners = [meddler](lb::Listeners& inner) {
      return std::make_unique<MeddlingListeners>(inner, meddler);
    };
  };
}

}  // namespace berth::scenario
