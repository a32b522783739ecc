// Writes the table of kernels that are compiled when Ullage is built (codegen/cpu/precompiled.h):
//
//   ullage_precompile FOLDER
//
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "codegen/cpu/compile.h"
#include "codegen/cpu/precompiled.h"
#include "kernels/build.h"
#include "normalize/normalize.h"
#include "ops/verify.h"
#include "programs.h"
#include "syntax/reader.h"

using namespace ullage;

namespace {

int complain(const std::vector<Diagnostic>& diagnostics, const std::string& program) {
  std::fputs(to_string(diagnostics).c_str(), stderr);
  std::fputs(program.c_str(), stderr);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: ullage_precompile FOLDER\n", stderr);
    return 2;
  }
  const Target target = cpu_target(1);
  std::vector<std::unique_ptr<Module>> modules;
  std::vector<std::unique_ptr<KernelGraph>> graphs;
  std::vector<const KernelGraph*> all;
  for (const std::string& text : precompiled_programs()) {
    Result<std::unique_ptr<Module>> module = read_text(text, "precompile.mlir");
    if (!module) return complain(module.diagnostics(), text);
    if (Status status = verify(**module); !status) return complain(status.diagnostics(), text);
    if (Status status = normalize(**module); !status) return complain(status.diagnostics(), text);
    Result<KernelGraph> graph = build_kernels(**module, *(*module)->entry(), target);
    if (!graph) return complain(graph.diagnostics(), text);
    modules.push_back(std::move(*module));
    graphs.push_back(std::make_unique<KernelGraph>(std::move(*graph)));
    all.push_back(graphs.back().get());
  }
  Status status = write_precompiled(all, argv[1]);
  return status ? 0 : complain(status.diagnostics(), "");
}
