#include "edge/haproxy/config.h"

#include <algorithm>
#include <charconv>
#include <ranges>
#include <tuple>

#include "base/text.h"
#include "edge/haproxy/words.h"

namespace berth::edge::haproxy {
namespace {

// What 0 means in a health check: as for TCP and UDP (edge/health_checker.h).
constexpr std::uint32_t kIntervalSeconds = 5;
constexpr std::uint32_t kTimeoutSeconds = 2;
constexpr std::uint32_t kCount = 3;
// Entries of one table: client addresses that stay with their target, or that are counted.
constexpr std::size_t kTableEntries = 100'000;
// A name that nobody asks for: a certificate under it is shown by default alone.
constexpr std::string_view kNobody = "default.invalid";

constexpr std::string_view kGlobal = R"(global
  stats socket {0}/stats.sock mode 600 level admin expose-fd listeners
  hard-stop-after 24h
  mworker-max-reloads 50
  ssl-default-bind-options ssl-min-ver TLSv1.2 no-tls-tickets
  tune.ssl.default-dh-param 2048
defaults
  timeout connect 3s
  timeout client 60s
  timeout server 60s
  timeout http-request 15s
  timeout http-keep-alive 60s
  timeout queue 5s
  timeout tunnel 1h
  timeout client-fin 30s
  retries 3
  option redispatch 1
  option splice-auto
  option dontlognull
)";

constexpr std::string_view kNowhere = R"(backend nowhere
  mode http
  http-request return status 404 content-type text/plain string no\x20rule\x20for\x20this\x20domain\x20and\x20path
)";

std::int64_t milliseconds(Duration second, std::uint32_t count) {
  const auto span = std::chrono::duration_cast<std::chrono::milliseconds>(second * count);
  return std::max<std::int64_t>(span.count(), 1);
}

std::uint32_t or_default(std::uint32_t value, std::uint32_t otherwise) {
  return value == 0 ? otherwise : value;
}

bool is_checked(const Route& route) {
  return route.attributes.health_check && route.attributes.health_check->enabled;
}

bool has_tls(const Site& site) { return site.protocol != model::Protocol::http; }

// What matches the domain of a rule in this text of a request; empty: whatever it is.
std::string domain_test(std::string_view fetch, std::string_view domain) {
  std::string lower(domain);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (lower.empty()) return {};
  const std::string_view all = lower;
  if (all.starts_with("*."))
    return fmt::format(" {{ {} -m end -- {} }}", fetch, word(all.substr(1)));
  if (all.ends_with(".*"))
    return fmt::format(" {{ {} -m beg -- {} }}", fetch, word(all.substr(0, all.size() - 1)));
  return fmt::format(" {{ {} -m str -- {} }}", fetch, word(all));
}

std::string use_line(const Route& route) {
  const std::string path = route.key.path().empty() ? "/" : std::string(route.key.path());
  std::string tests = domain_test("req.hdr(host),field(1,:),lower", route.key.domain());
  if (path != "/") tests += fmt::format(" {{ path -m beg -- {} }}", word(path));
  return fmt::format("  use_backend {}{}{}\n", route.name, tests.empty() ? "" : " if", tests);
}

// The narrowest first: a name, names with a star, all; among them the longest path.
std::vector<const Route*> by_narrowness(const Site& site) {
  const auto wideness = [](const Route* route) {
    const std::string_view domain = route->key.domain();
    const int kind = domain.empty() ? 2 : domain.contains('*') ? 1 : 0;
    return std::tuple(kind, -static_cast<std::int64_t>(domain.size()), domain,
                      -static_cast<std::int64_t>(route->key.path().size()), route->key.path());
  };
  std::vector<const Route*> out;
  for (const Route& route : site.routes) out.push_back(&route);
  std::ranges::sort(out, {}, wideness);
  return out;
}

std::string authority_options(const SiteTls& tls, const std::string& folder) {
  if (tls.client_ca.empty()) return {};
  return fmt::format(" ca-file {}/{} verify required", folder, tls.client_ca);
}

// Which certificate is shown to whom.
std::string list_of(const Site& site, const std::string& folder) {
  const bool by_name = std::ranges::any_of(
      site.routes, [](const Route& route) { return !route.tls.certificates.empty(); });
  std::string out;
  for (const std::string& file : site.tls.certificates)
    out += fmt::format("{}/{}{}{}\n", folder, file, by_name ? " " : "", by_name ? kNobody : "");
  for (const Route* const route : by_narrowness(site)) {
    if (route->key.domain().empty()) continue;
    std::string options = authority_options(route->tls, folder);
    if (!options.empty()) options = fmt::format(" [{}]", std::string_view(options).substr(1));
    for (const std::string& file : route->tls.certificates) {
      const std::string line =
          fmt::format("{}/{}{} {}\n", folder, file, options, route->key.domain());
      if (!out.contains(line)) out += line;  // paths of one domain share it
    }
  }
  return out;
}

std::string bind_lines(const Site& site, const std::string& folder) {
  std::string out;
  for (const model::Target& at : site.binds) {
    out += fmt::format("  bind {}", address_text(at));
    if (has_tls(site)) {
      out += fmt::format(" ssl crt-list {}/{}.list", folder, site.name);
      if (site.tls.certificates.empty()) out += " strict-sni";
      out += authority_options(site.tls, folder);
      if (site.protocol == model::Protocol::https) out += " alpn h2,http/1.1";
    }
    out += '\n';
  }
  return out;
}

std::string bound_lines(const Site& site, const SiteBounds& bounds) {
  std::string out;
  if (bounds.connections_per_listener > 0)
    out += fmt::format("  maxconn {}\n", bounds.connections_per_listener);
  if (site.attributes.max_rate > 0)
    out += fmt::format("  rate-limit sessions {}\n", site.attributes.max_rate);
  if (bounds.connections_per_client > 0)
    out += fmt::format(
        "  stick-table type ipv6 size {} expire 1m store conn_cur\n"
        "  tcp-request connection track-sc0 src\n"
        "  tcp-request connection reject if {{ sc0_conn_cur gt {} }}\n",
        kTableEntries, bounds.connections_per_client);
  return out;
}

Section frontend_of(const Site& site, const State& state, const std::string& folder) {
  const bool http = is_layer7(site.protocol);
  std::string text = fmt::format("frontend {}\n  mode {}\n", site.name, http ? "http" : "tcp");
  text += bind_lines(site, folder) + bound_lines(site, state.bounds);
  if (http) {
    // What a client says of itself goes no further.
    text += fmt::format(
        "  http-request set-header X-Forwarded-For %[src]\n"
        "  http-request set-header X-Forwarded-Proto {}\n",
        has_tls(site) ? "https" : "http");
    for (const Route* const route : by_narrowness(site)) text += use_line(*route);
    text += "  default_backend nowhere\n";
  } else if (!site.routes.empty()) {
    text += fmt::format("  default_backend {}\n", site.routes.front().name);
  }
  return {.name = site.name, .site = site.name, .text = std::move(text)};
}

std::string check_lines(const Site& site, const Route& route, Duration second) {
  if (!is_checked(route)) return {};
  const model::HealthCheck& check = *route.attributes.health_check;
  std::string out =
      fmt::format("  timeout check {}ms\n",
                  milliseconds(second, or_default(check.timeout_seconds, kTimeoutSeconds)));
  if (!is_layer7(site.protocol) && check.http_path.empty()) return out;
  const std::string path = check.http_path.empty() ? "/" : check.http_path;
  const std::string method = check.http_method.empty() ? "GET" : check.http_method;
  std::string_view host = route.key.domain();
  if (host.empty() || host.contains('*')) host = "health.invalid";
  out += fmt::format(
      "  option httpchk\n"
      "  http-check send meth {} uri {} ver HTTP/1.1 hdr Host {}\n",
      word(method), word(path), word(host));
  const Result<std::string> codes = check_codes(check.http_codes);
  return out + fmt::format("  http-check expect status {}\n", codes ? *codes : "200-399");
}

std::string balance_lines(const model::RuleAttributes& attributes, Duration second) {
  std::string out;
  switch (attributes.scheduler) {
    case model::Scheduler::weighted_round_robin: out = "  balance roundrobin\n"; break;
    case model::Scheduler::least_connections: out = "  balance leastconn\n"; break;
    // Consistent, so that servers may come and go while it runs.
    case model::Scheduler::source_ip: out = "  balance source\n  hash-type consistent\n"; break;
  }
  if (attributes.session_seconds == 0) return out;
  return out + fmt::format(
                   "  stick-table type ipv6 size {} expire {}ms\n"
                   "  stick on src\n",
                   kTableEntries, milliseconds(second, attributes.session_seconds));
}

std::string server_options(const Route& route, Duration second) {
  std::string out;
  switch (route.attributes.to_targets) {
    case model::TargetProtocol::http: break;
    case model::TargetProtocol::https: out = " ssl verify none"; break;
    case model::TargetProtocol::grpc: out = " proto h2"; break;
  }
  if (!is_checked(route)) return out;
  const model::HealthCheck& check = *route.attributes.health_check;
  out += fmt::format(" check inter {} rise {} fall {}",
                     milliseconds(second, or_default(check.interval_seconds, kIntervalSeconds)),
                     or_default(check.healthy_count, kCount),
                     or_default(check.unhealthy_count, kCount));
  if (check.port != 0) out += fmt::format(" port {}", check.port);
  return out;
}

// Weights keep their proportions; none becomes 0 that was not.
std::uint32_t scaled(std::uint32_t weight, std::uint32_t largest) {
  if (largest <= kMaxWeight || weight == 0) return weight;
  const std::uint64_t part = std::uint64_t{weight} * kMaxWeight / largest;
  return std::max<std::uint32_t>(static_cast<std::uint32_t>(part), 1);
}

std::vector<ServerLine> servers_of(const Route& route, const std::string& options) {
  std::uint32_t largest = 0;
  for (const auto& [target, weight] : route.targets) largest = std::max(largest, weight);
  std::vector<ServerLine> out;
  for (const auto& [target, weight] : route.targets)
    out.push_back({.name = server_name(target),
                   .address = address_text(target),
                   .options = options,
                   .weight = scaled(weight, largest)});
  return out;
}

Section backend_of(const Site& site, const Route& route, const State& state) {
  const bool http = is_layer7(site.protocol);
  const std::string options = server_options(route, state.second);
  std::string text = fmt::format("backend {}\n  mode {}\n", route.name, http ? "http" : "tcp");
  // Who has shown a certificate under another name has not shown the one that is asked for here.
  if (http && !route.tls.client_ca.empty() && !route.key.domain().empty())
    text += fmt::format("  http-request return status 421 unless{}\n",
                        domain_test("ssl_fc_sni,lower", route.key.domain()));
  if (http && !site.attributes.keep_alive) text += "  option http-server-close\n";
  text += balance_lines(route.attributes, state.second) + check_lines(site, route, state.second);
  // All servers have these, so another choice is another structure.
  if (!options.empty()) text += fmt::format("  # servers:{}\n", options);
  return {.name = route.name,
          .site = site.name,
          .text = std::move(text),
          .servers = servers_of(route, options)};
}

bool is_code(std::string_view text) {
  return text.size() == 3 && text[0] >= '1' && text[0] <= '5' && is_digit(text[1]) &&
         is_digit(text[2]);
}

}  // namespace

std::string address_text(const model::Target& at) {
  return at.ip.contains(':') ? fmt::format("[{}]:{}", at.ip, at.port)
                             : fmt::format("{}:{}", at.ip, at.port);
}

std::string server_name(const model::Target& target) {
  return fmt::format("t_{}_{}", target.ip, target.port);
}

Config config_of(const State& state, const std::string& folder) {
  Config out;
  out.sections.push_back({.text = fmt::format(kGlobal, folder)});
  bool has_http = false;
  for (const Site& site : state.sites) {
    out.sections.push_back(frontend_of(site, state, folder));
    for (const Route& route : site.routes) out.sections.push_back(backend_of(site, route, state));
    if (has_tls(site)) out.lists[site.name + ".list"] = list_of(site, folder);
    has_http = has_http || is_layer7(site.protocol);
  }
  if (has_http) out.sections.push_back({.name = "nowhere", .text = std::string(kNowhere)});
  return out;
}

std::string text_of(const Config& config) {
  std::string out;
  for (const Section& section : config.sections) {
    out += section.text;
    for (const ServerLine& server : section.servers)
      out += fmt::format("  server {} {} weight {}{}{}\n", server.name, server.address,
                         server.weight, server.options, server.weight == 0 ? " disabled" : "");
  }
  return out;
}

std::string site_at(const Config& config, std::size_t line) {
  std::size_t seen = 0;
  for (const Section& section : config.sections) {
    seen += static_cast<std::size_t>(std::ranges::count(section.text, '\n'));
    seen += section.servers.size();
    if (line <= seen) return section.site;
  }
  return {};
}

State without(State state, const std::map<std::string, Error>& sites) {
  std::erase_if(state.sites, [&](const Site& site) { return sites.contains(site.name); });
  return state;
}

Result<std::string> check_codes(std::string_view codes) {
  if (codes.empty()) return std::string("200-399");
  std::uint32_t mask = 0;
  const auto [end, error] = std::from_chars(codes.data(), codes.data() + codes.size(), mask);
  if (error == std::errc() && end == codes.data() + codes.size() && mask > 0 && mask < 32) {
    std::string out;
    for (std::uint32_t i = 0; i < 5; ++i)
      if ((mask >> i & 1) != 0)
        out += fmt::format("{}{}00-{}99", out.empty() ? "" : ",", i + 1, i + 1);
    return out;
  }
  const bool good = std::ranges::all_of(std::views::split(codes, ','), [](const auto part) {
    const std::string_view text(part.begin(), part.end());
    return is_code(text) || (text.size() == 7 && text[3] == '-' && is_code(text.substr(0, 3)) &&
                             is_code(text.substr(4)));
  });
  if (good) return std::string(codes);
  return fail(Code::invalid, "'{}' are no codes of a health check", codes);
}

}  // namespace berth::edge::haproxy
