// sort and top_k against the interpreter, bit by bit: element types, comparators, extents around
// the limits of each method, special values, threads.
#include <bit>
#include <cstdio>

#include "kernels/sort_plan.h"
#include "library_testing.h"

namespace ullage {
namespace {

using namespace testing_cpu;

constexpr DType kOrdered[] = {DType::i1,  DType::i8,   DType::i16,  DType::i32,  DType::i64,
                              DType::ui8, DType::ui16, DType::ui32, DType::ui64, DType::bf16,
                              DType::f16, DType::f32,  DType::f64};

// NaNs of both signs, infinities and zeros here and there.
void add_special_values(Tensor& t) {
  if (!is_float(t.dtype())) return;
  int64_t width = storage_bytes(t.dtype());
  uint64_t sign = uint64_t{1} << (8 * width - 1);
  uint64_t infinity = t.dtype() == DType::bf16  ? 0x7f80
                      : t.dtype() == DType::f16 ? 0x7c00
                      : t.dtype() == DType::f32 ? 0x7f800000
                                                : 0x7ff0000000000000;
  // One payload only: the interpreter does not keep those of f16 apart.
  const uint64_t nan = infinity | (infinity & (~infinity + 1)) >> 1;
  const uint64_t specials[] = {0, sign, infinity, infinity | sign, nan, nan | sign, nan, sign};
  for (int64_t i = 3; i < t.num_elements(); i += 5)
    std::memcpy(t.mutable_data() + i * width,
                &specials[static_cast<size_t>(i) % std::size(specials)],
                static_cast<size_t>(width));
}

// A comparator on the first operand, the first two or three.
enum class Order { less, greater, canonical, ieee, twice, thrice, called };

std::string sort_program(const std::vector<DType>& dtypes, const std::vector<int64_t>& shape,
                         int64_t dim, Order order) {
  std::string operands, types, arguments, region;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    std::string type = shaped(shape, spelled(dtypes[i])), element = shaped({}, spelled(dtypes[i]));
    std::string n = std::to_string(i), comma = i ? ", " : "";
    operands += comma + "%arg" + n;
    types += comma + type;
    arguments += comma + "%arg" + n + ": " + type;
    region += comma + "%l" + n + ": " + element + ", %r" + n + ": " + element;
  }
  auto compare = [&](const std::string& direction, const std::string& a, const std::string& b,
                     size_t operand, const std::string& to, bool total = true) {
    DType dtype = dtypes[operand];
    std::string kind = is_float(dtype)        ? (total ? "TOTALORDER" : "FLOAT")
                       : is_signed_int(dtype) ? "SIGNED"
                                              : "UNSIGNED";
    std::string t = shaped({}, spelled(dtype));
    return "  " + to + " = stablehlo.compare " + direction + ", " + a + ", " + b + ", " + kind +
           " : (" + t + ", " + t + ") -> tensor<i1>\n";
  };
  std::string t = shaped({}, spelled(dtypes[0])), body;
  switch (order) {
    case Order::less:
      body = compare("LT", "%l0", "%r0", 0, "%c");
      break;
    case Order::greater:
      body = compare("GT", "%l0", "%r0", 0, "%c");
      break;
    case Order::ieee:
      body = compare("LT", "%l0", "%r0", 0, "%c", false);
      break;
    case Order::canonical:
      body = "  %zero = stablehlo.constant dense<0.0> : " + t +
             "\n  %nan = stablehlo.constant dense<" +
             (dtypes[0] == DType::bf16  ? "0x7FC0"
              : dtypes[0] == DType::f16 ? "0x7E00"
              : dtypes[0] == DType::f32 ? "0x7FC00000"
                                        : "0x7FF8000000000000") +
             "> : " + t + "\n";
      for (std::string side : {"l", "r"}) {
        std::string x = "%" + side + "0", s = "%" + side;
        body += compare("EQ", x, "%zero", 0, s + "z", false) + "  " + s + "a = stablehlo.select " +
                s + "z, %zero, " + x + " : tensor<i1>, " + t + "\n" +
                compare("NE", x, x, 0, s + "n", false) + "  " + s + "b = stablehlo.select " + s +
                "n, %nan, " + s + "a : tensor<i1>, " + t + "\n";
      }
      body += compare("LT", "%lb", "%rb", 0, "%c");
      break;
    case Order::twice:
      body = compare("LT", "%l1", "%r1", 1, "%c1") + compare("GT", "%l0", "%r0", 0, "%c0") +
             compare("EQ", "%l0", "%r0", 0, "%e0") +
             "  %both = stablehlo.and %e0, %c1 : tensor<i1>\n  %c = stablehlo.or %c0, %both : "
             "tensor<i1>\n";
      break;
    case Order::thrice:
      body = compare("LT", "%l2", "%r2", 2, "%c2") + compare("GT", "%l1", "%r1", 1, "%c1") +
             compare("EQ", "%l1", "%r1", 1, "%e1") + compare("LT", "%l0", "%r0", 0, "%c0") +
             compare("EQ", "%l0", "%r0", 0, "%e0") +
             "  %and1 = stablehlo.and %e1, %c2 : tensor<i1>\n  %or1 = stablehlo.or %c1, %and1 : "
             "tensor<i1>\n  %and0 = stablehlo.and %e0, %or1 : tensor<i1>\n  %c = stablehlo.or %c0, "
             "%and0 : tensor<i1>\n";
      break;
    case Order::called:
      // Not of the form key(left) < key(right).
      body = "  %d = stablehlo.and %l0, %r0 : " + t + "\n  %x = stablehlo.xor %l0, %d : " + t +
             "\n  %y = stablehlo.xor %r0, %d : " + t + "\n" + compare("LT", "%x", "%y", 0, "%c");
      break;
  }
  std::string results = dtypes.size() > 1 ? ":" + std::to_string(dtypes.size()) : "";
  std::string returned;
  for (size_t i = 0; i < dtypes.size(); ++i)
    returned += (i ? ", %s" : "%s") + (dtypes.size() > 1 ? "#" + std::to_string(i) : std::string());
  return "func.func public @main(" + arguments + ") -> (" + types + ") {\n  %s" + results +
         " = \"stablehlo.sort\"(" + operands + ") <{dimension = " + std::to_string(dim) +
         " : i64, is_stable = true}> ({\n^bb0(" + region + "):\n" + body +
         "  stablehlo.return %c : tensor<i1>\n}) : (" + types + ") -> (" + types + ")\n  return " +
         returned + " : " + types + "\n}\n";
}

void check_sort(const std::vector<DType>& dtypes, const std::vector<int64_t>& shape, int64_t dim,
                Order order, int64_t range = 100, bool special = true) {
  std::string text = sort_program(dtypes, shape, dim, order);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    inputs.push_back(random_tensor(dtypes[i], shape, static_cast<uint32_t>(7 + i), range));
    if (special) add_special_values(inputs.back());
  }
  std::vector<Tensor> want = interpreted(text, inputs);
  for (int threads : {1, 3})
    for (bool in_place : {false, true})
      expect_same_bits(compiled(text, inputs, threads, in_place), want, text);
}

TEST(Sort, EveryTypeBothWays) {
  for (DType dtype : kOrdered)
    for (Order order : {Order::less, Order::greater}) check_sort({dtype}, {3, 50}, 1, order);
}

TEST(Sort, ExtentsAroundTheMethods) {
  for (int64_t n : {0, 1, 2, 31, 32, 33, 300, 2048, 5000}) {
    check_sort({DType::f32}, {n}, 0, Order::less);
    check_sort({DType::i32, DType::f32}, {2, n}, 1, Order::less);
    check_sort({DType::i64, DType::i8}, {n}, 0, Order::greater);
    check_sort({DType::i32}, {n}, 0, Order::called);
  }
}

TEST(Sort, OneZeroAndOneNaN) {
  for (DType dtype : {DType::bf16, DType::f16, DType::f32, DType::f64})
    for (int64_t n : {20, 700}) {
      check_sort({dtype}, {n}, 0, Order::canonical);
      check_sort({dtype, DType::i32}, {n}, 0, Order::canonical);
    }
  check_sort({DType::f32}, {500}, 0, Order::ieee, 100, false);
  check_sort({DType::f32, DType::i16}, {500}, 0, Order::ieee, 100, false);
}

TEST(Sort, TwoKeysAndPayloads) {
  check_sort({DType::i32, DType::f32, DType::ui8}, {400}, 0, Order::twice, 5);
  check_sort({DType::i8, DType::i16, DType::f64}, {4, 100}, 1, Order::twice, 3);
  check_sort({DType::bf16, DType::i1, DType::i64}, {90}, 0, Order::twice, 3);
  check_sort({DType::f64, DType::f64}, {200}, 0, Order::twice, 3);  // more than 64 bits
  check_sort({DType::i32, DType::f32, DType::f64}, {kSliceAlone + 999}, 0, Order::twice, 3);
}

TEST(Sort, KeysOfMoreThan64Bits) {
  check_sort({DType::i32, DType::f32, DType::ui32}, {700}, 0, Order::thrice, 4);
  check_sort({DType::i16, DType::i8, DType::f32, DType::f64}, {3, 90}, 1, Order::thrice, 3);
  check_sort({DType::ui32, DType::i32, DType::f32}, {kSliceAlone + 777}, 0, Order::thrice, 9);
}

TEST(Sort, OtherDimensions) {
  for (int64_t dim : {0, 1, 2}) {
    check_sort({DType::f32}, {7, 40, 9}, dim, Order::less);
    check_sort({DType::ui16, DType::f64}, {7, 40, 9}, dim, Order::greater);
    check_sort({DType::i16}, {7, 40, 9}, dim, Order::called);
  }
}

TEST(Sort, LongSlicesInChunks) {
  const int64_t n = kSliceAlone + 12345;
  check_sort({DType::f32}, {n}, 0, Order::less);
  check_sort({DType::ui64}, {n}, 0, Order::greater, 1 << 30);
  check_sort({DType::i32, DType::i32}, {n}, 0, Order::less, 50);
  check_sort({DType::i64, DType::i32}, {n, 2}, 0, Order::less, 1000);
  check_sort({DType::i32}, {n}, 0, Order::called, 1 << 20);
}

std::string top_k_program(DType dtype, const std::vector<int64_t>& shape, int64_t k) {
  std::vector<int64_t> out = shape;
  out.back() = k;
  std::string in = shaped(shape, spelled(dtype)), values = shaped(out, spelled(dtype)),
              positions = shaped(out, "i32");
  return "func.func public @main(%a: " + in + ") -> (" + values + ", " + positions +
         ") {\n  %v, %i = chlo.top_k(%a, k = " + std::to_string(k) + ") : " + in + " -> (" +
         values + ", " + positions + ")\n  return %v, %i : " + values + ", " + positions + "\n}\n";
}

TEST(TopK, TypesExtentsAndTies) {
  for (DType dtype : kOrdered)
    for (auto [n, k] : {std::pair<int64_t, int64_t>{5, 2}, {60, 60}, {300, 7}, {4000, 64}}) {
      Tensor input = random_tensor(dtype, {3, n}, 5, 20);
      add_special_values(input);
      std::string text = top_k_program(dtype, {3, n}, k);
      std::vector<Tensor> want = interpreted(text, {input});
      for (int threads : {1, 2}) expect_same_bits(compiled(text, {input}, threads), want, text);
    }
}

TEST(TopK, LongLinesInPieces) {
  for (int64_t k : {1, 100, 20000}) {
    for (DType dtype : {DType::f32, DType::i64, DType::ui8}) {
      Tensor input = random_tensor(dtype, {2, 200000}, 6, 90);
      add_special_values(input);
      std::string text = top_k_program(dtype, {2, 200000}, k);
      std::vector<Tensor> want = interpreted(text, {input});
      for (int threads : {1, 3}) expect_same_bits(compiled(text, {input}, threads), want, text);
    }
  }
}

}  // namespace
}  // namespace ullage
