#include "providers/tencent.h"

#include "cloud/tencent/driver.h"
#include "providers/tencent_metrics.h"

namespace berth::providers {
namespace {

struct Parts {
  Parts(Tasks& tasks, net::Transport& transport, cloud::tencent::Options options,
        std::shared_ptr<cloud::tencent::CredentialSource> source)
      : credentials(std::move(source)),
        driver(tasks, transport, *credentials, std::move(options),
               [this](const cloud::tencent::SentRequest& request) { metrics.count(request); }) {}

  const std::shared_ptr<cloud::tencent::CredentialSource> credentials;
  TencentMetrics metrics;
  cloud::tencent::ClbDriver driver;
};

// While it lives, requests are counted there.
std::shared_ptr<void> measure(const std::shared_ptr<Parts>& parts, metrics::Registry& registry) {
  parts->metrics.show_in(&registry);
  return {&registry, [parts](metrics::Registry* shown) { parts->metrics.leave(shown); }};
}

}  // namespace

app::DriverPart start_tencent(Tasks& tasks, net::Transport& transport,
                              cloud::tencent::Settings settings,
                              std::shared_ptr<cloud::tencent::CredentialSource> credentials) {
  if (!credentials)
    credentials =
        std::make_shared<cloud::tencent::GivenCredentials>(std::move(settings.credentials));
  const auto parts = std::make_shared<Parts>(tasks, transport, std::move(settings.options),
                                             std::move(credentials));
  return {.serves = {model::Provider::tencent},
          .seams = parts->driver.seams(),
          .owner = parts,
          .measure = [parts](metrics::Registry& registry) { return measure(parts, registry); }};
}

}  // namespace berth::providers
