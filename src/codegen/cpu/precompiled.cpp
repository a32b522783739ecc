#include "codegen/cpu/precompiled.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <map>

#include "codegen/cpu/jit.h"
#include "codegen/cpu/kernel_recipe.h"

namespace ullage {

// In table.cpp, where it is linked: sorted by key.
extern const std::span<const PrecompiledFunction> precompiled_avx2 __attribute__((weak));
extern const std::span<const PrecompiledFunction> precompiled_avx512 __attribute__((weak));

void* precompiled_function(IsaLevel level, std::string_view key) {
  const std::span<const PrecompiledFunction>* table = level == IsaLevel::avx512
                                                          ? &precompiled_avx512
                                                      : level == IsaLevel::avx2 ? &precompiled_avx2
                                                                                : nullptr;
  if (!table) return nullptr;
  auto at = std::lower_bound(
      table->begin(), table->end(), key,
      [](const PrecompiledFunction& f, std::string_view wanted) { return f.key < wanted; });
  if (at == table->end() || at->key != key) return nullptr;
  return reinterpret_cast<void*>(at->code);
}

namespace {

struct Level {
  IsaLevel level;
  std::string_view name;
};
constexpr Level kLevels[] = {{IsaLevel::avx2, "avx2"}, {IsaLevel::avx512, "avx512"}};

std::string literal(std::string_view bytes) {
  std::string out = "\"";
  for (char c : bytes) out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  return out + "\"";
}

bool write_file(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  return static_cast<bool>(out.flush());
}

// The functions of one level by key.
Result<std::map<std::string, JitUnit>> units_of(std::span<const KernelGraph* const> graphs,
                                                const Level& level) {
  Host host = any_host(level.level);
  std::map<std::string, JitUnit> units;
  for (const KernelGraph* graph : graphs)
    for (const Kernel& kernel : graph->kernels) {
      Result<KernelRecipe> recipe = kernel_recipe(kernel, *graph, host);
      if (!recipe) return recipe.diagnostics();
      for (KernelRecipe::Code& code : recipe->functions)
        units.try_emplace(std::move(code.key),
                          JitUnit{fmt::format("ullage_precompiled_{}_{}", level.name, units.size()),
                                  std::move(code.emit), code.weight});
    }
  return units;
}

// Functions of the C library are found by their names when the binary is linked; others are not.
Status check_linkable(const std::string& object) {
  Result<std::vector<std::string>> needed = undefined_symbols(object);
  if (!needed) return needed.diagnostics();
  for (const std::string& name : *needed)
    if (name.starts_with("ullage_") || !runtime_symbol(name))
      return error("precompiled code calls " + name + ", which is not in the C library");
  return Ok{};
}

}  // namespace

Status write_precompiled(std::span<const KernelGraph* const> graphs, const std::string& folder) {
  std::string table =
      "#include <string_view>\n#include <span>\n\n#include \"codegen/cpu/precompiled.h\"\n\n"
      "using namespace std::string_view_literals;\n\n";
  std::vector<std::future<Result<std::string>>> objects;
  for (const Level& level : kLevels) {
    auto units = units_of(graphs, level);
    if (!units) return units.diagnostics();
    std::string rows;
    table += "extern \"C\" {\n";
    for (const auto& [key, unit] : *units) {
      table += fmt::format("void {}();\n", unit.name);
      rows += fmt::format("  {{{}sv, {}}},\n", literal(key), unit.name);
    }
    table += fmt::format(
        "}}\n\nnamespace ullage {{\n\nstatic constexpr PrecompiledFunction functions_{0}[] = "
        "{{\n{1}}};\nextern const std::span<const PrecompiledFunction> precompiled_{0};\n"
        "const std::span<const PrecompiledFunction> precompiled_{0} = functions_{0};\n\n"
        "}}  // namespace ullage\n\n",
        level.name, rows);
    objects.push_back(std::async(std::launch::async, [units = std::move(*units), &level] {
      std::vector<const JitUnit*> all;
      for (const auto& [key, unit] : units) all.push_back(&unit);
      return compile_object(all, any_host(level.level));
    }));
  }
  for (size_t i = 0; i < objects.size(); ++i) {
    Result<std::string> object = objects[i].get();
    if (!object) return object.diagnostics();
    if (Status linkable = check_linkable(*object); !linkable) return linkable;
    std::string path = fmt::format("{}/{}.o", folder, kLevels[i].name);
    if (!write_file(path, *object)) return error("cannot write " + path);
  }
  if (!write_file(folder + "/table.cpp", table))
    return error("cannot write " + folder + "/table.cpp");
  return Ok{};
}

}  // namespace ullage
