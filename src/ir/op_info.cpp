#include "ir/op_info.h"

#include <string_view>
#include <unordered_map>

namespace ullage {

static constexpr OpInfo kOps[] = {
#define ULLAGE_OP(kind, mnemonic, family, operands, results, traits) \
  {#kind, mnemonic, OpFamily::family, operands, results, traits},
#include "ir/ops.def"
};

const int kOpKindCount = static_cast<int>(std::size(kOps));

const OpInfo& info(OpKind kind) {
  return kOps[static_cast<size_t>(kind)];
}

std::optional<OpKind> op_from_mnemonic(std::string_view mnemonic) {
  static const auto* table = [] {
    auto* map = new std::unordered_map<std::string_view, OpKind>();
    for (int i = 0; i < kOpKindCount; ++i) map->emplace(kOps[i].mnemonic, static_cast<OpKind>(i));
    return map;
  }();
  auto it = table->find(mnemonic);
  if (it == table->end()) return {};
  return it->second;
}

}  // namespace ullage
