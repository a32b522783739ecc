// From the dictionary of an operation to its typed attributes (the reading half of describe.h).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "syntax/describe.h"
#include "syntax/float_formats.h"
#include "syntax/parser.h"

namespace ullage::syntax {

std::string without_frame(std::string text, std::string_view frame) {
  const size_t open = frame.find_last_of("<[{");
  const std::string_view before = frame.substr(0, open), after = frame.substr(open + 2);
  if (text.size() >= frame.size() && text.starts_with(before) && text.ends_with(after))
    text = text.substr(before.size(), text.size() - before.size() - after.size());
  return text;
}

namespace {

using Kind = AttrValue::Kind;

class ReadArchive {
 public:
  // `what` names the owner in messages: an operation, or a structure inside one.
  ReadArchive(Parser& parser, AttrDict& dict, Position at, std::string_view what)
      : parser_(parser), dict_(dict), at_(at), what_(what) {}

  void dims(std::string_view name, Dims& out, Need need) {
    if (AttrValue* value = take(name, need)) dims_of(*value, name, out);
  }

  void integer(std::string_view name, int64_t& out, std::string_view, Need need) {
    if (AttrValue* value = take(name, need, Kind::integer)) out = value->integer;
  }

  void boolean(std::string_view name, bool& out, Need need) {
    if (AttrValue* value = take(name, need, Kind::boolean)) out = value->integer != 0;
  }

  void flag(std::string_view name, bool& out) {
    AttrValue* value = take(name, Need::optional);
    if (!value) return;
    if (value->kind == Kind::boolean)
      out = value->integer != 0;
    else if (check(*value, name, Kind::unit))
      out = true;
  }

  void floating(std::string_view name, double& out, DType dtype, Need need) {
    if (AttrValue* value = take(name, need, Kind::floating))
      out = float_value(dtype, float_bits(dtype, value->floating));
  }

  void string(std::string_view name, std::string& out, Need need) {
    if (AttrValue* value = take(name, need, Kind::string)) out = std::move(value->text);
  }

  void symbol(std::string_view name, std::string& out, Need need) {
    if (AttrValue* value = take(name, need, Kind::symbol)) out = std::move(value->text);
  }

  void type(std::string_view name, std::string& out) {
    AttrValue* value = take(name, Need::required);
    if (!value) return;
    if (value->kind != Kind::type && value->kind != Kind::keyword)
      wrong_kind(*value, name, "an element type");
    else
      out = value->text;
  }

  void symbols(std::string_view name, std::vector<std::string>& out) {
    each(name, [&](AttrValue& element) {
      if (check(element, name, Kind::symbol)) out.push_back(std::move(element.text));
    });
  }

  template <typename E, size_t N>
  void keyword(std::string_view name, E& out, std::string_view enumeration,
               const std::string_view (&words)[N], Need need) {
    if (AttrValue* value = take(name, need))
      out = static_cast<E>(word_index(*value, name, enumeration, words));
  }

  template <typename E, size_t N>
  void keywords(std::string_view name, std::vector<E>& out, std::string_view enumeration,
                const std::string_view (&words)[N], std::string_view) {
    each(name, [&](AttrValue& element) {
      out.push_back(static_cast<E>(word_index(element, name, enumeration, words)));
    });
  }

  void bools(std::string_view name, std::vector<bool>& out) {
    AttrValue* value = take(name, Need::optional);
    if (!value) return;
    Dims numbers;
    if (value->kind == Kind::array) {
      for (AttrValue& element : value->elements)
        if (check(element, name, Kind::boolean)) out.push_back(element.integer != 0);
      return;
    }
    if (value->kind == Kind::literal && value->literal->type.dtype == DType::i1) {
      for (int64_t i = 0, n = small_count(*value, name); i < n; ++i)
        out.push_back(value->literal->int_at(i) != 0);
      return;
    }
    dims_of(*value, name, numbers);
    for (int64_t number : numbers) out.push_back(number != 0);
  }

  // dense<[[low, high]]> : tensor<Nx2xi64>, or [[low, high]].
  void pairs(std::string_view name, std::vector<std::pair<int64_t, int64_t>>& out) {
    AttrValue* value = take(name, Need::optional);
    if (!value) return;
    if (value->kind == Kind::array || (value->kind == Kind::integers && value->integers.empty())) {
      for (AttrValue& element : value->elements) {
        Dims pair;
        dims_of(element, name, pair);
        if (parser_.failed()) return;
        if (pair.size() != 2) {
          parser_.fail(element.at, fmt::format("'{}' of {} takes pairs", name, what_));
          return;
        }
        out.emplace_back(pair[0], pair[1]);
      }
      return;
    }
    Dims flat;
    int64_t rows = 0, columns = 2;
    matrix_of(*value, name, flat, rows, columns);
    if (parser_.failed()) return;
    if (columns != 2) {
      parser_.fail(value->at,
                   fmt::format("'{}' of {} takes pairs, as in dense<[[0, 0]]> : tensor<1x2xi64>",
                               name, what_));
      return;
    }
    for (size_t i = 0; i + 1 < flat.size(); i += 2) out.emplace_back(flat[i], flat[i + 1]);
  }

  void matrix(std::string_view name, Dims& out, int64_t& rows, int64_t& columns, Need need) {
    if (AttrValue* value = take(name, need)) matrix_of(*value, name, out, rows, columns);
  }

  void literal(std::string_view name, Literal& out) {
    if (AttrValue* value = take(name, Need::required, Kind::literal)) out = *value->literal;
  }

  void layouts(std::string_view name, std::vector<Dims>& out, bool) {
    each(name, [&](AttrValue& element) { dims_of(element, name, out.emplace_back()); });
  }

  template <typename F>
  void structure(std::string_view name, std::string_view mnemonic, bool* present, Need need,
                 F&& fields) {
    AttrValue* value = take(name, need);
    if (present) *present = value != nullptr;
    if (value) structure_of(*value, name, mnemonic, fields);
  }

  template <typename T, typename F>
  void structures(std::string_view name, std::string_view mnemonic, std::vector<T>& out,
                  F&& fields) {
    each(name, [&](AttrValue& element) {
      structure_of(element, name, mnemonic,
                   [&](ReadArchive& inner) { fields(inner, out.emplace_back()); });
    });
  }

  void convolution(std::string_view name, ConvolutionDimensionNumbers& out) {
    AttrValue* value = take(name, Need::required);
    if (!value) return;
    if (value->kind != Kind::structure) {
      if (check(*value, name, Kind::convolution)) out = *value->convolution;
      return;
    }
    structure_of(*value, name, "stablehlo.conv",
                 [&](ReadArchive& f) { describe_convolution(f, out); });
  }

  void verbatim(std::string_view name, std::string& out) {
    if (AttrValue* value = take(name, Need::optional)) out = parser_.source_text(*value);
  }

  void sharding(std::string_view name, std::string& out, std::string_view frame) {
    AttrValue* value = take(name, Need::required);
    if (!value) return;
    out = without_frame(parser_.source_text(*value), frame);
  }

  void config(std::string_view name, std::string& out, bool typed) {
    AttrValue* value = take(name, Need::optional);
    if (!value) return;
    if (typed && check(*value, name, Kind::dictionary))
      out = value->entries.empty() ? std::string() : parser_.source_text(*value);
    else if (!typed && check(*value, name, Kind::string))
      out = std::move(value->text);
  }

 private:
  AttrValue* take(std::string_view name, Need need) {
    if (parser_.failed()) return nullptr;
    for (AttrEntry& entry : dict_) {
      if (entry.name != name || entry.used) continue;
      entry.used = true;
      return &entry.value;
    }
    if (need == Need::required)
      parser_.fail(at_, fmt::format("{} needs the attribute '{}'", what_, name));
    return nullptr;
  }

  AttrValue* take(std::string_view name, Need need, Kind kind) {
    AttrValue* value = take(name, need);
    return value && check(*value, name, kind) ? value : nullptr;
  }

  bool check(const AttrValue& value, std::string_view name, Kind kind) {
    if (value.kind == kind) return true;
    wrong_kind(value, name, kind_name(kind));
    return false;
  }

  void wrong_kind(const AttrValue& value, std::string_view name, std::string_view wanted) {
    parser_.fail(value.at, fmt::format("'{}' of {} must be {}, not {}", name, what_, wanted,
                                       kind_name(value.kind)));
  }

  // The number of elements of a constant that stands for a list; dimensions and groups are few.
  int64_t small_count(const AttrValue& value, std::string_view name) {
    int64_t count = value.literal->type.num_elements();
    if (count <= kMaxListElements) return count;
    parser_.fail(value.at, fmt::format("'{}' of {} has more than {} elements", name, what_,
                                       kMaxListElements));
    return 0;
  }

  void dims_of(AttrValue& value, std::string_view name, Dims& out) {
    if (value.kind == Kind::integers) {
      out = std::move(value.integers);
    } else if (value.kind == Kind::literal && is_int(value.literal->type.dtype) &&
               value.literal->type.rank() <= 1) {
      for (int64_t i = 0, n = small_count(value, name); i < n; ++i)
        out.push_back(value.literal->int_at(i));
    } else {
      wrong_kind(value, name, "a list of integers");
    }
  }

  void matrix_of(AttrValue& value, std::string_view name, Dims& out, int64_t& rows,
                 int64_t& columns) {
    if (value.kind != Kind::literal || !is_int(value.literal->type.dtype)) {
      wrong_kind(value, name, "a constant of integers");
      return;
    }
    const Type& type = value.literal->type;
    if (type.rank() != 2) {
      parser_.fail(value.at, fmt::format("'{}' of {} must have two dimensions, not {}", name, what_,
                                         type.rank()));
      return;
    }
    rows = type.shape[0];
    columns = type.shape[1];
    for (int64_t i = 0, n = small_count(value, name); i < n; ++i)
      out.push_back(value.literal->int_at(i));
  }

  template <typename F>
  void each(std::string_view name, F&& f) {
    AttrValue* value = take(name, Need::optional);
    if (!value) return;
    if (value->kind == Kind::integers && value->integers.empty()) return;
    if (!check(*value, name, Kind::array)) return;
    for (AttrValue& element : value->elements) {
      f(element);
      if (parser_.failed()) return;
    }
  }

  template <typename F>
  void structure_of(AttrValue& value, std::string_view name, std::string_view mnemonic,
                    F&& fields) {
    bool same = value.word.empty() || value.word == mnemonic ||
                std::string_view(value.word).substr(value.word.find('.') + 1) ==
                    mnemonic.substr(mnemonic.find('.') + 1);
    if (value.kind != Kind::structure || !same) {
      wrong_kind(value, name, fmt::format("#{}<...>", mnemonic));
      return;
    }
    ReadArchive inner(parser_, value.entries, value.at, fmt::format("#{}", mnemonic));
    fields(inner);
    if (parser_.failed()) return;
    for (const AttrEntry& entry : value.entries)
      if (!entry.used)
        parser_.fail(entry.at, fmt::format("#{} has no field '{}'", mnemonic, entry.name));
  }

  template <size_t N>
  size_t word_index(const AttrValue& value, std::string_view name, std::string_view enumeration,
                    const std::string_view (&words)[N]) {
    std::string_view text = value.text;
    if (value.kind == Kind::keyword || value.kind == Kind::string) {
      bool same = value.word.empty() || value.word == enumeration || value.word == name;
      for (size_t i = 0; same && i < N; ++i)
        if (words[i] == text) return i;
    }
    std::string all;
    for (std::string_view word : words) all += (all.empty() ? "" : ", ") + std::string(word);
    if (value.kind == Kind::keyword || value.kind == Kind::string)
      parser_.fail(value.at, fmt::format("'{}' is no {}", text, enumeration), "one of " + all);
    else
      wrong_kind(value, name, fmt::format("#stablehlo<{} ...>", enumeration));
    return 0;
  }

  Parser& parser_;
  AttrDict& dict_;
  Position at_;
  std::string what_;
};

constexpr std::string_view kDefaultAccuracy =
    "#stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>";

// Attributes that belong to operations but that nothing here interprets; they are kept like
// prefixed ones.
bool is_kept(std::string_view name, OpKind kind) {
  return name.find('.') != std::string_view::npos || name == "result_accuracy" ||
         name == "no_inline" || name == "arg_attrs" || name == "res_attrs" ||
         (kind == OpKind::infeed && name == "layout") ||
         kind == OpKind::custom_call;  // its target knows them
}

}  // namespace

void Parser::finish_attributes(OperationState& state, Attributes& attributes,
                               NamedAttributes& extra) {
  if (failed_) return;
  attributes = empty_attributes(state.kind);
  std::string_view mnemonic = info(state.kind).mnemonic;
  ReadArchive archive(*this, state.attributes, state.at, mnemonic);
  std::visit([&](auto& typed) { describe(archive, state.kind, typed); }, attributes);
  if (failed_) return;
  drop_defaults(attributes);
  for (AttrEntry& entry : state.attributes) {
    entry.used |= entry.name == "result_accuracy" && source_text(entry.value) == kDefaultAccuracy;
    if (entry.used || is_kept(entry.name, state.kind)) continue;
    fail(entry.at, fmt::format("{} has no attribute '{}'", mnemonic, entry.name),
         "attributes of other tools carry a prefix, e.g. mhlo.sharding");
    return;
  }
  extra = kept(state.attributes);
}

}  // namespace ullage::syntax
