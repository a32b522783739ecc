// chlo.top_k: of each line the k greatest in descending order, equal ones by position. Elements
// become integers whose order is that of (value descending, position ascending); no two are equal,
// so how the k least are found does not show. Long lines are searched in pieces.
#include <algorithm>
#include <cstring>

#include "codegen/cpu/clones.h"
#include "codegen/cpu/library_kernels.h"
#include "codegen/cpu/radix_sort.h"
#include "runtime/thread_pool.h"
#include "support/check.h"

namespace ullage {

namespace {

constexpr int64_t kTask = 16384;  // elements that one thread takes at least
constexpr int64_t kBlock = 64;    // elements compared with the threshold at once

// Elements of 32 bits as signed integers in the order wanted, greatest first: whether any of a
// block is above the threshold. `mask` turns around the magnitudes of negative floats.
ULLAGE_CLONES bool any_above(const int32_t* block, int32_t mask, int32_t flip, int32_t threshold) {
  int32_t any = 0;
  for (int64_t i = 0; i < kBlock; ++i) {
    int32_t value = (block[i] ^ ((block[i] >> 31) & mask)) ^ flip;
    any |= value > threshold;
  }
  return any != 0;
}

struct TopKShape {
  TopKPlan plan;
  KeyForm form = KeyForm::unsigned_;
  int64_t width = 4;
  bool largest = true;
};

class CompiledTopK : public CompiledKernel {
 public:
  explicit CompiledTopK(TopKShape shape) : shape_(std::move(shape)) {}

  void run(const KernelCall& call, ThreadPool& pool) const override {
    if (shape_.plan.k == 0) return;
    auto of_width = [&]<typename U>(U zero) {
      auto with_key = [&](auto key) {
        // Ascending order of keys is the order wanted.
        if (shape_.largest)
          run_lines(zero, call, pool, [key](U bits) { return static_cast<U>(~key(bits)); });
        else
          run_lines(zero, call, pool, key);
      };
      switch (shape_.form) {
        case KeyForm::unsigned_:
          return with_key(key_of<KeyForm::unsigned_, U>);
        case KeyForm::signed_:
          return with_key(key_of<KeyForm::signed_, U>);
        default:
          return with_key(key_of<KeyForm::total_order, U>);
      }
    };
    switch (shape_.width) {
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

 private:
  template <typename U>
  using Pair = std::conditional_t<sizeof(U) <= 4, NarrowPair, WidePair>;

  template <typename U>
  static Pair<U> make(U key, int64_t position) {
    if constexpr (sizeof(U) <= 4)
      return {uint64_t{key} << 32 | static_cast<uint64_t>(position)};
    else
      return {key, static_cast<uint64_t>(position)};
  }

  // Whether a block has a key below the threshold.
  template <typename U, typename Key>
  bool any_below(const U* block, U threshold, const Key& key) const {
    if constexpr (sizeof(U) == 4) {
      constexpr uint32_t sign = 0x80000000;
      uint32_t mask = shape_.form == KeyForm::total_order ? 0x7fffffff : 0;
      uint32_t flip = shape_.form == KeyForm::unsigned_ ? sign : 0;
      uint32_t above = shape_.largest ? ~threshold ^ sign : ~(threshold ^ sign);
      if (!shape_.largest) flip = ~flip;
      return any_above(reinterpret_cast<const int32_t*>(block), static_cast<int32_t>(mask),
                       static_cast<int32_t>(flip), static_cast<int32_t>(above));
    }
    U any = 0;
    for (int64_t i = 0; i < kBlock; ++i) any |= static_cast<U>(key(block[i]) < threshold);
    return any != 0;
  }

  // Leaves the least k (or all, if there are fewer) of elements [from, to) in `best`, unordered;
  // returns how many.
  template <typename U, typename Key>
  int64_t search(const U* line, int64_t from, int64_t to, Pair<U>* best, const Key& key) const {
    const int64_t k = shape_.plan.k, capacity = std::min(shape_.plan.capacity, to - from);
    int64_t held = 0, i = from;
    for (; i < to && held < capacity; ++i) best[held++] = make<U>(key(line[i]), i);
    if (held <= k) return held;
    auto select = [&] {
      std::nth_element(best, best + (k - 1), best + held);
      held = k;
      return static_cast<U>(best[k - 1].key());
    };
    if (i == to) {
      select();
      return held;
    }
    // A later element equal to the threshold comes after the one that set it.
    U threshold = select();
    while (i < to) {
      int64_t end = std::min(to, i + kBlock);
      if (end - i == kBlock) {
        if (!any_below(line + i, threshold, key)) {
          i = end;
          continue;
        }
      }
      for (; i < end; ++i) {
        U own = key(line[i]);
        if (!(own < threshold)) continue;
        best[held++] = make<U>(own, i);
        if (held == capacity) threshold = select();
      }
    }
    if (held > k) select();
    return held;
  }

  template <typename U>
  void write(const KernelCall& call, int64_t number, const U* line, const Pair<U>* best) const {
    const int64_t k = shape_.plan.k;
    U* values = reinterpret_cast<U*>(call.buffers[1]) + number * k;
    int32_t* positions = reinterpret_cast<int32_t*>(call.buffers[2]) + number * k;
    for (int64_t i = 0; i < k; ++i) {
      values[i] = line[best[i].position()];
      positions[i] = static_cast<int32_t>(best[i].position());
    }
  }

  template <typename U, typename Key>
  void run_lines(U, const KernelCall& call, ThreadPool& pool, const Key& key) const {
    const TopKPlan& plan = shape_.plan;
    const U* operand = reinterpret_cast<const U*>(call.buffers[0]);
    auto worker_pairs = [&](int worker) {
      return reinterpret_cast<Pair<U>*>(call.scratch + worker * plan.worker_bytes);
    };
    if (plan.pieces == 1) {
      int64_t grain = std::max<int64_t>(1, kTask / plan.extent);
      pool.parallel_for((plan.lines + grain - 1) / grain, [&](int64_t task, int worker) {
        for (int64_t l = task * grain; l < std::min(plan.lines, (task + 1) * grain); ++l) {
          Pair<U>* best = worker_pairs(worker);
          const U* line = operand + l * plan.extent;
          std::sort(best, best + search(line, 0, plan.extent, best, key));
          write(call, l, line, best);
        }
      });
      return;
    }
    // The candidates of all pieces behind the scratch of the workers.
    Pair<U>* found = reinterpret_cast<Pair<U>*>(call.scratch + pool.threads() * plan.worker_bytes);
    for (int64_t l = 0; l < plan.lines; ++l) {
      const U* line = operand + l * plan.extent;
      pool.parallel_for(plan.pieces, [&](int64_t piece, int worker) {
        Pair<U>* best = worker_pairs(worker);
        int64_t held = search(line, plan.extent * piece / plan.pieces,
                              plan.extent * (piece + 1) / plan.pieces, best, key);
        ULLAGE_CHECK(held == plan.k, "a piece has at least k elements");
        std::copy(best, best + held, found + piece * plan.k);
      });
      Pair<U>* end = found + plan.pieces * plan.k;
      std::nth_element(found, found + (plan.k - 1), end);
      std::sort(found, found + plan.k);
      write(call, l, line, found);
    }
  }

  TopKShape shape_;
};

}  // namespace

Result<KernelRecipe> top_k_recipe(const Kernel&, const LibraryKernel& library) {
  TopKShape shape;
  DType dtype = library.op->operand(0)->type.dtype;
  shape.plan = plan_top_k(*library.op, 1);
  shape.form = *top_k_key(dtype);
  shape.width = storage_bytes(dtype);
  shape.largest = library.op->as<TopKAttributes>().largest;
  KernelRecipe recipe;
  recipe.finish = [shape](const std::vector<void*>&, std::shared_ptr<const void>) {
    return std::make_shared<CompiledTopK>(shape);
  };
  return recipe;
}

}  // namespace ullage
