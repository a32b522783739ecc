// Types: entries of the type table to the types of the IR. VHLO's integers have a sign where
// StableHLO's have none: si32 is i32.
#include <fmt/format.h>

#include <array>
#include <bit>

#include "syntax/bytecode_reader.h"

namespace ullage::syntax {

namespace {

// VHLO's types without fields, by code; the others have a case of their own.
struct Simple {
  BytecodeType::Kind kind = BytecodeType::Kind::function;
  DType dtype = DType::f32;
};
using Kind = BytecodeType::Kind;

constexpr std::array<Simple, 43> make_vhlo_types() {
  std::array<Simple, 43> out{};
  auto put = [&](size_t code, DType dtype) { out[code] = {Kind::element, dtype}; };
  put(0, DType::i1);
  put(2, DType::bf16);
  put(3, DType::f16);
  put(4, DType::f32);
  put(5, DType::f64);
  put(6, DType::f8E4M3FN);
  put(7, DType::f8E5M2);
  put(10, DType::i4);
  put(11, DType::i8);
  put(12, DType::i16);
  put(13, DType::i32);
  put(14, DType::i64);
  put(15, DType::ui4);
  put(16, DType::ui8);
  put(17, DType::ui16);
  put(18, DType::ui32);
  put(19, DType::ui64);
  put(27, DType::f8E4M3FNUZ);
  put(28, DType::f8E5M2FNUZ);
  put(29, DType::f8E4M3B11FNUZ);
  put(31, DType::i2);
  put(32, DType::ui2);
  put(35, DType::f8E4M3);
  put(36, DType::f8E3M4);
  put(37, DType::f4E2M1FN);
  put(38, DType::f6E2M3FN);
  put(39, DType::f6E3M2FN);
  put(40, DType::f8E8M0FNU);
  out[9] = {Kind::index, DType::i64};
  out[22] = {Kind::token, DType::f32};
  out[33] = {Kind::none, DType::f32};
  out[34] = {Kind::tf32, DType::f32};
  return out;
}
constexpr std::array<Simple, 43> kVhloTypes = make_vhlo_types();

void set_element(BytecodeType& out, DType dtype) {
  out.kind = Kind::element;
  out.type.dtype = dtype;
}

const BytecodeType& no_type() {
  static const BytecodeType none;
  return none;
}

}  // namespace

const BytecodeType& BytecodeReader::type(uint32_t index) {
  if (failed()) return no_type();
  if (types_[index]) return *types_[index];
  const BytecodeContainer::Entry& entry = container_.types[index];
  if (types_open_[index]) {
    fail(entry.begin, "this type contains itself");
    return no_type();
  }
  Nesting nesting(*this, entry.begin);
  if (failed()) return no_type();
  types_open_[index] = true;
  BytecodeType read = read_type(entry);
  if (failed()) return no_type();
  read.bytes += (read.type.shape.size() + read.type.bounds.size()) * sizeof(int64_t);
  types_[index] = std::make_unique<const BytecodeType>(std::move(read));
  return *types_[index];
}

// The type of a value.
const Type& BytecodeReader::value_type(uint32_t index, size_t at) {
  const BytecodeType& found = type(index);
  if (failed()) return found.type;
  const bool valued =
      found.kind == Kind::tensor || found.kind == Kind::token || found.kind == Kind::tuple;
  if (!valued || found.of_index)
    fail(at, fmt::format("a value cannot have the type {}", type_text(index)),
         "values are tensors, tokens and tuples");
  expand(found.bytes);
  return found.type;
}

DType BytecodeReader::element_type(uint32_t index, size_t at) {
  const BytecodeType& found = type(index);
  if (!failed() && (found.kind != Kind::element || found.type.quantized))
    fail(at, fmt::format("expected an element type, found {}", type_text(index)));
  return found.type.dtype;
}

BytecodeType BytecodeReader::read_type(const BytecodeContainer::Entry& entry) {
  BytecodeType out;
  Cursor c(bytes_, entry.begin, entry.begin + entry.size, failure_);
  if (!entry.custom) {
    fail(entry.begin, "types written as text are not supported");
    return out;
  }
  const uint64_t code = c.varint("the code of a type");
  if (failed()) return out;
  switch (entry.dialect) {
    case Dialect::vhlo:
      vhlo_type(code, c, out);
      break;
    case Dialect::builtin:
      builtin_type(code, c, out);
      break;
    case Dialect::stablehlo:
      if (code == 0) {
        out.kind = Kind::token;
        out.type = Type::token();
        break;
      }
      [[fallthrough]];
    default:
      fail(entry.begin, fmt::format("unknown type {} of this dialect", code));
  }
  c.expect_end("this type");
  return out;
}

void BytecodeReader::vhlo_type(uint64_t code, Cursor& c, BytecodeType& out) {
  const size_t at = c.offset();
  if (code < kVhloTypes.size() && kVhloTypes[code].kind != Kind::function) {
    out.kind = kVhloTypes[code].kind;
    out.type.dtype = kVhloTypes[code].dtype;
    if (out.kind == Kind::token) out.type = Type::token();
    return;
  }
  switch (code) {
    case 1:
      return complex_type(c, out);
    case 8:
      return function_type(c, out);
    case 20:
      return tensor_type(c, out, {});
    case 21:
      return tensor_type(c, out, attribute_index(c, "the encoding of a tensor type"));
    case 23:
      return tuple_type(c, out);
    case 24:
      return quantized_type(c, out, false);
    case 30:
      return quantized_type(c, out, true);
    case 25:
      return fail(at, "tensors of unknown rank are not supported");
    case 26:
      return fail(at, "witness types are not supported");
    case 41:
      return fail(at, "buffer types are not supported");
    case 42:
      return fail(at, "future types, of asynchronous operations, are not supported");
    default:
      return fail(at, fmt::format("unknown type {} of VHLO", code));
  }
}

void BytecodeReader::builtin_type(uint64_t code, Cursor& c, BytecodeType& out) {
  const size_t at = c.offset();
  switch (code) {
    case 0: {
      const uint64_t packed = c.varint("the width of an integer type");
      constexpr uint64_t kUnsigned = 2;
      const uint64_t width = packed >> 2, sign = packed & 3;
      std::optional<DType> dtype;
      if (sign <= kUnsigned && width <= 64)
        dtype = dtype_from_name(fmt::format("{}{}", sign == kUnsigned ? "ui" : "i", width));
      if (!dtype && !failed())
        return fail(at, fmt::format("integers of {} bits are not supported", width));
      return set_element(out, dtype.value_or(DType::i1));
    }
    case 1:
      out.kind = Kind::index;
      out.type.dtype = DType::i64;
      return;
    case 2:
      return function_type(c, out);
    case 3:
      return set_element(out, DType::bf16);
    case 4:
      return set_element(out, DType::f16);
    case 5:
      return set_element(out, DType::f32);
    case 6:
      return set_element(out, DType::f64);
    case 9:
      return complex_type(c, out);
    case 12:
      return;
    case 13:
      return tensor_type(c, out, {});
    case 14:
      return tensor_type(c, out, attribute_index(c, "the encoding of a tensor type"));
    case 15:
      return tuple_type(c, out);
    default:
      return fail(at, fmt::format("the builtin type {} is not supported", code));
  }
}

void BytecodeReader::complex_type(Cursor& c, BytecodeType& out) {
  const size_t at = c.offset();
  const DType part = element_type(type_index(c, "the type of a complex number's parts"), at);
  if (part != DType::f32 && part != DType::f64)
    fail(at, fmt::format("complex numbers of {} are not supported", name(part)));
  set_element(out, part == DType::f64 ? DType::c128 : DType::c64);
}

void BytecodeReader::tensor_type(Cursor& c, BytecodeType& out, std::optional<uint32_t> encoding) {
  const size_t at = c.offset();
  const size_t rank = c.count("the rank of a tensor type");
  if (rank > kMaxRank)
    return fail(at, fmt::format("this tensor has more than {} dimensions", kMaxRank));
  std::vector<int64_t> shape;
  int64_t elements = 1;
  for (size_t i = 0; i < rank && !failed(); ++i) {
    const size_t here = c.offset();
    const int64_t extent = c.svarint("the extent of a dimension");
    if (extent < 0 && extent != kDynamic)
      return fail(here, fmt::format("expected the extent of a dimension, found {}", extent));
    if (extent > 0) {
      if (extent > kMaxElements / elements)
        return fail(here, "this tensor has too many elements to address",
                    fmt::format("at most {} elements", kMaxElements));
      elements *= extent;
    }
    shape.push_back(extent);
  }
  const size_t element_at = c.offset();
  const uint32_t element_index = type_index(c, "the element type of a tensor");
  const BytecodeType& element = type(element_index);
  if (failed()) return;
  out.kind = Kind::tensor;
  out.of_index = element.kind == Kind::index;
  if (element.kind != Kind::element && !out.of_index)
    return fail(element_at, fmt::format("a tensor cannot have elements of the type {}",
                                        type_text(element_index)));
  out.type = element.type;
  out.type.shape = std::move(shape);
  if (out.type.quantized && out.type.quantized->dimension) {
    const Quantization& q = *out.type.quantized;
    if (*q.dimension < 0 || *q.dimension >= out.type.rank())
      return fail(at,
                  fmt::format("the quantized dimension {} does not exist in a tensor of rank {}",
                              *q.dimension, out.type.rank()));
    const int64_t extent = out.type.shape[static_cast<size_t>(*q.dimension)];
    if (extent != kDynamic && extent != static_cast<int64_t>(q.scales.size()))
      return fail(at, fmt::format("{} scales for dimension {} of extent {}", q.scales.size(),
                                  *q.dimension, extent));
  }
  if (!encoding) return;
  std::optional<OpenAttr> bounds =
      open(*encoding, AttrKind::bounds, {"the encoding", "a tensor type"});
  if (!bounds) return;
  out.type.bounds = signed_list(bounds->fields, "the bounds of a tensor");
  if (!failed() && out.type.bounds.size() != rank)
    fail(bounds->at,
         fmt::format("{} bounds for a tensor of rank {}", out.type.bounds.size(), rank));
}

void BytecodeReader::tuple_type(Cursor& c, BytecodeType& out) {
  out.kind = Kind::tuple;
  const size_t count = c.count("the number of a tuple's elements");
  std::vector<Type> elements;
  for (size_t i = 0; i < count && !failed(); ++i) {
    const size_t at = c.offset();
    const uint32_t index = type_index(c, "the type of a tuple's element");
    const Type& element = value_type(index, at);
    if (failed()) return;
    elements.push_back(element);
    out.bytes += sizeof(Type) + type(index).bytes;
  }
  out.type = Type::tuple(std::move(elements));
}

void BytecodeReader::function_type(Cursor& c, BytecodeType& out) {
  out.kind = Kind::function;
  for (std::vector<uint32_t>* list : {&out.inputs, &out.results}) {
    const size_t count = c.count("the number of types in a function type");
    for (size_t i = 0; i < count && !failed(); ++i)
      list->push_back(type_index(c, "a type in a function type"));
  }
}

void BytecodeReader::quantized_type(Cursor& c, BytecodeType& out, bool per_axis) {
  Quantization q;
  const size_t at = c.offset();
  constexpr uint64_t kSigned = 1;
  const uint64_t flags = c.varint("the flags of a quantized type");
  q.storage = element_type(type_index(c, "a storage type"), at);
  if (!(flags & kSigned) && is_signed_int(q.storage))
    q.storage = *dtype_from_name(fmt::format("u{}", name(q.storage)));
  q.expressed = element_type(type_index(c, "an expressed type"), at);
  auto real = [&](std::string_view what) { return std::bit_cast<double>(c.integer(what, 64)); };
  if (per_axis) {
    q.dimension = static_cast<int64_t>(c.varint("a quantized dimension"));
  } else {
    q.scales.push_back(real("a scale"));
    q.zero_points.push_back(c.svarint("a zero point"));
  }
  q.storage_min = c.svarint("the least stored value");
  q.storage_max = c.svarint("the largest stored value");
  if (per_axis) {
    const size_t scales = c.count("the number of scales");
    for (size_t i = 0; i < scales && !failed(); ++i) q.scales.push_back(real("a scale"));
    q.zero_points = signed_list(c, "the zero points");
  }
  if (failed()) return;
  if (!is_int(q.storage) || bit_width(q.storage) > 32)
    return fail(at, fmt::format("a quantized type cannot be stored as {}", name(q.storage)));
  if (!is_float(q.expressed))
    return fail(at, fmt::format("a quantized type cannot express {}", name(q.expressed)));
  const int bits = bit_width(q.storage) - (is_signed_int(q.storage) ? 1 : 0);
  const int64_t lowest = is_signed_int(q.storage) ? -(int64_t{1} << bits) : 0;
  if (q.storage_min < lowest || q.storage_max >= int64_t{1} << bits ||
      q.storage_min >= q.storage_max)
    return fail(at, fmt::format("the range {}:{} does not fit the storage type {}", q.storage_min,
                                q.storage_max, name(q.storage)));
  if (q.scales.size() != q.zero_points.size())
    return fail(at,
                fmt::format("{} scales and {} zero points", q.scales.size(), q.zero_points.size()));
  for (double scale : q.scales)
    if (!(scale > 0) || scale > std::numeric_limits<double>::max())
      return fail(at, "the scale of a quantized type must be positive");
  for (int64_t zero : q.zero_points)
    if (zero < q.storage_min || zero > q.storage_max)
      return fail(at, fmt::format("the zero point {} lies outside the storage range {}:{}", zero,
                                  q.storage_min, q.storage_max));
  set_element(out, q.storage);
  out.type.quantized = std::make_shared<const Quantization>(std::move(q));
}

}  // namespace ullage::syntax
