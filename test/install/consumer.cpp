#include <ullage/program.h>

#include <cstdio>
#include <cstring>

int main() {
  const char* text = R"(func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
})";
  ullage::Program program = ullage::Program::compile(text, {.memory_budget = 1 << 20});
  ullage::Array x{program.arguments()[0], std::vector<std::byte>(16)};
  float values[4] = {1, 2, 3, 4};
  std::memcpy(x.bytes.data(), values, 16);
  std::vector<ullage::Array> results = program.run({&x, 1});
  std::memcpy(values, results[0].bytes.data(), 16);
  std::printf("%g %g %g %g, peak %lld bytes\n", values[0], values[1], values[2], values[3],
              static_cast<long long>(program.memory().planned_peak_bytes));
  try {
    ullage::Program::compile(text, {.memory_budget = 8});
  } catch (const ullage::OverBudget& refusal) {
    std::printf("needs at least %lld bytes\n", static_cast<long long>(refusal.floor_bytes));
    return values[3] == 8 ? 0 : 1;
  }
  return 1;
}
