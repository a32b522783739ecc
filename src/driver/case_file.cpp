#include "driver/case_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

namespace ullage {
namespace {

using Json = nlohmann::json;

// Reads the fields of one JSON object. The first mistake is kept and ends the reading; later reads
// give zeros.
class Fields {
 public:
  Fields(const Json& object, std::string place, std::optional<Diagnostic>& mistake)
      : object_(object), place_(std::move(place)), mistake_(mistake) {
    if (!object_.is_object()) fail("is not an object");
  }

  bool failed() const { return mistake_.has_value(); }
  void fail(const std::string& what) {
    if (!mistake_) mistake_ = error(fmt::format("{} {}", place_, what));
  }
  bool has(const char* key) const {
    return object_.is_object() && object_.contains(key) && !object_[key].is_null();
  }

  const Json& at(const char* key) {
    static const Json nothing;
    if (has(key)) return object_[key];
    fail(fmt::format("has no field '{}'", key));
    return nothing;
  }
  std::string text(const char* key) {
    const Json& value = at(key);
    if (value.is_string()) return value.get<std::string>();
    fail(fmt::format("needs a text as '{}'", key));
    return {};
  }
  double number(const char* key) {
    const Json& value = at(key);
    if (value.is_number()) return value.get<double>();
    fail(fmt::format("needs a number as '{}'", key));
    return 0;
  }
  float single(const char* key) { return static_cast<float>(number(key)); }
  int64_t integer(const char* key) {
    const Json& value = at(key);
    bool fits = value.is_number_integer() &&
                (!value.is_number_unsigned() ||
                 value.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()});
    if (fits) return value.get<int64_t>();
    fail(fmt::format("needs a whole number as '{}'", key));
    return 0;
  }
  uint64_t natural(const char* key) {
    const Json& value = at(key);
    if (value.is_number_unsigned()) return value.get<uint64_t>();
    fail(fmt::format("needs a whole number from 0 up as '{}'", key));
    return 0;
  }
  const Json& array(const char* key) {
    const Json& value = at(key);
    if (!value.is_array()) fail(fmt::format("needs a list as '{}'", key));
    return value;
  }

  Type type() {
    Type out;
    std::string dtype_text = text("dtype");
    std::optional<DType> dtype = dtype_from_name(dtype_text);
    if (!dtype) fail(fmt::format("has the unknown element type '{}'", dtype_text));
    std::vector<int64_t> shape;
    int64_t bytes = dtype ? storage_bytes(*dtype) : 1;
    for (const Json& extent : array("shape")) {
      bool valid = extent.is_number_unsigned() && extent.get<uint64_t>() < (uint64_t{1} << 48);
      shape.push_back(valid ? extent.get<int64_t>() : 0);
      if (!valid || __builtin_mul_overflow(bytes, std::max<int64_t>(shape.back(), 1), &bytes))
        fail("has an impossible shape");
    }
    if (!failed()) out = Type::tensor(*dtype, std::move(shape));
    return out;
  }

  Fields inside(const char* key) {
    return Fields(at(key), fmt::format("{}.{}", place_, key), mistake_);
  }

 private:
  const Json& object_;
  std::string place_;
  std::optional<Diagnostic>& mistake_;
};

// Appends one element, converted from a JSON number (or a boolean).
bool append_element(const Json& value, DType dtype, std::vector<std::byte>& out) {
  size_t at = out.size();
  out.resize(at + static_cast<size_t>(storage_bytes(dtype)));
  if (value.is_boolean()) {
    store_number(int64_t{value.get<bool>()}, dtype, out.data() + at);
  } else if (value.is_number_integer()) {  // unsigned ones above 2^63 keep their bits
    store_number(value.get<int64_t>(), dtype, out.data() + at);
  } else if (value.is_number()) {
    store_number(value.get<double>(), dtype, out.data() + at);
  } else {
    return false;
  }
  return true;
}

bool append_elements(const Json& value, DType dtype, std::vector<std::byte>& out, int depth = 0) {
  if (!value.is_array()) return append_element(value, dtype, out);
  if (depth == 64) return false;  // no tensor is nested deeper
  return std::all_of(value.begin(), value.end(), [&](const Json& item) {
    return append_elements(item, dtype, out, depth + 1);
  });
}

void read_uniform(Fields& fields, InputSpec& out) {
  out.seed = fields.natural("seed");
  out.lo = fields.single("lo");
  out.span = fields.single("span");
}
void read_normal(Fields& fields, InputSpec& out) {
  out.seed = fields.natural("seed");
  out.mul = fields.single("mul");
  if (fields.has("mean")) out.mean = fields.single("mean");
}
void read_integer(Fields& fields, InputSpec& out) {
  out.seed = fields.natural("seed");
  out.lower = fields.integer("lo");
  int64_t upper = fields.integer("hi");
  if (!fields.failed() && upper <= out.lower) fields.fail("needs 'hi' above 'lo'");
  out.range = static_cast<uint64_t>(upper) - static_cast<uint64_t>(out.lower);
}
void read_boolean(Fields& fields, InputSpec& out) {
  out.seed = fields.natural("seed");
  out.below = fields.natural("below");
}
void read_iota(Fields& fields, InputSpec& out) {
  if (fields.has("start")) out.start = fields.integer("start");
  if (fields.has("delta")) out.delta = fields.integer("delta");
}
void read_constant(Fields& fields, InputSpec& out) {
  if (!append_element(fields.at("value"), out.type.dtype, out.bytes))
    fields.fail("needs a number as 'value'");
}
void read_values(Fields& fields, InputSpec& out) {
  if (!append_elements(fields.at("values"), out.type.dtype, out.bytes))
    fields.fail("needs numbers as 'values'");
  if (!fields.failed() && static_cast<int64_t>(out.bytes.size()) != out.type.bytes())
    fields.fail(fmt::format("has not as many 'values' as {} has elements", to_string(out.type)));
}

struct Recipe {
  std::string_view name;
  Fill fill;
  void (*read)(Fields&, InputSpec&);
};
constexpr Recipe kRecipes[] = {
    {"uniform", Fill::uniform, read_uniform}, {"normal", Fill::normal, read_normal},
    {"int", Fill::integer, read_integer},     {"bool", Fill::boolean, read_boolean},
    {"iota", Fill::iota, read_iota},          {"const", Fill::constant, read_constant},
    {"values", Fill::values, read_values}};

InputSpec read_input(Fields fields) {
  InputSpec out;
  if (fields.has("name")) out.name = fields.text("name");
  out.type = fields.type();
  if (fields.has("aliases_output")) out.aliases_output = fields.integer("aliases_output");
  out.donated =
      out.aliases_output.has_value() || (fields.has("donor") && fields.at("donor") != false);
  std::string fill = fields.text("fill");
  if (fields.failed()) return out;
  if (!can_fill(out.type.dtype)) {
    fields.fail(fmt::format("is of type {}, for which there is no recipe", name(out.type.dtype)));
    return out;
  }
  for (const Recipe& recipe : kRecipes) {
    if (recipe.name != fill) continue;
    out.fill = recipe.fill;
    recipe.read(fields, out);
    return out;
  }
  fields.fail(fmt::format("has the unknown recipe '{}'", fill));
  return out;
}

std::complex<double> read_complex(const Json& value, Fields& fields) {
  if (value.is_number()) return value.get<double>();
  if (value.is_array() && value.size() == 2 && value[0].is_number() && value[1].is_number())
    return {value[0].get<double>(), value[1].get<double>()};
  fields.fail("has something that is no number");
  return 0;
}

OutputSpec read_output(Fields fields) {
  OutputSpec out;
  if (fields.has("name")) out.name = fields.text("name");
  out.type = fields.type();
  out.has_values = fields.has("sample");
  if (!out.has_values || fields.failed()) return out;
  if (!can_fill(out.type.dtype)) {
    fields.fail(fmt::format("is of type {}, which cannot be judged", name(out.type.dtype)));
    return out;
  }
  Fields sample = fields.inside("sample");
  out.stride = sample.integer("stride");
  if (out.stride < 1) sample.fail("needs a 'stride' from 1 up");
  for (const Json& value : sample.array("values"))
    out.sample.push_back(read_complex(value, sample));
  if (sample.failed()) return out;
  int64_t reachable = (out.type.num_elements() + out.stride - 1) / out.stride;
  if (static_cast<int64_t>(out.sample.size()) > reachable)
    sample.fail("goes past the end of the output");
  out.exact = fields.has("exact") && fields.at("exact") == true;
  if (out.exact) {
    uint64_t crc = fields.natural("crc32");
    if (crc > 0xffffffff) fields.fail("has an impossible 'crc32'");
    out.crc32 = static_cast<uint32_t>(crc);
    return out;
  }
  out.sum = read_complex(fields.at("sum"), fields);
  out.sum_of_squares = fields.number("sumsq");
  if (fields.has("absmax")) out.largest = fields.number("absmax");
  out.tolerance = fields.number("tol_abs");
  out.sum_tolerance = fields.number("tol_sum");
  out.sum_of_squares_tolerance = fields.number("tol_sumsq");
  if (fields.has("tol_rms")) out.rms_tolerance = fields.number("tol_rms");
  return out;
}

}  // namespace

Result<CaseFile> parse_case(std::string_view text, const std::string& path) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& problem) {
    // The library's sentence begins with its own name and the place.
    std::string what = problem.what();
    size_t colon = what.find(": ");
    return error(fmt::format("'{}' is not valid JSON: {}", path,
                             colon == what.npos ? what : what.substr(colon + 2)));
  }
  CaseFile out;
  std::optional<Diagnostic> mistake;
  Fields fields(json, fmt::format("'{}'", path), mistake);
  if (fields.has("name")) out.name = fields.text("name");
  if (fields.has("devices")) out.devices = fields.integer("devices");
  const Json& inputs = fields.array("inputs");
  for (size_t i = 0; i < inputs.size() && !mistake; ++i)
    out.inputs.push_back(
        read_input(Fields(inputs[i], fmt::format("'{}': inputs[{}]", path, i), mistake)));
  const Json& outputs = mistake ? inputs : fields.array("outputs");
  for (size_t i = 0; i < outputs.size() && !mistake; ++i)
    out.outputs.push_back(
        read_output(Fields(outputs[i], fmt::format("'{}': outputs[{}]", path, i), mistake)));
  if (mistake) return *mistake;
  return out;
}

Result<CaseFile> read_case_file(const std::string& path) {
  Result<FileBytes> file = FileBytes::open(path);
  if (!file.ok()) return file.diagnostics();
  Result<CaseFile> out = parse_case(file->text(), path);
  if (!out.ok()) return out;
  std::filesystem::path beside = std::filesystem::path(path).parent_path() / "expected.npz";
  std::error_code ignored;
  if (path == "-" || !std::filesystem::exists(beside, ignored)) return out;
  Result<FileBytes> expected = FileBytes::open(beside);
  if (!expected.ok()) return expected.diagnostics();
  Result<std::vector<NpyArray>> arrays = read_npz(expected->bytes(), beside.string());
  if (!arrays.ok()) return arrays.diagnostics();
  out->expected_file = std::move(*expected);
  out->expected = std::move(*arrays);
  return out;
}

}  // namespace ullage
