// Anybody who reaches the webhook's port may send it anything: a review is read or refused with an
// error that names the field, and what is answered is again JSON with the uid that was asked about.
#include "check.h"
#include "kube/admission/review.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  using fuzz::check;
  const auto review = kube::parse_review(fuzz::as_text(data, size));
  if (!review) {
    check(review.error().object == "AdmissionReview", "an error names the review");
    check(!review.error().message.empty(), "an error says why");
    return 0;
  }
  check(!review->uid.empty() && !review->resource.empty(), "what was accepted is whole");
  check(!review->describe().empty(), "it can be named");

  for (const bool allowed : {true, false}) {
    const kube::AdmissionAnswer answer{.allowed = allowed,
                                       .patch = {wire::Object{{"op", "remove"}, {"path", "/x"}}},
                                       .warnings = {review->name},
                                       .message = review->name};
    const auto rendered = wire::parse_json(kube::render_review(*review, answer));
    check(rendered.has_value(), "the answer is JSON");
    check(wire::string_at(*rendered, "/response/uid") == review->uid, "it is about the request");
    check(wire::string_at(*rendered, "/apiVersion") == review->api_version, "in its version");
  }
  return 0;
}
