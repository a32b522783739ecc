#include "codegen/cpu/matmul.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "codegen/cpu/matmul_code.h"
#include "support/check.h"

namespace ullage {
namespace {

int64_t ceil_div(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}
int64_t round_up(int64_t value, int64_t to) {
  return ceil_div(value, to) * to;
}

// Rough prices in nanoseconds. They choose between ways to cut a product, so only their ratios
// matter.
constexpr double multiply_add_ns = 0.015;
constexpr double copy_ns = 0.12;
constexpr double convert_ns = 0.16;
constexpr double transpose_ns = 0.2;
constexpr double gather_ns = 1.0;
constexpr double computed_ns = 0.4;
constexpr double expensive_ns = 2.0;
constexpr double task_ns = 500;
constexpr double worthwhile_chunk_ns = 10'000;
// What tasks are balanced over, and how much of a task's time a smaller one is worth: a last task
// may come late.
constexpr double balanced_over = 4;
constexpr double late_share = 0.04;
constexpr int64_t least_chunks = 8;  // of many small tasks
constexpr double about_as_fast = 1.03;

constexpr int64_t most_block_rows =
    144;  // with 256 of K: 147 KB, in L2 beside what streams through
constexpr int64_t most_sums = int64_t{1} << 17;  // floats of an unfinished tile: 512 KB
constexpr int64_t few_columns = 256;             // packed at a time where more would gain nothing
constexpr int64_t box_elements = 4096;           // evaluated by one call of a MatmulEval
constexpr int64_t panel_padding = 64;  // floats, so that panels start in different cache sets

struct Shape {
  int64_t batch, rows, columns, k;
};

Shape kernel_shape(const MatmulPlan& plan) {
  const MatmulProblem& p = plan.problem;
  return plan.swapped ? Shape{p.batch, p.n, p.m, p.k} : Shape{p.batch, p.m, p.n, p.k};
}

// Rows of an f32 matrix can be multiplied where they lie unless a tile's rows, or a block's, fall
// on the same cache sets.
bool rows_fit_in_place(const MatmulOperand& rows, const Shape& shape) {
  if (shape.columns <= 32) return true;
  const int64_t stride_bytes = rows.free_stride * 4;
  return stride_bytes <= 1024 || stride_bytes % 2048 == 64 || stride_bytes % 2048 == 1024 + 64;
}

MatmulPacking choose_packing(const MatmulOperand& operand) {
  if (operand.computed) {
    return operand.inner_is_k ? MatmulPacking::k_contiguous : MatmulPacking::free_contiguous;
  }
  if (operand.k_stride == 1) return MatmulPacking::k_contiguous;
  if (operand.free_stride == 1) return MatmulPacking::free_contiguous;
  return MatmulPacking::general;
}

double packing_ns(const MatmulOperand& operand, MatmulPacking packing, bool rows) {
  if (packing == MatmulPacking::in_place) return 0.02;
  if (packing == MatmulPacking::general) return gather_ns;
  const bool reorder = (packing == MatmulPacking::k_contiguous) != rows;
  double ns = reorder ? transpose_ns : copy_ns;
  if (operand.computed) {
    ns += operand.expensive ? expensive_ns : computed_ns;
  } else if (operand.type != MatmulType::f32) {
    ns += convert_ns - copy_ns;
  }
  return ns;
}

struct Tiles {
  int64_t rows, columns;
  double cost_ns = std::numeric_limits<double>::infinity();
  double total_ns = 0;
  int64_t tasks = 0;
};

// Tile extents worth trying: the extent in 1, 2, ... equal parts, and some fixed sizes.
std::array<int64_t, 18> candidate_extents(int64_t extent, int64_t unit) {
  constexpr std::array<int64_t, 10> parts = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
  constexpr std::array<int64_t, 8> sizes = {32, 64, 96, 128, 192, 256, 512, 1024};
  std::array<int64_t, 18> candidates;
  for (size_t i = 0; i < parts.size(); ++i) {
    candidates[i] = round_up(ceil_div(extent, parts[i]), unit);
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    candidates[parts.size() + i] = std::min(round_up(sizes[i], unit), round_up(extent, unit));
  }
  return candidates;
}

// Fills everything that follows from the problem and the tiles.
void lay_out_scratch(MatmulPlan& plan, const MatmulCode& code, int64_t most_columns) {
  const Shape shape = kernel_shape(plan);
  const MatmulOperand& rows = plan.swapped ? plan.problem.b : plan.problem.a;
  const MatmulOperand& columns = plan.swapped ? plan.problem.a : plan.problem.b;
  const int64_t k = std::min(shape.k, matmul_k_block);
  plan.block_rows = std::min(plan.tile_rows, most_block_rows);
  // Columns are packed once in any case; rows once for each block of columns unless all of a task's
  // are packed together.
  const bool rows_once =
      plan.rows_packing == MatmulPacking::in_place || plan.tile_rows <= most_block_rows;
  plan.block_columns = std::min(plan.tile_columns, rows_once ? few_columns : most_columns);
  plan.row_stride = round_up(k, 16) + matmul_row_padding;
  plan.columns_panel = k * code.kernel_columns + panel_padding;
  plan.rows_panel = round_up(k * code.kernel_rows + code.lanes, 16) + 16;

  int64_t at = 0;
  const auto take = [&](int64_t floats) { at += round_up(floats, 16); };
  switch (plan.rows_packing) {
    case MatmulPacking::in_place:
      break;
    case MatmulPacking::k_contiguous:
    case MatmulPacking::general:
      take(plan.block_rows * plan.row_stride);
      break;
    case MatmulPacking::free_contiguous:
      take(ceil_div(plan.block_rows, code.kernel_rows) * plan.rows_panel);
      break;
  }
  plan.columns_offset = at;
  take(ceil_div(plan.block_columns, code.kernel_columns) * plan.columns_panel);
  plan.sums_offset = at;
  if (plan.tile_in_scratch) {
    plan.sums_stride = plan.tile_columns + 16;
    take(plan.tile_rows * plan.sums_stride);
  }
  plan.box_offset = at;
  plan.box_floats = 0;
  if (columns.computed) {
    plan.box_floats = columns.inner_is_k ? code.kernel_columns * matmul_k_block
                                         : std::max(box_elements, plan.block_columns);
  }
  if (rows.computed && !rows.inner_is_k) {
    plan.box_floats = std::max({plan.box_floats, box_elements, plan.block_rows});
  }
  take(plan.box_floats);
  plan.scratch_bytes_per_worker = round_up(at * 4, 64);
  plan.scratch_bytes = plan.scratch_bytes_per_worker * plan.threads;
}

Tiles choose_tiles(const MatmulPlan& plan, const Shape& shape, const MatmulCode& code,
                   int64_t most_columns) {
  const MatmulOperand& rows = plan.swapped ? plan.problem.b : plan.problem.a;
  const MatmulOperand& columns = plan.swapped ? plan.problem.a : plan.problem.b;
  const double row_ns = packing_ns(rows, plan.rows_packing, true);
  const double column_ns = packing_ns(columns, plan.columns_packing, false);
  const double size = static_cast<double>(shape.rows) * shape.columns * shape.k * shape.batch;
  std::vector<Tiles> candidates;
  double least_ns = std::numeric_limits<double>::infinity();
  const auto row_extents = candidate_extents(shape.rows, code.kernel_rows);
  const auto column_extents = candidate_extents(shape.columns, code.kernel_columns);
  for (int64_t tile_rows : row_extents) {
    for (int64_t tile_columns : column_extents) {
      if (plan.tile_in_scratch && tile_rows * tile_columns > most_sums &&
          (tile_rows > 64 || tile_columns > 64)) {
        continue;
      }
      Tiles tiles{tile_rows, tile_columns};
      const int64_t across = ceil_div(shape.columns, tile_columns);
      const int64_t down = ceil_div(shape.rows, tile_rows);
      const int64_t rows_again =
          tile_rows <= most_block_rows ? 1 : ceil_div(tile_columns, most_columns);
      tiles.tasks = shape.batch * across * down;
      tiles.total_ns = size * (multiply_add_ns + row_ns * rows_again * across / shape.columns +
                               column_ns * down / shape.rows) +
                       task_ns * tiles.tasks;
      const double workers = std::clamp(tiles.total_ns / worthwhile_chunk_ns, 1.0, balanced_over);
      const double rounds = std::max(1.0, std::ceil(tiles.tasks / workers));
      tiles.cost_ns = tiles.total_ns / tiles.tasks * (rounds + late_share);
      least_ns = std::min(least_ns, tiles.cost_ns);
      candidates.push_back(tiles);
    }
  }
  // Of those that are about as fast, the one with the least scratch.
  const Tiles* best = nullptr;
  int64_t least_scratch = std::numeric_limits<int64_t>::max();
  for (const Tiles& tiles : candidates) {
    if (tiles.cost_ns > least_ns * about_as_fast) continue;
    MatmulPlan trial = plan;
    trial.tile_rows = tiles.rows;
    trial.tile_columns = tiles.columns;
    lay_out_scratch(trial, code, most_columns);
    const int64_t scratch = trial.scratch_bytes_per_worker;
    if (scratch < least_scratch || (scratch == least_scratch && tiles.cost_ns < best->cost_ns)) {
      best = &tiles;
      least_scratch = scratch;
    }
  }
  return *best;
}

}  // namespace

std::string_view to_string(MatmulIsa isa) {
  constexpr std::string_view names[] = {"baseline", "avx2", "avx512"};
  return names[static_cast<int>(isa)];
}

bool host_has(MatmulIsa isa) {
  if (isa == MatmulIsa::baseline) return true;
#if defined(__x86_64__)
  if (isa == MatmulIsa::avx512) return __builtin_cpu_supports("avx512f");
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
#else
  return false;
#endif
}

MatmulIsa best_matmul_isa() {
  static const MatmulIsa best = host_has(MatmulIsa::avx512) ? MatmulIsa::avx512
                                : host_has(MatmulIsa::avx2) ? MatmulIsa::avx2
                                                            : MatmulIsa::baseline;
  return best;
}

const MatmulCode& matmul_code(MatmulIsa isa) {
#if defined(__x86_64__)
  if (isa == MatmulIsa::avx512) return matmul_code_avx512();
  if (isa == MatmulIsa::avx2) return matmul_code_avx2();
#endif
  return matmul_code_baseline();
}

MatmulPlan plan_matmul(const MatmulProblem& problem, int threads) {
  return plan_matmul(problem, threads, best_matmul_isa());
}

MatmulPlan plan_matmul(const MatmulProblem& problem, int threads, MatmulIsa isa) {
  ULLAGE_CHECK(problem.batch >= 0 && problem.m >= 0 && problem.n >= 0 && problem.k >= 0,
               "extents are not negative");
  ULLAGE_CHECK(host_has(isa), "a product planned for instructions that this host lacks");
  MatmulPlan plan;
  plan.problem = problem;
  plan.isa = isa;
  plan.threads = std::max(threads, 1);
  const MatmulCode& code = matmul_code(isa);
  const MatmulOutput& c = problem.c;
  // Columns of the kernel are what C has contiguous.
  plan.swapped = !c.computed && c.row_stride == 1 && (c.column_stride != 1 || problem.n == 1);
  const int64_t inner_stride = plan.swapped ? c.row_stride : c.column_stride;
  const Shape shape = kernel_shape(plan);
  plan.tile_in_scratch = c.computed || (inner_stride != 1 && shape.columns > 1);

  const MatmulOperand& rows = plan.swapped ? problem.b : problem.a;
  const MatmulOperand& columns = plan.swapped ? problem.a : problem.b;
  plan.rows_packing = choose_packing(rows);
  plan.columns_packing = choose_packing(columns);
  if (!rows.computed && rows.type == MatmulType::f32 && rows.k_stride == 1 &&
      rows_fit_in_place(rows, shape)) {
    plan.rows_packing = MatmulPacking::in_place;
  }
  if (!columns.computed && columns.type == MatmulType::f32 && columns.free_stride == 1 &&
      shape.rows <= 2 * code.kernel_rows) {
    plan.columns_packing = MatmulPacking::in_place;
  }

  // Packed columns that stay in L2, which is larger where vectors are.
  const int64_t most_columns = code.lanes == 16 ? 1024 : 256;
  const Shape at_least_one = {std::max<int64_t>(shape.batch, 1), std::max<int64_t>(shape.rows, 1),
                              std::max<int64_t>(shape.columns, 1), std::max<int64_t>(shape.k, 1)};
  const Tiles tiles = choose_tiles(plan, at_least_one, code, most_columns);
  plan.tile_rows = tiles.rows;
  plan.tile_columns = tiles.columns;
  const auto per_chunk =
      static_cast<int64_t>(worthwhile_chunk_ns * 2 / (tiles.total_ns / tiles.tasks));
  plan.tasks_per_chunk =
      std::clamp<int64_t>(per_chunk, 1, std::max<int64_t>(1, tiles.tasks / least_chunks));
  lay_out_scratch(plan, code, most_columns);
  return plan;
}

}  // namespace ullage
