#include "driver/copy_module.h"

namespace ullage {

std::unique_ptr<Module> copy_module(const Module& module) {
  auto copy = std::make_unique<Module>();
  copy->name = module.name;
  copy->file = module.file;
  copy->extra = module.extra;
  copy->locations = module.locations;
  copy->meshes = module.meshes;
  for (const auto& function : module.functions) copy->functions.push_back(clone(*function));
  return copy;
}

}  // namespace ullage
