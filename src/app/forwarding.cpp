#include "app/forwarding.h"

#include <algorithm>

#include "base/log.h"
#include "crypto/digest.h"

namespace berth::app {
namespace {

constexpr std::string_view kPurpose = "forward";
// Ours begin so; of those who ask they are dropped.
constexpr std::string_view kOurHeaders = "Berth-";
constexpr const char* kWordHeader = "Berth-Forwarded";
constexpr const char* kPeerAddress = "Berth-Peer-Address";
constexpr const char* kPeerName = "Berth-Peer-Name";
constexpr const char* kPeerGroup = "Berth-Peer-Group";

// Of one connection, not of the request (RFC 9110, 7.6.1), or made anew for the next one.
constexpr std::string_view kOfTheConnection[] = {"Connection",
                                                 "Keep-Alive",
                                                 "Proxy-Connection",
                                                 "Proxy-Authenticate",
                                                 "TE",
                                                 "Proxy-Authorization",
                                                 "Trailer",
                                                 "Transfer-Encoding",
                                                 "Upgrade",
                                                 "Content-Length",
                                                 "Host",
                                                 "Expect"};

bool is_ours(std::string_view name) {
  return name.size() >= kOurHeaders.size() &&
         net::equals_ignoring_case(name.substr(0, kOurHeaders.size()), kOurHeaders);
}

// Names that "Connection: a, b" has, too.
bool is_named_in(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view one = list.substr(0, comma);
    one.remove_prefix(std::min(one.find_first_not_of(" \t"), one.size()));
    one = one.substr(0, one.find_last_not_of(" \t") + 1);
    if (net::equals_ignoring_case(one, name)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

// What goes from one end to the other.
net::Headers end_to_end(const net::Headers& all) {
  const auto of_connection = all.all("Connection");
  net::Headers out;
  for (const net::Header& one : all) {
    const bool dropped =
        is_ours(one.name) ||
        std::ranges::any_of(
            kOfTheConnection,
            [&](std::string_view name) { return net::equals_ignoring_case(name, one.name); }) ||
        std::ranges::any_of(of_connection,
                            [&](std::string_view list) { return is_named_in(list, one.name); });
    if (!dropped) out.add(one.name, one.value);
  }
  return out;
}

// A certificate may have names that no header has.
void add_if_sound(net::Headers& headers, const char* name, const std::string& value) {
  if (!value.empty() && net::is_valid_header({name, value})) headers.add(name, value);
}

net::Request onward(const net::Request& request, const net::Peer& peer, const std::string& address,
                    const std::string& server, std::string word) {
  net::Request out{.method = request.method,
                   .url = fmt::format("https://{}/{}{}", address, server, request.url),
                   .headers = end_to_end(request.headers),
                   .body = request.body};
  out.headers.set(kWordHeader, std::move(word));
  add_if_sound(out.headers, kPeerAddress, peer.address);
  add_if_sound(out.headers, kPeerName, peer.certificate_common_name);
  for (const std::string& group : peer.certificate_organizations)
    add_if_sound(out.headers, kPeerGroup, group);
  return out;
}

bool is_known(const crypto::KeyRing& ring, std::string_view word) {
  return std::ranges::any_of(ring.words(kPurpose), [&](const std::string& one) {
    return crypto::constant_time_equal(one, word);
  });
}

net::Peer peer_of(const net::Headers& headers) {
  net::Peer out{.address = std::string(headers.get(kPeerAddress)),
                .certificate_common_name = std::string(headers.get(kPeerName))};
  for (const std::string_view group : headers.all(kPeerGroup))
    out.certificate_organizations.emplace_back(group);
  return out;
}

metrics::Counter& count(metrics::Registry& registry, const std::string& server,
                        const char* outcome) {
  return registry.counter("berth_leader_forwards_total",
                          "Requests handed on to the leader, by what came of it.",
                          {{"server", server}, {"outcome", outcome}});
}

}  // namespace

Forward forward_to_leader(LeaderSeams seams, std::string server) {
  auto& answered = count(seams.registry, server, "answered");
  auto& nobody = count(seams.registry, server, "no_leader");
  auto& unanswered = count(seams.registry, server, "unanswered");
  return [seams = std::move(seams), server = std::move(server), &answered, &nobody, &unanswered](
             const net::Request& request, const net::Peer& peer,
             std::stop_token stop) -> Result<net::Reply> {
    const auto nothing_done = [&nobody](std::string_view why) {
      nobody.increment();
      return fail(error_of(Code::unavailable, "{}; nothing was done", why));
    };
    // "*" and whole URLs are for proxies.
    if (!request.url.starts_with('/'))
      return net::Reply{.status = 400, .body = "the request has no path\n"};
    const Result<std::string> address = seams.address();
    if (!address) return nothing_done(address.error().message);
    const auto tls = seams.tls();
    const auto keys = seams.keys();
    if (!tls || !keys || keys->empty()) return nothing_done("this replica has just started");
    const Context context =
        Context{.tasks = seams.tasks, .stop = std::move(stop)}.within(kForwardDeadline);
    net::Request out = onward(request, peer, *address, server, keys->words(kPurpose).front());
    out.tls = tls;
    Result<net::Response> response = seams.transport.call(context, out);
    if (!response) {
      unanswered.increment();
      log_warn("a request got no answer from the leader",
               {{"server", server}, {"leader", *address}, {"error", response.error().to_string()}});
      return fail(Code::unavailable,
                  "the leader did not answer; the request may have been carried out");
    }
    answered.increment();
    return net::Reply{.status = response->status,
                      .headers = end_to_end(response->headers),
                      .body = std::move(response->body)};
  };
}

net::Handler take_forwarded(std::vector<ModuleServer> servers, std::function<bool()> leads,
                            std::function<std::shared_ptr<const crypto::KeyRing>()> keys) {
  return [servers = std::move(servers), leads = std::move(leads), keys = std::move(keys)](
             const net::Request& request, const net::Peer&, std::stop_token stop) -> net::Reply {
    const auto ring = keys();
    if (!ring || !is_known(*ring, request.headers.get(kWordHeader)))
      return {.status = 403, .body = "only replicas of Berth are answered here\n"};
    const std::size_t end = std::min(request.url.find('/', 1), request.url.size());
    const auto found = std::ranges::find_if(servers, [&](const ModuleServer& one) {
      return one.is.leader_only && "/" + one.is.name == request.url.substr(0, end);
    });
    // Of another version, or with other modules.
    if (found == servers.end())
      return come_again("the leader has no such server; nothing was done");
    if (!leads()) return come_again("another replica leads by now; nothing was done");
    if (request.body.size() > found->is.max_body_bytes)
      return {.status = 413, .body = "the body is too large\n"};
    net::Request inner{.method = request.method,
                       .url = request.url.substr(end),
                       .headers = end_to_end(request.headers),
                       .body = request.body};
    return found->answer(inner, peer_of(request.headers), std::move(stop));
  };
}

}  // namespace berth::app
