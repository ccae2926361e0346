#include "support/control_plane.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <random>
#include <ranges>
#include <system_error>
#include <utility>

#include "support/eventually.h"

namespace berth::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kDirPrefix = "berth-controlplane";
constexpr std::string_view kAdminName = "admin";
constexpr std::string_view kApiServer = "kube-apiserver";
const std::string kScheduler = "kube-scheduler";
// Reserved ports cannot be lost; a kernel that lets go of them anyway gets two more chances.
constexpr int kStartAttempts = 3;
constexpr std::string_view kPortTaken = "address already in use";
// The data is thrown away: nothing is gained by a longer goodbye.
constexpr milliseconds kStopGrace{2000};
constexpr seconds kCommandTimeout{120};

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool write_file(const fs::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  std::error_code error;
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write, error);
  return !out.fail() && !error;
}

std::string random_token() {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::random_device source;
  std::string token;
  for (int i = 0; i < 32; ++i) token += kDigits[source() % kDigits.size()];
  return token;
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      const auto byte = i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
      group = (group << 8U) | byte;
    }
    for (std::size_t k = 0; k < 4; ++k) {
      const bool padding = i + k > bytes.size();
      text += padding ? '=' : kAlphabet[(group >> (18 - 6 * k)) & 63U];
    }
  }
  return text;
}

// kube-apiserver writes its own certificate first and then the one that signed it.
std::string last_certificate(const std::string& pem) {
  const auto at = pem.rfind("-----BEGIN CERTIFICATE-----");
  return at == std::string::npos ? std::string() : pem.substr(at);
}

std::string kubeconfig(std::string_view user, const std::string& token, const std::string& url,
                       const std::string& ca_pem) {
  const std::string name(user);
  return "apiVersion: v1\nkind: Config\ncurrent-context: " + name +
         "\nclusters:\n- name: test\n  cluster:\n    server: " + url +
         "\n    certificate-authority-data: " + base64(ca_pem) + "\nusers:\n- name: " + name +
         "\n  user:\n    token: " + token + "\ncontexts:\n- name: " + name +
         "\n  context: { cluster: test, user: " + name + " }\n";
}

// Addresses from a range that Pods (10.64.0.0/12, below) and Services do not use.
std::string node_manifest(int number) {
  const std::string name = "node-" + std::to_string(number);
  const std::string address =
      "10.63." + std::to_string(number / 250) + "." + std::to_string(number % 250 + 1);
  return "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: " + name +
         "\n  labels: { kubernetes.io/hostname: " + name +
         ", kubernetes.io/os: linux, kubernetes.io/arch: amd64, type: kwok }\nstatus:\n"
         "  addresses:\n  - { type: InternalIP, address: " +
         address + " }\n  - { type: Hostname, address: " + name + " }\n";
}

fs::path programs_from_environment() {
  const char* dir = std::getenv("BERTH_CONTROLPLANE_DIR");
  return dir == nullptr ? fs::path() : fs::path(dir);
}

std::optional<std::string> missing_programs(const fs::path& dir) {
  if (dir.empty()) {
    return "BERTH_CONTROLPLANE_DIR is not set: tests/cluster/controlplane/build prints its value";
  }
  std::error_code error;
  for (const auto* name :
       {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok"}) {
    if (!fs::exists(dir / name, error)) return "there is no " + (dir / name).string();
  }
  return std::nullopt;
}

std::vector<fs::path> stage_files() {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(BERTH_CONTROLPLANE_STAGES, error)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::optional<std::string> ControlPlane::unavailable() {
  return missing_programs(programs_from_environment());
}

std::expected<std::unique_ptr<ControlPlane>, std::string> ControlPlane::start(
    ControlPlaneOptions options) {
  if (options.programs.empty()) options.programs = programs_from_environment();
  if (auto reason = missing_programs(options.programs)) return std::unexpected(*reason);
  for (int left = kStartAttempts;; --left) {
    auto result = attempt(options);
    if (result || left == 1 || result.error().find(kPortTaken) == std::string::npos) return result;
  }
}

std::expected<std::unique_ptr<ControlPlane>, std::string> ControlPlane::attempt(
    const ControlPlaneOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  auto dir = ScratchDir::create(kDirPrefix);
  if (!dir) return std::unexpected(dir.error());
  auto etcd_port = ReservedPort::take();
  if (!etcd_port) return std::unexpected(etcd_port.error());
  auto api_port = ReservedPort::take();
  if (!api_port) return std::unexpected(api_port.error());
  std::unique_ptr<ControlPlane> plane(
      new ControlPlane(options, std::move(*dir), std::move(*etcd_port), std::move(*api_port)));
  if (auto up = plane->bring_up(); !up) return std::unexpected(up.error());
  plane->start_duration_ =
      std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began);
  return plane;
}

ControlPlane::ControlPlane(ControlPlaneOptions options, ScratchDir dir, ReservedPort etcd_port,
                           ReservedPort api_port)
    : options_(std::move(options)),
      dir_(std::move(dir)),
      etcd_port_(std::move(etcd_port)),
      api_port_(std::move(api_port)),
      url_("https://" + (options_.address.empty() ? "127.0.0.1" : options_.address) + ":" +
           std::to_string(api_port_.number())),
      admin_token_(random_token()),
      user_token_(random_token()),
      admin_kubeconfig_(file("admin.kubeconfig")),
      user_kubeconfig_(file("user.kubeconfig")) {}

ControlPlane::~ControlPlane() {
  // All at once: a client that sees its server go only retries until it is stopped itself. The
  // second signal, from stop(), tells Kubernetes programs not to drain. etcd goes last: without it
  // kube-apiserver does not end in time (measured). One that is held would not hear either signal.
  resume_api_server();
  for (std::size_t i = 1; i < processes_.size(); ++i) processes_[i].second.terminate();
  const auto deadline = std::chrono::steady_clock::now() + kStopGrace;
  for (auto& [name, process] : std::views::reverse(processes_)) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
    process.stop(std::max(left, milliseconds(0)));
  }
}

ControlPlane::Outcome ControlPlane::bring_up() {
  if (auto done = write_credentials(); !done) return done;
  if (auto done = start_etcd(); !done) return done;
  if (auto done = start_api_server(); !done) return done;
  const bool now = options_.with_workloads && !options_.workloads_later;
  return now ? start_workloads() : Outcome();
}

ControlPlane::Outcome ControlPlane::write_credentials() {
  std::string users = admin_token_ + "," + std::string(kAdminName) + ",admin-uid,system:masters\n" +
                      user_token_ + "," + std::string(kUserName) + ",user-uid\n";
  for (const ControlPlaneUser& user : options_.users) {
    more_tokens_.push_back(random_token());
    users += more_tokens_.back() + "," + user.name + "," + user.name + "-uid," + user.group + "\n";
  }
  if (!write_file(file("tokens.csv"), users)) {
    return std::unexpected("cannot write to " + directory().string());
  }
  // The key that signs service account tokens. No program of the control plane makes one.
  // In the SEC 1 form: kube-apiserver finds no public key in an elliptic PKCS #8 file.
  const Command keygen{"/usr/bin/env",
                       {"openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out",
                        file("service-accounts.key")},
                       environment()};
  if (auto made = run(keygen, {}, options_.step_timeout); !made.ok()) {
    return std::unexpected("openssl makes no key: " + made.err);
  }
  return {};
}

ControlPlane::Outcome ControlPlane::start_etcd() {
  const std::string url = etcd_url();
  auto launched =
      launch("etcd", {"--data-dir=" + file("etcd").string(), "--listen-client-urls=" + url,
                      "--advertise-client-urls=" + url,
                      // A single member talks to no peer, so any port will do.
                      "--listen-peer-urls=http://127.0.0.1:0", "--socket-reuse-port=true",
                      "--unsafe-no-fsync=true", "--log-level=warn",
                      // Room for benches with many objects; the default stops at 2 GiB.
                      "--quota-backend-bytes=8589934592"});
  if (!launched) return launched;
  return wait_for("etcd", "to listen", [this] { return etcd_port_.answers(); });
}

std::vector<std::string> ControlPlane::api_server_flags() const {
  std::vector<std::string> flags{
      "--etcd-servers=" + etcd_url(),
      "--secure-port=" + std::to_string(api_port_.number()),
      "--permit-port-sharing=true",
      "--cert-dir=" + file("certificates").string(),
      "--token-auth-file=" + file("tokens.csv").string(),
      "--authorization-mode=Node,RBAC",
      "--service-cluster-ip-range=10.96.0.0/12",
      "--service-account-issuer=https://kubernetes.default.svc",
      "--service-account-key-file=" + file("service-accounts.key").string(),
      "--service-account-signing-key-file=" + file("service-accounts.key").string(),
      "--allow-privileged=true",
  };
  if (options_.address.empty()) {
    // Endpoints may not hold a loopback address, so nothing could be published.
    flags.insert(flags.end(), {"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
                               "--endpoint-reconciler-type=none"});
  } else {
    // Also on loopback, where we look whether it listens.
    flags.insert(flags.end(),
                 {"--bind-address=0.0.0.0", "--advertise-address=" + options_.address});
  }
  if (!options_.with_workloads) {
    // Nobody makes the account "default" that every Pod would need.
    flags.emplace_back("--disable-admission-plugins=ServiceAccount");
  }
  if (options_.max_mutating_inflight) {
    flags.push_back("--max-mutating-requests-inflight=" +
                    std::to_string(*options_.max_mutating_inflight));
  }
  flags.insert(flags.end(), options_.api_server_args.begin(), options_.api_server_args.end());
  return flags;
}

ControlPlane::Outcome ControlPlane::start_api_server() {
  if (auto done = launch("kube-apiserver", api_server_flags()); !done) return done;
  auto listens = wait_for("kube-apiserver", "to listen", [this] { return api_port_.answers(); });
  if (!listens) return listens;
  // One that comes back has the certificate that it had.
  if (ca_pem_.empty()) {
    if (auto done = write_kubeconfigs(); !done) return done;
  }
  return wait_for("kube-apiserver", "to be ready",
                  [this] { return kubectl({"get", "--raw", "/readyz"}).ok(); });
}

ControlPlane::Outcome ControlPlane::write_kubeconfigs() {
  ca_pem_ = last_certificate(read_file(file("certificates") / "apiserver.crt"));
  if (ca_pem_.empty()) return std::unexpected(explain("kube-apiserver", "has no certificate"));
  const bool written =
      write_file(file("ca.crt"), ca_pem_) &&
      write_file(admin_kubeconfig_, kubeconfig(kAdminName, admin_token_, url_, ca_pem_)) &&
      write_file(user_kubeconfig_, kubeconfig(kUserName, user_token_, url_, ca_pem_));
  if (!written) return std::unexpected("cannot write to " + directory().string());
  for (std::size_t i = 0; i < options_.users.size(); ++i) {
    const ControlPlaneUser& user = options_.users[i];
    const std::string text = kubeconfig(user.name, more_tokens_[i], url_, ca_pem_);
    if (!write_file(kubeconfig_of(user), text))
      return std::unexpected("cannot write to " + directory().string());
  }
  return {};
}

fs::path ControlPlane::kubeconfig_of(const ControlPlaneUser& user) const {
  return file(user.name + ".kubeconfig");
}

ControlPlane::Outcome ControlPlane::write_kubeconfig(const fs::path& path,
                                                     const std::string& url) const {
  if (write_file(path, kubeconfig(kAdminName, admin_token_, url, ca_pem_))) return {};
  return std::unexpected("cannot write " + path.string());
}

ControlPlane::Outcome ControlPlane::stop_api_server() {
  const Process* server = find(kApiServer);
  if (server == nullptr) return std::unexpected("kube-apiserver does not run");
  ::kill(server->pid(), SIGKILL);
  std::erase_if(processes_, [](const auto& entry) { return entry.first == kApiServer; });
  return {};
}

ControlPlane::Outcome ControlPlane::restart_api_server() {
  if (find(kApiServer) != nullptr) return std::unexpected("kube-apiserver runs");
  if (auto done = start_api_server(); !done) return done;
  // What was under way when the server went may contradict the scheduler's memory, which then ends
  // itself: on a cluster somebody starts it again.
  const auto is_scheduler = [](const auto& entry) { return entry.first == kScheduler; };
  if (std::erase_if(processes_, is_scheduler) == 0) return {};
  return launch(kScheduler, workload_args());
}

void ControlPlane::hold_api_server() const {
  if (const Process* server = find(kApiServer)) ::kill(server->pid(), SIGSTOP);
}

void ControlPlane::resume_api_server() const {
  if (const Process* server = find(kApiServer)) ::kill(server->pid(), SIGCONT);
}

const Process* ControlPlane::find(std::string_view program) const {
  const auto found =
      std::ranges::find_if(processes_, [&](const auto& entry) { return entry.first == program; });
  return found == processes_.end() ? nullptr : &found->second;
}

// No serving port: several control planes then never meet on the well-known ones. The rate limits
// of the clients are out of the way of tests that create hundreds of Pods.
std::vector<std::string> ControlPlane::workload_args() const {
  return {"--kubeconfig=" + admin_kubeconfig_.string(), "--leader-elect=false", "--secure-port=0",
          "--kube-api-qps=1000", "--kube-api-burst=2000"};
}

ControlPlane::Outcome ControlPlane::start_workloads() {
  auto manager = workload_args();
  manager.push_back("--service-account-private-key-file=" + file("service-accounts.key").string());
  manager.push_back("--root-ca-file=" + file("ca.crt").string());
  manager.insert(manager.end(), options_.controller_manager_args.begin(),
                 options_.controller_manager_args.end());
  if (auto done = launch("kube-controller-manager", std::move(manager)); !done) return done;
  if (auto done = launch(kScheduler, workload_args()); !done) return done;
  if (options_.with_kwok) {
    if (auto done = start_kwok(); !done) return done;
  }
  return wait_for_workloads();
}

ControlPlane::Outcome ControlPlane::start_kwok() {
  std::vector<std::string> args{"--kubeconfig=" + admin_kubeconfig_.string(),
                                "--manage-all-nodes=true", "--cidr=" + options_.pod_cidr,
                                "--node-lease-duration-seconds=40"};
  for (const auto& stage : stage_files()) args.push_back("--config=" + stage.string());
  return launch("kwok", std::move(args));
}

ControlPlane::Outcome ControlPlane::wait_for_workloads() {
  const std::string timeout = "--timeout=" + std::to_string(options_.step_timeout.count()) + "s";
  if (options_.with_kwok && options_.nodes > 0) {
    std::string manifests;
    for (int number = 0; number < options_.nodes; ++number) manifests += node_manifest(number);
    auto made = kubectl_wait("kube-apiserver", {"create", "-f", "-"}, manifests);
    if (!made) return made;
    auto ready = kubectl_wait("kwok", {"wait", "--for=condition=Ready", "nodes", "--all", timeout});
    if (!ready) return ready;
  }
  return kubectl_wait("kube-controller-manager", {"wait", "--namespace=default", "--for=create",
                                                  "serviceaccount/default", timeout});
}

ControlPlane::Outcome ControlPlane::launch(const std::string& program,
                                           std::vector<std::string> args) {
  auto process = Process::spawn({options_.programs / program, std::move(args), environment()},
                                file(program + ".log"));
  if (!process) return std::unexpected(process.error());
  processes_.emplace_back(program, std::move(*process));
  return {};
}

template <typename Ready>
ControlPlane::Outcome ControlPlane::wait_for(const std::string& program, std::string_view what,
                                             Ready ready) {
  std::string dead;
  const bool done = eventually(options_.step_timeout, [&] {
    for (auto& [name, process] : processes_) {
      if (!process.running()) dead = name;
    }
    return !dead.empty() || ready();
  });
  if (!dead.empty()) return std::unexpected(explain(dead, "ended"));
  if (!done) return std::unexpected(explain(program, "took too long " + std::string(what)));
  return {};
}

ControlPlane::Outcome ControlPlane::kubectl_wait(std::string_view blame,
                                                 std::vector<std::string> args,
                                                 std::string_view input) {
  const std::string words = args.empty() ? std::string() : args.front();
  const auto result = kubectl(std::move(args), input);
  if (result.ok()) return {};
  return std::unexpected(explain(blame, "kubectl " + words + " says: " + result.err));
}

CommandResult ControlPlane::kubectl(std::vector<std::string> args, std::string_view input) const {
  return kubectl_with(admin_kubeconfig_, std::move(args), input);
}

CommandResult ControlPlane::kubectl_as_user(std::vector<std::string> args,
                                            std::string_view input) const {
  return kubectl_with(user_kubeconfig_, std::move(args), input);
}

CommandResult ControlPlane::kubectl_with(const fs::path& kubeconfig, std::vector<std::string> args,
                                         std::string_view input) const {
  args.insert(args.begin(), "--kubeconfig=" + kubeconfig.string());
  return run({options_.programs / "kubectl", std::move(args), environment()}, input,
             kCommandTimeout);
}

std::string ControlPlane::log_tail(std::string_view program, std::size_t lines) const {
  std::ifstream in(file(std::string(program) + ".log"));
  std::deque<std::string> kept;
  for (std::string line; std::getline(in, line);) {
    kept.push_back(std::move(line));
    if (kept.size() > lines) kept.pop_front();
  }
  std::string text;
  for (const auto& line : kept) text += line + '\n';
  return text;
}

std::string ControlPlane::explain(std::string_view program, std::string_view what) const {
  return std::string(program) + ": " + std::string(what) + "\n--- end of its log\n" +
         log_tail(program);
}

std::vector<pid_t> ControlPlane::process_ids() const {
  std::vector<pid_t> ids;
  ids.reserve(processes_.size());
  for (const auto& [name, process] : processes_) ids.push_back(process.pid());
  return ids;
}

std::string ControlPlane::etcd_url() const {
  return "http://127.0.0.1:" + std::to_string(etcd_port_.number());
}

fs::path ControlPlane::file(std::string_view name) const { return dir_.path() / name; }

std::vector<std::string> ControlPlane::environment() const {
  // HOME: kubectl caches what the server offers there, kwok reads a configuration from there.
  const char* path = std::getenv("PATH");
  return {"HOME=" + directory().string(),
          "PATH=" + std::string(path == nullptr ? "/usr/bin:/bin" : path)};
}

}  // namespace berth::testing
