#include "codegen/cpu/matmul.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "runtime/thread_pool.h"
#include "support/check.h"

namespace ullage {
namespace {

// How a test stores an operand or the result.
enum class Form { k_contiguous, free_contiguous, strided, computed_k, computed_free };
enum class OutputForm { rows, columns, strided, epilogue };

struct Case {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  Form a = Form::k_contiguous, b = Form::free_contiguous;
  MatmulType a_type = MatmulType::f32, b_type = MatmulType::f32;
  OutputForm c = OutputForm::rows;
  bool expensive_a = false, expensive_b = false;
};

float bf16_value(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

// A normal f16 from its bits, by definition.
float f16_value(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const float magnitude = exponent == 0 ? std::ldexp(float(bits & 1023), -24)
                                        : std::ldexp(float(1024 + (bits & 1023)), exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

// An operand: its values as f32 [batch][free][k], and the same stored as the case wants it.
struct TestOperand {
  int64_t batch, free, k;
  std::vector<float> values;
  MatmulOperand shape;
  std::vector<std::byte> storage;
  Form form;
  std::atomic<int64_t> evaluated{0};
  std::atomic<bool> out_of_range{false};

  float at(int64_t b, int64_t f, int64_t i) const { return values[(b * free + f) * k + i]; }

  TestOperand(int64_t batch_, int64_t free_, int64_t k_, Form form_, MatmulType type,
              bool expensive, std::mt19937& random)
      : batch(batch_), free(free_), k(k_), values(batch_ * free_ * k_), form(form_) {
    shape.type = type;
    shape.expensive = expensive;
    shape.computed = form == Form::computed_k || form == Form::computed_free;
    shape.inner_is_k = form == Form::computed_k;
    // A little padding everywhere, so that a wrong stride shows.
    switch (form) {
      case Form::free_contiguous:
        shape.free_stride = 1;
        shape.k_stride = free + 3;
        shape.batch_stride = shape.k_stride * k + 5;
        break;
      case Form::strided:
        shape.free_stride = 2;
        shape.k_stride = 2 * free + 3;
        shape.batch_stride = shape.k_stride * k + 5;
        break;
      default:
        shape.free_stride = k + 3;
        shape.k_stride = 1;
        shape.batch_stride = shape.free_stride * free + 5;
    }
    const int64_t size = type == MatmulType::f32 ? 4 : type == MatmulType::i8 ? 1 : 2;
    if (!shape.computed) storage.assign((batch * shape.batch_stride + 1) * size, std::byte{0x7f});
    std::normal_distribution<float> normal;
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t f = 0; f < free; ++f) {
        for (int64_t i = 0; i < k; ++i) {
          float& value = values[(b * free + f) * k + i];
          uint32_t bits = 0;
          switch (type) {
            case MatmulType::f32:
              value = normal(random);
              std::memcpy(&bits, &value, 4);
              break;
            case MatmulType::bf16:
              value = normal(random);
              std::memcpy(&bits, &value, 4);
              bits >>= 16;
              value = bf16_value(static_cast<uint16_t>(bits));
              break;
            case MatmulType::f16:
              // Subnormal ones too.
              bits = random() & 0xbfff;
              value = f16_value(static_cast<uint16_t>(bits));
              break;
            case MatmulType::i8:
              bits = random() & 0xff;
              value = static_cast<float>(static_cast<int8_t>(bits));
              break;
          }
          if (!shape.computed) {
            std::memcpy(
                storage.data() +
                    (b * shape.batch_stride + f * shape.free_stride + i * shape.k_stride) * size,
                &bits, size);
          }
        }
      }
    }
  }

  static void eval(void* context, int64_t batch, int64_t outer0, int64_t outer1, int64_t inner0,
                   int64_t inner1, float* dst, int64_t stride) {
    auto* self = static_cast<TestOperand*>(context);
    const bool inner_is_k = self->shape.inner_is_k;
    const int64_t outer = inner_is_k ? self->free : self->k;
    const int64_t inner = inner_is_k ? self->k : self->free;
    if (batch < 0 || batch >= self->batch || outer0 < 0 || outer1 > outer || inner0 < 0 ||
        inner1 > inner || outer0 >= outer1 || inner0 >= inner1 || stride < inner1 - inner0) {
      self->out_of_range = true;
      return;
    }
    for (int64_t o = outer0; o < outer1; ++o) {
      for (int64_t i = inner0; i < inner1; ++i) {
        dst[(o - outer0) * stride + i - inner0] =
            inner_is_k ? self->at(batch, o, i) : self->at(batch, i, o);
      }
    }
    self->evaluated += (outer1 - outer0) * (inner1 - inner0);
  }

  MatmulInput input() {
    return {storage.data(), shape.computed ? eval : nullptr, shape.computed ? this : nullptr};
  }
};

constexpr float untouched = -12345.0f;

struct TestOutput {
  int64_t batch, m, n;
  MatmulOutput shape;
  std::vector<float> storage;
  std::vector<float> results;           // what the epilogue was given
  std::vector<std::atomic<int>> calls;  // how often, per element

  TestOutput(int64_t batch_, int64_t m_, int64_t n_, OutputForm form)
      : batch(batch_), m(m_), n(n_), calls(batch_ * m_ * n_) {
    shape.computed = form == OutputForm::epilogue;
    const bool columns = form == OutputForm::columns;
    shape.row_stride = columns ? 1 : form == OutputForm::strided ? 2 * n + 7 : n + 2;
    shape.column_stride = columns ? m + 2 : form == OutputForm::strided ? 2 : 1;
    shape.batch_stride = columns ? shape.column_stride * n + 3 : shape.row_stride * m + 3;
    storage.assign(batch * shape.batch_stride + 1, untouched);
    results.assign(batch * m * n, untouched);
  }

  float& stored(int64_t b, int64_t i, int64_t j) {
    return storage[b * shape.batch_stride + i * shape.row_stride + j * shape.column_stride];
  }
  float result(int64_t b, int64_t i, int64_t j) {
    return shape.computed ? results[(b * m + i) * n + j] : stored(b, i, j);
  }
  int64_t touched() const {
    int64_t count = 0;
    for (float value : storage) count += value != untouched;
    return count;
  }

  static void epilogue(void* context, int64_t batch, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                       const float* sums, int64_t stride) {
    auto* self = static_cast<TestOutput*>(context);
    for (int64_t i = m0; i < m1; ++i) {
      for (int64_t j = n0; j < n1; ++j) {
        const int64_t at = (batch * self->m + i) * self->n + j;
        self->results[at] = sums[(i - m0) * stride + j - n0];
        self->calls[at].fetch_add(1);
      }
    }
  }
};

// The definition: chains of fused multiply-adds over blocks of 256.
float oracle(const TestOperand& a, const TestOperand& b, int64_t batch, int64_t i, int64_t j) {
  float total = 0.0f;
  for (int64_t k0 = 0; k0 < a.k; k0 += matmul_k_block) {
    float chain = 0.0f;
    for (int64_t k = k0; k < std::min(k0 + matmul_k_block, a.k); ++k) {
      chain = std::fma(a.at(batch, i, k), b.at(batch, j, k), chain);
    }
    total = k0 == 0 ? chain : total + chain;
  }
  return total;
}

// Whole runs through here: the scratch is exactly as large as planned and guarded.
void run(const MatmulPlan& plan, const MatmulArgs& args, ThreadPool& pool) {
  constexpr int64_t guard = 64;
  std::vector<float> memory(plan.scratch_bytes / 4 + 16 + guard,
                            std::numeric_limits<float>::quiet_NaN());
  float* scratch = memory.data();
  while (reinterpret_cast<uintptr_t>(scratch) % 64 != 0) ++scratch;
  float* end = scratch + plan.scratch_bytes / 4;
  for (float* at = end; at != memory.data() + memory.size(); ++at) *at = untouched;
  run_matmul(plan, args, reinterpret_cast<std::byte*>(scratch), pool);
  for (float* at = end; at != memory.data() + memory.size(); ++at) ASSERT_EQ(*at, untouched);
}

MatmulProblem problem_of(const Case& c, const TestOperand& a, const TestOperand& b,
                         const TestOutput& out) {
  return {c.batch, c.m, c.n, c.k, a.shape, b.shape, out.shape};
}

MatmulArgs args_of(TestOperand& a, TestOperand& b, TestOutput& out) {
  MatmulArgs args;
  args.a = a.input();
  args.b = b.input();
  if (out.shape.computed) {
    args.epilogue = TestOutput::epilogue;
    args.epilogue_context = &out;
  } else {
    args.c = out.storage.data();
  }
  return args;
}

std::string describe(const Case& c) {
  const auto number = [](auto value) { return std::to_string(static_cast<int64_t>(value)) + " "; };
  return number(c.batch) + "x " + number(c.m) + number(c.n) + number(c.k) + "forms " + number(c.a) +
         number(c.b) + number(c.c) + "types " + number(c.a_type) + number(c.b_type);
}

void expect_oracle(const Case& c, TestOperand& a, TestOperand& b, TestOutput& out) {
  int64_t wrong = 0;
  for (int64_t batch = 0; batch < c.batch; ++batch) {
    for (int64_t i = 0; i < c.m; ++i) {
      for (int64_t j = 0; j < c.n; ++j) {
        const float expected = oracle(a, b, batch, i, j);
        const float got = out.result(batch, i, j);
        if (std::memcmp(&expected, &got, 4) != 0 && wrong++ == 0) {
          ADD_FAILURE() << describe(c) << ": " << got << " instead of " << expected << " at "
                        << batch << ", " << i << ", " << j;
        }
      }
    }
  }
  EXPECT_EQ(wrong, 0) << describe(c);
  EXPECT_FALSE(a.out_of_range || b.out_of_range) << describe(c);
  if (out.shape.computed) {
    for (auto& calls : out.calls) ASSERT_EQ(calls.load(), 1) << describe(c);
  } else {
    EXPECT_EQ(out.touched(), c.batch * c.m * c.n) << describe(c);
  }
}

class Matmul : public testing::TestWithParam<MatmulIsa> {
 protected:
  void SetUp() override {
    if (!host_has(GetParam())) GTEST_SKIP() << "this host lacks " << to_string(GetParam());
  }

  void check(const Case& c) {
    TestOperand a(c.batch, c.m, c.k, c.a, c.a_type, c.expensive_a, random_);
    TestOperand b(c.batch, c.n, c.k, c.b, c.b_type, c.expensive_b, random_);
    for (ThreadPool* pool : {&one_, &two_}) {
      TestOutput out(c.batch, c.m, c.n, c.c);
      const MatmulPlan plan = plan_matmul(problem_of(c, a, b, out), pool->threads(), GetParam());
      run(plan, args_of(a, b, out), *pool);
      expect_oracle(c, a, b, out);
    }
  }

  std::mt19937 random_{1};
  ThreadPool one_{1}, two_{2};
};

TEST_P(Matmul, OddExtents) {
  for (int64_t m : {1, 5, 11, 13, 31}) {
    for (int64_t n : {1, 7, 16, 17, 33, 100}) {
      for (int64_t k : {1, 13, 64}) check({.m = m, .n = n, .k = k});
    }
  }
  for (int64_t k : {255, 256, 257, 300, 600}) {
    check({.m = 13, .n = 33, .k = k});
    check({.m = 33, .n = 31, .k = k});
  }
  check({.m = 300, .n = 11, .k = 30});
  check({.m = 11, .n = 700, .k = 30});
}

TEST_P(Matmul, EveryFormOfEveryOperand) {
  for (Form a : {Form::k_contiguous, Form::free_contiguous, Form::strided, Form::computed_k,
                 Form::computed_free}) {
    for (Form b : {Form::k_contiguous, Form::free_contiguous, Form::strided, Form::computed_k,
                   Form::computed_free}) {
      for (OutputForm c :
           {OutputForm::rows, OutputForm::columns, OutputForm::strided, OutputForm::epilogue}) {
        check({.batch = 2, .m = 21, .n = 37, .k = 270, .a = a, .b = b, .c = c});
      }
    }
  }
}

TEST_P(Matmul, Types) {
  for (MatmulType type : {MatmulType::bf16, MatmulType::f16, MatmulType::i8}) {
    for (Form form : {Form::k_contiguous, Form::free_contiguous, Form::strided}) {
      check({.m = 21, .n = 37, .k = 270, .a = form, .a_type = type});
      check({.m = 21, .n = 37, .k = 270, .b = form, .b_type = type});
      check({.m = 17, .n = 9, .k = 31, .a = form, .b = form, .a_type = type, .b_type = type});
    }
  }
}

TEST_P(Matmul, SeveralTilesAndBlocks) {
  check({.m = 310, .n = 90, .k = 40});
  check({.m = 300, .n = 520, .k = 20, .a = Form::free_contiguous});
  check({.m = 8, .n = 1100, .k = 20, .b = Form::k_contiguous});
  check({.m = 320, .n = 530, .k = 258, .a = Form::computed_k, .c = OutputForm::epilogue});
}

TEST_P(Matmul, Batches) {
  for (Form form : {Form::k_contiguous, Form::free_contiguous, Form::computed_free}) {
    check({.batch = 96, .m = 16, .n = 16, .k = 16, .a = form, .b = form});
    check({.batch = 700, .m = 3, .n = 3, .k = 3, .a = form, .b = form});
    check({.batch = 5, .m = 40, .n = 48, .k = 64, .a = form, .c = OutputForm::epilogue});
  }
}

TEST_P(Matmul, ZeroExtents) {
  for (OutputForm c :
       {OutputForm::rows, OutputForm::columns, OutputForm::strided, OutputForm::epilogue}) {
    check({.m = 5, .n = 9, .k = 0, .c = c});
    check({.m = 0, .n = 9, .k = 4, .c = c});
    check({.m = 5, .n = 0, .k = 4, .c = c});
    check({.batch = 0, .m = 5, .n = 9, .k = 4, .c = c});
  }
}

// Cut in M, N, K and the batch, the bits are the same: every piece runs under the plan of the
// whole.
TEST_P(Matmul, PiecesHaveTheBitsOfTheWhole) {
  for (Form a : {Form::k_contiguous, Form::free_contiguous, Form::computed_k}) {
    for (OutputForm form : {OutputForm::rows, OutputForm::columns, OutputForm::strided}) {
      const Case c = {.batch = 2, .m = 50, .n = 70, .k = 600, .a = a, .c = form};
      TestOperand left(c.batch, c.m, c.k, c.a, c.a_type, false, random_);
      TestOperand right(c.batch, c.n, c.k, c.b, c.b_type, false, random_);
      TestOutput out(c.batch, c.m, c.n, c.c);
      const MatmulPlan plan = plan_matmul(problem_of(c, left, right, out), 2, GetParam());
      MatmulArgs args = args_of(left, right, out);
      for (int64_t k0 : {0, 512}) {
        args.range.k0 = k0;
        args.range.k1 = k0 == 0 ? 512 : 600;
        args.accumulate = k0 != 0;
        for (int64_t batch : {0, 1}) {
          args.range.batch0 = batch;
          args.range.batch1 = batch + 1;
          for (int64_t m0 : {0, 7, 49}) {
            args.range.m0 = m0;
            args.range.m1 = m0 == 0 ? 7 : m0 == 7 ? 49 : 50;
            for (int64_t n0 : {0, 1, 40}) {
              args.range.n0 = n0;
              args.range.n1 = n0 == 0 ? 1 : n0 == 1 ? 40 : 70;
              run(plan, args, two_);
            }
          }
        }
      }
      expect_oracle(c, left, right, out);
    }
  }
}

// The first K pieces go to memory, the last one through the epilogue.
TEST_P(Matmul, EpilogueFinishesWhatMemoryHolds) {
  const Case c = {.m = 30, .n = 45, .k = 700, .c = OutputForm::epilogue};
  TestOperand a(c.batch, c.m, c.k, c.a, c.a_type, false, random_);
  TestOperand b(c.batch, c.n, c.k, c.b, c.b_type, false, random_);
  TestOutput partial(c.batch, c.m, c.n, OutputForm::rows);
  MatmulArgs args = args_of(a, b, partial);
  args.range.k1 = 512;
  run(plan_matmul(problem_of(c, a, b, partial), 1, GetParam()), args, one_);

  TestOutput out(c.batch, c.m, c.n, c.c);
  args = args_of(a, b, out);
  args.c = partial.storage.data();
  args.range.k0 = 512;
  args.accumulate = true;
  run(plan_matmul(problem_of(c, a, b, out), 1, GetParam()), args, one_);
  expect_oracle(c, a, b, out);
}

TEST_P(Matmul, AccumulatesOnAnEmptySum) {
  const Case c = {.m = 3, .n = 4, .k = 0};
  TestOperand a(1, c.m, 0, c.a, c.a_type, false, random_);
  TestOperand b(1, c.n, 0, c.b, c.b_type, false, random_);
  TestOutput out(1, c.m, c.n, c.c);
  out.stored(0, 2, 3) = 7.0f;
  MatmulArgs args = args_of(a, b, out);
  args.accumulate = true;
  run(plan_matmul(problem_of(c, a, b, out), 1, GetParam()), args, one_);
  EXPECT_EQ(out.stored(0, 2, 3), 7.0f);
  EXPECT_EQ(out.stored(0, 0, 0), untouched);
}

TEST_P(Matmul, ExpensiveOperandsAreEvaluatedOnce) {
  if (GetParam() == MatmulIsa::baseline) GTEST_SKIP() << "large for the slow kernels";
  for (Form form : {Form::computed_k, Form::computed_free}) {
    for (bool left : {true, false}) {
      Case c = {.m = 700, .n = 1300, .k = 300, .c = OutputForm::rows};
      (left ? c.a : c.b) = form;
      (left ? c.expensive_a : c.expensive_b) = true;
      TestOperand a(c.batch, c.m, c.k, c.a, c.a_type, c.expensive_a, random_);
      TestOperand b(c.batch, c.n, c.k, c.b, c.b_type, c.expensive_b, random_);
      TestOutput out(c.batch, c.m, c.n, c.c);
      run(plan_matmul(problem_of(c, a, b, out), 2, GetParam()), args_of(a, b, out), two_);
      EXPECT_EQ(left ? a.evaluated.load() : b.evaluated.load(), (left ? c.m : c.n) * c.k);
    }
  }
}

TEST_P(Matmul, AgreesWithDoubles) {
  const Case c = {.m = 40, .n = 50, .k = 500};
  TestOperand a(1, c.m, c.k, c.a, c.a_type, false, random_);
  TestOperand b(1, c.n, c.k, c.b, c.b_type, false, random_);
  TestOutput out(1, c.m, c.n, c.c);
  run(plan_matmul(problem_of(c, a, b, out), 2, GetParam()), args_of(a, b, out), two_);
  for (int64_t i = 0; i < c.m; ++i) {
    for (int64_t j = 0; j < c.n; ++j) {
      double sum = 0, magnitude = 0;
      for (int64_t k = 0; k < c.k; ++k) {
        sum += double(a.at(0, i, k)) * b.at(0, j, k);
        magnitude += std::abs(double(a.at(0, i, k)) * b.at(0, j, k));
      }
      EXPECT_NEAR(out.result(0, i, j), sum, magnitude * 1e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, Matmul,
                         testing::Values(MatmulIsa::baseline, MatmulIsa::avx2, MatmulIsa::avx512),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(MatmulPlanning, RefusesMisuse) {
  MatmulProblem problem = {1, 8, 8, 600, {}, {}, {}};
  problem.a.free_stride = 600;
  problem.a.k_stride = 1;
  problem.b.free_stride = 1;
  problem.b.k_stride = 8;
  problem.c.row_stride = 8;
  const MatmulPlan plan = plan_matmul(problem, 1);
  ThreadPool one(1);
  MatmulArgs args;
  args.range.k1 = 100;
  EXPECT_THROW(run_matmul(plan, args, nullptr, one), InternalError);
  args.range.k1 = 601;
  EXPECT_THROW(run_matmul(plan, args, nullptr, one), InternalError);
  problem.m = -1;
  EXPECT_THROW(plan_matmul(problem, 1), InternalError);
}

TEST(MatmulPlanning, ScratchIsBoundedWhateverTheExtents) {
  for (int64_t m : {64, 1024, 65536}) {
    for (int64_t n : {64, 4096, 65536}) {
      for (int64_t k : {64, 8192}) {
        for (bool computed : {false, true}) {
          MatmulProblem problem = {1, m, n, k, {}, {}, {}};
          problem.a.free_stride = k;
          problem.a.k_stride = 1;
          problem.b.computed = true;
          problem.b.expensive = true;
          problem.c.row_stride = n;
          problem.c.computed = computed;
          const MatmulPlan plan = plan_matmul(problem, 2);
          EXPECT_LE(plan.scratch_bytes_per_worker, int64_t{2} << 20);
          EXPECT_EQ(plan.scratch_bytes, 2 * plan.scratch_bytes_per_worker);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ullage
