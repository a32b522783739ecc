#include "codegen/cpu/jit.h"

#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/ExecutionEngine/SectionMemoryManager.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "support/check.h"

namespace ullage {

// Features above a level, switched off when the level is forced down.
static bool above(IsaLevel limit, llvm::StringRef feature) {
  bool is_512 = feature.starts_with("avx512") || feature.starts_with("avx10") ||
                feature.starts_with("amx") || feature.starts_with("evex") ||
                feature == "avxvnniint16" || feature == "zu";
  if (is_512) return limit < IsaLevel::avx512;
  bool is_256 = feature.starts_with("avx") || feature == "fma" || feature == "f16c" ||
                feature == "vaes" || feature == "vpclmulqdq" || feature == "xop" ||
                feature == "fma4" || feature == "sha512" || feature == "sm3" || feature == "sm4";
  return is_256 && limit < IsaLevel::avx2;
}

// Asking the processor is slow where a hypervisor answers.
using CpuFeatures = llvm::StringMap<bool, llvm::MallocAllocator>;

static Host detect(IsaLevel limit, const CpuFeatures& found) {
  auto has = [&](const char* name) {
    auto at = found.find(name);
    return at != found.end() && at->second && !above(limit, name);
  };
  IsaLevel level = IsaLevel::baseline;
  if (has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq"))
    level = IsaLevel::avx512;
  else if (has("avx2") && has("fma"))
    level = IsaLevel::avx2;
  Host host = any_host(level);
  host.fma = has("fma");
  host.avx512_bf16 = has("avx512bf16");
  std::vector<std::string> features;
  for (const auto& entry : found) {
    bool on = entry.second && !above(limit, entry.first());
    features.push_back((on ? "+" : "-") + entry.first().str());
  }
  std::sort(features.begin(), features.end());
  for (const std::string& feature : features)
    host.features += (host.features.empty() ? "" : ",") + feature;
  return host;
}

Host any_host(IsaLevel level) {
  Host host;
  host.level = level;
  host.cpu = "x86-64";
  host.fma = level >= IsaLevel::avx2;
  if (level == IsaLevel::avx2) {
    host.cpu = "x86-64-v3";
    host.vector_bytes = 32;
  } else if (level == IsaLevel::avx512) {
    host.cpu = "x86-64-v4";
    host.vector_bytes = 64;
    host.vector_registers = 32;
  }
  return host;
}

const Host& host(IsaLevel limit) {
  static const CpuFeatures found = llvm::sys::getHostCPUFeatures();
  static const Host hosts[] = {detect(IsaLevel::baseline, found), detect(IsaLevel::avx2, found),
                               detect(IsaLevel::avx512, found)};
  return hosts[static_cast<size_t>(limit)];
}

namespace {

// Calls of generated code to the outside go to the table in math_runtime.cpp and nowhere else.
class Resolver : public llvm::LegacyJITSymbolResolver {
 public:
  llvm::JITSymbol findSymbol(const std::string& name) override {
    void* address = runtime_symbol(name);
    if (!address) return nullptr;
    return llvm::JITSymbol(reinterpret_cast<uint64_t>(address), llvm::JITSymbolFlags::Exported);
  }
  llvm::JITSymbol findSymbolInLogicalDylib(const std::string&) override { return nullptr; }
};

class CodeMemory : public JitCode {
 public:
  llvm::SectionMemoryManager memory;
};

using ObjectBytes = llvm::SmallVector<char, 0>;

void initialize_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    // Rewriting the addresses in loops took up to 60 % of the time of compiling and gained
    // next to no speed: they are emitted with addresses that instructions can form.
    const char* const options[] = {"ullage", "-disable-lsr"};
    llvm::cl::ParseCommandLineOptions(2, options);
  });
}

std::string compile_module(const std::vector<const JitUnit*>& units, const Host& target_host,
                           bool print_ir, ObjectBytes& object) {
  llvm::LLVMContext context;
  llvm::Module module("ullage", context);
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target) return message;
  llvm::TargetOptions target_options;
  target_options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, target_host.cpu, target_host.features, target_options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  if (!machine) return "no code generator for this machine";
  module.setTargetTriple(triple);
  module.setDataLayout(machine->createDataLayout());
  for (const JitUnit* unit : units) unit->emit(module, target_host, unit->name);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", target_host.cpu);
    function.addFnAttr("target-features", target_host.features);
    function.addFnAttr("prefer-vector-width", std::to_string(8 * target_host.vector_bytes));
    function.addFnAttr("no-builtins");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  if (print_ir) {  // in one piece, as several threads print
    std::string text;
    llvm::raw_string_ostream text_stream(text);
    module.print(text_stream, nullptr);
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
  llvm::raw_string_ostream verify_stream(message);
  if (llvm::verifyModule(module, &verify_stream)) return "generated code is malformed: " + message;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  llvm::MCContext* mc_context = nullptr;
  if (machine->addPassesToEmitMC(passes, mc_context, stream, /*DisableVerify=*/true))
    return "the code generator cannot emit objects";
  passes.run(module);
  return {};
}

}  // namespace

Result<std::string> compile_object(const std::vector<const JitUnit*>& units, const Host& host) {
  initialize_target();
  ObjectBytes object;
  if (std::string failure = compile_module(units, host, false, object); !failure.empty())
    return error(failure);
  return std::string(object.begin(), object.end());
}

Result<std::vector<std::string>> undefined_symbols(const std::string& object) {
  auto file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object), "ullage"));
  if (!file) return error("cannot read generated code: " + llvm::toString(file.takeError()));
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    if (!flags) return error("cannot read generated code: " + llvm::toString(flags.takeError()));
    if (!(*flags & llvm::object::SymbolRef::SF_Undefined)) continue;
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!name) return error("cannot read generated code: " + llvm::toString(name.takeError()));
    names.push_back(name->str());
  }
  return names;
}

Result<std::shared_ptr<const JitCode>> jit_compile(const std::vector<JitUnit>& units,
                                                   const JitOptions& options) {
  initialize_target();
  auto code = std::make_shared<CodeMemory>();
  if (units.empty()) return std::shared_ptr<const JitCode>(code);

  // Heavy units first, each into the module that is lightest so far; several modules per thread, so
  // that threads finish together although weights are estimates.
  int threads = std::max(1, options.threads);
  size_t count = std::min(units.size(), static_cast<size_t>(threads == 1 ? 1 : 4 * threads));
  count = std::max(count, (units.size() + 63) / 64);
  std::vector<const JitUnit*> sorted;
  for (const JitUnit& unit : units) sorted.push_back(&unit);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const JitUnit* a, const JitUnit* b) { return a->weight > b->weight; });
  std::vector<std::vector<const JitUnit*>> modules(count);
  std::vector<double> weights(count, 0);
  for (const JitUnit* unit : sorted) {
    size_t lightest =
        static_cast<size_t>(std::min_element(weights.begin(), weights.end()) - weights.begin());
    modules[lightest].push_back(unit);
    weights[lightest] += unit->weight + 0.5;
  }

  std::vector<ObjectBytes> objects(count);
  std::vector<std::string> failures(count);
  std::vector<std::exception_ptr> thrown(count);
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        failures[i] = compile_module(modules[i], host(options.isa), options.print_ir, objects[i]);
      } catch (...) {
        thrown[i] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < threads && static_cast<size_t>(i) < count; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  for (size_t i = 0; i < count; ++i) {
    if (thrown[i]) std::rethrow_exception(thrown[i]);
    ULLAGE_CHECK(failures[i].empty(), failures[i]);
  }

  Resolver resolver;
  std::vector<std::unique_ptr<llvm::RuntimeDyld>> linkers;
  std::vector<std::unique_ptr<llvm::object::ObjectFile>> files;
  for (size_t i = 0; i < count; ++i) {
    auto file = llvm::object::ObjectFile::createObjectFile(
        llvm::MemoryBufferRef(llvm::StringRef(objects[i].data(), objects[i].size()), "ullage"));
    if (!file) return error("cannot read generated code: " + llvm::toString(file.takeError()));
    auto linker = std::make_unique<llvm::RuntimeDyld>(code->memory, resolver);
    linker->loadObject(**file);
    linker->resolveRelocations();
    if (linker->hasError())
      return error("cannot link generated code: " + linker->getErrorString().str());
    for (const JitUnit* unit : modules[i])
      code->functions[unit->name] =
          reinterpret_cast<void*>(linker->getSymbol(unit->name).getAddress());
    files.push_back(std::move(*file));
    linkers.push_back(std::move(linker));
  }
  std::string message;
  if (code->memory.finalizeMemory(&message))
    return error("cannot protect generated code: " + message);
  return std::shared_ptr<const JitCode>(code);
}

}  // namespace ullage
