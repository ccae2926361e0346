#include "write_gate.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <span>

#include "base/context.h"
#include "net/url.h"

namespace berth {
namespace {

// Every request of a process that is not a watch waits on one: more than a controller has workers.
constexpr int kHandlerThreads = 64;
constexpr std::size_t kMaxWaitingBytes = 4u << 20;

// The others belong to one connection, and each side has its own.
constexpr std::array<std::string_view, 3> kForwarded{"Accept", "Content-Type", "User-Agent"};
constexpr std::array<std::string_view, 4> kReturned{"Content-Type", "Retry-After", "Warning",
                                                    "Audit-Id"};

net::Headers only(const net::Headers& headers, std::span<const std::string_view> names) {
  net::Headers out;
  for (const std::string_view name : names)
    for (const std::string_view value : headers.all(name))
      out.add(std::string(name), std::string(value));
  return out;
}

bool is_watch(const net::Request& request) {
  return request.method == "GET" && request.url.find("watch=true") != std::string::npos;
}

// "/api/v1/namespaces/x/pods/y/status" is "pods/y/status" for people.
std::string_view short_path(std::string_view path) {
  const auto drop_steps = [&](int steps) {
    for (; steps > 0 && path.find('/', 1) != std::string_view::npos; --steps)
      path.remove_prefix(path.find('/', 1));
  };
  drop_steps(path.starts_with("/apis/") ? 3 : 2);
  if (path.starts_with("/namespaces/") && std::ranges::count(path, '/') > 2) drop_steps(2);
  return path.substr(1);
}

bool is_aside(std::string_view path) {
  return path.starts_with("/apis/coordination.k8s.io/") ||
         path.find("/events") != std::string_view::npos ||
         path.find("/selfsubjectreviews") != std::string_view::npos;  // a question
}

net::Reply unavailable(std::string why) { return {.status = 503, .body = std::move(why)}; }

}  // namespace

std::string KillAt::to_string() const {
  return fmt::format("{} {}", after ? "after" : "before", write);
}

struct WriteGate::Session {
  std::string prefix;  // of its paths: "/3"
  std::stop_source stop{};
  Mutex mu;
  std::vector<std::unique_ptr<Task>> watches GUARDED_BY(mu);
};

Result<std::unique_ptr<WriteGate>> WriteGate::start(Tasks& tasks,
                                                    const testing::ControlPlane& plane) {
  std::unique_ptr<WriteGate> gate(new WriteGate(tasks, plane));
  if (Result<> listening = gate->listen(); !listening) return pass(listening);
  return gate;
}

WriteGate::WriteGate(Tasks& tasks, const testing::ControlPlane& plane)
    : tasks_(tasks),
      server_(plane.url()),
      token_(plane.admin_token()),
      directory_(plane.directory()) {
  auto tls = std::make_shared<net::TlsSettings>();
  tls->ca_pem = plane.ca_pem();
  tls_ = std::move(tls);
}

WriteGate::~WriteGate() {
  SessionPtr last;
  {
    const MutexLock lock(mu_);
    last = std::exchange(session_, nullptr);
  }
  close(last);
  http_.reset();
}

Result<> WriteGate::listen() {
  auto http =
      net::Server::start({.handler_threads = kHandlerThreads, .drain = std::chrono::seconds{1}},
                         [this](const net::Request& request, const net::Peer&,
                                std::stop_token stop) { return handle(request, std::move(stop)); });
  if (!http) return pass(http);
  http_ = std::move(*http);
  return {};
}

std::filesystem::path WriteGate::kubeconfig_for_next() {
  auto fresh = std::make_shared<Session>();
  SessionPtr former;
  {
    const MutexLock lock(mu_);
    fresh->prefix = fmt::format("/{}", ++sessions_);
    former = std::exchange(session_, fresh);
    pid_ = 0;
    shut_ = killed_ = noting_ = false;
  }
  close(former);
  const auto path = directory_ / "gate.kubeconfig";
  std::ofstream(path) << fmt::format(
      "apiVersion: v1\nkind: Config\ncurrent-context: gate\n"
      "clusters: [{{name: gate, cluster: {{server: \"http://127.0.0.1:{}{}\"}}}}]\n"
      "contexts: [{{name: gate, context: {{cluster: gate}}}}]\n",
      http_->port(), fresh->prefix);
  return path;
}

// Its watches end; one that begins in this moment ends with the session.
void WriteGate::close(const SessionPtr& session) {
  if (!session) return;
  session->stop.request_stop();
  std::vector<std::unique_ptr<Task>> watches;
  const MutexLock lock(session->mu);
  watches.swap(session->watches);
}

void WriteGate::process_is(pid_t pid) {
  const MutexLock lock(mu_);
  pid_ = pid;
  if (killed_) ::kill(pid_, SIGKILL);  // it was quicker than its starter
}

void WriteGate::begin(std::optional<KillAt> kill) {
  const MutexLock lock(mu_);
  kill_ = std::move(kill);
  noting_ = true;
  seen_.clear();
  writes_.clear();
}

std::vector<std::string> WriteGate::writes() const {
  const MutexLock lock(mu_);
  return writes_;
}

bool WriteGate::has_killed() const {
  const MutexLock lock(mu_);
  return killed_;
}

net::Reply WriteGate::handle(const net::Request& request, std::stop_token stop) {
  const net::Target target = net::split_target(request.url);
  const SessionPtr session = session_of(target.path);
  if (!session) return unavailable("the gate is closed");
  net::Request forwarded{.method = request.method,
                         .url = server_ + request.url.substr(session->prefix.size()),
                         .headers = only(request.headers, kForwarded),
                         .body = request.body,
                         .tls = tls_};
  forwarded.headers.set("Authorization", "Bearer " + token_);
  if (is_watch(request)) return forward_stream(session, forwarded);
  const Context context{.tasks = tasks_, .stop = std::move(stop)};
  const Verdict verdict =
      judge(session, request.method, target.path.substr(session->prefix.size()));
  if (verdict == Verdict::refuse) return unavailable("the gate is closed");
  if (verdict == Verdict::pass) return forward(forwarded, context);
  // Not under the caller's stop: that the process goes must not undo what it asked for.
  if (verdict == Verdict::kill_after) (void)forward(forwarded, {.tasks = tasks_});
  kill(session);
  return unavailable("killed");
}

WriteGate::SessionPtr WriteGate::session_of(std::string_view path) const {
  const MutexLock lock(mu_);
  const bool is_its = session_ && path.starts_with(session_->prefix) &&
                      path.substr(session_->prefix.size()).starts_with('/');
  return is_its && !shut_ ? session_ : nullptr;
}

WriteGate::Verdict WriteGate::judge(const SessionPtr& session, const std::string& method,
                                    std::string_view path) {
  const MutexLock lock(mu_);
  if (shut_ || session != session_) return Verdict::refuse;
  if (!noting_ || method == "GET" || is_aside(path)) return Verdict::pass;
  writes_.push_back(name_of(method, path));
  const bool dies = kill_ && (kill_->write.empty() || kill_->write == writes_.back());
  if (!dies) return Verdict::pass;
  shut_ = true;
  return kill_->after ? Verdict::kill_after : Verdict::kill_before;
}

std::string WriteGate::name_of(const std::string& method, std::string_view path) {
  const std::string name = fmt::format("{} {}", method, short_path(path));
  return fmt::format("{} #{}", name, ++seen_[name]);
}

void WriteGate::kill(const SessionPtr& session) {
  const MutexLock lock(mu_);
  if (session != session_) return;  // somebody else was quicker, and there is another by now
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  killed_ = true;
}

net::Reply WriteGate::forward(const net::Request& request, const Context& context) {
  Result<net::Response> answer = transport_.call(context, request);
  if (!answer) return unavailable(answer.error().to_string());
  return {.status = answer->status,
          .headers = only(answer->headers, kReturned),
          .body = std::move(answer->body)};
}

net::Reply WriteGate::forward_stream(const SessionPtr& session, const net::Request& request) {
  const Context context{.tasks = tasks_, .stop = session->stop.get_token()};
  Result<std::unique_ptr<net::Stream>> opened = transport_.open(context, request);
  if (!opened) return unavailable(opened.error().to_string());
  const std::shared_ptr<net::Stream> stream = std::move(*opened);
  net::Reply reply{.status = stream->status(),
                   .headers = only(stream->headers(), kReturned),
                   .stream = std::make_shared<net::BytePipe>(kMaxWaitingBytes)};
  const auto pump = [context, stream, pipe = reply.stream](const std::stop_token&) {
    for (;;) {
      Result<std::optional<std::string>> bytes = stream->read(context);
      if (!bytes || !*bytes || !pipe->write(std::move(**bytes))) return pipe->close();
    }
  };
  auto task = tasks_.spawn("watch", pump);
  const MutexLock lock(session->mu);
  session->watches.push_back(std::move(task));
  return reply;
}

}  // namespace berth
