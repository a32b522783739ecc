// Counter-based random bits (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011): Philox 4x32-10 and Threefry 2x32-20, for a vector of consecutive counters at a time.
#include <array>

#include "codegen/cpu/emit.h"
#include "codegen/cpu/emit_kernels.h"

namespace ullage::cpu {

using llvm::Value;

namespace {

class RngEmitter {
 public:
  explicit RngEmitter(Emit& e) : e_(e) {}

  // Words stay in the low halves of 64-bit lanes, where the multiplication reads and leaves them;
  // what gathers above them never counts. The result: words 0 and 1 of each counter, 2 and 3.
  std::vector<Value*> philox(Value* key, Value* low, Value* high) {
    std::array<Value*, 4> c = {low, e_.b.CreateLShr(low, e_.integer(low, 32)), high,
                               e_.b.CreateLShr(high, e_.integer(high, 32))};
    Value* k0 = e_.splat(key);
    Value* k1 = e_.b.CreateLShr(k0, e_.integer(k0, 32));
    for (int round = 0; round < 10; ++round) {
      Value* a = multiply(c[0], 0xD2511F53);
      Value* b = multiply(c[2], 0xCD9E8D57);
      Value* high_a = e_.b.CreateLShr(a, e_.integer(a, 32));
      Value* high_b = e_.b.CreateLShr(b, e_.integer(b, 32));
      c = {e_.b.CreateXor(high_b, e_.b.CreateXor(c[1], k0)), b,
           e_.b.CreateXor(high_a, e_.b.CreateXor(c[3], k1)), a};
      k0 = e_.b.CreateAdd(k0, e_.integer(k0, 0x9E3779B9));
      k1 = e_.b.CreateAdd(k1, e_.integer(k1, 0xBB67AE85));
    }
    return {pair(c[0], c[1]), pair(c[2], c[3])};
  }

  std::vector<Value*> threefry(Value* key, Value* counter) {
    const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    Value* k0 = e_.splat(low_word(key));
    Value* k1 = e_.splat(high_word(key));
    Value* k2 = e_.b.CreateXor(e_.b.CreateXor(k0, k1), e_.integer(k0, 0x1BD11BDA));
    Value* keys[3] = {k0, k1, k2};
    Value* x = e_.b.CreateAdd(low_word(counter), k0);
    Value* y = e_.b.CreateAdd(high_word(counter), k1);
    for (int group = 0; group < 5; ++group) {
      for (int rotation : rotations[group % 2]) {
        x = e_.b.CreateAdd(x, y);
        Value* amount = e_.integer(y, rotation);
        y = e_.b.CreateXor(
            e_.b.CreateIntrinsic(llvm::Intrinsic::fshl, {y->getType()}, {y, y, amount}), x);
      }
      x = e_.b.CreateAdd(x, keys[(group + 1) % 3]);
      y = e_.b.CreateAdd(e_.b.CreateAdd(y, keys[(group + 2) % 3]), e_.integer(y, group + 1));
    }
    return {x, y};
  }

  // Lane l of the first becomes element 2 l, of the second 2 l + 1.
  std::vector<Value*> interleave(const std::vector<Value*>& words) {
    std::vector<int> first, second;
    for (int i = 0; i < kLanes / 2; ++i) {
      first.insert(first.end(), {i, kLanes + i});
      second.insert(second.end(), {kLanes / 2 + i, kLanes + kLanes / 2 + i});
    }
    return {e_.b.CreateShuffleVector(words[0], words[1], first),
            e_.b.CreateShuffleVector(words[0], words[1], second)};
  }

 private:
  Value* low_word(Value* x) { return e_.b.CreateTrunc(x, e_.like(x, e_.b.getInt32Ty())); }
  Value* high_word(Value* x) { return low_word(e_.b.CreateLShr(x, e_.integer(x, 32))); }

  Value* multiply(Value* x, uint32_t by) { return e_.b.CreateMul(low_half(x), e_.integer(x, by)); }
  Value* low_half(Value* x) { return e_.b.CreateAnd(x, e_.integer(x, 0xFFFFFFFF)); }
  Value* pair(Value* low, Value* high) {
    return e_.b.CreateOr(low_half(low), e_.b.CreateShl(high, e_.integer(high, 32)));
  }

  Emit& e_;
};

}  // namespace

void emit_rng(llvm::Module& module, const Host& host, const std::string& name, bool philox) {
  Emit e(module, host);
  llvm::Type* pointer = e.b.getPtrTy();
  llvm::Type* i64 = e.b.getInt64Ty();
  e.function = llvm::Function::Create(
      llvm::FunctionType::get(e.b.getVoidTy(), {pointer, i64, i64, pointer}, false),
      llvm::Function::ExternalLinkage, name, module);
  e.b.SetInsertPoint(llvm::BasicBlock::Create(e.context, "entry", e.function));
  auto state = [&](uint64_t word) {
    return e.b.CreateLoad(i64, e.b.CreateConstGEP1_64(i64, e.function->getArg(0), word));
  };
  Value* key = state(0);
  Value* start = state(1);
  Value* high = state(2);
  Value* first = e.b.CreateAdd(start, e.function->getArg(1));
  e.loop(e.i64(0), e.function->getArg(2), 1, [&](Value* i) {
    Value* base = e.b.CreateAdd(first, e.b.CreateMul(i, e.i64(kLanes)));
    Value* low = e.b.CreateAdd(e.splat(base), e.lane_numbers(i64));
    RngEmitter rng(e);
    std::vector<Value*> words;
    if (philox) {
      Value* carry = e.b.CreateICmpULT(low, e.splat(start));
      Value* upper = e.b.CreateAdd(e.splat(high), e.b.CreateZExt(carry, low->getType()));
      words = rng.philox(key, low, upper);
    } else {
      words = rng.threefry(key, low);
    }
    // Two vectors of 32-bit words each, or of pairs of them.
    words = rng.interleave(words);
    llvm::Type* element = words[0]->getType()->getScalarType();
    for (size_t w = 0; w < words.size(); ++w) {
      Value* at = e.b.CreateAdd(e.b.CreateMul(i, e.i64(2 * kLanes)),
                                e.i64(static_cast<int64_t>(w) * kLanes));
      e.b.CreateAlignedStore(words[w], e.b.CreateGEP(element, e.function->getArg(3), at),
                             llvm::Align(4));
    }
  });
  e.b.CreateRetVoid();
}

}  // namespace ullage::cpu
