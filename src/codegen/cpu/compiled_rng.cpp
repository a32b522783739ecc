#include "codegen/cpu/compiled_rng.h"

#include <algorithm>
#include <cstring>

#include "codegen/cpu/emit_kernels.h"
#include "runtime/thread_pool.h"

namespace ullage {

namespace {

struct RngShape {
  bool philox = true;
  int64_t state_words = 2;
  int64_t elements = 0;
  // The result as rounds of the dimension that is cut (a single one when that is the first): how
  // many, how far apart in the buffer, and the elements of an index of the dimension.
  int64_t rounds = 1, spacing = 0, extent = 1, stride = 1;
  int bits = 32, bytes = 4;  // of an element, and in memory
};

class CompiledRng : public CompiledKernel {
 public:
  CompiledRng(cpu::RngFunction function, RngShape shape, std::shared_ptr<const void> code)
      : function_(function), shape_(shape), code_(std::move(code)) {}

  void run(const KernelCall& call, ThreadPool& pool) const override {
    uint64_t state[3] = {0, 0, 0};
    std::memcpy(state, call.buffers[0], static_cast<size_t>(shape_.state_words) * 8);
    if (shape_.philox && shape_.state_words == 2)
      state[2] = state[0];  // the key is the upper half as well
    bool piece = call.upper >= 0;
    int64_t from = piece ? call.lower * shape_.stride : 0;
    int64_t to = (piece ? call.upper : shape_.extent) * shape_.stride;
    int64_t parts = (to - from + kChunk - 1) / kChunk;  // of a round
    int64_t together =
        parts > 1 ? 1 : std::max<int64_t>(1, kChunk / std::max<int64_t>(1, to - from));
    int64_t chunks = (shape_.rounds * parts + together - 1) / together;
    pool.parallel_for(chunks, [&](int64_t chunk, int) {
      int64_t end = std::min((chunk + 1) * together, shape_.rounds * parts);
      for (int64_t i = chunk * together; i < end; ++i) {
        int64_t round = i / parts, first = from + i % parts * kChunk;
        int64_t start = round * shape_.extent * shape_.stride;
        fill(state, call.buffers[2] + (round * shape_.spacing - start) * shape_.bytes,
             start + first, start + std::min(to, first + kChunk));
      }
    });
    uint64_t words = static_cast<uint64_t>(shape_.elements) * (shape_.bytes == 8 ? 2 : 1);
    uint64_t per_block = static_cast<uint64_t>(words_per_block());
    uint64_t blocks = (words + per_block - 1) / per_block;
    state[1] += blocks;
    if (state[1] < blocks) ++state[2];
    std::memcpy(call.buffers[1], state, static_cast<size_t>(shape_.state_words) * 8);
  }

 private:
  int64_t words_per_block() const { return shape_.philox ? 4 : 2; }

  void fill(const uint64_t* state, std::byte* out, int64_t from, int64_t to) const {
    int64_t words_each = shape_.bytes == 8 ? 2 : 1;
    int64_t vector_words = words_per_block() * kLanes;
    uint32_t words[kBuffer];
    for (int64_t element = from; element < to;) {
      // Whole vectors of blocks around the element; those that lie inside the range go straight to
      // the result.
      int64_t word = element * words_each;
      int64_t first = word / vector_words * vector_words;
      int64_t inside = (to * words_each - first) / vector_words;
      if (shape_.bytes >= 4 && first == word && inside > 0) {
        function_(state, first / words_per_block(), inside,
                  reinterpret_cast<uint32_t*>(out + element * shape_.bytes));
        element += inside * vector_words / words_each;
        continue;
      }
      int64_t vectors = std::clamp<int64_t>(inside + 1, 1, kBuffer / vector_words);
      function_(state, first / words_per_block(), vectors, words);
      int64_t end = std::min(to, (first + vectors * vector_words) / words_each);
      const uint32_t* source = words + (word - first);
      if (shape_.bytes >= 4) {
        std::memcpy(out + element * shape_.bytes, source,
                    static_cast<size_t>((end - element) * shape_.bytes));
      } else {
        uint32_t mask = (1u << shape_.bits) - 1;
        for (int64_t i = element; i < end; ++i) {
          uint32_t value = source[i - element] & mask;
          std::memcpy(out + i * shape_.bytes, &value, static_cast<size_t>(shape_.bytes));
        }
      }
      element = end;
    }
  }

  static constexpr int64_t kChunk = 65536, kBuffer = 1024;
  cpu::RngFunction function_;
  RngShape shape_;
  std::shared_ptr<const void> code_;
};

}  // namespace

Result<KernelRecipe> rng_recipe(const Kernel& kernel, const RngKernel& rng,
                                const KernelGraph& graph) {
  const Type& state = graph.values[static_cast<size_t>(kernel.inputs[0])].type;
  const Type& bits = graph.values[static_cast<size_t>(kernel.outputs[1])].type;
  RngShape shape;
  shape.philox = rng.algorithm != RngAlgorithm::three_fry;
  shape.state_words = state.bytes() / 8;
  if (shape.state_words < 2 || shape.state_words > 3)
    return error("kernel " + kernel.name + ": a generator's state of " + to_string(state) +
                 " is not supported");
  shape.elements = bits.num_elements();
  size_t cut = static_cast<size_t>(rng.cut_dim);
  for (size_t d = 0; d < static_cast<size_t>(bits.rank()); ++d)
    (d < cut ? shape.rounds : d == cut ? shape.extent : shape.stride) *= bits.shape[d];
  shape.spacing = rng.spacing > 0 ? rng.spacing : shape.extent * shape.stride;
  shape.bits = bit_width(bits.dtype);
  shape.bytes = storage_bytes(bits.dtype);
  KernelRecipe recipe;
  bool philox = shape.philox;
  recipe.functions.push_back(
      {philox ? "philox" : "threefry",
       [philox](llvm::Module& module, const Host& host, const std::string& name) {
         cpu::emit_rng(module, host, name, philox);
       },
       40});
  recipe.finish = [shape](const std::vector<void*>& functions, std::shared_ptr<const void> code) {
    return std::make_shared<CompiledRng>(reinterpret_cast<cpu::RngFunction>(functions[0]), shape,
                                         std::move(code));
  };
  return recipe;
}

}  // namespace ullage
