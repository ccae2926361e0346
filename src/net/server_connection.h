// One accepted connection, from the handshake to the close. Private to net.
//
// Every connection has its own strand: its members run there one at a time, whatever thread calls
// the functions below. It lives until its last I/O operation has ended.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <memory>

#include "net/connection_table.h"
#include "net/handler_pool.h"
#include "net/server.h"

namespace berth::net {

class ServerConnection {
 public:
  virtual ~ServerConnection() = default;
  virtual void start() = 0;
  // Closes when no request is under way, else after the reply.
  virtual void drain() = 0;
  virtual void abort() = 0;
  // The table has a verdict on it.
  virtual void obey() = 0;
  // It may ask the table again for what its request holds.
  virtual void resume() = 0;
};

// What connections need of their server, which outlives their last use of it.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  virtual const ServerOptions& options() const = 0;
  virtual const Handler& handler() const = 0;
  virtual HandlerPool& pool() = 0;
  virtual ConnectionTable& table() = 0;
  virtual void count_request() = 0;
};

// The socket's executor must be a strand. Plain HTTP without a TLS context.
std::shared_ptr<ServerConnection> make_connection(boost::asio::ip::tcp::socket socket,
                                                  std::shared_ptr<boost::asio::ssl::context> tls,
                                                  ConnectionHost& host);

}  // namespace berth::net
