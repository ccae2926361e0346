// One request after the other out of the bytes of a connection. Private to net; hides Beast.
//
// Memory is taken for bytes that have come, never for those that a client only announces. Owned by
// one connection and used on its strand.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "net/http.h"

namespace berth::net {

class RequestReader {
 public:
  RequestReader(std::size_t max_header_bytes, std::size_t max_body_bytes);
  ~RequestReader();

  // Bytes that came. Those behind the end of a request belong to the next one.
  void append(std::string_view bytes);
  std::size_t unread() const;
  // Begins the next request. What was not read stays.
  void restart();
  // Ends with what came; nothing is read any more.
  void discard();

  enum class Step { needs_more, has_head, whole, broken };
  // Reads on. `has_head` comes once, before the body.
  Step next();
  // What `next` would make the request hold, its unread bytes included. A body that outgrows its
  // place is for a moment there twice, which is not counted: it happens to one of them at a time.
  std::size_t bytes_to_hold() const;

  // With `broken`: what the client is told.
  int status() const;
  std::string reason() const;

  // With `has_head` or later.
  bool has_host() const;
  // The client waits for "100 Continue" before it sends the body.
  bool waits_for_leave() const;
  // With `whole`.
  bool keeps_alive() const;
  bool takes_chunks() const;
  Request take();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::net
