// Load balancers by their names: users may write one where an id is meant. What a name means, its
// provider says once, before anything is granted; from then on the owner stands on an id. Pure.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/load_balancer.h"

namespace berth::model {

// Whether what a text was parsed to has a name where its provider has ids.
bool is_name(const LoadBalancerRef& parsed);

// Where an owner stands already.
struct Standing {
  LoadBalancerRef lb{};
  std::string found_by{};  // the name by which it was found; empty: by its id

  friend bool operator==(const Standing&, const Standing&) = default;
};

// Whether the text means it under some defaults.
bool may_mean(std::string_view text, const Standing& standing);

// The name by which the text means this load balancer; empty where it gives the id.
std::string name_in(std::string_view text, const LoadBalancerRef& lb);
// The text, or what it means where it is a name: fit for whoever reads ids alone.
std::string text_of_id(std::string_view text, const LoadBalancerRef& lb);

// Asks what a name means, which stands where the id would.
using LookUp = std::function<Result<LoadBalancerRef>(const LoadBalancerRef& named)>;

// What the texts of one owner are read by.
struct Reading {
  LoadBalancerDefaults defaults{};
  std::vector<Standing> stands_on{};

  // Where the owner stands already stays what it is, whatever the defaults are by now and whoever
  // has the name; defaults decide about what is new. A new name stays one (`is_name`).
  Result<LoadBalancerRef> read(std::string_view text) const;
};

// What the texts of one owner mean, once new names were asked for.
Result<std::vector<LoadBalancerRef>> resolve(std::span<const std::string> texts,
                                             const Reading& reading, const LookUp& look_up);

}  // namespace berth::model
