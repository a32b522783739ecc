// From an operation's properties to its typed attributes: the bytecode's side of describe.h. VHLO
// writes every field of a structure as a property of its own, and every default in full.
#include <fmt/format.h>

#include <algorithm>

#include "syntax/bytecode_reader.h"
#include "syntax/describe.h"

namespace ullage::syntax {

namespace {

// How an enumeration is written, and the number of the first of its words in describe.h.
struct Enumeration {
  std::string_view name;
  AttrKind kind;
  uint64_t first = 0;
};
constexpr Enumeration kEnumerations[] = {
    {"comparison_direction", AttrKind::comparison_direction},
    {"comparison_type", AttrKind::comparison_type},
    {"precision", AttrKind::precision},
    {"rng_distribution", AttrKind::rng_distribution, 1},
    {"rng_algorithm", AttrKind::rng_algorithm},
    {"fft_type", AttrKind::fft_type},
    {"transpose", AttrKind::transpose, 1},
};

// A structure whose fields stand one after another.
class FieldsArchive {
 public:
  explicit FieldsArchive(Cursor& c) : c_(c) {}
  void dims(std::string_view name, Dims& out, Need) { out = BytecodeReader::signed_list(c_, name); }
  void integer(std::string_view name, int64_t& out, std::string_view, Need) {
    out = c_.svarint(name);
  }

 private:
  Cursor& c_;
};

}  // namespace

class BytecodeArchive {
 public:
  BytecodeArchive(BytecodeReader& reader, const BytecodeOp& op,
                  std::span<const uint32_t> properties, std::string_view owner, size_t at)
      : reader_(reader), op_(op), properties_(properties), owner_(owner), at_(at) {}

  void dims(std::string_view name, Dims& out, Need need) {
    if (auto found = take(name, need)) reader_.dims(*found, out, {name, owner_});
  }

  void integer(std::string_view name, int64_t& out, std::string_view, Need need) {
    // The fields of a channel handle; the type is written of sends and receives only.
    if (name == "handle") name = "channel_id";
    if (name == "type") {
      name = "channel_type";
      need = Need::optional;
    }
    auto found = take(name, need);
    if (!found) return;
    if (name == "api_version")
      out = static_cast<int64_t>(reader_.enumerated(*found, AttrKind::api_version, {name, owner_}));
    else
      out = reader_.integer(*found, {name, owner_});
  }

  void boolean(std::string_view name, bool& out, Need need) {
    if (auto found = take(name, need)) out = reader_.boolean(*found, {name, owner_});
  }
  void flag(std::string_view name, bool& out) { boolean(name, out, Need::required); }

  void floating(std::string_view name, double& out, DType, Need need) {
    if (auto found = take(name, need)) out = reader_.floating(*found, {name, owner_});
  }

  void string(std::string_view name, std::string& out, Need need) {
    if (auto found = take(name, need)) out = reader_.string(*found, {name, owner_});
  }
  void symbol(std::string_view name, std::string& out, Need need) { string(name, out, need); }

  void symbols(std::string_view name, std::vector<std::string>& out) {
    each(name,
         [&](uint32_t element) { out.emplace_back(reader_.string(element, {name, owner_})); });
  }

  template <typename E, size_t N>
  void keyword(std::string_view name, E& out, std::string_view enumeration,
               const std::string_view (&)[N], Need need) {
    if (auto found = take(name, need)) out = word<E>(*found, name, enumeration, N);
  }

  template <typename E, size_t N>
  void keywords(std::string_view name, std::vector<E>& out, std::string_view enumeration,
                const std::string_view (&)[N], std::string_view) {
    each(name, [&](uint32_t element) { out.push_back(word<E>(element, name, enumeration, N)); });
  }

  void bools(std::string_view name, std::vector<bool>& out) {
    if (auto found = take(name, Need::required)) reader_.bools(*found, out, {name, owner_});
  }

  void pairs(std::string_view name, std::vector<std::pair<int64_t, int64_t>>& out) {
    auto found = take(name, Need::optional);  // dynamic_conv has none
    if (!found) return;
    Dims flat;
    int64_t rows = 0, columns = 2;
    reader_.matrix(*found, flat, rows, columns, {name, owner_});
    if (reader_.failed()) return;
    if (columns != 2)
      return reader_.fail(
          at_, fmt::format("'{}' of {} takes pairs, not rows of {}", name, owner_, columns));
    for (size_t i = 0; i + 1 < flat.size(); i += 2) out.emplace_back(flat[i], flat[i + 1]);
  }

  void matrix(std::string_view name, Dims& out, int64_t& rows, int64_t& columns, Need need) {
    if (auto found = take(name, need)) reader_.matrix(*found, out, rows, columns, {name, owner_});
  }

  void literal(std::string_view name, Literal& out) {
    if (auto found = take(name, Need::required)) out = reader_.literal(*found, {name, owner_});
  }

  void layouts(std::string_view name, std::vector<Dims>& out, bool) {
    each(name,
         [&](uint32_t element) { reader_.dims(element, out.emplace_back(), {name, owner_}); });
  }

  // The fields are properties of the operation itself.
  template <typename F>
  void structure(std::string_view name, std::string_view, bool* present, Need, F&& fields) {
    bool there = true;
    if (name == "channel_handle") {
      int64_t channel = 0;
      integer("handle", channel, "i64", Need::optional);
      there = channel != 0 || find("channel_type");
    } else if (name == "algorithm") {
      const std::optional<uint32_t> type = find("accumulation_type");
      there = type && !is_none_type(*type, "accumulation_type");
    }
    if (present) *present = there;
    if (there && !reader_.failed()) fields(*this);
  }

  template <typename T, typename F>
  void structures(std::string_view name, std::string_view, std::vector<T>& out, F&& fields) {
    each(name, [&](uint32_t element) {
      std::optional<OpenAttr> opened =
          reader_.open(element, AttrKind::output_alias, {name, owner_});
      if (!opened) return;
      FieldsArchive inner(opened->fields);
      fields(inner, out.emplace_back());
      opened->fields.expect_end("this alias");
      reader_.expand(sizeof(T));
    });
  }

  void convolution(std::string_view, ConvolutionDimensionNumbers& out) {
    describe_convolution(*this, out);
  }

  void type(std::string_view name, std::string& out) {
    auto found = take(name, Need::required);
    if (!found) return;
    using Kind = BytecodeType::Kind;
    const BytecodeType& type = reader_.type_of(*found, {name, owner_});
    if (reader_.failed()) return;
    if (type.kind == Kind::tf32)
      out = "tf32";
    else if (type.kind == Kind::element && !type.type.quantized)
      out = ullage::name(type.type.dtype);
    else
      reader_.fail(at_, fmt::format("'{}' of {} must be an element type", name, owner_));
  }

  void verbatim(std::string_view name, std::string& out) {
    if (auto found = take(name, Need::required)) out = text(*found);
    if (out == "{}") out.clear();  // as if it were not there
  }

  void sharding(std::string_view name, std::string& out, std::string_view frame) {
    if (auto found = take(name, Need::required)) out = without_frame(text(*found), frame);
  }

  void config(std::string_view name, std::string& out, bool typed) {
    auto found = take(name, Need::required);
    if (!found) return;
    if (!typed) {
      out = reader_.string(*found, {name, owner_});
    } else if (reader_.open(*found, AttrKind::dictionary, {name, owner_})) {
      out = text(*found);
      if (out == "{}") out.clear();
    }
  }

 private:
  std::optional<uint32_t> find(std::string_view name) const {
    for (size_t i = 0; i < properties_.size(); ++i)
      if (op_.properties[i] == name) return properties_[i];
    return {};
  }

  std::optional<uint32_t> take(std::string_view name, Need need) {
    if (reader_.failed()) return {};
    std::optional<uint32_t> found = find(name);
    if (!found && need == Need::required)
      reader_.fail(at_, fmt::format("{} has no property '{}'", op_.name, name));
    return found;
  }

  std::string text(uint32_t attribute) {
    const std::string& out = reader_.text(attribute);
    return reader_.expand(out.size()) ? out : std::string();
  }

  bool is_none_type(uint32_t attribute, std::string_view name) {
    return reader_.type_of(attribute, {name, owner_}).kind == BytecodeType::Kind::none;
  }

  template <typename F>
  void each(std::string_view name, F&& f) {
    auto found = take(name, Need::required);
    if (!found) return;
    for (uint32_t element : reader_.elements(*found, {name, owner_})) {
      if (reader_.failed()) return;
      f(element);
    }
  }

  template <typename E>
  E word(uint32_t attribute, std::string_view name, std::string_view enumeration, size_t words) {
    const auto* row = std::find_if(std::begin(kEnumerations), std::end(kEnumerations),
                                   [&](const Enumeration& e) { return e.name == enumeration; });
    ULLAGE_CHECK(row != std::end(kEnumerations), "an enumeration that bytecode does not know");
    const uint64_t value = reader_.enumerated(attribute, row->kind, {name, owner_});
    if (reader_.failed()) return E{};
    if (value < row->first || value - row->first >= words) {
      reader_.fail(reader_.container_.attributes[attribute].begin,
                   fmt::format("expected {}, found {}", kind_name(row->kind), value));
      return E{};
    }
    return static_cast<E>(value - row->first);
  }

  BytecodeReader& reader_;
  const BytecodeOp& op_;
  std::span<const uint32_t> properties_;
  std::string_view owner_;
  size_t at_;
};

void BytecodeReader::read_attributes(OpKind kind, const BytecodeOp& op,
                                     std::span<const uint32_t> properties, size_t at,
                                     Attributes& attributes, NamedAttributes& extra) {
  attributes = empty_attributes(kind);
  BytecodeArchive archive(*this, op, properties, info(kind).mnemonic, at);
  std::visit([&](auto& typed) { describe(archive, kind, typed); }, attributes);
  if (failed()) return;
  drop_defaults(attributes);
  // Properties that the text reader keeps, unless they say nothing.
  for (size_t i = 0; i < properties.size(); ++i) {
    const std::string_view name = op.properties[i];
    const AttrOwner owner{name, op.name};
    const bool accuracy = name == "result_accuracy";
    if (!accuracy && name != "layout") continue;
    const bool empty = accuracy ? is_default_accuracy(properties[i], owner)
                                : elements(properties[i], owner).empty();
    if (empty || failed()) continue;
    extra.push_back({std::string(name), text(properties[i])});
    if (!expand(extra.back().text.size())) return;
  }
}

}  // namespace ullage::syntax
