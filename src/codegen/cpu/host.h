// What the machine that runs the generated code can do: found by asking the processor, never from
// its name, because names lie on virtual machines. A level can be forced down so that tests cover
// every path on one machine.
#pragma once

#include <cstdint>
#include <string>

namespace ullage {

enum class IsaLevel : uint8_t { baseline, avx2, avx512 };

struct Host {
  IsaLevel level = IsaLevel::baseline;
  std::string cpu;       // scheduling model: a generic name of the level
  std::string features;  // every feature known to LLVM, switched on or off: "+avx2,-avx512f,..."
  bool fma = false;
  bool avx512_bf16 = false;
  int vector_bytes = 16;
  int vector_registers = 16;
};

// The host, limited to `limit`. Detected once.
const Host& host(IsaLevel limit = IsaLevel::avx512);

// What every host of a level can do.
Host any_host(IsaLevel level);

}  // namespace ullage
