#include "codegen/cpu/compiled_dot.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "codegen/cpu/loop_cells.h"
#include "codegen/cpu/runtime_numbers.h"
#include "runtime/thread_pool.h"
#include "support/check.h"

namespace ullage {

namespace {

// The corners of a box in a nest, at first all of it.
struct Corners {
  static constexpr size_t kMaxRank = 64;
  explicit Corners(const std::vector<int64_t>& extents) {
    ULLAGE_CHECK(extents.size() <= kMaxRank, "a product of more dimensions than a nest has");
    std::fill_n(low, extents.size(), 0);
    std::copy(extents.begin(), extents.end(), high);
  }
  int64_t low[kMaxRank], high[kMaxRank];
};

// Calls f() for boxes over `dims` of a nest that together are [from, to) of their flat index, with
// their corners set.
template <typename F>
void for_boxes(const std::vector<int64_t>& extents, const std::vector<int>& dims, size_t i,
               int64_t from, int64_t to, Corners& box, const F& f) {
  if (from >= to) return;
  if (i == dims.size()) {
    f();
    return;
  }
  size_t d = static_cast<size_t>(dims[i]);
  int64_t inner = 1;
  for (size_t j = i + 1; j < dims.size(); ++j) inner *= extents[static_cast<size_t>(dims[j])];
  auto part = [&](int64_t first, int64_t last, int64_t a, int64_t b) {
    box.low[d] = first;
    box.high[d] = last;
    for_boxes(extents, dims, i + 1, a, b, box, f);
  };
  int64_t first = from / inner, last = to / inner;
  if (first == last) {  // within one index
    part(first, first + 1, from - first * inner, to - first * inner);
    return;
  }
  if (from % inner != 0) {
    part(first, first + 1, from % inner, inner);
    ++first;
  }
  if (first < last) part(first, last, 0, inner);
  if (to % inner != 0) part(last, last + 1, 0, to % inner);
}

// A box function with its nest, called with flat indices of two groups and a batch.
struct FlatBox {
  cpu::BoxFunction function = nullptr;
  std::vector<int64_t> extents;
  std::vector<int> batch, outer, inner;  // dimensions of the nest
  std::vector<int64_t> numbers;

  void operator()(std::byte* const* buffers, int64_t batch_index, int64_t outer0, int64_t outer1,
                  int64_t inner0, int64_t inner1, float* side, int64_t stride) const {
    Corners box(extents);
    for_boxes(extents, batch, 0, batch_index, batch_index + 1, box, [&] {
      for_boxes(extents, outer, 0, outer0, outer1, box, [&] {
        for_boxes(extents, inner, 0, inner0, inner1, box, [&] {
          function(buffers, box.low, box.high, numbers.data(), side, stride, outer0, inner0);
        });
      });
    });
  }
};

struct DotFunctions {
  FlatBox lhs, rhs, epilogue;
  cpu::OffsetsFunction offsets = nullptr;
  std::array<int64_t, 2> fixed_offsets{};  // where that is null
  cpu::SmallDotFunction small = nullptr;
  std::vector<int64_t> small_numbers;
};

struct Piece {
  int64_t batch0, batch1, m0, m1, n0, n1, k0, k1;
};

class CompiledDot : public CompiledKernel {
 public:
  // Where a piece of the outermost m, n, k or batch dimension lies in the flat index of its group.
  struct Scales {
    int64_t m = 1, n = 1, k = 1, batch = 1;
    int32_t cut_dim = 0;  // of parallel pieces, as in DotKernel
  };

  CompiledDot(DotPlan plan, cpu::SmallDotCode small, int outputs_at, Scales scales,
              DotFunctions functions, std::shared_ptr<const void> code)
      : plan_(std::move(plan)),
        small_(std::move(small)),
        outputs_at_(outputs_at),
        scales_(scales),
        functions_(std::move(functions)),
        code_(std::move(code)) {}

  void run(const KernelCall& call, ThreadPool& pool) const override {
    if (plan_.batch == 0 || plan_.m == 0 || plan_.n == 0) return;
    Piece piece{0, plan_.batch, 0, plan_.m, 0, plan_.n, 0, plan_.k};
    if (call.upper >= 0 && call.axis == KernelCall::Axis::contracted) {
      piece.k0 = call.lower * scales_.k;
      piece.k1 = call.upper * scales_.k;
    } else if (call.upper >= 0 && call.axis == KernelCall::Axis::parallel) {
      auto restrict = [&](int64_t& from, int64_t& to, int64_t scale) {
        from = call.lower * scale;
        to = call.upper * scale;
      };
      if (scales_.cut_dim == 0) restrict(piece.m0, piece.m1, scales_.m);
      if (scales_.cut_dim == 1) restrict(piece.n0, piece.n1, scales_.n);
      if (scales_.cut_dim == 2) restrict(piece.batch0, piece.batch1, scales_.batch);
    }
    ULLAGE_CHECK(
        !(call.accumulate || call.unfinished) || (plan_.strided_output && plan_.output_is_f32),
        "only a product with one result in f32 is summed in parts");
    if (plan_.narrow)
      run_narrow(call, piece, pool);
    else
      run_matmul(call, piece, pool);
  }

 private:
  float* direct_output(const KernelCall& call) const {
    return reinterpret_cast<float*>(call.buffers[outputs_at_]) + plan_.output_constant;
  }

  struct Context {
    const FlatBox* box;
    std::byte* const* buffers;
  };
  static void evaluate(void* context, int64_t batch, int64_t outer0, int64_t outer1, int64_t inner0,
                       int64_t inner1, float* to, int64_t stride) {
    const Context& c = *static_cast<const Context*>(context);
    (*c.box)(c.buffers, batch, outer0, outer1, inner0, inner1, to, stride);
  }
  static void finish(void* context, int64_t batch, int64_t m0, int64_t m1, int64_t n0, int64_t n1,
                     const float* sums, int64_t stride) {
    const Context& c = *static_cast<const Context*>(context);
    // The box only reads its side array.
    (*c.box)(c.buffers, batch, m0, m1, n0, n1, const_cast<float*>(sums), stride);
  }

  void run_matmul(const KernelCall& call, const Piece& piece, ThreadPool& pool) const {
    std::array<int64_t, 2> offsets = operand_offsets(call);
    Context lhs{&functions_.lhs, call.buffers}, rhs{&functions_.rhs, call.buffers};
    Context epilogue{&functions_.epilogue, call.buffers};
    MatmulArgs args;
    auto bind = [&](MatmulInput& input, const std::optional<PlainOperand>& plain, int64_t offset,
                    Context& context) {
      if (plain) {
        input.data = call.buffers[plain->input] + offset * storage_bytes(plain->dtype);
      } else {
        input.eval = evaluate;
        input.context = &context;
      }
    };
    bind(args.a, plan_.lhs_plain, offsets[0], lhs);
    bind(args.b, plan_.rhs_plain, offsets[1], rhs);
    if (plan_.direct) {
      args.c = direct_output(call);
    } else {
      if (plan_.strided_output && plan_.output_is_f32) args.c = direct_output(call);
      args.epilogue = finish;
      args.epilogue_context = &epilogue;
    }
    args.range.batch0 = piece.batch0;
    args.range.batch1 = piece.batch1;
    args.range.m0 = piece.m0;
    args.range.m1 = piece.m1;
    args.range.n0 = piece.n0;
    args.range.n1 = piece.n1;
    args.range.k0 = piece.k0;
    args.range.k1 = piece.k1;
    args.accumulate = call.accumulate;
    args.unfinished = call.unfinished;
    MatmulPlan matmul = plan_.matmul;  // the plan is the same for every pool, its scratch aside
    matmul.threads = pool.threads();
    matmul.scratch_bytes = matmul.scratch_bytes_per_worker * pool.threads();
    ullage::run_matmul(matmul, args, call.scratch, pool);
  }

  // By which, in elements, the operands read where they are start after their buffers, lhs first.
  std::array<int64_t, 2> operand_offsets(const KernelCall& call) const {
    std::array<int64_t, 2> offsets = functions_.fixed_offsets;
    if (functions_.offsets) functions_.offsets(call.buffers, offsets.data());
    return offsets;
  }

  struct NarrowStrides {
    int64_t batch = 0, row = 0;  // bytes
  };

  // "rows" are the narrow side, "columns" the other one.
  void run_narrow(const KernelCall& call, const Piece& piece, ThreadPool& pool) const {
    int64_t rows = std::min(plan_.m, plan_.n);
    int64_t row0 = plan_.swapped ? piece.n0 : piece.m0, row1 = plan_.swapped ? piece.n1 : piece.m1;
    int64_t column0 = plan_.swapped ? piece.m0 : piece.n0;
    int64_t column1 = plan_.swapped ? piece.m1 : piece.n1;
    const std::optional<PlainOperand>& plain = plan_.swapped ? plan_.rhs_plain : plan_.lhs_plain;
    const std::byte* x = call.scratch;
    NarrowStrides strides{rows * plan_.k * 4, 4};
    if (plain) {
      int64_t offset = operand_offsets(call)[plan_.swapped ? 1 : 0],
              size = storage_bytes(plain->dtype);
      x = call.buffers[plain->input] + offset * size;
      strides = {plain->batch_stride * size, plain->free_stride * size};
    } else {
      evaluate_narrow(call, piece, rows, row0, row1, reinterpret_cast<float*>(call.scratch), pool);
    }

    int64_t width = cpu::dot_strip(rows);
    // Strips stay within one index of the outer columns.
    const LoopNest& weights = small_.weights;
    int64_t inner = weights.extents[static_cast<size_t>(small_.column_dims.back())];
    int64_t strips_per_inner = (inner + width - 1) / width;
    int64_t total = plan_.swapped ? plan_.m : plan_.n;
    int64_t strips = (piece.batch1 - piece.batch0) * (total / inner) * strips_per_inner;
    // Small products are worth a chunk only together.
    double work = static_cast<double>(rows + 2) * static_cast<double>(plan_.k) *
                  static_cast<double>(std::min(inner, width));
    int64_t together = std::max<int64_t>(1, static_cast<int64_t>(300000 / std::max(work, 1.0)));
    auto strip = [&](int64_t number) {
      int64_t within = number % strips_per_inner * width;
      int64_t outer = number / strips_per_inner % (total / inner);
      int64_t batch = piece.batch0 + number / strips_per_inner / (total / inner);
      int64_t from = std::max(column0, outer * inner + within);
      int64_t to = std::min({column1, outer * inner + within + width, (outer + 1) * inner});
      if (from < to)
        run_strip(call, piece, batch, row0, row1, from, to, x + batch * strides.batch, strides.row);
    };
    int64_t chunks = (strips + together - 1) / together;
    auto chunk = [&](int64_t number, int) {
      for (int64_t s = number * together; s < std::min(strips, (number + 1) * together); ++s)
        strip(s);
    };
    if (chunks == 1)
      chunk(0, 0);
    else
      pool.parallel_for(chunks, chunk);
  }

  // The narrow operand as x[batch][k][row], by blocks of k.
  void evaluate_narrow(const KernelCall& call, const Piece& piece, int64_t rows, int64_t row0,
                       int64_t row1, float* x, ThreadPool& pool) const {
    const FlatBox& narrow = plan_.swapped ? functions_.rhs : functions_.lhs;
    int64_t blocks = (piece.k1 - piece.k0 + kDotBlock - 1) / kDotBlock;
    auto block = [&](int64_t number, int) {
      int64_t batch = piece.batch0 + number / blocks, from = piece.k0 + number % blocks * kDotBlock;
      int64_t to = std::min(piece.k1, from + kDotBlock);
      float* target = x + (batch * plan_.k + from) * rows;
      if (rows == 1) {
        narrow(call.buffers, batch, row0, row1, from, to, target, 0);
        return;
      }
      float values[kNarrow][kDotBlock];
      narrow(call.buffers, batch, row0, row1, from, to, values[row0], kDotBlock);
      // Rows outside the piece are not there to be read: zeros stand for them.
      for (int64_t k = 0; k < to - from; ++k)
        for (int64_t r = 0; r < rows; ++r)
          target[k * rows + r] = r >= row0 && r < row1 ? values[r][k] : 0.0f;
    };
    int64_t count = (piece.batch1 - piece.batch0) * blocks;
    if (count * kDotBlock * rows < 65536) {
      for (int64_t i = 0; i < count; ++i) block(i, 0);
    } else {
      pool.parallel_for(count, block);
    }
  }

  void run_strip(const KernelCall& call, const Piece& piece, int64_t batch, int64_t row0,
                 int64_t row1, int64_t from, int64_t to, const std::byte* x,
                 int64_t row_bytes) const {
    int64_t rows = std::min(plan_.m, plan_.n), strip = cpu::dot_strip(rows);
    alignas(64) float sums[kNarrow * cpu::dot_strip(kNarrow)];
    const MatmulOutput& out = plan_.output;
    int64_t row_stride = plan_.swapped ? out.column_stride : out.row_stride;
    int64_t column_stride = plan_.swapped ? out.row_stride : out.column_stride;
    // Adding to -0 keeps every value as it is; the sum of nothing is 0.
    const int64_t columns = (to - from + kLanes - 1) / kLanes * kLanes;
    for (int64_t r = 0; r < rows; ++r)
      std::fill_n(sums + r * strip, columns, plan_.k == 0 ? 0.0f : -0.0f);
    if (call.accumulate) {
      const float* c = direct_output(call) + batch * out.batch_stride;
      for (int64_t r = row0; r < row1; ++r)
        for (int64_t j = from; j < to; ++j)
          sums[r * strip + j - from] = c[r * row_stride + j * column_stride];
    }
    // Operands outside the piece may not be there to be read: another row stands for them.
    const std::byte* x_rows[kNarrow];
    auto find_rows = [&](const std::byte* first, int64_t bytes) {
      for (int64_t r = 0; r < rows; ++r)
        x_rows[r] = first + (small_.x_row_stride > 0 ? r : std::clamp(r, row0, row1 - 1)) * bytes;
    };
    const std::vector<int64_t>& extents = small_.weights.extents;
    Corners box(extents);
    auto multiply = [&](int64_t k0, int64_t k1) {
      for_boxes(extents, small_.batch_dims, 0, batch, batch + 1, box, [&] {
        for_boxes(extents, small_.column_dims, 0, from, to, box, [&] {
          for_boxes(extents, small_.k_dims, 0, k0, k1, box, [&] {
            functions_.small(call.buffers, box.low, box.high, x_rows, sums,
                             functions_.small_numbers.data());
          });
        });
      });
    };
    if (plan_.converted_by_blocks) {
      const PlainOperand& plain = *(plan_.swapped ? plan_.rhs_plain : plan_.lhs_plain);
      const int64_t size = storage_bytes(plain.dtype);
      alignas(64) float held[kNarrow * kDotBlock];
      if (row1 - row0 < rows) std::fill_n(held, rows * kDotBlock, 0.0f);
      for (int64_t k = piece.k0; k < piece.k1; k += kDotBlock) {
        const int64_t end = std::min(piece.k1, k + kDotBlock);
        copy_rows_as_f32(matmul_type(plain.dtype), held + row0 * kDotBlock, kDotBlock,
                         x + row0 * row_bytes + k * size, row_bytes / size, row1 - row0, end - k);
        find_rows(reinterpret_cast<const std::byte*>(held) - k * 4, kDotBlock * 4);
        multiply(k, end);
      }
    } else {
      find_rows(x, row_bytes);
      multiply(piece.k0, piece.k1);
    }
    if (call.unfinished) {
      float* c = direct_output(call) + batch * out.batch_stride;
      for (int64_t r = row0; r < row1; ++r)
        for (int64_t j = from; j < to; ++j)
          c[r * row_stride + j * column_stride] = sums[r * strip + j - from];
      return;
    }
    functions_.epilogue(call.buffers, batch, row0, row1, from, to, sums + row0 * strip, strip);
  }

  DotPlan plan_;
  cpu::SmallDotCode small_;
  int outputs_at_;
  Scales scales_;
  DotFunctions functions_;
  std::shared_ptr<const void> code_;
};

// Strides of the group's dimensions in its flat index, zero for other dimensions.
std::vector<int64_t> flat_strides(const LoopNest& nest, const std::vector<int>& dims) {
  std::vector<int64_t> strides(nest.extents.size(), 0);
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[static_cast<size_t>(dims[i])] = stride;
    stride *= nest.extents[static_cast<size_t>(dims[i])];
  }
  return strides;
}

// Lanes along the innermost dimension of the inner group; all others are loops.
void order_loops(LoopNest& nest, const std::vector<int>& inner) {
  nest.vector_dim = inner.empty() ? -1 : inner.back();
  nest.order.clear();
  for (int d = 0; d < static_cast<int>(nest.extents.size()); ++d)
    if (d != nest.vector_dim) nest.order.push_back(d);
}

struct BoxRecipe {
  KernelRecipe::Code code;
  FlatBox box;
};

BoxRecipe box_recipe(LoopNest nest, cpu::BoxSide::Kind kind, int32_t root, int outer_group,
                     int inner_group, int first_output) {
  BoxRecipe recipe;
  recipe.box.extents = nest.extents;
  recipe.box.batch = dims_of(nest, kDotBatch);
  recipe.box.outer = dims_of(nest, outer_group);
  recipe.box.inner = dims_of(nest, inner_group);
  order_loops(nest, recipe.box.inner);
  cpu::BoxSide side;
  side.kind = kind;
  side.outer = flat_strides(nest, recipe.box.outer);
  side.inner = flat_strides(nest, recipe.box.inner);
  double weight =
      4 + static_cast<double>(nest.expr.nodes.size()) + operations_per_element(nest.expr);
  std::vector<LoopCell> cells = cut_at_tests(nest, root);
  RuntimeNumbers numbers;
  numbers.take(cells);
  for (int64_t& stride : side.outer) numbers.take(stride);
  for (int64_t& stride : side.inner) numbers.take(stride);
  recipe.box.numbers = numbers.values();
  std::string key = "box";
  key.push_back(static_cast<char>(kind));
  append_key(key, first_output);
  append_cells_key(key, cells);
  for (int64_t stride : side.outer) append_key(key, stride);
  for (int64_t stride : side.inner) append_key(key, stride);
  recipe.code = {std::move(key),
                 [cells = std::move(cells), side = std::move(side), first_output](
                     llvm::Module& module, const Host& host, const std::string& name) {
                   cpu::emit_box(module, host, name, cells, first_output, side);
                 },
                 weight};
  return recipe;
}

cpu::SmallDotCode small_code(const DotPlan& plan) {
  cpu::SmallDotCode code;
  code.weights = plan.swapped ? plan.lhs : plan.rhs;
  code.root = plan.swapped ? plan.lhs_root : plan.rhs_root;
  code.rows = static_cast<int>(std::min(plan.m, plan.n));
  code.lanes_along_k = plan.lanes_along_k;
  const std::optional<PlainOperand>& narrow = plan.swapped ? plan.rhs_plain : plan.lhs_plain;
  code.x_row_stride = plan.converted_by_blocks ? kDotBlock : narrow ? 0 : 1;
  code.x_dtype = narrow && !plan.converted_by_blocks ? narrow->dtype : DType::f32;
  code.x_stride = narrow ? narrow->k_stride : code.rows;
  LoopNest& nest = code.weights;
  auto dims = [&](int group) {
    std::vector<int> found = dims_of(nest, group);
    if (found.empty() && group != kDotBatch) {  // a dimension of extent 1 to run along
      found.push_back(static_cast<int>(nest.extents.size()));
      nest.extents.push_back(1);
      nest.groups.push_back(group);
    }
    return found;
  };
  code.batch_dims = dims(kDotBatch);
  code.column_dims = dims(plan.swapped ? kDotM : kDotN);
  code.k_dims = dims(kDotK);
  int64_t inner = 1;
  for (int d : code.k_dims) code.k_extents.push_back(nest.extents[static_cast<size_t>(d)]);
  for (size_t i = 1; i < code.k_extents.size(); ++i) inner *= code.k_extents[i];
  code.block_rows = kDotBlock / std::max<int64_t>(inner, 1);
  nest.vector_dim = code.lanes_along_k ? code.k_dims.back() : code.column_dims.back();
  return code;
}

}  // namespace

Result<KernelRecipe> dot_recipe(const Kernel& kernel, const DotKernel& dot) {
  DotPlan plan = plan_dot(dot, 1);
  int first_output = static_cast<int>(kernel.inputs.size());
  KernelRecipe recipe;
  DotFunctions boxes;
  cpu::SmallDotCode small;
  // Places of the functions in the recipe, in this order; -1 for those that are not needed.
  int lhs_at = -1, rhs_at = -1, epilogue_at = -1, offsets_at = -1, small_at = -1;
  auto add = [&](KernelRecipe::Code code) {
    recipe.functions.push_back(std::move(code));
    return static_cast<int>(recipe.functions.size()) - 1;
  };
  auto evaluate = [&](const LoopNest& nest, int32_t root, int free_group, bool inner_is_k,
                      FlatBox& box) {
    BoxRecipe made =
        box_recipe(nest, cpu::BoxSide::Kind::evaluate, root, inner_is_k ? free_group : kDotK,
                   inner_is_k ? kDotK : free_group, 0);
    box = made.box;
    return add(std::move(made.code));
  };
  if (plan.narrow) {
    if (plan.swapped && !plan.rhs_plain)
      rhs_at = evaluate(plan.rhs, plan.rhs_root, kDotN, true, boxes.rhs);
    if (!plan.swapped && !plan.lhs_plain)
      lhs_at = evaluate(plan.lhs, plan.lhs_root, kDotM, true, boxes.lhs);
    small = small_code(plan);
    double weight = 20 * small.rows + 8 * static_cast<double>(small.weights.expr.nodes.size()) +
                    8 * operations_per_element(small.weights.expr);
    RuntimeNumbers numbers;
    numbers.take(small.weights);
    numbers.take_any(small.block_rows);
    numbers.take(small.x_stride);
    for (int64_t& extent : small.k_extents) numbers.take_any(extent);
    boxes.small_numbers = numbers.values();
    std::string key = "small";
    append_key(key, small.weights);
    append_key(key, small.root);
    append_key(key, small.rows);
    append_key(key, small.lanes_along_k);
    append_key(key, small.block_rows);
    append_key(key, static_cast<int64_t>(small.x_dtype));
    append_key(key, small.x_stride);
    append_key(key, small.x_row_stride);
    for (int64_t extent : small.k_extents) append_key(key, extent);
    for (const std::vector<int>* dims : {&small.batch_dims, &small.column_dims, &small.k_dims}) {
      append_key(key, static_cast<int64_t>(dims->size()));
      for (int d : *dims) append_key(key, d);
    }
    small_at = add({std::move(key),
                    [small](llvm::Module& module, const Host& host, const std::string& name) {
                      cpu::emit_small_dot(module, host, name, small);
                    },
                    weight});
  } else {
    if (!plan.lhs_plain)
      lhs_at = evaluate(plan.lhs, plan.lhs_root, kDotM, plan.lhs_inner_is_k, boxes.lhs);
    if (!plan.rhs_plain)
      rhs_at = evaluate(plan.rhs, plan.rhs_root, kDotN, plan.rhs_inner_is_k, boxes.rhs);
  }
  if (plan.narrow || !plan.direct) {
    bool swapped = plan.narrow && plan.swapped;
    BoxRecipe made = box_recipe(plan.epilogue, cpu::BoxSide::Kind::epilogue, -1,
                                swapped ? kDotN : kDotM, swapped ? kDotM : kDotN, first_output);
    boxes.epilogue = made.box;
    epilogue_at = add(std::move(made.code));
  }
  if (plan.lhs_plain || plan.rhs_plain) {
    // Offsets of the plain operands; those of both come from one function over the two expressions
    // joined.
    Expr joined;
    std::vector<Access> accesses(2);
    auto take = [&](const LoopNest& nest, const std::optional<PlainOperand>& plain,
                    Access& access) {
      if (!plain) return;
      access = plain->access;
      int32_t base = static_cast<int32_t>(joined.nodes.size());
      for (ExprNode node : nest.expr.nodes) {
        for (int32_t& operand : node.operands)
          if (operand >= 0) operand += base;
        if (node.guard >= 0) node.guard += base;
        for (Access::Dynamic& dynamic : node.access.dynamic) dynamic.node += base;
        joined.nodes.push_back(std::move(node));
      }
      for (Access::Dynamic& dynamic : access.dynamic) dynamic.node += base;
    };
    take(plan.lhs, plan.lhs_plain, accesses[0]);
    take(plan.rhs, plan.rhs_plain, accesses[1]);
    for (size_t i = 0; i < 2; ++i) boxes.fixed_offsets[i] = accesses[i].affine.constant;
    if (!accesses[0].dynamic.empty() || !accesses[1].dynamic.empty()) {
      std::string key = "offsets";
      append_key(key, joined);
      for (const Access& access : accesses) append_key(key, access);
      offsets_at =
          add({std::move(key),
               [joined, accesses](llvm::Module& module, const Host& host, const std::string& name) {
                 cpu::emit_offsets(module, host, name, joined, accesses);
               },
               2});
    }
  }
  auto scale = [](const std::vector<int64_t>& extents) {
    int64_t inner = 1;
    for (size_t i = 1; i < extents.size(); ++i) inner *= extents[i];
    return inner;
  };
  CompiledDot::Scales scales{scale(dot.m), scale(dot.n), scale(dot.k), scale(dot.batch),
                             dot.cut_dim};
  recipe.finish = [=](const std::vector<void*>& functions, std::shared_ptr<const void> code) {
    DotFunctions made = boxes;
    auto at = [&](int place) {
      return place < 0 ? nullptr : functions[static_cast<size_t>(place)];
    };
    made.lhs.function = reinterpret_cast<cpu::BoxFunction>(at(lhs_at));
    made.rhs.function = reinterpret_cast<cpu::BoxFunction>(at(rhs_at));
    made.epilogue.function = reinterpret_cast<cpu::BoxFunction>(at(epilogue_at));
    made.offsets = reinterpret_cast<cpu::OffsetsFunction>(at(offsets_at));
    made.small = reinterpret_cast<cpu::SmallDotFunction>(at(small_at));
    return std::make_shared<CompiledDot>(plan, small, first_output, scales, std::move(made),
                                         std::move(code));
  };
  return recipe;
}

}  // namespace ullage
