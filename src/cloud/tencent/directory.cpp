#include "cloud/tencent/directory.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "cloud/tencent/answers.h"
#include "cloud/tencent/requests.h"

namespace berth::cloud::tencent {
namespace {

using model::LoadBalancerInfo;
using model::LoadBalancerRef;

// Quotas are raised by hand and seldom.
constexpr Duration kQuotaIsGood = std::chrono::minutes{10};
// Pages of one search: a hundred thousand load balancers are not one account's.
constexpr std::size_t kMostPages = 1000;

// Offsets count what is there at that moment: when one goes between two pages, another one moves to
// a page that was read. Then all is read again, so often.
constexpr int kMostReadings = 4;

// In the words, too, that people know from bcs-ingress-controller and search for.
Failure not_there(const LoadBalancerRef& lb) {
  return fail(error_of(Code::not_found, "loadbalancer not found: there is no load balancer {}",
                       to_string(lb))
                  .with_hint("check the region: write it before the id, as ap-xxx:lb-xxx, or set "
                             "--region (tencentcloudRegion)"));
}

bool fits(const lb::FoundLoadBalancer& found, const lb::DirectoryQuery& query) {
  if (!query.name.empty() && found.info.name != query.name) return false;
  return std::ranges::all_of(query.tags, [&](const lb::Tag& tag) {
    return std::ranges::find(found.tags, tag) != found.tags.end();
  });
}

}  // namespace

bool ClbDirectory::Reading::is_whole() const { return !moved && found.size() >= total; }

Error ClbDirectory::partial(const Reading& read) {
  return error_of(Code::unavailable,
                  "the cloud told {} of {} load balancers: their list changes while it is read",
                  read.found.size(), read.total);
}

std::vector<Result<LoadBalancerInfo>> ClbDirectory::describe(const Context& context,
                                                             const model::CredentialId& credential,
                                                             std::span<const LoadBalancerRef> lbs) {
  std::map<std::string, std::vector<std::string>> by_region;
  const auto region_of = [&](const LoadBalancerRef& lb) {
    return lb.region.empty() ? api_.options().region : lb.region;
  };
  for (const LoadBalancerRef& lb : lbs) {
    std::vector<std::string>& ids = by_region[region_of(lb)];
    if (std::ranges::find(ids, lb.id) == ids.end()) ids.push_back(lb.id);
  }
  std::map<std::string, Result<Found>> found;
  for (const auto& [region, ids] : by_region)
    found.emplace(region, describe_region(context, {credential, region}, ids));
  std::vector<Result<LoadBalancerInfo>> out;
  for (const LoadBalancerRef& lb : lbs) {
    const Result<Found>& there = found.at(region_of(lb));
    if (!there) {
      out.emplace_back(fail(there.error()));
    } else if (const auto it = there->find(lb.id); it != there->end()) {
      out.emplace_back(it->second);
    } else {
      out.emplace_back(not_there(lb));
    }
  }
  return out;
}

Result<ClbDirectory::Found> ClbDirectory::describe_region(const Context& context,
                                                          const Caller& caller,
                                                          const std::vector<std::string>& ids) {
  Found out;
  for (std::size_t begin = 0; begin < ids.size(); begin += kBalancersPerDescribe) {
    const auto chunk =
        std::span(ids).subspan(begin, std::min(kBalancersPerDescribe, ids.size() - begin));
    if (Result<> done = describe_chunk(context, caller, chunk, out); !done) return pass(done);
  }
  if (out.empty()) return out;
  const std::uint32_t quota = listener_quota(context, caller);
  for (auto& [id, info] : out) info.listener_quota = quota;
  return out;
}

Result<> ClbDirectory::describe_chunk(const Context& context, const Caller& caller,
                                      std::span<const std::string> ids, Found& out) {
  const Result<Answer> answer =
      api_.read(context, caller, "DescribeLoadBalancers", describe_balancers_body(ids));
  // Some APIs answer what is not there by leaving it out, and this one at times by an error.
  if (!answer && is_balancer_gone(answer.error())) {
    if (ids.size() == 1) return {};
    for (const auto half : {ids.first(ids.size() / 2), ids.subspan(ids.size() / 2)})
      if (Result<> done = describe_chunk(context, caller, half, out); !done) return done;
    return {};
  }
  if (!answer) return fail(answer.error());
  auto found = decode_balancers(answer->response, caller.region);
  if (!found) return pass(found);
  for (lb::FoundLoadBalancer& one : *found) out.emplace(one.ref.id, std::move(one.info));
  return {};
}

std::uint32_t ClbDirectory::listener_quota(const Context& context, const Caller& caller) {
  const auto key = std::pair(caller.credential, caller.region);
  const Instant now = context.tasks.now();
  {
    const MutexLock lock(mu_);
    const auto it = quotas_.find(key);
    if (it != quotas_.end() && now < it->second.until) return it->second.listeners;
  }
  const Result<Answer> answer = api_.read(context, caller, "DescribeQuota", {});
  if (!answer && answer.error().code != Code::forbidden) return 0;
  const std::uint32_t listeners = answer ? decode_listener_quota(answer->response) : 0;
  const MutexLock lock(mu_);
  quotas_[key] = {listeners, now + kQuotaIsGood};
  return listeners;
}

Result<std::vector<lb::FoundLoadBalancer>> ClbDirectory::search(
    const Context& context, const model::CredentialId& credential,
    const lb::DirectoryQuery& query) {
  const Caller caller{credential, query.region.empty() ? api_.options().region : query.region};
  for (int reading = 1;; ++reading) {
    Result<Reading> read = read_pages(context, caller, query);
    if (!read) return pass(read);
    if (read->is_whole()) {
      std::erase_if(read->found, [&](const auto& one) { return !fits(one, query); });
      return std::move(read->found);
    }
    if (reading == kMostReadings) return fail(partial(*read));
  }
}

Result<ClbDirectory::Reading> ClbDirectory::read_pages(const Context& context, const Caller& caller,
                                                       const lb::DirectoryQuery& query) {
  std::vector<std::pair<std::string, std::string>> tags;
  for (const lb::Tag& tag : query.tags) tags.emplace_back(tag.key, tag.value);
  Reading out;
  std::set<std::string> seen;
  for (std::size_t page = 0; page < kMostPages; ++page) {
    const Result<Answer> answer =
        api_.read(context, caller, "DescribeLoadBalancers",
                  search_body(query.name, tags, page * kBalancersPerPage));
    if (!answer) return fail(answer.error());
    auto found = decode_balancers(answer->response, caller.region);
    if (!found) return pass(found);
    const std::int64_t total = wire::int_at(answer->response, "/TotalCount").value_or(0);
    if (page > 0 && std::cmp_not_equal(total, out.total)) out.moved = true;
    out.total = total > 0 ? static_cast<std::size_t>(total) : 0;
    const std::size_t count = found->size();
    std::erase_if(
        *found, [&](const lb::FoundLoadBalancer& one) { return !seen.insert(one.ref.id).second; });
    std::ranges::move(*found, std::back_inserter(out.found));
    if (count < kBalancersPerPage) return out;
  }
  out.moved = true;
  return out;
}

}  // namespace berth::cloud::tencent
