// Crowds: whoever reaches a port opens what he can, and leaves it open.

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <fstream>

#include "attack.h"

namespace berth::adversary {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

constexpr auto kPatience = 60s;
// More than all files of the controller (Stage): each connection needs two.
constexpr int kIdle = 2500;
constexpr int kClientAddresses = 50;

constexpr int kUnfinished = 300;
constexpr std::size_t kUnfinishedBytes = 6u << 20;
// All of them would be 1.8 GB.
constexpr long kMoreMemoryKib = 400 * 1024;

// Each connection is a file of this process, too.
void raise_file_limit() {
  rlimit limit{};
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

// Whether a room says back what it is told there.
bool echoes(const std::string& address) {
  const Fd player = connect_to(address);
  const std::string_view said = "ahoy\n";
  return player.valid() && ::send(player.get(), said.data(), said.size(), MSG_NOSIGNAL) > 0 &&
         first_words(player).find(said) != std::string::npos;
}

std::string idle_crowd(Scene& scene) {
  raise_file_limit();
  Tenant& tenant = scene.tenant;
  Stage::OpenRoom own = scene.stage.open_room(tenant.room("own"));
  const std::string address = api::public_address(tenant.room("own").ports.front());
  if (own.room && !eventually(kPatience, [&] { return echoes(address); }))
    return "nobody answers in the room";
  std::vector<Fd> crowd;
  for (int i = 0; i < kIdle; ++i) {
    Fd one = connect_to(address, fmt::format("127.77.0.{}", i % kClientAddresses + 1));
    if (one.valid()) crowd.push_back(std::move(one));
  }
  if (crowd.size() < kIdle / 2) return fmt::format("only {} came to the door", crowd.size());

  if (Result<> asked = tenant.ask_for_room("second"); !asked)
    return "a new room is refused: " + asked.error().to_string();
  if (auto why = tenant.wait_for_room("second"); !why.empty()) return why;
  Stage::OpenRoom second = scene.stage.open_room(tenant.room("second"));
  const std::string door = api::public_address(tenant.room("second").ports.front());
  if (second.room && !eventually(kPatience, [&] { return echoes(door); }))
    return "the new room is Ready, and nobody gets in";
  return scene.fence();
}

// "https://127.0.0.1:9443/path"
struct Url {
  std::string ip{};
  std::uint16_t port = 0;
  std::string path{};
};
Url parsed(const std::string& url) {
  const std::size_t host = std::string_view("https://").size();
  const std::size_t colon = url.find(':', host);
  const std::size_t slash = url.find('/', host);
  if (colon == std::string::npos || slash == std::string::npos) return {};
  return {url.substr(host, colon - host),
          static_cast<std::uint16_t>(std::stoi(url.substr(colon + 1, slash - colon - 1))),
          url.substr(slash)};
}

// A request that says how long it will be, and goes on until nobody listens or nearly its end.
class Unfinished {
 public:
  Unfinished(SSL_CTX* context, const Url& at)
      : fd_(connect_to(fmt::format("{}:{}", at.ip, at.port))), ssl_(SSL_new(context), SSL_free) {
    if (!fd_.valid()) return;
    const timeval bound{.tv_sec = 1, .tv_usec = 0};
    (void)::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
    (void)::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
    (void)SSL_set_fd(ssl_.get(), fd_.get());
    if (SSL_connect(ssl_.get()) != 1) return;
    const std::string head = fmt::format(
        "POST {} HTTP/1.1\r\nHost: berth\r\nContent-Type: application/json\r\n"
        "Content-Length: {}\r\n\r\n",
        at.path, kUnfinishedBytes + 1);
    static const std::string kPart(64u << 10, '[');
    bool heard = write(head);
    for (std::size_t sent = 0; heard && sent < kUnfinishedBytes; sent += kPart.size())
      heard = write(kPart);
    began_ = true;
  }
  bool began() const { return began_; }

 private:
  bool write(const std::string& text) {
    return SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())) > 0;
  }

  Fd fd_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  bool began_ = false;
};

// What a process has in memory now.
long memory_kib(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
  return 0;
}

std::string unfinished_requests(Scene& scene) {
  ::signal(SIGPIPE, SIG_IGN);  // whoever hangs up on us is right
  BerthCluster& cluster = scene.cluster();
  const Url url =
      parsed(leaked_url(scene, kube::types::kMutatingWebhookConfiguration, "pod-ports.berth.dev"));
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  SSL_CTX_free);
  const pid_t controller = cluster.pid_of(cluster.wait_for_leader());
  const long before = memory_kib(controller);
  std::vector<std::unique_ptr<Unfinished>> requests;
  long most = before;
  int began = 0;
  for (int i = 0; i < kUnfinished; ++i) {
    requests.push_back(std::make_unique<Unfinished>(context.get(), url));
    began += requests.back()->began() ? 1 : 0;
    most = std::max(most, memory_kib(controller));
  }
  if (began < kUnfinished / 2) return fmt::format("only {} requests were begun", began);
  // All of them are open.
  if (auto why = scene.fence(); !why.empty()) return why;
  most = std::max(most, memory_kib(controller));
  if (before == 0 || most - before > kMoreMemoryKib)
    return fmt::format("they took {} KiB", most - before);
  return {};
}

}  // namespace

std::vector<Attack> crowd_attacks() {
  return {
      {"CrowdThatIsIdleInARoom", "anybody who reaches a room",
       "2,500 connections to one room from fifty addresses, which say nothing",
       "new rooms come up, and players get into them", Needs::room, Walls::no_matter, idle_crowd},
      {"CrowdOfUnfinishedRequests", "anybody who reaches the webhook",
       "300 requests of 6 MB that never end",
       "others are served meanwhile; no more memory is taken than is set aside", Needs::nothing,
       Walls::no_matter, unfinished_requests},
  };
}

}  // namespace berth::adversary
