#include "kube/cache/reflector.h"

#include <algorithm>
#include <utility>

#include "metrics/registry.h"
#include "net/url.h"

namespace berth::kube {
namespace {

constexpr std::string_view kProtobufFirst = "application/vnd.kubernetes.protobuf,application/json";
constexpr std::string_view kProtobufFirstWatch =
    "application/vnd.kubernetes.protobuf;stream=watch,application/json;stream=watch";
constexpr std::string_view kJson = "application/json";

// The version that a request named is too old or too new for the server.
bool refuses_version(const Error& error) {
  return error.code == Code::expired || error.code == Code::too_new;
}

// What a list that named a version may have been refused for. A version too new for the server is a
// 504, and where its cause cannot be read, no more than a `timeout` is known.
bool may_refuse_version(const Error& error) {
  return refuses_version(error) || error.code == Code::timeout;
}

// The server is down or busy: a list would only add to that, and nothing is lost by asking again.
bool may_watch_again(const Error& error) {
  return error.code == Code::unavailable || error.code == Code::throttled;
}

}  // namespace

struct Reflector::Metrics {
  metrics::Registry unused{};  // for those who pass none
  metrics::Counter& lists;
  metrics::Histogram& list_seconds;
  metrics::Counter& watches;
  metrics::Counter& events;
  metrics::Counter& failures;

  Metrics(metrics::Registry* given, const metrics::Labels& labels)
      : Metrics(given != nullptr ? *given : unused, labels, 0) {}

 private:
  Metrics(metrics::Registry& registry, const metrics::Labels& labels, int)
      : lists(registry.counter("reflector_lists_total", "Lists that were applied.", labels)),
        list_seconds(registry.histogram("reflector_list_duration_seconds",
                                        "Time from a list's request until it was applied.",
                                        labels)),
        watches(registry.counter("reflector_watches_total", "Watch streams opened.", labels)),
        events(registry.counter("reflector_events_total", "Watch events received.", labels)),
        failures(registry.counter("reflector_failures_total",
                                  "Lists and watches that ended with an error.", labels)) {}
};

// One list and the watches that follow it. What it runs with `context` also ends when somebody
// wants a new list.
class Reflector::Cycle {
 public:
  Cycle(Reflector& reflector, const Context& outer)
      : context(outer), link_(outer.stop, Stop{source_}) {
    context.stop = source_.get_token();
    const MutexLock lock(reflector.mu_);
    reflector.interrupt_ = source_;
  }

  Context context;

 private:
  struct Stop {
    std::stop_source source;
    void operator()() { source.request_stop(); }
  };
  std::stop_source source_;
  std::stop_callback<Stop> link_;
};

Reflector::Reflector(Client& client, ReflectorTarget& target, ReflectorOptions options,
                     Random random)
    : client_(client),
      target_(target),
      options_(std::move(options)),
      metrics_(std::make_unique<Metrics>(options_.registry,
                                         metrics::Labels{{"resource", options_.type.plural}})),
      random_(random),
      backoff_(options_.backoff) {}

Reflector::~Reflector() = default;

void Reflector::run(const Context& context) {
  while (!context.stop.stop_requested()) {
    const Cycle cycle(*this, context);
    const Instant started = context.tasks.now();
    auto listed = list(context);
    const Error failure = listed ? watch(cycle.context) : std::move(listed.error());
    if (context.stop.stop_requested()) return;
    if (list_wanted() && listed) continue;
    version_refused_ = version_refused_ || refuses_version(failure);
    pause(cycle.context, started, failure);
  }
}

Result<> Reflector::relist_at_latest(const Context& context) {
  std::uint64_t mine = 0;
  std::stop_source interrupt;
  {
    const MutexLock lock(mu_);
    mine = ++wanted_;
    interrupt = interrupt_;
  }
  interrupt.request_stop();
  return waiters_.wait(context, [&] {
    const MutexLock lock(mu_);
    return applied_ >= mine;
  });
}

bool Reflector::list_wanted() const {
  const MutexLock lock(mu_);
  return wanted_ > applied_;
}

Result<> Reflector::list(const Context& context) {
  std::uint64_t wanted = 0;
  bool consistent = version_refused_;
  {
    const MutexLock lock(mu_);
    wanted = wanted_;
    consistent = consistent || wanted_ > applied_;
  }
  const Instant started = context.tasks.now();
  const ResourceVersion seen = target_.seen();
  auto listed = list_at(context, consistent ? "" : std::to_string(seen));
  const bool named_version = !consistent && seen != 0;
  if (!listed &&
      (named_version ? may_refuse_version(listed.error()) : refuses_version(listed.error()))) {
    consistent = true;
    listed = list_at(context, "");
  }
  if (!listed) return listed;

  metrics_->lists.increment();
  metrics_->list_seconds.observe(to_seconds(context.tasks.now() - started));
  version_refused_ = false;
  if (consistent) {
    {
      const MutexLock lock(mu_);
      applied_ = wanted;
    }
    waiters_.notify_all();
  }
  return {};
}

// An empty version asks for a consistent list, "0" for whatever the server has at hand.
Result<> Reflector::list_at(const Context& context, const std::string& version) {
  const ListOptions first{.ns = options_.selection.ns,
                          .label_selector = options_.selection.label_selector,
                          .field_selector = options_.selection.field_selector,
                          .resource_version = version,
                          .limit = version.empty() || version == "0" ? kListPage : 0};
  ListOptions page = first;
  ResourceVersion at = 0;
  target_.begin_list();
  for (;;) {
    auto envelope = read_page(context, page);
    if (!envelope && envelope.error().code == Code::expired && !page.continue_token.empty()) {
      // The pages' snapshot is gone: everything in one answer instead.
      target_.begin_list();
      page = first;
      page.limit = 0;
      at = 0;
      continue;
    }
    if (!envelope) {
      target_.abandon_list();
      return pass(envelope);
    }
    if (at == 0) at = envelope->resource_version;
    if (envelope->continue_token.empty()) return target_.end_list(at);
    page.continue_token = std::move(envelope->continue_token);
    page.resource_version.clear();  // the token says it
  }
}

Result<ListEnvelope> Reflector::read_page(const Context& context, const ListOptions& page) {
  auto stream = client_.open(context, path_of(page), options_.protobuf ? kProtobufFirst : kJson);
  if (!stream) return pass(stream);
  const Encoding encoding = encoding_of((*stream)->headers().get("Content-Type"));
  ListReader reader(encoding);
  for (;;) {
    auto chunk = (*stream)->read(context.within(kSilentListLimit));
    if (!chunk) return pass(chunk);
    if (!*chunk) break;
    auto fed = reader.feed(**chunk, [&](std::string_view item) {
      target_.list_item(encoding, item);
      return Result<>{};
    });
    if (!fed) return pass(fed);
  }
  auto envelope = reader.finish();
  // Items in protobuf do not name their type, so the list must.
  if (envelope && encoding == Encoding::protobuf && envelope->kind != options_.type.kind + "List") {
    return fail(Code::invalid, "the answer is a {}, not a list of {}", envelope->kind,
                options_.type.plural);
  }
  return envelope;
}

Error Reflector::watch(const Context& context) {
  for (;;) {
    const Instant started = context.tasks.now();
    std::size_t events = 0;
    auto ended = watch_once(context, events);
    if (context.stop.stop_requested()) return context.end_error();
    if (ended && events == 0 && context.tasks.now() - started < kShortestWatch) {
      return error_of(Code::unavailable, "the watch ended at once and without an event");
    }
    if (ended) continue;
    if (!may_watch_again(ended.error())) return std::move(ended.error());
    pause(context, started, ended.error());
    if (context.stop.stop_requested()) return context.end_error();
  }
}

Result<> Reflector::watch_once(const Context& context, std::size_t& events) {
  auto stream =
      client_.open(context, watch_path(), options_.protobuf ? kProtobufFirstWatch : kJson);
  if (!stream) return pass(stream);
  metrics_->watches.increment();
  const Encoding encoding = encoding_of((*stream)->headers().get("Content-Type"));
  WatchSplitter splitter(encoding);
  for (;;) {
    auto chunk = (*stream)->read(context.within(kSilentStreamLimit));
    if (!chunk && chunk.error().code == Code::timeout) {
      return fail(Code::unavailable, "the watch was silent for {} s",
                  to_seconds(kSilentStreamLimit));
    }
    if (!chunk) return pass(chunk);
    if (!*chunk) return splitter.finish();
    auto fed = splitter.feed(**chunk, [&](std::string_view message) {
      ++events;
      return handle(encoding, message);
    });
    if (!fed) return fed;
  }
}

Result<> Reflector::handle(Encoding encoding, std::string_view message) {
  metrics_->events.increment();
  auto event = decode_watch_event(encoding, event_reader_, message);
  if (!event && event.error().code == Code::unsupported) {
    log_warn("ignored a watch event: " + event.error().message,
             {{"resource", options_.type.plural}});
    return {};
  }
  if (!event) return pass(event);
  switch (event->type) {
    case EventType::error: return fail(error_of_event(encoding, *event));
    case EventType::bookmark:
      target_.bookmark(identify(encoding, bookmark_reader_, event->object).resource_version);
      return {};
    case EventType::added:
    case EventType::modified:
    case EventType::deleted: break;
  }
  if (!event->kind.empty() && event->kind != options_.type.kind) {
    log_warn(fmt::format("ignored a watch event of a {}", event->kind),
             {{"resource", options_.type.plural}});
    return {};
  }
  target_.event(event->type, encoding, event->object);
  return {};
}

std::string Reflector::path_of(const ListOptions& page) const {
  net::QueryList query;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) query.emplace_back(name, value);
  };
  add("labelSelector", page.label_selector);
  add("fieldSelector", page.field_selector);
  add("resourceVersion", page.resource_version);
  add("resourceVersionMatch", page.resource_version_match);
  add("limit", page.limit == 0 ? "" : std::to_string(page.limit));
  add("continue", page.continue_token);
  return options_.type.path(page.ns) + "?" + net::build_query(query);
}

std::string Reflector::watch_path() {
  const std::uint64_t seconds =
      kMinWatchSeconds + random_.below(kMaxWatchSeconds - kMinWatchSeconds + 1);
  return path_of({.ns = options_.selection.ns,
                  .label_selector = options_.selection.label_selector,
                  .field_selector = options_.selection.field_selector,
                  .resource_version = std::to_string(target_.seen())}) +
         "&watch=true&allowWatchBookmarks=true&timeoutSeconds=" + std::to_string(seconds);
}

void Reflector::pause(const Context& context, Instant since, const Error& failure) {
  metrics_->failures.increment();
  const Instant now = context.tasks.now();
  Instant until = saturating_add(since, backoff_.next(now, random_));
  if (failure.retry_after) until = std::max(until, saturating_add(now, *failure.retry_after));
  LogFields more = fields(context);
  more.emplace_back("code", traits_of(failure.code).name);
  // That a version expires is a part of normal life.
  log(refuses_version(failure) ? LogLevel::info : LogLevel::warn,
      "cannot follow a resource: " + failure.to_string(), more);
  if (until > now) (void)sleep_for(context.tasks, until - now, context.stop);
}

LogFields Reflector::fields(const Context& context) const {
  LogFields all = context.fields;
  all.emplace_back("resource", options_.type.plural);
  return all;
}

}  // namespace berth::kube
