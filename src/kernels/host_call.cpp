#include "kernels/host_call.h"

#include <algorithm>
#include <atomic>

#include "kernels/lapack_plan.h"

namespace ullage {

namespace {

std::atomic<bool (*)(std::string_view)> answers_function{nullptr};

bool any_effect(const KernelGraph& graph) {
  return std::any_of(graph.kernels.begin(), graph.kernels.end(), has_effect);
}

}  // namespace

bool is_host_call(const Op& op) {
  return op.kind == OpKind::custom_call && !is_lapack_target(op.as<CustomCallAttributes>().target);
}

std::string call_dictionary(const Op& op) {
  for (const NamedAttribute& attribute : op.extra)
    if (attribute.name == "mhlo.backend_config") return attribute.text;
  return op.as<CustomCallAttributes>().backend_config;
}

bool host_answers(std::string_view target) {
  auto answers = answers_function.load();
  return answers && answers(target);
}

void set_host_answers(bool (*answers)(std::string_view target)) {
  answers_function = answers;
}

bool has_effect(const Kernel& kernel) {
  if (const LibraryKernel* library = kernel.get<LibraryKernel>()) return is_host_call(*library->op);
  if (const WhileKernel* loop = kernel.get<WhileKernel>())
    return any_effect(*loop->body) || (loop->condition && any_effect(*loop->condition));
  if (const CaseKernel* branches = kernel.get<CaseKernel>())
    return std::any_of(branches->branches.begin(), branches->branches.end(),
                       [](const auto& branch) { return any_effect(*branch); });
  return false;
}

}  // namespace ullage
