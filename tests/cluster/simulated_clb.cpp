#include "simulated_clb.h"

#include "base/file.h"
#include "base/threads.h"
#include "net/curl_transport.h"
#include "support/eventually.h"

namespace berth {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 60s;
constexpr std::size_t kMaxLog = 1u << 20;

// One quota for all: a pool of the users' guide has a hundred ports.
std::string setup_for(const std::vector<std::string>& load_balancers) {
  std::string out = R"(
accounts: [{uin: "100000000001"}]
keys: [{secretId: AKIDCLUSTER, secretKey: key-of-cluster, account: "100000000001", policy: [guide]}]
settings: {taskMs: 100, healthyAfterMs: 200}
loadBalancers:
)";
  int number = 0;
  for (const std::string& id : load_balancers)
    out += fmt::format(
        "- {{id: {}, account: \"100000000001\", region: ap-guangzhou, vpc: vpc-1, vips: "
        "[127.81.0.{}], listenerQuota: 200}}\n",
        id, ++number);
  return out;
}

Failure failed(const std::string& why) { return fail(Code::unavailable, "{}", why); }

}  // namespace

Result<SimulatedClb> SimulatedClb::start(const std::filesystem::path& program,
                                         const std::vector<std::string>& load_balancers,
                                         bool traffic) {
  auto folder = testing::ScratchDir::create("berth-clb");
  if (!folder) return failed(folder.error());
  const std::filesystem::path path = folder->path();
  for (const auto& [name, text] :
       {std::pair{"setup.yaml", setup_for(load_balancers)},
        std::pair{"keys", std::string("TENCENTCLOUD_ACCESS_KEY_ID=AKIDCLUSTER\n"
                                      "TENCENTCLOUD_ACESS_KEY=key-of-cluster\n")}}) {
    if (Result<> written = write_file((path / name).string(), text, 0600); !written)
      return pass(written);
  }
  std::vector<std::string> args{"sim",     "tencent",           "-o",        "json",
                                "--setup", path / "setup.yaml", "--ca-file", path / "ca.pem"};
  if (traffic) args.emplace_back("--traffic");
  auto process = testing::Process::spawn({program, std::move(args), {}}, path / "log");
  if (!process) return failed(process.error());
  SimulatedClb out(std::move(*folder), std::move(*process));
  // Its first line says where it is.
  std::string first;
  (void)testing::eventually(kPatience, [&] {
    first = read_file(out.file("log"), kMaxLog).value_or("");
    return first.ends_with('\n') || !out.process_.running();
  });
  const Result<wire::Value> greeting = wire::parse_json(first);
  if (!greeting) return failed("no simulated cloud: " + first);
  out.url_ = wire::string_at(*greeting, "/url");
  out.endpoint_ = wire::string_at(*greeting, "/endpoint");
  return out;
}

std::vector<std::string> SimulatedClb::controller_args() const {
  return {"--cloud=tencent", "--region=ap-guangzhou", "--tencent-endpoint=" + endpoint_,
          "--tencent-ca=" + file("ca.pem"), "--tencent-credentials=" + file("keys")};
}

wire::Value SimulatedClb::dump() const {
  ThreadTasks tasks;
  net::CurlTransport transport;
  net::TlsSettings tls;
  tls.insecure = true;  // as `curl -k`
  const auto answer = transport.call(
      Context{.tasks = tasks}.within(kPatience),
      {.url = url_ + "/dump", .tls = std::make_shared<const net::TlsSettings>(std::move(tls))});
  return answer ? wire::parse_json(answer->body).value_or(wire::Value()) : wire::Value();
}

}  // namespace berth
