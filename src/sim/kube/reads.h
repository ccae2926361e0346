// get, list and watch, with kube-apiserver's rules for resourceVersion. Private to this folder;
// called from any handler.
#pragma once

#include "net/server.h"
#include "sim/kube/core.h"
#include "sim/kube/faults.h"
#include "sim/kube/request_info.h"

namespace berth::sim::kube {

struct ReadRequest {
  const RequestInfo& info;
  const ServedKind& served;
  Representation shape;
  WallTime now;
};

class Reads {
 public:
  Reads(Core& core, const Faults& faults, std::size_t watch_buffer_bytes)
      : core_(core), faults_(faults), watch_buffer_bytes_(watch_buffer_bytes) {}

  Outcome<ObjectPtr> get(const ReadRequest& request);
  Outcome<std::string> list(const ReadRequest& request);
  // The events flow with the next `Core::deliver`.
  Outcome<net::Reply> watch(const ReadRequest& request);

 private:
  struct ListOptions;
  struct Page;
  static Outcome<ListOptions> parse_list(const ReadRequest& request);
  Outcome<Page> page(const ReadRequest& request, const ListOptions& options);
  Outcome<std::uint64_t> version_to_show(const ListOptions& options) REQUIRES(core_.mu);
  Outcome<Watch> parse_watch(const ReadRequest& request) const;
  Outcome<> begin(Watch watch, std::optional<bool> initial_events);

  Core& core_;
  const Faults& faults_;
  const std::size_t watch_buffer_bytes_;
};

// Reads the selectors of a list, a watch or a deletion of many.
Outcome<Selectors> parse_selectors(const RequestInfo& info, const Kind& kind);
// Decimal; an empty text is 0.
Outcome<std::uint64_t> parse_version(std::string_view text, std::string_view prefix = {});

}  // namespace berth::sim::kube
