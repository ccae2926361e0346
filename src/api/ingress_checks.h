// The parts of an Ingress, each by itself: what `validate` asks of a rule and of a mapping. Inside
// this folder.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "api/ingress.h"
#include "api/walkers.h"

namespace berth::api {

// What was found so far; the first is what people are told.
class Breaches {
 public:
  void add(std::string path, std::string message) {
    found_.push_back({std::move(path), std::move(message)});
  }
  void add(std::optional<Breach> breach) {
    if (breach) found_.push_back(std::move(*breach));
  }
  const Breach* first() const { return found_.empty() ? nullptr : &found_.front(); }

 private:
  std::vector<Breach> found_;
};

// Those of the load balancers that an Ingress names.
using Providers = std::set<model::Provider>;

// Their tables have been checked: lengths and numbers are what they may be.
void check_rule(const IngressRule& rule, const Providers& providers, const std::string& path,
                Breaches& out);
void check_mapping(const PortMapping& mapping, const Providers& providers, const std::string& path,
                   Breaches& out);

}  // namespace berth::api
