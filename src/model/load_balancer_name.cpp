#include "model/load_balancer_name.h"

#include <algorithm>

#include "model/reference_text.h"

namespace berth::model {
namespace {

bool is_named(std::string_view text, const Standing& standing) {
  if (standing.found_by.empty()) return false;
  const auto [region, name] = split_region(text);
  return name == standing.found_by && (region.empty() || region == standing.lb.region);
}

// Ids before names: who writes an id means it, whatever others are called.
const Standing* stands_for(std::string_view text, const Result<LoadBalancerRef>& by_default,
                           std::span<const Standing> stands_on) {
  const auto first = [&](const auto& fits) -> const Standing* {
    const auto it = std::ranges::find_if(stands_on, fits);
    return it == stands_on.end() ? nullptr : &*it;
  };
  const auto* const same =
      first([&](const Standing& one) { return by_default && one.lb == *by_default; });
  if (same) return same;
  if (const auto* it = first([&](const Standing& one) { return may_mean(text, one.lb); }))
    return it;
  return first([&](const Standing& one) { return is_named(text, one); });
}

// What could not be seen in the texts, because one of them is a name: two of them mean one load
// balancer, or two whose Listeners would have the same names.
Result<> check_distinct(std::span<const std::string> texts,
                        const std::vector<LoadBalancerRef>& refs) {
  for (std::size_t i = 0; i < refs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool has_name =
          !name_in(texts[i], refs[i]).empty() || !name_in(texts[j], refs[j]).empty();
      if (!has_name || listener_base_name(refs[i]) != listener_base_name(refs[j])) continue;
      const bool is_one = refs[i] == refs[j];
      return fail(error_of(Code::invalid, "'{}' and '{}' {}", texts[j], texts[i],
                           is_one ? "are one load balancer, " + to_string(refs[i])
                                  : "are load balancers whose Listeners have the same names")
                      .with_hint(is_one ? "name it once" : "name the second one in another pool"));
    }
  }
  return {};
}

}  // namespace

bool is_name(const LoadBalancerRef& parsed) { return !traits_of(parsed.provider).is_id(parsed.id); }

bool may_mean(std::string_view text, const Standing& standing) {
  return may_mean(text, standing.lb) || is_named(text, standing);
}

std::string name_in(std::string_view text, const LoadBalancerRef& lb) {
  return may_mean(text, lb) ? std::string() : std::string(split_region(text).id);
}

std::string text_of_id(std::string_view text, const LoadBalancerRef& lb) {
  return may_mean(text, lb) ? std::string(text) : to_string(lb);
}

Result<LoadBalancerRef> Reading::read(std::string_view text) const {
  // Some defaults say less than others: where it stands says what is missing.
  Result<LoadBalancerRef> ref = parse_load_balancer(text, defaults);
  const Standing* const stands = stands_for(text, ref, stands_on);
  return stands ? stands->lb : std::move(ref);
}

Result<std::vector<LoadBalancerRef>> resolve(std::span<const std::string> texts,
                                             const Reading& reading, const LookUp& look_up) {
  std::vector<LoadBalancerRef> out;
  for (const std::string& text : texts) {
    Result<LoadBalancerRef> ref = reading.read(text);
    if (!ref) return pass(ref);
    const bool stands =
        std::ranges::find(reading.stands_on, *ref, &Standing::lb) != reading.stands_on.end();
    if (!stands && is_name(*ref)) ref = look_up(*ref);
    if (!ref) return pass(ref);
    out.push_back(std::move(*ref));
  }
  if (Result<> distinct = check_distinct(texts, out); !distinct) return pass(distinct);
  return out;
}

}  // namespace berth::model
