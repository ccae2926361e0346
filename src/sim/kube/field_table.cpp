#include "sim/kube/field_table.h"

#include <algorithm>
#include <charconv>

namespace berth::sim::kube {

namespace {

// What `kBuiltinFields` does not have: definitions, whose schemas stay opaque.
constexpr std::string_view kMoreFields = R"(
@apiextensions
CustomResourceDefinition metadata:meta.ObjectMeta=1 spec!:CustomResourceDefinitionSpec=2
  status:o=3
CustomResourceDefinitionSpec group!=1 names!:CustomResourceDefinitionNames=3 scope!=4
  versions!:[]CustomResourceDefinitionVersion=7 conversion?:o=9 preserveUnknownFields:b=10
CustomResourceDefinitionNames plural!=1 singular=2 shortNames:[]s=3 kind!=4 listKind=5
  categories:[]s=6
CustomResourceDefinitionVersion name!=1 served!:b=2 storage!:b=3 deprecated:b=7
  deprecationWarning?=8 schema?:o=4 subresources?:CustomResourceSubresources=5
  additionalPrinterColumns:[]CustomResourceColumnDefinition=6 selectableFields:[]o=9
CustomResourceColumnDefinition name!=1 type!=2 format=3 description=4 priority:i=5 jsonPath!=6
CustomResourceSubresources status?:o=1 scale?:CustomResourceSubresourceScale=2
CustomResourceSubresourceScale specReplicasPath!=1 statusReplicasPath!=2 labelSelectorPath?=3
)";

std::string_view next_word(std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \n"), text.size());
  text.remove_prefix(begin);
  const std::string_view word = text.substr(0, text.find_first_of(" \n"));
  text.remove_prefix(word.size());
  return word;
}

bool take_suffix(std::string_view& text, char mark) {
  if (!text.ends_with(mark)) return false;
  text.remove_suffix(1);
  return true;
}

bool take_prefix(std::string_view& text, std::string_view mark) {
  if (!text.starts_with(mark)) return false;
  text.remove_prefix(mark.size());
  return true;
}

FieldType scalar_of(char letter) {
  switch (letter) {
    case 'i': return FieldType::integer;
    case 'b': return FieldType::boolean;
    case 't': return FieldType::time;
    case 'u': return FieldType::micro_time;
    case 'y': return FieldType::bytes;
    case 'q': return FieldType::quantity;
    case 'x': return FieldType::int_or_string;
    case 'r': return FieldType::json;
    case 'o': return FieldType::opaque;
    default: return FieldType::text;
  }
}

Field field_of(std::string_view word, std::string_view package, FieldTable& table) {
  Field field;
  const std::size_t equals = word.rfind('=');
  std::from_chars(word.data() + equals + 1, word.data() + word.size(), field.number);
  word = word.substr(0, equals);
  const std::size_t colon = std::min(word.find(':'), word.size());
  std::string_view type = colon == word.size() ? "s" : word.substr(colon + 1);
  word = word.substr(0, colon);
  field.keeps_zero = take_suffix(word, '?');
  field.required = take_suffix(word, '!');
  field.inlined = word == "*";
  field.name = word;
  field.list = take_prefix(type, "[]");
  field.map = take_prefix(type, "{}");
  if (type.size() == 1) {
    field.type = scalar_of(type.front());
    return field;
  }
  field.type = FieldType::message;
  std::string full(type);
  if (type.find('.') == std::string_view::npos) full.insert(0, std::string(package) + ".");
  field.message = &table[full];  // a map's elements stay where they are
  return field;
}

void parse_into(FieldTable& table, std::string_view rest) {
  std::string_view package;
  Message* message = nullptr;
  for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
    if (take_prefix(word, "@")) {
      package = word;
    } else if (word.find('=') == std::string_view::npos) {
      std::string name = std::string(package) + "." + std::string(word);
      message = &table[name];
      message->name = std::move(name);
    } else {
      message->fields.push_back(field_of(word, package, table));
    }
  }
}

FieldTable parse_tables() {
  FieldTable table;
  parse_into(table, kBuiltinFields);
  parse_into(table, kMoreFields);
  return table;
}

}  // namespace

const FieldTable& field_table() {
  static const FieldTable kTable = parse_tables();
  return kTable;
}

const Message* message_of(std::string_view group, std::string_view version, std::string_view kind) {
  // Every version of every group has these, and they are the same.
  if (kind == "DeleteOptions") {
    group = "meta";
    version = "v1";
  }
  if (version != "v1") return nullptr;
  const std::string_view package = group.empty() ? "core" : group.substr(0, group.find('.'));
  const auto found = field_table().find(std::string(package) + "." + std::string(kind));
  return found == field_table().end() ? nullptr : &found->second;
}

}  // namespace berth::sim::kube
