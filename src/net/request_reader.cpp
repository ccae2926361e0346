#include "net/request_reader.h"

#include <algorithm>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "net/url.h"

namespace berth::net {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

// A body that grows with what comes. Beast's own takes its memory when it reads Content-Length.
struct GrowingBody {
  struct value_type {
    std::string bytes;
    std::size_t announced = SIZE_MAX;  // by the client, if it did
  };

  // Twice as much each time, but not more than will ever come.
  static std::size_t capacity_for(const value_type& body, std::size_t size) {
    const std::size_t now = body.bytes.capacity();
    return size <= now ? now : std::max(size, std::min(2 * now, body.announced));
  }

  class reader {
   public:
    template <bool is_request, class Fields>
    reader(http::header<is_request, Fields>&, value_type& body) : body_(body) {}

    void init(const boost::optional<std::uint64_t>& length, error_code& error) {
      error = {};
      if (length) body_.announced = static_cast<std::size_t>(*length);
    }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, error_code& error) {
      error = {};
      const std::size_t count = boost::beast::buffer_bytes(buffers);
      const std::size_t capacity = capacity_for(body_, body_.bytes.size() + count);
      if (capacity > body_.bytes.capacity()) {
        std::string larger;  // a string that grows by itself would at least double
        larger.reserve(capacity);
        larger += body_.bytes;
        body_.bytes = std::move(larger);
      }
      for (auto at = asio::buffer_sequence_begin(buffers); at != asio::buffer_sequence_end(buffers);
           ++at) {
        const asio::const_buffer part(*at);
        body_.bytes.append(static_cast<const char*>(part.data()), part.size());
      }
      return count;
    }
    void finish(error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

// A server must understand the form that proxies use: "GET http://host/path".
std::string path_and_query(std::string_view target) {
  if (target.starts_with('/') || target == "*") return std::string(target);
  const auto url = parse_url(target);
  if (!url) return std::string(target);
  return url->query.empty() ? url->path : url->path + "?" + url->query;
}

}  // namespace

struct RequestReader::Impl {
  std::size_t max_header_bytes;
  std::size_t max_body_bytes;
  boost::beast::flat_buffer input{};
  std::optional<http::request_parser<GrowingBody>> parser{};
  std::size_t head_bytes = 0;
  bool head_told = false;
  error_code error{};

  void parse_some() {
    try {
      const std::size_t count = parser->put(input.data(), error);
      if (!head_told) head_bytes += count;
      input.consume(count);
    } catch (const std::length_error&) {  // Beast's word for one header of more than 64 KiB
      error = http::error::header_limit;
    }
  }
};

RequestReader::RequestReader(std::size_t max_header_bytes, std::size_t max_body_bytes)
    : impl_(std::make_unique<Impl>(max_header_bytes, max_body_bytes)) {
  restart();
}

RequestReader::~RequestReader() = default;

void RequestReader::append(std::string_view bytes) {
  auto& input = impl_->input;
  input.commit(asio::buffer_copy(input.prepare(bytes.size()), asio::buffer(bytes)));
}

std::size_t RequestReader::unread() const { return impl_->input.size(); }

void RequestReader::restart() {
  impl_->parser.emplace();
  impl_->parser->header_limit(static_cast<std::uint32_t>(impl_->max_header_bytes));
  impl_->parser->body_limit(impl_->max_body_bytes);
  impl_->head_bytes = 0;
  impl_->head_told = false;
  impl_->error = {};
}

void RequestReader::discard() {
  impl_->parser.reset();
  impl_->input.clear();
  impl_->input.shrink_to_fit();
}

RequestReader::Step RequestReader::next() {
  auto& parser = *impl_->parser;
  while (impl_->input.size() > 0 && !parser.is_done()) {
    impl_->parse_some();
    if (impl_->error == http::error::need_more) break;
    if (impl_->error) return Step::broken;
    if (!impl_->head_told && parser.is_header_done()) {
      impl_->head_told = true;
      parser.eager(true);
      return Step::has_head;
    }
  }
  return parser.is_done() ? Step::whole : Step::needs_more;
}

std::size_t RequestReader::bytes_to_hold() const {
  if (!impl_->head_told) return unread();
  const auto& body = impl_->parser->get().body();
  return impl_->head_bytes + unread() +
         GrowingBody::capacity_for(body, body.bytes.size() + unread());
}

int RequestReader::status() const {
  if (impl_->error == http::error::header_limit) return 431;
  return impl_->error == http::error::body_limit ? 413 : 400;
}

std::string RequestReader::reason() const {
  if (impl_->error == http::error::header_limit) return "the headers are too large";
  if (impl_->error == http::error::body_limit) return "the body is too large";
  return "this is not an HTTP/1.1 request: " + impl_->error.message();
}

bool RequestReader::has_host() const {
  const auto& message = impl_->parser->get();
  return message.version() < 11 || message.find(http::field::host) != message.end();
}

bool RequestReader::waits_for_leave() const {
  const auto expect = impl_->parser->get()[http::field::expect];
  return equals_ignoring_case({expect.data(), expect.size()}, "100-continue") &&
         !impl_->parser->is_done() && unread() == 0;
}

bool RequestReader::keeps_alive() const { return impl_->parser->keep_alive(); }

bool RequestReader::takes_chunks() const { return impl_->parser->get().version() >= 11; }

Request RequestReader::take() {
  auto message = impl_->parser->release();
  Request request;
  request.method = message.method_string();
  request.url = path_and_query({message.target().data(), message.target().size()});
  for (const auto& field : message) {
    request.headers.add(std::string(field.name_string()), std::string(field.value()));
  }
  request.body = std::move(message.body().bytes);
  return request;
}

}  // namespace berth::net
