// Transport is the seam for outgoing HTTP: curl in production (`net/curl_transport.h`), a machine
// in simulation.
//
// Calls block the calling task, obey the context's stop and deadline, and may come from any task.
// An HTTP error status is a Response, not an Error: an Error says that no whole answer arrived.
// Code `timeout` or `unavailable` on a request that writes means that the effect is unknown.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/context.h"
#include "net/http.h"

namespace berth::net {

// The body of a response while it arrives. Used by one task; its destructor abandons the transfer.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual int status() const = 0;
  virtual const Headers& headers() const = 0;
  // The next bytes, whatever is there, at least one; nullopt at the end of the body.
  virtual Result<std::optional<std::string>> read(const Context& context) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // One exchange, body and all.
  virtual Result<Response> call(const Context& context, const Request& request) = 0;
  // A response that is read as it arrives (lists, watches). Returns when the headers are in. Bulk
  // transfers have an I/O loop apart from calls, so that a large list cannot delay a small write.
  virtual Result<std::unique_ptr<Stream>> open(const Context& context, const Request& request) = 0;
};

}  // namespace berth::net
