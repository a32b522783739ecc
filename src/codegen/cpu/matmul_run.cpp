// Runs planned products: tasks, K blocks, packing, kernels, finished tiles.
#include <algorithm>
#include <cstring>

#include "codegen/cpu/matmul.h"
#include "codegen/cpu/matmul_code.h"
#include "runtime/thread_pool.h"
#include "support/check.h"

namespace ullage {
namespace {

struct Span {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// One run, in the kernel's orientation.
struct Run {
  const MatmulPlan& plan;
  const MatmulArgs& args;
  const MatmulCode& code;
  const MatmulOperand& rows;
  const MatmulOperand& columns;
  const MatmulInput& row_input;
  const MatmulInput& column_input;
  int64_t row_stride, column_stride;  // of C
  Span batch, row_range, column_range, k_range;
};

constexpr int64_t element_bytes(MatmulType type) {
  return type == MatmulType::f32 ? 4 : type == MatmulType::i8 ? 1 : 2;
}

const std::byte* element(const MatmulOperand& operand, const MatmulInput& input, int64_t batch,
                         int64_t free, int64_t k) {
  return static_cast<const std::byte*>(input.data) +
         (batch * operand.batch_stride + free * operand.free_stride + k * operand.k_stride) *
             element_bytes(operand.type);
}

float load_element(MatmulType type, const std::byte* at) {
  switch (type) {
    case MatmulType::f32: {
      float value;
      std::memcpy(&value, at, 4);
      return value;
    }
    case MatmulType::i8:
      return static_cast<float>(static_cast<int8_t>(*at));
    case MatmulType::bf16:
    case MatmulType::f16:
      break;
  }
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  return type == MatmulType::bf16 ? bf16_to_f32(bits) : f16_to_f32(bits);
}

// Strided in both dimensions: dst[k * k_step + free placed by `place`].
template <typename Place>
void gather(const MatmulOperand& operand, const MatmulInput& input, int64_t batch, Span free,
            Span k, Place place) {
  const int64_t step = operand.k_stride * element_bytes(operand.type);
  for (int64_t f = free.begin; f < free.end; ++f) {
    const std::byte* at = element(operand, input, batch, f, k.begin);
    for (int64_t i = 0; i < k.size(); ++i, at += step) {
      *place(f - free.begin, i) = load_element(operand.type, at);
    }
  }
}

// Evaluates (outer = k, inner = free) a few rows of K at a time and hands each box on.
template <typename Use>
void for_each_k_box(const Run& run, const MatmulInput& input, int64_t batch, Span free, Span k,
                    float* box, Use use) {
  const int64_t stride = free.size();
  const int64_t step = std::max<int64_t>(1, run.plan.box_floats / stride);
  for (int64_t k0 = k.begin; k0 < k.end; k0 += step) {
    const int64_t k1 = std::min(k0 + step, k.end);
    input.eval(input.context, batch, k0, k1, free.begin, free.end, box, stride);
    use(k0 - k.begin, k1 - k0, stride);
  }
}

void pack_rows(const Run& run, int64_t batch, Span rows, Span k, float* dst, float* box) {
  const MatmulOperand& operand = run.rows;
  const MatmulInput& input = run.row_input;
  const int type = static_cast<int>(operand.type);
  switch (run.plan.rows_packing) {
    case MatmulPacking::in_place:
      return;
    case MatmulPacking::k_contiguous:
      if (operand.computed) {
        input.eval(input.context, batch, rows.begin, rows.end, k.begin, k.end, dst,
                   run.plan.row_stride);
      } else {
        run.code.copy_rows[type](dst, run.plan.row_stride,
                                 element(operand, input, batch, rows.begin, k.begin),
                                 operand.free_stride, rows.size(), k.size());
      }
      return;
    case MatmulPacking::free_contiguous:
      if (operand.computed) {
        for_each_k_box(
            run, input, batch, rows, k, box, [&](int64_t at, int64_t count, int64_t stride) {
              run.code.interleave_rows[0](dst + at * run.code.kernel_rows, run.plan.rows_panel, box,
                                          stride, rows.size(), count);
            });
      } else {
        run.code.interleave_rows[type](dst, run.plan.rows_panel,
                                       element(operand, input, batch, rows.begin, k.begin),
                                       operand.k_stride, rows.size(), k.size());
      }
      return;
    case MatmulPacking::general:
      gather(operand, input, batch, rows, k,
             [&](int64_t row, int64_t i) { return dst + row * run.plan.row_stride + i; });
      return;
  }
}

void pack_columns(const Run& run, int64_t batch, Span columns, Span k, float* dst, float* box) {
  const MatmulOperand& operand = run.columns;
  const MatmulInput& input = run.column_input;
  const int type = static_cast<int>(operand.type);
  const int64_t width = run.code.kernel_columns;
  const int64_t panel = run.plan.columns_panel;
  switch (run.plan.columns_packing) {
    case MatmulPacking::in_place: {
      // Whole panels are read in place; a last partial one must be padded.
      const int64_t whole = columns.size() / width * width;
      if (whole == columns.size()) return;
      run.code.copy_columns[0](dst + whole / width * panel, panel,
                               element(operand, input, batch, columns.begin + whole, k.begin),
                               operand.k_stride, columns.size() - whole, k.size());
      return;
    }
    case MatmulPacking::free_contiguous:
      if (operand.computed) {
        for_each_k_box(
            run, input, batch, columns, k, box, [&](int64_t at, int64_t count, int64_t stride) {
              run.code.copy_columns[0](dst + at * width, panel, box, stride, columns.size(), count);
            });
      } else {
        run.code.copy_columns[type](dst, panel,
                                    element(operand, input, batch, columns.begin, k.begin),
                                    operand.k_stride, columns.size(), k.size());
      }
      return;
    case MatmulPacking::k_contiguous:
      if (operand.computed) {
        for (int64_t c = columns.begin; c < columns.end; c += width, dst += panel) {
          const int64_t end = std::min(c + width, columns.end);
          input.eval(input.context, batch, c, end, k.begin, k.end, box, k.size());
          run.code.transpose_columns[0](dst, panel, box, k.size(), end - c, k.size());
        }
      } else {
        run.code.transpose_columns[type](dst, panel,
                                         element(operand, input, batch, columns.begin, k.begin),
                                         operand.free_stride, columns.size(), k.size());
      }
      return;
    case MatmulPacking::general:
      for (int64_t p = 0; p * width < columns.size(); ++p) {
        std::fill_n(dst + p * panel, k.size() * width, 0.0f);
      }
      gather(operand, input, batch, columns, k, [&](int64_t column, int64_t i) {
        return dst + column / width * panel + i * width + column % width;
      });
      return;
  }
}

// Where a tile's sums are: C itself or scratch.
struct Sums {
  float* data = nullptr;  // of the tile's first element
  int64_t stride = 0;
};

struct Packed {
  const float* rows = nullptr;
  const float* columns = nullptr;
};

// Asks for the rows that the next kernel reads in place for the first time. Past the last row this
// fetches in vain.
void fetch_rows(const float* rows, int64_t step, int64_t count, int64_t k) {
  for (int64_t r = 0; r < count; ++r) {
    for (int64_t i = 0; i < k; i += 16) __builtin_prefetch(rows + r * step + i);
  }
}

float* c_element(const Run& run, int64_t batch, int64_t row, int64_t column) {
  return run.args.c + batch * run.plan.problem.c.batch_stride + row * run.row_stride +
         column * run.column_stride;
}

// Multiplies packed rows by packed columns into the sums that begin at `sums.data`.
void multiply_block(const Run& run, int64_t batch, Span rows, Span columns, Span k,
                    const Packed& packed, Sums sums, bool add, bool last) {
  const MatmulCode& code = run.code;
  const int64_t width = code.kernel_columns;
  const int64_t height = code.kernel_rows;
  const MatmulPacking rows_packing = run.plan.rows_packing;
  const bool interleaved = rows_packing == MatmulPacking::free_contiguous;
  const bool in_place = rows_packing == MatmulPacking::in_place;
  const auto layout = interleaved ? MatmulRowsLayout::interleaved
                      : !in_place && run.plan.row_stride == matmul_row_stride
                          ? MatmulRowsLayout::packed_rows
                          : MatmulRowsLayout::strided;
  const auto& kernels = code.kernel[static_cast<int>(layout)];
  const float* row_data = packed.rows;
  int64_t row_step = run.plan.row_stride;
  if (in_place) {
    row_data = reinterpret_cast<const float*>(
        element(run.rows, run.row_input, batch, rows.begin, k.begin));
    row_step = run.rows.free_stride;
  }
  MatmulKernelArgs call;
  call.k = k.size();
  call.a_stride = row_step;
  call.c_stride = sums.stride;
  call.add = add;
  for (int64_t c = 0; c < columns.size(); c += width) {
    call.columns = std::min(width, columns.size() - c);
    const int vectors = call.columns > code.lanes ? 2 : 1;
    if (run.plan.columns_packing == MatmulPacking::in_place && call.columns == width) {
      call.b = reinterpret_cast<const float*>(
          element(run.columns, run.column_input, batch, columns.begin + c, k.begin));
      call.b_stride = run.columns.k_stride;
    } else {
      call.b = packed.columns + c / width * run.plan.columns_panel;
      call.b_stride = width;
    }
    for (int64_t r = 0; r < rows.size();) {
      const int64_t left = rows.size() - r;
      int64_t count = std::min(height, left);
      // A last tile of few rows wastes registers; two of about equal height do not.
      if (!interleaved && left > height && left < height + height / 2) count = (left + 1) / 2;
      call.a = interleaved ? row_data + r / height * run.plan.rows_panel : row_data + r * row_step;
      call.c = sums.data + r * sums.stride + c;
      call.fetch = call.c;
      call.fetch_stride = sums.stride;
      // Finished sums in scratch go to C at once: the lines of C are what will be missing.
      if (last && run.plan.tile_in_scratch && run.args.c != nullptr && run.column_stride == 1) {
        call.fetch = c_element(run, batch, rows.begin + r, columns.begin + c);
        call.fetch_stride = run.row_stride;
      }
      if (in_place && c == 0) fetch_rows(call.a + count * row_step, row_step, height, k.size());
      kernels[count - 1][vectors - 1](call);
      r += count;
    }
  }
}

// Copies between C and the sums in scratch.
template <typename Move>
void for_each_sum(const Run& run, int64_t batch, Span rows, Span columns, Sums sums, Move move) {
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    float* c = c_element(run, batch, r, columns.begin);
    float* sum = sums.data + (r - rows.begin) * sums.stride;
    for (int64_t i = 0; i < columns.size(); ++i) move(c[i * run.column_stride], sum[i]);
  }
}

void begin_block(const Run& run, int64_t batch, Span rows, Span columns, Sums sums) {
  if (!run.plan.tile_in_scratch || !run.args.accumulate) return;
  for_each_sum(run, batch, rows, columns, sums, [](float& c, float& sum) { sum = c; });
}

void finish_block(const Run& run, int64_t batch, Span rows, Span columns, Sums sums) {
  if (!run.plan.tile_in_scratch) return;
  if (run.args.epilogue != nullptr && !run.args.unfinished) {
    run.args.epilogue(run.args.epilogue_context, batch, rows.begin, rows.end, columns.begin,
                      columns.end, sums.data, sums.stride);
  } else {
    for_each_sum(run, batch, rows, columns, sums, [](float& c, float& sum) { c = sum; });
  }
}

// A product over no K: zeros, or what is accumulated onto.
void run_empty_sums(const Run& run, int64_t batch, Span rows, Span columns, Sums sums) {
  if (!run.args.accumulate) {
    for (int64_t r = 0; r < rows.size(); ++r) {
      std::fill_n(sums.data + r * sums.stride, columns.size(), 0.0f);
    }
  }
  begin_block(run, batch, rows, columns, sums);
  finish_block(run, batch, rows, columns, sums);
}

void run_task(const Run& run, int64_t batch, Span rows, Span columns, float* scratch) {
  const MatmulPlan& plan = run.plan;
  float* packed_rows = scratch;
  float* packed_columns = scratch + plan.columns_offset;
  float* box = scratch + plan.box_offset;
  Sums tile;
  if (plan.tile_in_scratch) {
    tile = {scratch + plan.sums_offset, plan.sums_stride};
  } else {
    tile = {c_element(run, batch, rows.begin, columns.begin), run.row_stride};
  }
  if (run.k_range.size() == 0) return run_empty_sums(run, batch, rows, columns, tile);

  const bool rows_at_once = rows.size() <= plan.block_rows;
  for (int64_t k0 = run.k_range.begin; k0 < run.k_range.end; k0 += matmul_k_block) {
    const Span k = {k0, std::min(k0 + matmul_k_block, run.k_range.end)};
    const bool first = k.begin == run.k_range.begin;
    const bool last = k.end == run.k_range.end;
    if (rows_at_once) pack_rows(run, batch, rows, k, packed_rows, box);
    for (int64_t c = columns.begin; c < columns.end; c += plan.block_columns) {
      const Span column_block = {c, std::min(c + plan.block_columns, columns.end)};
      pack_columns(run, batch, column_block, k, packed_columns, box);
      for (int64_t r = rows.begin; r < rows.end; r += plan.block_rows) {
        const Span row_block = {r, std::min(r + plan.block_rows, rows.end)};
        if (!rows_at_once) pack_rows(run, batch, row_block, k, packed_rows, box);
        const Sums sums = {tile.data + (r - rows.begin) * tile.stride + (c - columns.begin),
                           tile.stride};
        if (first) begin_block(run, batch, row_block, column_block, sums);
        multiply_block(run, batch, row_block, column_block, k, {packed_rows, packed_columns}, sums,
                       !first || run.args.accumulate, last);
        if (last) finish_block(run, batch, row_block, column_block, sums);
      }
    }
  }
}

Span span_of(int64_t begin, int64_t end, int64_t extent) {
  const Span span = {begin, end < 0 ? extent : end};
  ULLAGE_CHECK(0 <= span.begin && span.begin <= span.end && span.end <= extent,
               "the range of a product lies within it");
  return span;
}

// The plan for a part of a problem: cut anew for its own extents when the scratch allows it.
MatmulPlan plan_for_range(const MatmulPlan& whole, Span batch, Span m, Span n, Span k) {
  MatmulProblem part = whole.problem;
  if (part.batch == batch.size() && part.m == m.size() && part.n == n.size() &&
      part.k == k.size()) {
    return whole;
  }
  part.batch = batch.size();
  part.m = m.size();
  part.n = n.size();
  part.k = k.size();
  const MatmulPlan plan = plan_matmul(part, whole.threads, whole.isa);
  const bool same_form = plan.swapped == whole.swapped;
  return same_form && plan.scratch_bytes_per_worker <= whole.scratch_bytes_per_worker ? plan
                                                                                      : whole;
}

}  // namespace

void copy_rows_as_f32(MatmulType type, float* to, int64_t to_stride, const std::byte* from,
                      int64_t stride, int64_t rows, int64_t k) {
  matmul_code(best_matmul_isa())
      .copy_rows[static_cast<int>(type)](to, to_stride, from, stride, rows, k);
}

void run_matmul(const MatmulPlan& planned, const MatmulArgs& args, std::byte* scratch,
                ThreadPool& pool) {
  const MatmulProblem& problem = planned.problem;
  const MatmulRange& range = args.range;
  const Span batch = span_of(range.batch0, range.batch1, problem.batch);
  const Span m = span_of(range.m0, range.m1, problem.m);
  const Span n = span_of(range.n0, range.n1, problem.n);
  const Span k = span_of(range.k0, range.k1, problem.k);
  ULLAGE_CHECK(k.begin % matmul_k_block == 0 && (k.end % matmul_k_block == 0 || k.end == problem.k),
               "K is cut at multiples of its block");
  ULLAGE_CHECK((args.epilogue != nullptr) == problem.c.computed, "an epilogue exactly if planned");
  ULLAGE_CHECK(pool.threads() <= planned.threads, "scratch for every worker");
  if (batch.size() == 0 || m.size() == 0 || n.size() == 0) return;

  const MatmulPlan plan = plan_for_range(planned, batch, m, n, k);
  const bool swapped = plan.swapped;
  const MatmulOutput& c = problem.c;
  const Run run = {plan,
                   args,
                   matmul_code(plan.isa),
                   swapped ? problem.b : problem.a,
                   swapped ? problem.a : problem.b,
                   swapped ? args.b : args.a,
                   swapped ? args.a : args.b,
                   swapped ? c.column_stride : c.row_stride,
                   swapped ? c.row_stride : c.column_stride,
                   batch,
                   swapped ? n : m,
                   swapped ? m : n,
                   k};
  const int64_t down = (run.row_range.size() + plan.tile_rows - 1) / plan.tile_rows;
  const int64_t across = (run.column_range.size() + plan.tile_columns - 1) / plan.tile_columns;
  const int64_t tasks = batch.size() * down * across;
  const int64_t chunks = (tasks + plan.tasks_per_chunk - 1) / plan.tasks_per_chunk;
  pool.parallel_for(chunks, [&](int64_t chunk, int worker) {
    auto* own = reinterpret_cast<float*>(scratch + worker * plan.scratch_bytes_per_worker);
    const int64_t end = std::min((chunk + 1) * plan.tasks_per_chunk, tasks);
    for (int64_t task = chunk * plan.tasks_per_chunk; task < end; ++task) {
      const int64_t row = run.row_range.begin + task / across % down * plan.tile_rows;
      const int64_t column = run.column_range.begin + task % across * plan.tile_columns;
      run_task(run, batch.begin + task / across / down,
               {row, std::min(row + plan.tile_rows, run.row_range.end)},
               {column, std::min(column + plan.tile_columns, run.column_range.end)}, own);
    }
  });
}

}  // namespace ullage
