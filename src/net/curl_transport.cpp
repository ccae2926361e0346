#include "net/curl_transport.h"

#include <utility>

#include "net/curl_loop.h"
#include "net/curl_transfer.h"

namespace berth::net {
namespace {

using TransferPtr = std::shared_ptr<CurlTransfer>;

Error ended_early(const Context& context, const CurlTransfer& transfer) {
  return context.end_error().about(transfer.name());
}

// Runs until `arrived`, or takes the transfer down when the context ends first.
template <class Predicate>
Result<> wait_for(const Context& context, CurlLoop& loop, const TransferPtr& transfer,
                  Predicate arrived) {
  while (!arrived()) {
    if (context.tasks.wait(transfer->changed(), context.deadline, context.stop)) continue;
    if (arrived()) break;
    loop.cancel(transfer);
    return fail(ended_early(context, *transfer));
  }
  return {};
}

class CurlStream final : public Stream {
 public:
  CurlStream(std::shared_ptr<CurlLoop> loop, TransferPtr transfer)
      : loop_(std::move(loop)), transfer_(std::move(transfer)) {}

  ~CurlStream() override {
    transfer_->pipe().abandon();
    if (!transfer_->ended()) loop_->cancel(transfer_);
  }

  int status() const override { return transfer_->response().status; }
  const Headers& headers() const override { return transfer_->response().headers; }

  Result<std::optional<std::string>> read(const Context& context) override {
    for (;;) {
      if (context.stop.stop_requested()) return fail(ended_early(context, *transfer_));
      auto got = transfer_->pipe().read();
      if (transfer_->take_pause()) loop_->resume(transfer_);
      if (!got.bytes.empty()) return std::move(got.bytes);
      if (got.ended && got.error) return fail(std::move(*got.error));
      if (got.ended) return std::nullopt;
      if (context.tasks.wait(transfer_->changed(), context.deadline, context.stop)) continue;
      return fail(ended_early(context, *transfer_));
    }
  }

 private:
  const std::shared_ptr<CurlLoop> loop_;
  const TransferPtr transfer_;
};

}  // namespace

CurlTransport::CurlTransport(CurlTransportOptions options)
    : options_(options),
      calls_(std::make_shared<CurlLoop>("http-calls", options.max_connections_per_host)),
      streams_(std::make_shared<CurlLoop>("http-streams", 0)) {}

CurlTransport::~CurlTransport() = default;

Result<Response> CurlTransport::call(const Context& context, const Request& request) {
  const auto transfer = std::make_shared<CurlTransfer>(CurlTransfer::Kind::call, request, options_,
                                                       context.tasks.signal());
  if (context.expired()) return fail(ended_early(context, *transfer));
  calls_->submit(transfer);
  auto waited = wait_for(context, *calls_, transfer, [&] { return transfer->ended(); });
  if (!waited) return pass(waited);
  if (transfer->error()) return fail(*transfer->error());
  return std::move(transfer->response());
}

Result<std::unique_ptr<Stream>> CurlTransport::open(const Context& context,
                                                    const Request& request) {
  const auto transfer = std::make_shared<CurlTransfer>(CurlTransfer::Kind::stream, request,
                                                       options_, context.tasks.signal());
  if (context.expired()) return fail(ended_early(context, *transfer));
  streams_->submit(transfer);
  const auto arrived = [&] { return transfer->head_arrived() || transfer->ended(); };
  auto waited = wait_for(context, *streams_, transfer, arrived);
  if (!waited) return pass(waited);
  if (!transfer->head_arrived()) return fail(*transfer->error());
  return std::make_unique<CurlStream>(streams_, transfer);
}

}  // namespace berth::net
