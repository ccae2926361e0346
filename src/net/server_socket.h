// A socket with or without TLS behind the same few operations. Private to net.
//
// Handlers run on the socket's strand. At most one read and one write at a time.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <optional>
#include <utility>

namespace berth::net {

class ServerSocket {
 public:
  using Tcp = boost::asio::ip::tcp;

  ServerSocket(Tcp::socket socket, std::shared_ptr<boost::asio::ssl::context> context)
      : context_(std::move(context)), tcp_(std::move(socket)) {
    if (context_) tls_.emplace(tcp_, *context_);
  }

  auto executor() { return tcp_.get_executor(); }
  Tcp::socket& tcp() { return tcp_; }
  // Null without TLS.
  SSL* tls() { return tls_ ? tls_->native_handle() : nullptr; }

  template <class OnDone>
  void handshake(OnDone on_done) {
    tls_->async_handshake(boost::asio::ssl::stream_base::server, std::move(on_done));
  }
  template <class OnRead>
  void read_some(boost::asio::mutable_buffer into, OnRead on_read) {
    if (tls_) return tls_->async_read_some(into, std::move(on_read));
    tcp_.async_read_some(into, std::move(on_read));
  }
  template <class OnWritten>
  void write(boost::asio::const_buffer bytes, OnWritten on_written) {
    if (tls_) return boost::asio::async_write(*tls_, bytes, std::move(on_written));
    boost::asio::async_write(tcp_, bytes, std::move(on_written));
  }
  // Nothing more will be sent; what was sent still arrives.
  void finish_sending() {
    boost::system::error_code ignored;
    tcp_.shutdown(Tcp::socket::shutdown_send, ignored);
  }
  void close() {
    boost::system::error_code ignored;
    tcp_.close(ignored);
  }

 private:
  std::shared_ptr<boost::asio::ssl::context> context_;
  Tcp::socket tcp_;
  std::optional<boost::asio::ssl::stream<Tcp::socket&>> tls_;
};

}  // namespace berth::net
