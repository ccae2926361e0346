#include "providers/tencent.h"

#include "cloud/tencent/driver.h"

namespace berth::providers {
namespace {

struct Parts {
  Parts(Tasks& tasks, net::Transport& transport, cloud::tencent::Options options,
        std::shared_ptr<cloud::tencent::CredentialSource> source)
      : credentials(std::move(source)),
        driver(tasks, transport, *credentials, std::move(options)) {}

  const std::shared_ptr<cloud::tencent::CredentialSource> credentials;
  cloud::tencent::ClbDriver driver;
};

}  // namespace

app::DriverPart start_tencent(Tasks& tasks, net::Transport& transport,
                              cloud::tencent::Settings settings,
                              std::shared_ptr<cloud::tencent::CredentialSource> credentials) {
  if (!credentials)
    credentials =
        std::make_shared<cloud::tencent::GivenCredentials>(std::move(settings.credentials));
  const auto parts = std::make_shared<Parts>(tasks, transport, std::move(settings.options),
                                             std::move(credentials));
  return {.serves = {model::Provider::tencent}, .seams = parts->driver.seams(), .owner = parts};
}

}  // namespace berth::providers
