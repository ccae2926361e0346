#include "meddling.h"

namespace berth::scenario {
namespace {

class MeddlingNetwork final : public net::Transport {
 public:
  MeddlingNetwork(net::Transport& inner, Rewrite rewrite)
      : inner_(inner), rewrite_(std::move(rewrite)) {}

  Result<net::Response> call(const Context& context, const net::Request& request) override {
    if (const auto changed = rewrite_(request)) return inner_.call(context, *changed);
    const net::Request look{.url = request.url.substr(0, request.url.find('?')),
                            .headers = {{"Accept", "application/json"}}};
    return inner_.call(context, look);
  }
  Result<std::unique_ptr<net::Stream>> open(const Context& context,
                                            const net::Request& request) override {
    return inner_.open(context, rewrite_(request).value_or(request));
  }

 private:
  net::Transport& inner_;
  const Rewrite rewrite_;
};

class MeddlingDriver final : public lb::Driver {
 public:
  MeddlingDriver(lb::Driver& inner, DriverMeddler meddler)
      : inner_(inner), meddler_(std::move(meddler)) {}

  const model::Abilities& abilities() const override { return inner_.abilities(); }
  Result<model::LoadBalancerInfo> describe(const Context& context,
                                           const model::LoadBalancerRef& lb) override {
    return inner_.describe(context, lb);
  }
  Result<std::vector<lb::ObservedListener>> list(const Context& context,
                                                 const model::LoadBalancerRef& lb) override {
    return inner_.list(context, lb);
  }
  std::vector<Result<std::string>> create(const Context& context, const model::LoadBalancerRef& lb,
                                          std::span<const model::ListenerSpec> wanted) override {
    return inner_.create(context, lb, wanted);
  }
  std::vector<Result<>> remove(const Context& context, const model::LoadBalancerRef& lb,
                               std::span<const std::string> ids) override {
    return inner_.remove(context, lb, ids);
  }
  std::vector<Result<>> change_targets(const Context& context, const model::LoadBalancerRef& lb,
                                       std::span<const lb::TargetChange> changes) override {
    std::vector<lb::TargetChange> changed(changes.begin(), changes.end());
    for (lb::TargetChange& change : changed) meddler_.changes(lb, change);
    return inner_.change_targets(context, lb, changed);
  }
  std::vector<Result<>> change_attributes(const Context& context, const model::LoadBalancerRef& lb,
                                          std::span<const lb::AttributeChange> changes) override {
    return inner_.change_attributes(context, lb, changes);
  }

 private:
  lb::Driver& inner_;
  const DriverMeddler meddler_;
};

}  // namespace

Plant meddle(Rewrite rewrite) {
  return [rewrite = std::move(rewrite)](world::WorldOptions& options) {
    options.around_transport = [rewrite](net::Transport& inner) {
      return std::make_unique<MeddlingNetwork>(inner, rewrite);
    };
  };
}

Plant meddle_with_each(
    std::function<net::Request(const net::Request& request, int replica)> change) {
  return [change = std::move(change)](world::WorldOptions& options) {
    options.around_transport = [change, next = std::make_shared<int>(0)](net::Transport& inner) {
      return std::make_unique<MeddlingNetwork>(
          inner, [change, mine = (*next)++](const net::Request& request) {
            return std::optional(change(request, mine));
          });
    };
  };
}

Plant meddle_with_driver(DriverMeddler meddler) {
  return [meddler = std::move(meddler)](world::WorldOptions& options) {
    options.around_driver = [meddler](lb::Driver& inner) {
      return std::make_unique<MeddlingDriver>(inner, meddler);
    };
  };
}

}  // namespace berth::scenario
