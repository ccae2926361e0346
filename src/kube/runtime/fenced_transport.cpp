#include "kube/runtime/fenced_transport.h"

namespace berth::kube {

Result<> FencedTransport::check(const net::Request& request) const {
  if (request.method == "GET" || may_write_()) return {};
  return fail(Code::unavailable, "not the leader at this moment");
}

Result<net::Response> FencedTransport::call(const Context& context, const net::Request& request) {
  if (Result<> checked = check(request); !checked) return pass(checked);
  return inner_.call(context, request);
}

Result<std::unique_ptr<net::Stream>> FencedTransport::open(const Context& context,
                                                           const net::Request& request) {
  if (Result<> checked = check(request); !checked) return pass(checked);
  return inner_.open(context, request);
}

}  // namespace berth::kube
