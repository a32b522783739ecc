// Our matrix products against oneDNN's, in GFLOP/s, on one and two threads, interleaved so that
// foreign load hits both. Usage: bench_matmul [seconds per shape] [substring of the shapes to run]
// [1 for one thread only]
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "codegen/cpu/matmul.h"
#include "runtime/arena.h"
#include "runtime/thread_pool.h"

#ifdef ULLAGE_BENCH_DNNL
#include <omp.h>

#include <oneapi/dnnl/dnnl.hpp>
#endif

namespace {

using namespace ullage;

struct BenchCase {
  const char* name;
  int64_t batch, m, k, n;
  bool a_transposed = false, b_transposed = false;
  MatmulType b_type = MatmulType::f32;
};

constexpr BenchCase cases[] = {
    {"64^3", 1, 64, 64, 64},
    {"128^3", 1, 128, 128, 128},
    {"256^3", 1, 256, 256, 256},
    {"512^3", 1, 512, 512, 512},
    {"1024^3", 1, 1024, 1024, 1024},
    {"1024x128x4096", 1, 1024, 128, 4096},
    {"1024x4096x128", 1, 1024, 4096, 128},
    {"1024x4096x128 B^T", 1, 1024, 4096, 128, false, true},
    {"1024x128x4096 B^T", 1, 1024, 128, 4096, false, true},
    {"4096x1024x128 A^T", 1, 4096, 1024, 128, true},
    {"128x1024x4096", 1, 128, 1024, 4096},
    {"128x1024x4096 A^T", 1, 128, 1024, 4096, true},
    {"1024x256x2048", 1, 1024, 256, 2048},
    {"1024x2048x256 B^T", 1, 1024, 2048, 256, false, true},
    {"256x1024x2048 A^T", 1, 256, 1024, 2048, true},
    {"1024x256x8192", 1, 1024, 256, 8192},
    {"1024x8192x256 B^T", 1, 1024, 8192, 256, false, true},
    {"256x1024x8192 A^T", 1, 256, 1024, 8192, true},
    {"8192x256x8192", 1, 8192, 256, 8192},
    {"8192x8192x256", 1, 8192, 8192, 256},
    {"256x8192x8192", 1, 256, 8192, 8192},
    {"256x8192x8192 A^T", 1, 256, 8192, 8192, true},
    {"96x 128x64x128 B^T", 96, 128, 64, 128, false, true},
    {"96x 128x128x64", 96, 128, 128, 64},
    {"4096x 16^3", 4096, 16, 16, 16},
    {"16x1024x4096", 1, 16, 1024, 4096},
    {"16x1024x4096 bf16 B^T", 1, 16, 1024, 4096, false, true, MatmulType::bf16},
    {"64x1024x4096 bf16", 1, 64, 1024, 4096, false, false, MatmulType::bf16},
};

// One thread is timed by its own processor time, which other load disturbs little; two by the clock
// on the wall.
double now(int threads) {
  timespec time;
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// The best time of one call, by calls long enough for the clock.
template <typename Call>
void improve(double& best, int threads, double budget, Call call) {
  int repeats = 1;
  for (double spent = 0; spent < budget;) {
    const double start = now(threads);
    for (int i = 0; i < repeats; ++i) call();
    const double taken = now(threads) - start;
    best = std::min(best, taken / repeats);
    spent += taken;
    if (taken < 1e-4) repeats *= 2;
  }
}

#ifdef ULLAGE_BENCH_DNNL
class Peer {
 public:
  Peer(const BenchCase& c, float* a, float* b, float* out) : stream_(engine_) {
    using dnnl::memory;
    const auto desc = [&](int64_t rows, int64_t columns, bool transposed) {
      const memory::dims strides = transposed ? memory::dims{rows * columns, 1, rows}
                                              : memory::dims{rows * columns, columns, 1};
      return memory::desc({c.batch, rows, columns}, memory::data_type::f32, strides);
    };
    const auto a_desc = desc(c.m, c.k, c.a_transposed);
    const auto b_desc = desc(c.k, c.n, c.b_transposed);
    const auto c_desc = desc(c.m, c.n, false);
    const dnnl::matmul::primitive_desc primitive(dnnl::matmul::desc(a_desc, b_desc, c_desc),
                                                 engine_);
    product_ = dnnl::matmul(primitive);
    arguments_ = {{DNNL_ARG_SRC, memory(a_desc, engine_, a)},
                  {DNNL_ARG_WEIGHTS, memory(b_desc, engine_, b)},
                  {DNNL_ARG_DST, memory(c_desc, engine_, out)}};
  }
  void run(int threads) {
    omp_set_num_threads(threads);
    product_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_;
  dnnl::matmul product_;
  std::unordered_map<int, dnnl::memory> arguments_;
};
#endif

void bench(const BenchCase& c, double budget, int most_threads, ThreadPool& one, ThreadPool& two) {
  const int64_t sizes[] = {c.batch * c.m * c.k, c.batch * c.k * c.n, c.batch * c.m * c.n};
  Arena memory[3];
  float* data[3];
  for (int i = 0; i < 3; ++i) {
    auto arena = Arena::create(sizes[i] * 4, {}, &two);
    if (!arena.ok()) {
      std::printf("%s", to_string(arena.diagnostics()).c_str());
      return;
    }
    memory[i] = std::move(*arena);
    data[i] = reinterpret_cast<float*>(memory[i].data());
    for (int64_t j = 0; j < sizes[i]; ++j) data[i][j] = static_cast<float>(j % 13 - 6) * 0.0625f;
  }
  MatmulProblem problem;
  problem.batch = c.batch;
  problem.m = c.m;
  problem.n = c.n;
  problem.k = c.k;
  problem.a.free_stride = c.a_transposed ? 1 : c.k;
  problem.a.k_stride = c.a_transposed ? c.m : 1;
  problem.a.batch_stride = c.m * c.k;
  problem.b.type = c.b_type;
  problem.b.free_stride = c.b_transposed ? c.k : 1;
  problem.b.k_stride = c.b_transposed ? 1 : c.n;
  problem.b.batch_stride = c.k * c.n;
  problem.c.row_stride = c.n;
  problem.c.batch_stride = c.m * c.n;
  const MatmulPlan plan = plan_matmul(problem, 2);
  auto scratch = Arena::create(plan.scratch_bytes, {}, &two);
  MatmulArgs args;
  args.a.data = data[0];
  args.b.data = data[1];
  args.c = data[2];

  constexpr double never = std::numeric_limits<double>::infinity();
  double ours[2] = {never, never}, theirs[2] = {never, never};
#ifdef ULLAGE_BENCH_DNNL
  Peer peer(c, data[0], data[1], data[2]);
#endif
  constexpr int rounds = 8;
  for (int round = 0; round < rounds; ++round) {
    for (int threads = 1; threads <= most_threads; ++threads) {
      ThreadPool& pool = threads == 1 ? one : two;
      improve(ours[threads - 1], threads, budget / rounds / 4,
              [&] { run_matmul(plan, args, scratch->data(), pool); });
#ifdef ULLAGE_BENCH_DNNL
      improve(theirs[threads - 1], threads, budget / rounds / 4, [&] { peer.run(threads); });
#endif
    }
  }
  const double flops = 2e-9 * static_cast<double>(c.batch * c.m) * c.n * c.k;
  std::printf("%-24s %7.1f %7.1f %6.2f   %7.1f %7.1f %6.2f   %4.0f KiB  %ldx%ld\n", c.name,
              flops / ours[0], flops / theirs[0], theirs[0] / ours[0], flops / ours[1],
              flops / theirs[1], theirs[1] / ours[1], plan.scratch_bytes_per_worker / 1024.0,
              static_cast<long>(plan.tile_rows), static_cast<long>(plan.tile_columns));
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  const double budget = count > 1 ? std::atof(arguments[1]) : 1.0;
  const int most_threads = count > 3 ? std::atoi(arguments[3]) : 2;
  ThreadPool one(1), two(2);
  std::printf("%s kernels. GFLOP/s on one thread and on two: ours, oneDNN's, ratio of the times\n",
              std::string(to_string(best_matmul_isa())).c_str());
  std::printf("%-24s %7s %7s %6s   %7s %7s %6s   scratch per worker, tile\n", "MxKxN", "ours",
              "peer", "ratio", "ours", "peer", "ratio");
  for (const BenchCase& c : cases) {
    if (count > 2 && std::strstr(c.name, arguments[2]) == nullptr) continue;
    bench(c, budget, most_threads, one, two);
  }
  return 0;
}
