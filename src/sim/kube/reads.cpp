#include "sim/kube/reads.h"

#include <charconv>

#include <fmt/format.h>

#include "sim/kube/continue_token.h"

namespace berth::sim::kube {

namespace {

// A watch without timeoutSeconds ends by itself after this long, as the server's default has it.
constexpr std::chrono::seconds kDefaultWatchTime = std::chrono::minutes{30};
constexpr std::chrono::seconds kMaxWatchTime = std::chrono::hours{24};
const GroupResource kListOptions{"meta.k8s.io", "ListOptions"};

constexpr std::string_view kExpiredPage =
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list.";

template <class Number>
Outcome<Number> parse_number(std::string_view text, std::string_view function) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return refuse(
        bad_request(fmt::format("strconv.{}: parsing \"{}\": invalid syntax", function, text)));
  }
  return number;
}

// The real server's gets and watches take a version that is no number for an error of their own.
Outcome<std::uint64_t> parse_own_version(std::string_view text) {
  Outcome<std::uint64_t> version = parse_version(text);
  if (version) return version;
  version.error().code = 500;
  version.error().reason.clear();
  return version;
}

// How resourceVersionMatch and sendInitialEvents may be combined.
Outcome<> check_list_options(const RequestInfo& info) {
  constexpr const char* kMatch = "resourceVersionMatch";
  const bool watch = info.verb == "watch";
  const bool initial_events = !info.parameter("sendInitialEvents").empty();
  const std::string_view match = info.parameter(kMatch);
  Causes causes;
  const auto forbid = [&causes](const char* field, std::string_view why) {
    causes.push_back(forbidden_value(field, why));
  };
  if (watch && initial_events && match != "NotOlderThan") {
    forbid(kMatch, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  }
  if (!match.empty()) {
    const bool exact = match == "Exact";
    if (watch && !initial_events) {
      forbid(kMatch,
             "resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
             "provided");
    }
    if (!watch && info.parameter("resourceVersion").empty()) {
      forbid(kMatch, "resourceVersionMatch is forbidden unless resourceVersion is provided");
    }
    if (!info.parameter("continue").empty()) {
      forbid(kMatch, "resourceVersionMatch is forbidden when continue is provided");
    }
    if (match != "NotOlderThan" && (watch || !exact)) {
      std::vector<std::string> known{"NotOlderThan"};
      if (!watch) known = {"Exact", "NotOlderThan", ""};
      causes.push_back(unsupported_value(kMatch, wire::Value(match), known));
    }
    if (!watch && exact && info.parameter("resourceVersion") == "0") {
      forbid(kMatch, R"(resourceVersionMatch "exact" is forbidden for resourceVersion "0")");
    }
  }
  if (!watch && initial_events) {
    forbid("sendInitialEvents", "sendInitialEvents is forbidden for list");
  }
  if (causes.empty()) return {};
  return refuse(invalid(kListOptions, {}, std::move(causes)));
}

std::string list_prefix(const ReadRequest& request) {
  if (!request.served.kind->namespaced || request.info.ns.empty()) return {};
  return request.info.ns + "/";
}

}  // namespace

Outcome<std::uint64_t> parse_version(std::string_view text, std::string_view prefix) {
  if (text.empty()) return 0;
  Outcome<std::uint64_t> version = parse_number<std::uint64_t>(text, "ParseUint");
  if (version) return version;
  return refuse(bad_request(fmt::format("{}resourceVersion: Invalid value: \"{}\": {}", prefix,
                                        text, version.error().message)));
}

Outcome<Selectors> parse_selectors(const RequestInfo& info, const Kind& kind) {
  Outcome<LabelSelector> labels = LabelSelector::parse(info.parameter("labelSelector"));
  if (!labels) return refuse(labels);
  Outcome<FieldSelector> fields = FieldSelector::parse(info.parameter("fieldSelector"), kind);
  if (!fields) return refuse(fields);
  return Selectors{std::move(*labels), std::move(*fields)};
}

struct Reads::ListOptions {
  Selectors selectors{};
  std::size_t limit = 0;  // 0: all
  std::string_view version_text{};
  std::uint64_t version = 0;
  bool exact = false;
  std::optional<ContinueToken> token{};
};

struct Reads::Page {
  std::vector<std::pair<std::string, ObjectPtr>> candidates{};
  std::uint64_t version = 0;
};

Outcome<ObjectPtr> Reads::get(const ReadRequest& request) {
  Outcome<std::uint64_t> version = parse_own_version(request.info.parameter("resourceVersion"));
  if (!version) return refuse(version);
  const Kind& kind = *request.served.kind;
  MutexLock lock(core_.mu);
  if (*version > core_.storage.version()) {
    return refuse(too_large_version(*version, core_.storage.version()));
  }
  ObjectPtr object = core_.storage.find(
      kind.resource(),
      storage_key(kind.namespaced ? request.info.ns : std::string(), request.info.name));
  if (object == nullptr) return refuse(not_found(kind.resource(), request.info.name));
  return object;
}

Outcome<Reads::ListOptions> Reads::parse_list(const ReadRequest& request) {
  const RequestInfo& info = request.info;
  ListOptions options;
  Outcome<Selectors> selectors = parse_selectors(info, *request.served.kind);
  if (!selectors) return refuse(selectors);
  options.selectors = std::move(*selectors);

  if (const auto limit = info.parameter("limit"); !limit.empty()) {
    Outcome<std::int64_t> number = parse_number<std::int64_t>(limit, "ParseInt");
    if (!number) return refuse(number);
    options.limit = *number > 0 ? static_cast<std::size_t>(*number) : 0;
  }
  options.version_text = info.parameter("resourceVersion");
  Outcome<std::uint64_t> version =
      parse_version(options.version_text, "invalid resource version: ");
  if (!version) return refuse(version);
  options.version = *version;

  if (Outcome<> fine = check_list_options(info); !fine) return refuse(fine);
  const std::string_view match = info.parameter("resourceVersionMatch");
  // Before there was a parameter for it, a limit made the version exact.
  options.exact = match == "Exact" || (match.empty() && options.limit > 0 && options.version > 0);
  if (const auto token = info.parameter("continue"); !token.empty()) {
    if (options.version > 0) {
      return refuse(bad_request("specifying resource version is not allowed when using continue"));
    }
    Outcome<ContinueToken> decoded = ContinueToken::decode(token);
    if (!decoded) return refuse(decoded);
    options.token = std::move(*decoded);
  } else if (options.version_text == "0") {
    options.limit = 0;  // the watch cache answers, and does not page
  }
  return options;
}

Outcome<std::uint64_t> Reads::version_to_show(const ListOptions& options) {
  const std::uint64_t current = core_.storage.version();
  if (options.token) {
    if (options.token->version == 0) return current;
    if (options.token->version >= core_.storage.compacted()) return options.token->version;
    ApiError error = expired(std::string(kExpiredPage));
    error.continue_token = ContinueToken{0, options.token->after}.encode();
    return refuse(std::move(error));
  }
  if (options.version > current) return refuse(too_large_version(options.version, current));
  if (options.exact) {
    if (options.version < core_.storage.compacted()) {
      return refuse(expired("The resourceVersion for the provided list is too old."));
    }
    return options.version;
  }
  if (options.version_text == "0") {
    if (const auto stale = faults_.stale_version()) {
      return std::min(current, std::max(*stale, core_.storage.compacted()));
    }
  }
  return current;
}

Outcome<Reads::Page> Reads::page(const ReadRequest& request, const ListOptions& options) {
  const std::string prefix = list_prefix(request);
  MutexLock lock(core_.mu);
  Outcome<std::uint64_t> version = version_to_show(options);
  if (!version) return refuse(version);
  Storage::Objects scratch;
  const Storage::Objects* objects =
      core_.storage.at(request.served.kind->resource(), *version, scratch);
  Page page{.version = *version};
  auto next = options.token ? objects->upper_bound(prefix + options.token->after)
                            : objects->lower_bound(prefix);
  for (; next != objects->end() && next->first.starts_with(prefix); ++next) {
    page.candidates.emplace_back(next->first, next->second);
  }
  return page;
}

Outcome<std::string> Reads::list(const ReadRequest& request) {
  Outcome<ListOptions> options = parse_list(request);
  if (!options) return refuse(options);
  Outcome<Page> found = page(request, *options);
  if (!found) return refuse(found);

  const std::size_t prefix = list_prefix(request).size();
  ListMetadata metadata{.version = found->version};
  std::vector<ObjectPtr> items;
  std::string last_key;
  for (std::size_t i = 0; i < found->candidates.size(); ++i) {
    auto& [key, object] = found->candidates[i];
    if (!options->selectors.matches(*object)) continue;
    if (options->limit > 0 && items.size() == options->limit) {
      metadata.continue_token = ContinueToken{found->version, last_key}.encode();
      if (options->selectors.empty()) metadata.remaining = found->candidates.size() - i;
      break;
    }
    last_key = key.substr(prefix);
    items.push_back(std::move(object));
  }
  return list_text(items, metadata, request.shape, request.now, core_.texts);
}

Outcome<Watch> Reads::parse_watch(const ReadRequest& request) const {
  const RequestInfo& info = request.info;
  Outcome<Selectors> selectors = parse_selectors(info, *request.served.kind);
  if (!selectors) return refuse(selectors);
  Outcome<std::uint64_t> version = parse_own_version(info.parameter("resourceVersion"));
  if (!version) return refuse(version);
  if (Outcome<> fine = check_list_options(info); !fine) return refuse(fine);
  std::chrono::seconds span = kDefaultWatchTime;
  if (const auto text = info.parameter("timeoutSeconds"); !text.empty()) {
    Outcome<std::int64_t> seconds = parse_number<std::int64_t>(text, "ParseInt");
    if (!seconds) return refuse(seconds);
    if (*seconds > 0) span = std::min(std::chrono::seconds{*seconds}, kMaxWatchTime);
  }
  return Watch{.resource = request.served.kind->resource(),
               .ns = request.served.kind->namespaced ? info.ns : std::string(),
               .selectors = std::move(*selectors),
               .shape = request.shape,
               .bookmarks = info.flag("allowWatchBookmarks"),
               .after_version = *version,
               .started_at = request.now,
               .ends_at = request.now + span,
               .pipe = std::make_shared<net::BytePipe>(watch_buffer_bytes_)};
}

Outcome<> Reads::begin(Watch watch, std::optional<bool> initial_events) {
  MutexLock lock(core_.mu);
  const std::uint64_t current = core_.storage.version();
  const std::uint64_t asked = watch.after_version;
  // Without a word about it, a watch from no version begins with what is there.
  const bool begin_with_all = initial_events.value_or(asked == 0);
  if (begin_with_all && asked > current) return refuse(too_large_version(asked, current));
  std::vector<Event> events;
  std::optional<Bookmark> bookmark;
  if (begin_with_all) {
    for (const auto& [key, object] : core_.storage.all(watch.resource)) {
      if (watch.covers(*object)) events.push_back({"ADDED", object});
    }
    if (watch.bookmarks) bookmark = Bookmark{current, true};
  } else if (asked != 0 && asked < core_.storage.compacted()) {
    return refuse(expired(
        fmt::format("too old resource version: {} ({})", asked, core_.storage.compacted())));
  } else if (asked != 0) {
    for (const Change& change : core_.storage.changes_since(watch.resource, asked)) {
      if (auto event = watch.event_of(change)) events.push_back(std::move(*event));
    }
  }
  watch.after_version = std::max(asked, current);
  core_.hub.add(std::move(watch), std::move(events), bookmark);
  return {};
}

Outcome<net::Reply> Reads::watch(const ReadRequest& request) {
  Outcome<Watch> watch = parse_watch(request);
  if (!watch) return refuse(watch);
  const std::shared_ptr<net::BytePipe> pipe = watch->pipe;
  net::Reply reply{.headers = {{"Content-Type", "application/json"}}, .stream = pipe};
  std::optional<bool> initial_events;
  if (!request.info.parameter("sendInitialEvents").empty()) {
    initial_events = request.info.flag("sendInitialEvents");
  }
  Outcome<> begun = begin(std::move(*watch), initial_events);
  if (!begun) {
    // The stream has begun by then on the real server: the refusal is its only event.
    std::string line;
    append_error_event(line, begun.error());
    pipe->write(std::move(line));
    pipe->close();
  }
  return reply;
}

}  // namespace berth::sim::kube
