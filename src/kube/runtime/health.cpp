#include "kube/runtime/health.h"

namespace berth::kube {
namespace {

net::Reply text_reply(int status, std::string body) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
          .body = std::move(body)};
}

}  // namespace

net::Reply Health::handle(const net::Request& request) const {
  const std::string_view url = request.url;
  const std::string_view path = url.substr(0, url.find('?'));
  const bool verbose = url.substr(path.size()).find("verbose") != std::string_view::npos;
  if (path == "/livez" || path == "/healthz") return report("livez", live_, verbose);
  if (path == "/readyz") return report("readyz", ready_, verbose);
  if (path == "/metrics") {
    return {.headers = {{"Content-Type", std::string(metrics::kTextContentType)}},
            .body = registry_.text()};
  }
  return text_reply(404, "not found: try /livez, /readyz or /metrics\n");
}

net::Reply Health::report(std::string_view what, const std::vector<Named>& checks, bool verbose) {
  std::string lines;
  bool well = true;
  for (const Named& named : checks) {
    const std::string trouble = named.check();
    well = well && trouble.empty();
    lines += trouble.empty() ? fmt::format("[+]{} ok\n", named.name)
                             : fmt::format("[-]{}: {}\n", named.name, trouble);
  }
  if (well && !verbose) return text_reply(200, "ok");
  lines += fmt::format("{} check {}\n", what, well ? "passed" : "failed");
  return text_reply(well ? 200 : 500, std::move(lines));
}

}  // namespace berth::kube
