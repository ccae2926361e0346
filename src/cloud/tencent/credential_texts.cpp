#include "cloud/tencent/credential_texts.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace berth::cloud::tencent {
namespace {

using Names = std::span<const std::string_view>;

// SecretIds begin with AKID; this is how base64 of one begins.
constexpr std::string_view kEncodedId = "QUtJR";
constexpr std::string_view kRemedy =
    "write the text itself, without blanks, line breaks and quotes; in `data` of a Secret it is "
    "base64 of that, once and without a line break: echo -n \"<SecretKey>\" | base64";

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_quoted(std::string_view text) { return text.front() == '"' || text.front() == '\''; }

Failure refused(std::string_view name, std::string_view why) {
  return fail(
      error_of(Code::forbidden, "{}", why).at(std::string(name)).with_hint(std::string(kRemedy)));
}

Result<> check_value(std::string_view name, std::string_view value) {
  if (!is_plain(value))
    return refused(name, "it has blanks, line breaks or bytes that are no text");
  if (is_quoted(value)) return refused(name, "it is in quotes");
  if (value.starts_with(kEncodedId)) return refused(name, "it is base64, and once too often");
  return {};
}

std::string listed(const Names& names) {
  std::string out;
  for (const std::string_view name : names) out.append(out.empty() ? "" : " or ").append(name);
  return out;
}

Result<Secret> first_of(const GetEntry& get, const Names& names) {
  for (const std::string_view name : names) {
    Result<std::optional<Secret>> entry = get(name);
    if (!entry) return pass(entry);
    if (!*entry || (*entry)->empty()) continue;
    if (Result<> good = check_value(name, (*entry)->reveal()); !good) return pass(good);
    return std::move(**entry);
  }
  return Secret();
}

Failure missing(std::string_view what, const Names& names) {
  return fail(error_of(Code::forbidden, "there is no {}", what)
                  .with_hint(fmt::format("it is looked for under {}", listed(names))));
}

// What others call the same.
std::string_view common_name(std::string_view name) {
  if (name == "secret_id") return kIdNames[0];
  if (name == "secret_key") return kKeyNames[0];
  if (name == "token") return kTokenNames[0];
  return name;
}

using Lines = std::map<std::string, Secret, std::less<>>;

Result<> read_line(std::string_view line, int number, Lines& out) {
  constexpr std::string_view kExport = "export ";
  line = trimmed(line);
  if (line.empty() || line.front() == '#' || line.front() == ';' || line == "[default]") return {};
  if (line.starts_with(kExport)) line = trimmed(line.substr(kExport.size()));
  const std::size_t equals = line.find('=');
  const auto at = fmt::format("line {}", number);
  if (equals == std::string_view::npos || equals == 0) {
    return fail(error_of(Code::forbidden, "it is not NAME=VALUE")
                    .at(at)
                    .with_hint(fmt::format("names are {}, {} and {}", listed(kIdNames),
                                           listed(kKeyNames), listed(kTokenNames))));
  }
  const std::string name(common_name(trimmed(line.substr(0, equals))));
  if (out.contains(name)) return fail(error_of(Code::forbidden, "{} is there twice", name).at(at));
  out.emplace(name, Secret(std::string(trimmed(line.substr(equals + 1)))));
  return {};
}

}  // namespace

Result<crypto::CloudCredentials> credentials_from(const GetEntry& get) {
  Result<Secret> id = first_of(get, kIdNames);
  if (!id) return pass(id);
  if (id->empty()) return missing("SecretId", kIdNames);
  Result<Secret> key = first_of(get, kKeyNames);
  if (!key) return pass(key);
  if (key->empty()) return missing("SecretKey", kKeyNames);
  Result<Secret> token = first_of(get, kTokenNames);
  if (!token) return pass(token);
  return crypto::CloudCredentials{
      .id = id->reveal(), .key = std::move(*key), .token = std::move(*token)};
}

Result<crypto::CloudCredentials> parse_credentials(const Secret& text) {
  Lines lines;
  std::string_view rest = text.reveal();
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (Result<> read = read_line(rest.substr(0, end), number, lines); !read) return pass(read);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return credentials_from([&](std::string_view name) -> Result<std::optional<Secret>> {
    const auto it = lines.find(name);
    return it == lines.end() ? std::nullopt : std::optional(it->second);
  });
}

}  // namespace berth::cloud::tencent
