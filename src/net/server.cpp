#include "net/server.h"

#include <fcntl.h>
#include <pthread.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "net/connection_table.h"
#include "net/handler_pool.h"
#include "net/server_connection.h"
#include "net/server_tls.h"
#include "net/url.h"

namespace berth::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
using TlsContext = std::shared_ptr<asio::ssl::context>;

// When accepting fails, most likely for lack of file descriptors, the next try waits this long.
constexpr std::chrono::milliseconds kAcceptPause{100};

Result<TlsContext> make_tls(const ServerCertificate& certificate, const std::string& client_ca) {
  auto made = make_server_tls(certificate, client_ca);
  if (!made) return pass(made);
  SSL_CTX_up_ref(made->get());  // the context below owns one reference
  return std::make_shared<asio::ssl::context>(made->get());
}

// A program that we start must not hold our port or a client's connection open.
void keep_from_children(int fd) { fcntl(fd, F_SETFD, FD_CLOEXEC); }

Failure cannot_listen(const ServerOptions& options, const error_code& error) {
  const Code code = error == asio::error::address_in_use ? Code::unavailable : Code::invalid;
  return fail(code, "cannot listen on {}: {}", join_host_port(options.address, options.port),
              error.message());
}

}  // namespace

class Server::Impl final : public ConnectionHost {
 public:
  Impl(ServerOptions options, Handler handler)
      : options_(std::move(options)),
        handler_(std::move(handler)),
        table_({.connections = options_.max_connections, .bytes = options_.max_bytes_in_flight},
               [this] { asio::post(acceptor_.get_executor(), [this] { admit_pending(); }); }),
        acceptor_(asio::make_strand(io_)),
        accept_timer_(acceptor_.get_executor()) {}

  ~Impl() override { stop(); }

  Result<> start() {
    if (options_.certificate) {
      auto set = set_certificate(*options_.certificate);
      if (!set) return set;
    }
    if (auto listening = listen(); !listening) return listening;
    pool_.emplace(options_.handler_threads, options_.max_queued_requests);
    accept();
    for (int i = 0; i < std::max(options_.io_threads, 1); ++i) {
      threads_.emplace_back([this] {
        pthread_setname_np(pthread_self(), "http-server");
        io_.run();
      });
    }
    return {};
  }

  void stop() {
    if (stopped_.exchange(true)) return;
    for (const auto& connection : end_accepting()) connection->drain();
    if (!table_.wait_until_empty(options_.drain)) {
      for (const auto& connection : table_.close()) connection->abort();
      table_.wait_until_empty(std::nullopt);
    }
    pool_.reset();
    io_.stop();
    threads_.clear();
  }

  Result<> set_certificate(const ServerCertificate& certificate) {
    auto made = make_tls(certificate, options_.client_ca_pem);
    if (!made) return pass(made);
    const std::lock_guard lock(mu_);
    tls_ = std::move(*made);
    return {};
  }

  std::uint16_t port() const { return port_; }

  ServerStatistics statistics() const {
    ServerStatistics now = table_.statistics();
    now.requests = requests_.load();
    return now;
  }

  const ServerOptions& options() const override { return options_; }
  const Handler& handler() const override { return handler_; }
  HandlerPool& pool() override { return *pool_; }
  ConnectionTable& table() override { return table_; }
  void count_request() override { ++requests_; }

 private:
  using ConnectionPtr = std::shared_ptr<ServerConnection>;

  Result<> listen() {
    error_code error;
    const auto address = asio::ip::make_address(options_.address, error);
    if (error) return cannot_listen(options_, error);
    const tcp::endpoint endpoint(address, options_.port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && options_.share_port) acceptor_.set_option(ReusePort(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return cannot_listen(options_, error);
    keep_from_children(acceptor_.native_handle());
    port_ = acceptor_.local_endpoint().port();
    return {};
  }

  void accept() {
    acceptor_.async_accept(asio::make_strand(io_), [this](error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted || !acceptor_.is_open()) return;
      if (!error) {
        keep_from_children(socket.native_handle());
        return admit(make_connection(std::move(socket), tls(), *this));
      }
      log_warn("cannot accept a connection", {{"error", error.message()}});
      accept_timer_.expires_after(kAcceptPause);
      accept_timer_.async_wait([this](error_code aborted) {
        if (!aborted) accept();
      });
    });
  }

  TlsContext tls() const {
    const std::lock_guard lock(mu_);
    return tls_;
  }

  // While one waits for its place, the next ones wait in the kernel. One that is not admitted
  // closes here, with its destructor.
  void admit(ConnectionPtr connection) {
    const auto place = table_.add(connection);
    if (place == ConnectionTable::Place::soon) {
      pending_ = std::move(connection);
      return;
    }
    if (place == ConnectionTable::Place::taken) connection->start();
    accept();
  }

  void admit_pending() {
    if (pending_) admit(std::exchange(pending_, nullptr));
  }

  std::vector<ConnectionPtr> end_accepting() {
    asio::post(acceptor_.get_executor(), [this] {
      error_code ignored;
      acceptor_.close(ignored);
      accept_timer_.cancel();
      pending_.reset();
    });
    return table_.close();
  }

  const ServerOptions options_;
  const Handler handler_;
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> requests_ = 0;
  std::atomic<bool> stopped_ = false;

  mutable std::mutex mu_;
  TlsContext tls_;  // mu_

  ConnectionTable table_;
  asio::io_context io_;
  // A connection whose client left has nothing under way while its handler runs.
  const asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  tcp::acceptor acceptor_;
  asio::steady_timer accept_timer_;
  ConnectionPtr pending_;  // on the acceptor's strand
  std::optional<HandlerPool> pool_;
  std::vector<std::jthread> threads_;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, Handler handler) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler));
  if (auto started = impl->start(); !started) return pass(started);
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

std::uint16_t Server::port() const { return impl_->port(); }
Result<> Server::set_certificate(const ServerCertificate& certificate) {
  return impl_->set_certificate(certificate);
}
ServerStatistics Server::statistics() const { return impl_->statistics(); }
void Server::stop() { impl_->stop(); }

}  // namespace berth::net
