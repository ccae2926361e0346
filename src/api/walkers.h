// What is done with a kind's table: read, write, check, describe. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "api/kind_table.h"
#include "base/result.h"
#include "wire/json_reader.h"
#include "wire/value.h"

namespace berth::api {

// Reads the fields that the table knows and passes over others. Wrong types fail the document that
// `json` is part of.
void decode_fields(std::span<const Field> fields, void* out, wire::JsonNode json);
wire::Object encode_fields(std::span<const Field> fields, const void* in);

// Every breach of the rules, each with its path: "spec.poolItems[0].startPort: 70000 is not in
// 1-65535".
struct Breach {
  std::string path;
  std::string message;
};
void check_fields(std::span<const Field> fields, const void* in, const std::string& path,
                  std::vector<Breach>& out);
// Breaches of immutability between two versions. List elements are paired by their map key.
void check_unchanged(std::span<const Field> fields, const void* before, const void* after,
                     const std::string& path, std::vector<Breach>& out);

// The structural OpenAPI schema of an object with these fields.
wire::Object schema_of(std::span<const Field> fields);

template <class T>
void decode(T& out, wire::JsonNode json) {
  decode_fields(fields_of<T>(), &out, json);
}
template <class T>
wire::Object encode(const T& in) {
  return encode_fields(fields_of<T>(), &in);
}
template <class T>
std::vector<Breach> check(const T& in, const std::string& path) {
  std::vector<Breach> out;
  check_fields(fields_of<T>(), &in, path, out);
  return out;
}
template <class T>
std::vector<Breach> check_update(const T& before, const T& after, const std::string& path) {
  std::vector<Breach> out;
  check_unchanged(fields_of<T>(), &before, &after, path, out);
  return out;
}

}  // namespace berth::api
