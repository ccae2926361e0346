#include "kube/client/kubeconfig.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <filesystem>

#include "base/encoding.h"
#include "net/url.h"
#include "wire/yaml.h"

namespace berth::kube {
namespace {

constexpr std::string_view kExecExtension = "client.authentication.k8s.io/exec";
constexpr std::array<std::string_view, 2> kExecVersions{"client.authentication.k8s.io/v1",
                                                        "client.authentication.k8s.io/v1beta1"};

std::string_view type_name(const wire::Value& value) {
  switch (value.kind()) {
    case boost::json::kind::null: return "null";
    case boost::json::kind::bool_: return "a boolean";
    case boost::json::kind::string: return "text";
    case boost::json::kind::array: return "a list";
    case boost::json::kind::object: return "a mapping";
    default: return "a number";
  }
}

// The file under way. The first defect is kept; reading goes on and its result is dropped.
struct File {
  std::string path;
  std::optional<Error> error{};

  std::string resolve(std::string name) const {
    const std::filesystem::path given(name);
    if (name.empty() || given.is_absolute()) return name;
    return (std::filesystem::path(path).parent_path() / given).lexically_normal().string();
  }
};

// One mapping of the file. Missing and null fields read as empty; a field of another type is a
// defect of the file. Unknown fields are passed over, as kubectl does.
class Mapping {
 public:
  Mapping(File& file, const wire::Object* fields, std::string path)
      : file_(&file), fields_(fields), path_(std::move(path)) {}

  Origin origin() const { return {file_->path, path_}; }
  Origin origin(std::string_view key) const { return {file_->path, child_path(key)}; }
  bool has(std::string_view key) const { return find(key) != nullptr; }

  void refuse(std::string_view key, std::string message) const {
    if (file_->error) return;
    file_->error = Error{.code = Code::invalid,
                         .message = std::move(message),
                         .object = file_->path,
                         .field = child_path(key)};
  }

  std::string text(std::string_view key) const {
    const wire::Value* value = find(key);
    if (value == nullptr) return {};
    if (const auto* text = value->if_string()) return std::string(*text);
    refuse(key, fmt::format("must be text, found {}", type_name(*value)));
    return {};
  }
  std::string required_text(std::string_view key) const {
    std::string value = text(key);
    if (value.empty()) refuse(key, "must be set");
    return value;
  }
  bool flag(std::string_view key) const {
    const wire::Value* value = find(key);
    if (value == nullptr) return false;
    if (value->is_bool()) return value->get_bool();
    refuse(key, fmt::format("must be true or false, found {}", type_name(*value)));
    return false;
  }
  std::string file_name(std::string_view key) const { return file_->resolve(text(key)); }

  // `key` names a file, `key`-data holds its content in base64.
  Material material(const std::string& key) const {
    const std::string data_key = key + "-data";
    Material out{.file = file_name(key), .origin = origin(key)};
    const std::string encoded = text(data_key);
    if (encoded.empty()) return out;
    auto decoded = base64_decode(encoded);
    if (!decoded) {
      refuse(data_key, decoded.error().message);
      return out;
    }
    out.data = Secret(*std::move(decoded));
    out.origin = origin(data_key);
    return out;
  }

  Mapping mapping(std::string_view key) const {
    const wire::Value* value = find(key);
    if (value != nullptr && !value->is_object())
      refuse(key, fmt::format("must be a mapping, found {}", type_name(*value)));
    return {*file_, value != nullptr ? value->if_object() : nullptr, child_path(key)};
  }
  std::vector<Mapping> mappings(std::string_view key) const {
    std::vector<Mapping> out;
    for_each(key, [&](const wire::Value& item, const std::string& item_key) {
      if (const wire::Object* object = item.if_object())
        out.emplace_back(*file_, object, child_path(item_key));
      else
        refuse(item_key, fmt::format("must be a mapping, found {}", type_name(item)));
    });
    return out;
  }
  std::vector<std::string> texts(std::string_view key) const {
    std::vector<std::string> out;
    for_each(key, [&](const wire::Value& item, const std::string& item_key) {
      if (const auto* text = item.if_string())
        out.emplace_back(*text);
      else
        refuse(item_key, fmt::format("must be text, found {}", type_name(item)));
    });
    return out;
  }
  wire::Value value(std::string_view key) const {
    const wire::Value* found = find(key);
    return found != nullptr ? *found : wire::Value();
  }

 private:
  const wire::Value* find(std::string_view key) const {
    const wire::Value* value = fields_ != nullptr ? fields_->if_contains(key) : nullptr;
    return value != nullptr && value->is_null() ? nullptr : value;
  }
  std::string child_path(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }
  template <class Visit>
  void for_each(std::string_view key, Visit visit) const {
    const wire::Value* value = find(key);
    if (value == nullptr) return;
    const wire::Array* array = value->if_array();
    if (array == nullptr)
      return refuse(key, fmt::format("must be a list, found {}", type_name(*value)));
    for (std::size_t i = 0; i < array->size(); ++i)
      visit((*array)[i], fmt::format("{}[{}]", key, i));
  }

  File* file_;
  const wire::Object* fields_;
  std::string path_;
};

ClusterEntry read_cluster(const Mapping& entry) {
  const Mapping cluster = entry.mapping("cluster");
  ClusterEntry out{.name = entry.required_text("name"),
                   .origin = cluster.origin(),
                   .server = cluster.text("server"),
                   .tls_server_name = cluster.text("tls-server-name"),
                   .proxy_url = cluster.text("proxy-url"),
                   .authority = cluster.material("certificate-authority"),
                   .insecure = cluster.flag("insecure-skip-tls-verify")};
  while (out.server.ends_with('/')) out.server.pop_back();
  for (const Mapping& extension : cluster.mappings("extensions")) {
    if (extension.text("name") == kExecExtension) out.exec_config = extension.value("extension");
  }
  return out;
}

ExecEntry read_exec(const Mapping& exec, const File& file) {
  ExecEntry out{.origin = exec.origin(),
                .command = exec.required_text("command"),
                .args = exec.texts("args"),
                .api_version = exec.required_text("apiVersion"),
                .install_hint = exec.text("installHint"),
                .interactive_mode = exec.text("interactiveMode"),
                .provide_cluster_info = exec.flag("provideClusterInfo")};
  // A bare name is looked up in PATH; anything with a slash is a path like the others.
  if (out.command.find('/') != std::string::npos) out.command = file.resolve(out.command);
  for (const Mapping& variable : exec.mappings("env"))
    out.env.emplace_back(variable.required_text("name"), variable.text("value"));
  return out;
}

UserEntry read_user(const Mapping& entry, const File& file) {
  const Mapping user = entry.mapping("user");
  UserEntry out{.name = entry.required_text("name"),
                .origin = user.origin(),
                .certificate = user.material("client-certificate"),
                .key = user.material("client-key"),
                .token = Secret(user.text("token")),
                .token_file = user.file_name("tokenFile"),
                .username = user.text("username"),
                .password = Secret(user.text("password"))};
  if (user.has("exec")) out.exec = read_exec(user.mapping("exec"), file);
  for (const std::string_view key : {"auth-provider", "as", "as-uid", "as-groups", "as-user-extra"})
    if (user.has(key) && out.unsupported.empty()) out.unsupported = key;
  return out;
}

ContextEntry read_context(const Mapping& entry) {
  const Mapping context = entry.mapping("context");
  return {.name = entry.required_text("name"),
          .origin = context.origin(),
          .cluster = context.text("cluster"),
          .user = context.text("user"),
          .ns = context.text("namespace")};
}

template <class Entry>
const Entry* find_named(const std::vector<Entry>& entries, std::string_view name) {
  const auto found = std::ranges::find(entries, name, &Entry::name);
  return found == entries.end() ? nullptr : &*found;
}

template <class Entry, class Read>
std::vector<Entry> read_list(const Mapping& root, std::string_view key, Read read) {
  std::vector<Entry> out;
  for (const Mapping& item : root.mappings(key)) {
    Entry entry = read(item);
    if (find_named(out, entry.name) != nullptr)
      item.refuse("name", fmt::format("'{}' is there twice", entry.name));
    out.push_back(std::move(entry));
  }
  return out;
}

template <class Entry>
void merge_list(std::vector<Entry>& first, std::vector<Entry>& next) {
  for (Entry& entry : next)
    if (find_named(first, entry.name) == nullptr) first.push_back(std::move(entry));
}

template <class Entry>
std::string names_of(const std::vector<Entry>& entries) {
  std::string out;
  for (const Entry& entry : entries) out += (out.empty() ? "" : ", ") + entry.name;
  return out.empty() ? "none" : out;
}

Failure refuse(const Origin& origin, std::string_view key, std::string message) {
  const Origin at{origin.file, fmt::format("{}.{}", origin.field, key)};
  return fail(at.mark(Error{.code = Code::invalid, .message = std::move(message)}));
}

// The parser's text without what it quotes: that may be a part of a secret.
std::string without_quotes(std::string message) {
  const std::size_t quote = message.find('\'');
  if (quote == std::string::npos) return message;
  return message.substr(0, message.rfind(':', quote)) + ": not valid here";
}

Result<> check_cluster(const ClusterEntry& cluster) {
  const Origin& at = cluster.origin;
  if (cluster.server.empty()) return refuse(at, "server", "must be set");
  const auto url = net::parse_url(cluster.server);
  if (!url || !url->query.empty())
    return refuse(at, "server", "must be an http:// or https:// URL without user and query");
  if (cluster.insecure && !cluster.authority.empty())
    return refuse(at, "insecure-skip-tls-verify",
                  "cannot be true when a certificate-authority is given");
  const auto& proxy = cluster.proxy_url;
  const bool known = std::ranges::any_of(
      std::array<std::string_view, 4>{"http://", "https://", "socks5://", "socks5h://"},
      [&](std::string_view scheme) { return proxy.starts_with(scheme); });
  if (!proxy.empty() && !known)
    return refuse(at, "proxy-url", "must begin with http://, https:// or socks5://");
  return {};
}

Result<> check_exec(const ExecEntry& exec) {
  const Origin& at = exec.origin;
  if (std::ranges::find(kExecVersions, exec.api_version) == kExecVersions.end())
    return refuse(at, "apiVersion",
                  fmt::format("'{}' is not served: {} and {} are", exec.api_version,
                              kExecVersions[0], kExecVersions[1]));
  const std::string& mode = exec.interactive_mode;
  if (mode == "Always")
    return refuse(at, "interactiveMode", "Always needs a terminal, and there is none here");
  const bool may_be_unset = exec.api_version == kExecVersions[1];
  if (mode != "Never" && mode != "IfAvailable" && !(mode.empty() && may_be_unset))
    return refuse(at, "interactiveMode", "must be Never, IfAvailable or Always");
  return {};
}

Result<> check_user(const UserEntry& user) {
  const Origin& at = user.origin;
  if (user.unsupported == "auth-provider")
    return refuse(at, "auth-provider",
                  "was removed from Kubernetes in 1.26: use an exec plugin instead");
  if (!user.unsupported.empty()) return refuse(at, user.unsupported, "impersonation is not served");
  if (user.certificate.empty() != user.key.empty())
    return refuse(at, user.key.empty() ? "client-key" : "client-certificate",
                  "certificate and key must be given together");
  const bool has_token = !user.token.empty() || !user.token_file.empty();
  const int ways = int{has_token} + int{!user.username.empty()} + int{user.exec.has_value()};
  if (ways > 1)
    return refuse(at, has_token ? "token" : "username",
                  "only one of token, username and exec can be given");
  return user.exec ? check_exec(*user.exec) : Result<>{};
}

}  // namespace

Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& path) {
  const auto document = wire::parse_yaml(text);
  if (!document)
    return fail(Error{.code = Code::invalid,
                      .message = without_quotes(document.error().message),
                      .object = path});
  if (!document->is_object() && !document->is_null())
    return fail(
        error_of(Code::invalid, "must be a mapping, found {}", type_name(*document)).about(path));
  File file{.path = path};
  const Mapping root(file, document->if_object(), "");
  if (const std::string kind = root.text("kind"); !kind.empty() && kind != "Config")
    root.refuse("kind", "must be Config");
  Kubeconfig out{.clusters = read_list<ClusterEntry>(root, "clusters", read_cluster),
                 .users = read_list<UserEntry>(
                     root, "users", [&](const Mapping& entry) { return read_user(entry, file); }),
                 .contexts = read_list<ContextEntry>(root, "contexts", read_context),
                 .current_context = root.text("current-context")};
  if (file.error) return fail(*std::move(file.error));
  return out;
}

void merge_kubeconfig(Kubeconfig& first, Kubeconfig next) {
  merge_list(first.clusters, next.clusters);
  merge_list(first.users, next.users);
  merge_list(first.contexts, next.contexts);
  if (first.current_context.empty()) first.current_context = std::move(next.current_context);
}

Result<Selection> select_context(const Kubeconfig& config, std::string_view name) {
  const std::string_view wanted = name.empty() ? config.current_context : name;
  if (wanted.empty())
    return fail(error_of(Code::invalid, "the kubeconfig has no current-context")
                    .with_hint("choose one of: " + names_of(config.contexts)));
  const ContextEntry* context = find_named(config.contexts, wanted);
  if (context == nullptr)
    return fail(error_of(Code::invalid, "the kubeconfig has no context '{}'", wanted)
                    .with_hint("choose one of: " + names_of(config.contexts)));
  Selection out{.context = *context};
  const ClusterEntry* cluster = find_named(config.clusters, context->cluster);
  if (cluster == nullptr)
    return refuse(context->origin, "cluster",
                  fmt::format("there is no cluster '{}'", context->cluster));
  out.cluster = *cluster;
  if (!context->user.empty()) {
    const UserEntry* user = find_named(config.users, context->user);
    if (user == nullptr)
      return refuse(context->origin, "user", fmt::format("there is no user '{}'", context->user));
    out.user = *user;
  }
  if (auto checked = check_cluster(out.cluster); !checked) return pass(checked);
  if (auto checked = check_user(out.user); !checked) return pass(checked);
  return out;
}

}  // namespace berth::kube
