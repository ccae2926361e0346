// What tests of sites share: an edge with certificates, rooms that speak HTTP, and clients for
// them. Free of GTest, but for the skip.
#pragma once

#include <map>
#include <vector>

#include "base/file.h"
#include "base/subprocess.h"
#include "crypto/certificates.h"
#include "edge/test_support.h"

namespace berth::edge::testing {

// In a test that needs HAProxy.
#define BERTH_NEEDS_HAPROXY()                           \
  if (::berth::edge::haproxy::find_program().empty()) { \
    GTEST_SKIP() << "haproxy is not installed";         \
  }                                                     \
  static_assert(true)

// Certificates "a" for a.example.com, "b" for b.example.com, and so on, of one authority "ca".
class TestCertificates final : public lb::CertificateSource {
 public:
  TestCertificates() : authority_(make_authority("ca")) {}
  static crypto::KeyPair make_authority(const std::string& name) {
    return crypto::make_authority(
               {.common_name = name, .not_before = start(), .lifetime = std::chrono::hours{24}})
        .value();
  }
  static WallTime start() { return std::chrono::system_clock::now() - std::chrono::hours{1}; }
  crypto::KeyPair issue(const std::string& name, bool client = false) const {
    return crypto::issue_certificate(authority_, {.common_name = name,
                                                  .dns_names = {name},
                                                  .not_before = start(),
                                                  .lifetime = std::chrono::hours{12},
                                                  .client = client})
        .value();
  }
  const std::string& authority_pem() const { return authority_.certificate_pem; }

  void set(const std::string& reference, Result<lb::CertificateBytes> bytes) {
    const MutexLock lock(mu_);
    given_.insert_or_assign(reference, std::move(bytes));
  }

  int reads() const {
    const MutexLock lock(mu_);
    return reads_;
  }

  Result<lb::CertificateBytes> certificate(const Context&,
                                           const model::Certificate& wanted) override {
    const MutexLock lock(mu_);
    ++reads_;
    auto it = given_.find(wanted.reference);
    if (it == given_.end()) {
      const std::string name = wanted.reference.substr(wanted.reference.find('/') + 1);
      const crypto::KeyPair pair = issue(name + ".example.com");
      it =
          given_.emplace(wanted.reference, lb::CertificateBytes{pair.certificate_pem, pair.key_pem})
              .first;
    }
    return it->second;
  }
  Result<lb::CertificateBytes> authority(const Context&, const model::Certificate&) override {
    return lb::CertificateBytes{.certificate_pem = authority_.certificate_pem};
  }

 private:
  const crypto::KeyPair authority_;
  mutable Mutex mu_;
  int reads_ GUARDED_BY(mu_) = 0;
  std::map<std::string, Result<lb::CertificateBytes>> given_ GUARDED_BY(mu_);
};

inline model::Tls tls_named(const std::string& name) {
  return {.certificates = {{.reference = "play/" + name}}};
}

// Answers each request with its name and what it was asked. A path with /slow gets half of its
// answer, and the rest when `let_go` is called.
class HttpRoom {
 public:
  HttpRoom(model::Target at, std::string name)
      : at_(std::move(at)), name_(std::move(name)), listener_(listen_tcp(at_).value()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~HttpRoom() {
    let_go();
    thread_.request_stop();
    thread_.join();
    stop_.request_stop();
  }
  const model::Target& at() const { return at_; }
  void let_go() { held_ = false; }
  std::uint64_t asked() const { return asked_; }
  // What health checks hear.
  void set_status(int status) { status_ = status; }

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd wanted{.fd = listener_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&wanted, 1, 5) <= 0) continue;
      Fd fd = accept_tcp(listener_);
      if (!fd.valid()) continue;
      talks_.emplace_back([this, own = std::move(fd)](const std::stop_token& end) mutable {
        talk(Client(std::move(own)), end);
      });
    }
    talks_.clear();
  }
  void talk(Client client, const std::stop_token& stop) {
    std::string head;
    while (!stop.stop_requested()) {
      if (!client.wait(POLLIN, 5)) continue;
      const std::string more = client.read_some();
      if (more.empty()) return;
      head += more;
      const std::size_t end = head.find("\r\n\r\n");
      if (end == std::string::npos) continue;
      answer(client, head.substr(0, end), stop);
      head.erase(0, end + 4);
    }
  }
  void answer(const Client& client, const std::string& head, const std::stop_token& stop) {
    ++asked_;
    const std::string body = name_ + "\n" + head + "\n";
    const int status = head.contains("/health") ? status_.load() : 200;
    if (!client.send(fmt::format("HTTP/1.1 {} Said\r\nContent-Length: {}\r\n\r\n", status,
                                 head.starts_with("HEAD") ? 0 : body.size())))
      return;
    if (head.starts_with("HEAD")) return;
    (void)client.send(body.substr(0, 2));
    if (head.contains("/slow"))
      while (held_ && !stop.stop_requested())
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
    (void)client.send(body.substr(2));
  }

  const model::Target at_;
  const std::string name_;
  const Fd listener_;
  std::atomic<bool> held_{true};
  std::atomic<std::uint64_t> asked_{0};
  std::atomic<int> status_{200};
  std::stop_source stop_;
  std::vector<std::jthread> talks_;  // of the thread below
  std::jthread thread_;
};

struct Answer {
  int status = 0;  // 0: there was none
  std::string body{};

  std::string first_line() const { return body.substr(0, body.find('\n')); }
};

// One answer of HTTP/1.1 with a length.
inline Answer read_answer(Client& client) {
  std::string text;
  std::size_t end = std::string::npos;
  while ((end = text.find("\r\n\r\n")) == std::string::npos) {
    const std::string more = client.read_some();
    if (more.empty()) return {};
    text += more;
  }
  Answer out{.status = std::atoi(text.substr(9, 3).c_str()), .body = text.substr(end + 4)};
  std::string head = text.substr(0, end);
  std::ranges::transform(head, head.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::size_t at = head.find("content-length: ");
  if (at == std::string::npos) return out;
  const auto size = static_cast<std::size_t>(std::atoll(head.c_str() + at + 16));
  if (out.body.size() < size) out.body += client.read(size - out.body.size());
  return out;
}

inline std::string request(const std::string& host, const std::string& path,
                           const std::string& more = {}) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n{}\r\n", path, host, more);
}

inline Answer get(const model::Target& at, const std::string& host, const std::string& path,
                  const std::string& more = {}) {
  Client client = Client::tcp(at);
  if (!client.connected() || !client.send(request(host, path, more))) return {};
  return read_answer(client);
}

// An edge with sites in it.
class SiteEdge : public Edge {
 public:
  explicit SiteEdge(EdgeOptions options = {}) : Edge(with(std::move(options))) {
    certificates = std::static_pointer_cast<TestCertificates>(given());
  }

  model::Target room(const std::string& name) {
    rooms.push_back(std::make_unique<HttpRoom>(room_at(), name));
    return rooms.back()->at();
  }
  Result<> put(const model::ListenerId& id, const std::string& domain, const std::string& path,
               std::vector<model::WeightedTarget> targets, model::RuleAttributes attributes = {}) {
    const lb::RuleRef rule{id, {domain, path}};
    const lb::NewRule fresh{rule, std::move(attributes)};
    if (Result<> made = driver->create_rules(context, lb, {&fresh, 1}).front(); !made) return made;
    return lead(rule, std::move(targets));
  }
  Result<> lead(const lb::RuleRef& rule, std::vector<model::WeightedTarget> add,
                std::vector<model::Target> remove = {}) {
    const lb::TargetChange change{rule, std::move(add), std::move(remove)};
    return driver->change_targets(context, lb, {&change, 1}).front();
  }
  Door open_site(model::Protocol protocol, model::ListenerAttributes attributes = {}) {
    const model::Port port = fresh_port();
    model::ListenerSpec spec{.protocol = protocol,
                             .ports = {port, port},
                             .name = fmt::format("site-{}", port),
                             .attributes = std::move(attributes)};
    return {.id = create(spec), .at = {vip(), port}};
  }
  haproxy::Counts haproxy() const { return driver->haproxy().value_or(haproxy::Counts{}); }

  std::shared_ptr<TestCertificates> certificates;
  std::vector<std::unique_ptr<HttpRoom>> rooms;

 private:
  static std::shared_ptr<lb::CertificateSource>& given() {
    static std::shared_ptr<lb::CertificateSource> last;
    return last;
  }
  static EdgeOptions with(EdgeOptions options) {
    given() = std::make_shared<TestCertificates>();
    options.certificates = given();
    return options;
  }
};

}  // namespace berth::edge::testing
