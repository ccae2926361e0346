#include "providers/tencent.h"

#include "cloud/tencent/driver.h"

namespace berth::providers {
namespace {

struct Parts {
  Parts(Tasks& tasks, net::Transport& transport, cloud::tencent::Settings settings)
      : credentials(std::move(settings.credentials)),
        driver(tasks, transport, credentials, std::move(settings.options)) {}

  cloud::tencent::GivenCredentials credentials;
  cloud::tencent::ClbDriver driver;
};

}  // namespace

app::DriverPart start_tencent(Tasks& tasks, net::Transport& transport,
                              cloud::tencent::Settings settings) {
  const auto parts = std::make_shared<Parts>(tasks, transport, std::move(settings));
  return {.serves = {model::Provider::tencent}, .seams = parts->driver.seams(), .owner = parts};
}

}  // namespace berth::providers
