// sort, as kernels/sort_plan.h plans it: keys by generated code, radix sort of keys with positions,
// then every operand is gathered; or positions merged by a compiled comparator.
#include <algorithm>
#include <cstring>

#include "codegen/cpu/emit_kernels.h"
#include "codegen/cpu/library_kernels.h"
#include "codegen/cpu/loop_cells.h"
#include "codegen/cpu/loop_nest.h"
#include "codegen/cpu/radix_sort.h"
#include "codegen/cpu/runtime_numbers.h"
#include "runtime/thread_pool.h"
#include "support/check.h"

namespace ullage {

namespace {

constexpr int64_t kTask = 16384;      // elements that one thread takes at least
constexpr int64_t kKeyBlock = 1024;   // keys computed at a time
constexpr int64_t kFirstRuns = 2048;  // positions that one thread merges before threads share

struct SortShape {
  SortPlan plan;
  std::vector<int64_t> widths;                // bytes of an element, per operand
  uint64_t infinity = 0;                      // of method `values` with form canonical
  std::vector<std::vector<int64_t>> numbers;  // per function for keys
};

template <typename F>
void with_width(int64_t width, F f) {
  struct Sixteen {
    uint64_t a, b;
  };
  switch (width) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Sixteen{});
  }
}

class CompiledSort : public CompiledKernel {
 public:
  CompiledSort(SortShape shape, std::vector<void*> functions, std::shared_ptr<const void> code)
      : shape_(std::move(shape)), functions_(std::move(functions)), code_(std::move(code)) {}

  void run(const KernelCall& call, ThreadPool& pool) const override {
    const SortPlan& plan = shape_.plan;
    int64_t slices = plan.outer * plan.inner;
    if (slices == 0 || plan.extent == 0) return;
    if (!plan.alone) {
      for (int64_t slice = 0; slice < slices; ++slice) long_slice(call, slice, pool);
      return;
    }
    int64_t grain = std::max<int64_t>(1, kTask / plan.extent);
    pool.parallel_for((slices + grain - 1) / grain, [&](int64_t task, int worker) {
      std::byte* scratch = call.scratch + worker * plan.worker_bytes;
      for (int64_t slice = task * grain; slice < std::min(slices, (task + 1) * grain); ++slice)
        short_slice(call, slice, scratch);
    });
  }

 private:
  // Element 0 of a slice, in elements.
  int64_t base(int64_t slice) const {
    const SortPlan& plan = shape_.plan;
    return slice / plan.inner * plan.extent * plan.inner + slice % plan.inner;
  }
  size_t operands() const { return shape_.widths.size(); }
  std::byte* second(std::byte* scratch) const { return scratch + shape_.plan.worker_bytes / 2; }

  void short_slice(const KernelCall& call, int64_t slice, std::byte* scratch) const {
    int64_t n = shape_.plan.extent;
    auto each = [n](auto f) { f(int64_t{0}, n); };
    if (shape_.plan.method == SortMethod::comparing) {
      uint32_t *data = reinterpret_cast<uint32_t*>(scratch),
               *other = reinterpret_cast<uint32_t*>(second(scratch));
      uint32_t* sorted = merge_sort(call, slice, data, other, 0, n);
      gather(call, slice, each, sorted == data ? other : data,
             [sorted](int64_t i) { return sorted[i]; });
      return;
    }
    by_keys(call, slice, scratch, each, [n](auto* data, auto* other, const auto& key) {
      return radix_sort(data, other, n, key);
    });
  }

  void long_slice(const KernelCall& call, int64_t slice, ThreadPool& pool) const {
    const SortPlan& plan = shape_.plan;
    int64_t n = plan.extent, chunks = (n + plan.chunk - 1) / plan.chunk;
    auto each = [&](auto f) {
      pool.parallel_for(
          chunks, [&](int64_t c, int) { f(c * plan.chunk, std::min(n, (c + 1) * plan.chunk)); });
    };
    if (plan.method != SortMethod::comparing) {
      uint32_t* counts = reinterpret_cast<uint32_t*>(call.scratch + plan.worker_bytes);
      by_keys(call, slice, call.scratch, each, [&](auto* data, auto* other, const auto& key) {
        return radix_sort(data, other, n, plan.chunk, counts, pool, key);
      });
      return;
    }
    uint32_t* data = reinterpret_cast<uint32_t*>(call.scratch);
    uint32_t* other = reinterpret_cast<uint32_t*>(second(call.scratch));
    int64_t runs = (n + kFirstRuns - 1) / kFirstRuns;
    // Every run of kFirstRuns, a power of two, goes through the same number of merges.
    pool.parallel_for(runs, [&](int64_t r, int) {
      merge_sort(call, slice, data, other, r * kFirstRuns, std::min(n, (r + 1) * kFirstRuns));
    });
    if (merges(kFirstRuns) % 2 == 1) std::swap(data, other);
    for (int64_t width = kFirstRuns; width < n; width *= 2) {
      pool.parallel_for((n + 2 * width - 1) / (2 * width), [&](int64_t pair, int) {
        int64_t from = pair * 2 * width;
        merge(call, slice, data, other, from, std::min(n, from + width),
              std::min(n, from + 2 * width));
      });
      std::swap(data, other);
    }
    gather(call, slice, each, other, [data](int64_t i) { return data[i]; });
  }

  // Sorts a slice in two arrays in scratch: `each` runs f(from, to) over all of its positions,
  // `radix` sorts one array with the help of the other and returns the one with the result.
  template <typename Each, typename Radix>
  void by_keys(const KernelCall& call, int64_t slice, std::byte* scratch, const Each& each,
               const Radix& radix) const {
    if (shape_.plan.method == SortMethod::values) {
      with_values([&]<typename U>(U, auto key) {
        U* data = reinterpret_cast<U*>(scratch);
        each([&](int64_t from, int64_t to) { read(call, slice, data, from, to); });
        data = radix(data, reinterpret_cast<U*>(second(scratch)), key);
        each([&](int64_t from, int64_t to) { write(call, slice, data, from, to); });
      });
      return;
    }
    with_pairs([&]<typename Pair>(Pair) {
      Pair *data = reinterpret_cast<Pair*>(scratch),
           *other = reinterpret_cast<Pair*>(second(scratch));
      for (size_t k = functions_.size(); k-- > 0;) {
        if (k + 1 == functions_.size())
          each([&](int64_t from, int64_t to) { make_pairs(call, slice, k, data, from, to); });
        else
          change_keys(call, slice, k, data, other, each);
        Pair* sorted = radix(data, other, [](const Pair& pair) { return narrow_key(pair); });
        if (sorted != data) std::swap(data, other);
      }
      gather(call, slice, each, other, [data](int64_t i) { return data[i].position(); });
    });
  }

  static uint32_t narrow_key(const NarrowPair& pair) { return static_cast<uint32_t>(pair.key()); }
  static uint64_t narrow_key(const WidePair& pair) { return pair.key(); }

  template <typename F>
  void with_pairs(F f) const {
    if (shape_.plan.method == SortMethod::narrow)
      f(NarrowPair{});
    else
      f(WidePair{});
  }

  // f(U, key): U holds the bits of the only operand's elements.
  template <typename F>
  void with_values(F f) const {
    auto with_key = [&]<typename U>(U zero, auto key) {
      if (shape_.plan.descending)
        f(zero, [key](U bits) { return static_cast<U>(~key(bits)); });
      else
        f(zero, key);
    };
    auto of_width = [&]<typename U>(U zero) {
      switch (shape_.plan.form) {
        case KeyForm::unsigned_:
          return with_key(zero, key_of<KeyForm::unsigned_, U>);
        case KeyForm::signed_:
          return with_key(zero, key_of<KeyForm::signed_, U>);
        case KeyForm::total_order:
          return with_key(zero, key_of<KeyForm::total_order, U>);
        case KeyForm::canonical:
          return with_key(zero, [infinity = static_cast<U>(shape_.infinity)](U bits) {
            return canonical_key<U>(bits, infinity);
          });
      }
    };
    switch (shape_.widths[0]) {
      case 1:
        return of_width(uint8_t{});
      case 2:
        return of_width(uint16_t{});
      case 4:
        return of_width(uint32_t{});
      default:
        return of_width(uint64_t{});
    }
  }

  template <typename U>
  void read(const KernelCall& call, int64_t slice, U* data, int64_t from, int64_t to) const {
    int64_t stride = shape_.plan.inner;
    const U* source = reinterpret_cast<const U*>(call.buffers[0]) + base(slice);
    for (int64_t i = from; i < to; ++i) data[i] = source[i * stride];
  }
  template <typename U>
  void write(const KernelCall& call, int64_t slice, const U* data, int64_t from, int64_t to) const {
    int64_t stride = shape_.plan.inner;
    U* target = reinterpret_cast<U*>(call.buffers[1]) + base(slice);
    for (int64_t i = from; i < to; ++i) target[i * stride] = data[i];
  }

  // Writes keys number k of positions [from, to) to `keys`, which holds those from `first` on.
  template <typename Key>
  void make_keys(const KernelCall& call, int64_t slice, size_t k, Key* keys, int64_t first,
                 int64_t from, int64_t to) const {
    std::byte* bound[kMaxSortOperands + 1];
    std::copy(call.buffers, call.buffers + operands(), bound);
    bound[operands()] = reinterpret_cast<std::byte*>(keys) - first * sizeof(Key);
    int64_t outer = slice / shape_.plan.inner, inner = slice % shape_.plan.inner;
    int64_t lower[] = {outer, inner, from}, upper[] = {outer + 1, inner + 1, to};
    reinterpret_cast<cpu::LoopFunction>(functions_[k])(bound, lower, upper,
                                                       shape_.numbers[k].data());
  }

  template <typename Pair>
  void make_pairs(const KernelCall& call, int64_t slice, size_t k, Pair* data, int64_t from,
                  int64_t to) const {
    using Key = decltype(narrow_key(*data));
    alignas(64) Key keys[kKeyBlock];
    for (int64_t block = from; block < to; block += kKeyBlock) {
      int64_t end = std::min(to, block + kKeyBlock);
      make_keys(call, slice, k, keys, block, block, end);
      for (int64_t i = block; i < end; ++i) {
        if constexpr (sizeof(Pair) == 8)
          data[i].bits = uint64_t{keys[i - block]} << 32 | static_cast<uint64_t>(i);
        else
          data[i] = {keys[i - block], static_cast<uint64_t>(i)};
      }
    }
  }

  // Gives every position key number k; `spare` is as large as `data`.
  template <typename Pair, typename Each>
  void change_keys(const KernelCall& call, int64_t slice, size_t k, Pair* data, Pair* spare,
                   const Each& each) const {
    using Key = decltype(narrow_key(*data));
    Key* keys = reinterpret_cast<Key*>(spare);
    each([&](int64_t from, int64_t to) { make_keys(call, slice, k, keys, 0, from, to); });
    each([&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        uint32_t position = data[i].position();
        if constexpr (sizeof(Pair) == 8)
          data[i].bits = uint64_t{keys[position]} << 32 | position;
        else
          data[i].bits = keys[position];
      }
    });
  }

  // What is in its operand's place goes through `spare`, which has room for every operand for which
  // the plan permits that.
  template <typename Each, typename Position>
  void gather(const KernelCall& call, int64_t slice, const Each& each, void* spare,
              Position position) const {
    for (size_t o = 0; o < operands(); ++o)
      with_width(shape_.widths[o], [&]<typename U>(U) {
        const U* source = reinterpret_cast<const U*>(call.buffers[o]) + base(slice);
        U* target = reinterpret_cast<U*>(call.buffers[operands() + o]) + base(slice);
        int64_t stride = shape_.plan.inner, from_stride = stride;
        if (source == target) {
          U* copy = static_cast<U*>(spare);
          each([&](int64_t from, int64_t to) {
            for (int64_t i = from; i < to; ++i) copy[i] = source[i * stride];
          });
          source = copy;
          from_stride = 1;
        }
        each([&](int64_t from, int64_t to) {
          for (int64_t i = from; i < to; ++i)
            target[i * stride] = source[position(i) * from_stride];
        });
      });
  }

  static int merges(int64_t n) {
    int count = 0;
    for (int64_t width = 1; width < n; width *= 2) ++count;
    return count;
  }

  void merge(const KernelCall& call, int64_t slice, const uint32_t* from, uint32_t* to,
             int64_t begin, int64_t middle, int64_t end) const {
    if (middle == end) {
      std::copy(from + begin, from + end, to + begin);
      return;
    }
    reinterpret_cast<cpu::MergeFunction>(functions_[0])(
        call.buffers, base(slice), shape_.plan.inner, from, to, begin, middle, end);
  }

  // Sorts positions [begin, end); returns the array with the result. A last, shorter run goes
  // through as many merges as whole ones when it belongs to a longer slice.
  uint32_t* merge_sort(const KernelCall& call, int64_t slice, uint32_t* data, uint32_t* other,
                       int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) data[i] = static_cast<uint32_t>(i);
    int64_t length = shape_.plan.alone ? end - begin : kFirstRuns;
    for (int64_t width = 1; width < length; width *= 2) {
      for (int64_t at = begin; at < end; at += 2 * width)
        merge(call, slice, data, other, at, std::min(end, at + width),
              std::min(end, at + 2 * width));
      std::swap(data, other);
    }
    return data;
  }

  SortShape shape_;
  std::vector<void*> functions_;  // cpu::LoopFunction for each of the keys, or a cpu::MergeFunction
  std::shared_ptr<const void> code_;
};

uint64_t infinity_bits(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return 0x7f80;
    case DType::f16:
      return 0x7c00;
    case DType::f32:
      return 0x7f800000;
    default:
      return 0x7ff0000000000000;
  }
}

KernelRecipe::Code key_function(SortShape& shape, int32_t node, int first_output) {
  const SortPlan& plan = shape.plan;
  LoopNest nest;
  nest.extents = {plan.outer, plan.inner, plan.extent};
  nest.roles.assign(3, LoopRole::parallel);
  nest.expr = plan.expr;
  nest.outputs = {{node, plan.store}};
  nest.order = {0, 1};
  nest.vector_dim = 2;
  std::string key = "sort keys";
  append_key(key, first_output);
  std::vector<LoopCell> cells = cut_at_tests(nest);
  RuntimeNumbers numbers;
  numbers.take(cells);
  shape.numbers.push_back(numbers.values());
  append_cells_key(key, cells);
  return {std::move(key),
          [cells, first_output](llvm::Module& module, const Host& host, const std::string& name) {
            cpu::emit_loop(module, host, name, cells, first_output);
          },
          10 + 2 * static_cast<double>(plan.expr.nodes.size())};
}

KernelRecipe::Code merge_function(cpu::MergeCode code) {
  std::string key = "merge";
  for (DType dtype : code.operands) append_key(key, static_cast<int64_t>(dtype));
  append_key(key, code.body);
  append_key(key, code.result);
  double weight = 10 + static_cast<double>(code.body.nodes.size());
  return {std::move(key),
          [code](llvm::Module& module, const Host& host, const std::string& name) {
            cpu::emit_merge(module, host, name, code);
          },
          weight};
}

}  // namespace

Result<KernelRecipe> sort_recipe(const Kernel& kernel, const LibraryKernel& library) {
  SortShape shape;
  shape.plan = plan_sort(library, 1);
  cpu::MergeCode merge;
  for (Value* operand : library.op->operands()) {
    shape.widths.push_back(storage_bytes(operand->type.dtype));
    merge.operands.push_back(operand->type.dtype);
  }
  KernelRecipe recipe;
  const Expr& expr = shape.plan.method == SortMethod::comparing ? library.body : shape.plan.expr;
  const std::vector<int32_t>& roots =
      shape.plan.method == SortMethod::comparing ? library.body_results : shape.plan.keys;
  if (shape.plan.method == SortMethod::values) {
    shape.infinity = infinity_bits(merge.operands[0]);
  } else {
    if (std::string why = cpu::unsupported(expr, needed_nodes(expr, roots)); !why.empty())
      return error("kernel " + kernel.name + ": " + why);
    if (shape.plan.method == SortMethod::comparing) {
      merge.body = library.body;
      merge.result = library.body_results[0];
      recipe.functions.push_back(merge_function(std::move(merge)));
    } else {
      for (int32_t node : shape.plan.keys)
        recipe.functions.push_back(
            key_function(shape, node, static_cast<int>(merge.operands.size())));
    }
  }
  recipe.finish = [shape](const std::vector<void*>& functions, std::shared_ptr<const void> code) {
    return std::make_shared<CompiledSort>(shape, functions, std::move(code));
  };
  return recipe;
}

}  // namespace ullage
