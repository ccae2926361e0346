// HTTP messages as values, the same for our client, our server and the simulators.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"

namespace berth::net {

struct Header {
  std::string name;
  std::string value;
};

// Kept in order of arrival; names compare without case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<Header> list) : list_(list) {}

  void add(std::string name, std::string value);
  // Replaces every header of that name.
  void set(std::string name, std::string value);
  // The first of that name, or empty.
  std::string_view get(std::string_view name) const;
  std::vector<std::string_view> all(std::string_view name) const;

  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

 private:
  std::vector<Header> list_;
};

// True when the header can be written as it is: the name is a token and the value has no control
// characters, so that nothing a user wrote can end the line and start another header.
bool is_valid_header(const Header& header);
// True for a method or header name: one or more of RFC 9110's token characters.
bool is_token(std::string_view text);
bool equals_ignoring_case(std::string_view a, std::string_view b);

// How to trust the peer and how to show who we are. Connections are shared only between equal
// settings.
struct TlsSettings {
  std::string ca_pem;    // empty: the system's authorities
  std::string cert_pem;  // client certificate, empty for none
  Secret key_pem;
  std::string server_name;  // name to expect in the peer's certificate; empty: the URL's host
  bool insecure = false;    // do not verify the peer at all
};

struct Request {
  std::string method = "GET";
  std::string url{};  // absolute for a client; path and query for a server
  Headers headers{};
  std::string body{};
  std::shared_ptr<const TlsSettings> tls{};
  std::string proxy{};  // "http://host:port", "socks5://...": empty for none
};

struct Response {
  int status = 0;
  Headers headers{};
  std::string body{};
};

}  // namespace berth::net
