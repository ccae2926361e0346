#include "kube/admission/router.h"

#include <algorithm>
#include <charconv>

#include "base/log.h"

namespace berth::kube {
namespace {

// What kube-apiserver uses when a webhook names no timeout.
constexpr Duration kDefaultTimeout = std::chrono::seconds{10};
// Kept back for the way of the answer, and for undoing what was written.
constexpr double kShareForHandler = 0.8;
constexpr int kOk = 200;

net::Reply plain(int status, std::string text) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
          .body = std::move(text) + "\n"};
}

// kube-apiserver sends `?timeout=10s`.
Duration timeout_of(std::string_view url) {
  constexpr std::string_view kKey = "timeout=";
  const std::size_t at = url.find(kKey);
  if (at == std::string_view::npos) return kDefaultTimeout;
  const std::string_view text = url.substr(at + kKey.size());
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool ends_well = end != text.data() + text.size() && *end == 's';
  if (error != std::errc{} || !ends_well || seconds < 1 || seconds > 30) return kDefaultTimeout;
  return std::chrono::seconds{seconds};
}

}  // namespace

AdmissionRouter::AdmissionRouter(Tasks& tasks, metrics::Registry& registry, const PathGuard* guard)
    : tasks_(tasks),
      registry_(registry),
      guard_(guard),
      strangers_(registry.counter(
          "berth_webhook_strangers_total",
          "Requests to webhooks from others than API servers: without the secret of the "
          "path or a client certificate.",
          {})) {}

void AdmissionRouter::add(std::string path, AdmissionHandler handler) {
  metrics::Histogram& seconds = registry_.histogram("controller_runtime_webhook_latency_seconds",
                                                    "Time of one admission.", {{"webhook", path}});
  const Route route{std::move(handler), &seconds, path, &requests(path, kOk)};
  routes_.insert_or_assign(std::move(path), route);
}

metrics::Counter& AdmissionRouter::requests(const std::string& path, int code) {
  return registry_.counter("controller_runtime_webhook_requests_total", "Admissions by status.",
                           {{"webhook", path}, {"code", std::to_string(code)}});
}

const AdmissionRouter::Route* AdmissionRouter::route_to(std::string_view path) const {
  const auto find = [&](std::string_view name) -> const Route* {
    const auto it = routes_.find(name);
    return it == routes_.end() ? nullptr : &it->second;
  };
  if (!guard_ || guard_->allows_plain()) {
    if (const Route* const route = find(path)) return route;
  }
  const std::size_t slash = path.rfind('/');
  if (!guard_ || slash == std::string_view::npos || !guard_->knows(path.substr(slash + 1)))
    return nullptr;
  return find(path.substr(0, slash));
}

net::Reply AdmissionRouter::turn_away() {
  strangers_.increment();
  return plain(403, "a client certificate is needed");
}

net::Reply AdmissionRouter::handle(const net::Request& request, std::stop_token stop) {
  const std::string_view url = request.url;
  const Route* const route = route_to(url.substr(0, url.find('?')));
  if (!route) {
    strangers_.increment();
    return plain(404, "no webhook at this path");
  }
  if (request.method != "POST") return plain(405, "an AdmissionReview is sent by POST");
  const Instant begin = tasks_.now();
  net::Reply reply = answer(*route, request, std::move(stop));
  route->seconds->observe(to_seconds(tasks_.now() - begin));
  (reply.status == kOk ? *route->answered : requests(route->path, reply.status)).increment();
  return reply;
}

net::Reply AdmissionRouter::answer(const Route& route, const net::Request& request,
                                   std::stop_token stop) {
  const Result<AdmissionRequest> review = parse_review(request.body);
  if (!review) return plain(400, review.error().to_string());

  const Duration timeout = timeout_of(request.url);
  const auto share =
      Duration{static_cast<Duration::rep>(static_cast<double>(timeout.count()) * kShareForHandler)};
  const Context context{
      .tasks = tasks_,
      .stop = std::move(stop),
      .deadline = saturating_add(tasks_.now(), share),
      .fields = {
          {"webhook", route.path}, {"object", review->describe()}, {"request_id", review->uid}}};
  Result<AdmissionAnswer> answered = route.handler(context, *review);
  if (!answered) {
    log_info("refused", {{"webhook", route.path},
                         {"object", review->describe()},
                         {"code", std::string(traits_of(answered.error().code).name)},
                         {"error", answered.error().to_string()}});
  }
  return {.headers = {{"Content-Type", "application/json"}},
          .body = render_review(*review, answered ? *answered : refuse(answered.error()))};
}

}  // namespace berth::kube
