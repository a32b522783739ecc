// The extensions about layouts and shardings. All arrays are row-major, so there is one layout for
// each rank; it lives as long as the process and nobody needs to destroy it.
#include <array>
#include <deque>
#include <mutex>
#include <string>

#include "pjrt/functions.h"
#include "pjrt/objects.h"

namespace ullage::pjrt {

struct Layout {
  std::string text;  // minor to major
};

static Layout* row_major(size_t rank) {
  static std::mutex mutex;
  static std::deque<Layout> layouts;  // by rank
  std::lock_guard lock(mutex);
  while (layouts.size() <= rank) {
    std::string text = "{";
    for (size_t d = layouts.size(); d-- > 0;) text += std::to_string(d) + (d > 0 ? "," : "");
    layouts.push_back({text + "}"});
  }
  return &layouts[rank];
}

std::vector<Layout*> row_major_layouts(const std::vector<size_t>& ranks) {
  std::vector<Layout*> out;
  for (size_t rank : ranks) out.push_back(row_major(rank));
  return out;
}

Error* layout_destroy(LayoutsMemoryLayoutDestroyArgs*) {
  return nullptr;
}

Error* layout_serialize(LayoutsMemoryLayoutSerializeArgs* args) {
  args->bytes = args->layout->text.data();
  args->bytes_len = args->layout->text.size();
  args->holder = nullptr;
  args->deleter = [](void*) {};
  return nullptr;
}

Error* client_default_layout(LayoutsClientGetDefaultLayoutArgs* args) {
  args->layout = row_major(args->n_dims);
  return nullptr;
}

Error* buffer_memory_layout(LayoutsBufferMemoryLayoutArgs* args) {
  args->layout = row_major(args->buffer->type.shape.size());
  return nullptr;
}

Error* topology_default_layout(LayoutsTopologyGetDefaultLayoutArgs* args) {
  args->layout = row_major(args->n_dims);
  return nullptr;
}

Error* executable_output_layouts(LayoutsExecutableGetOutputLayoutsArgs* args) {
  args->n = args->exe->program->output_layouts.size();
  args->layouts = args->exe->program->output_layouts.data();
  return nullptr;
}

Error* executable_parameter_layouts(LayoutsExecutableGetParameterLayoutsArgs* args) {
  args->n = args->exe->program->argument_layouts.size();
  args->layouts = args->exe->program->argument_layouts.data();
  return nullptr;
}

Error* executable_parameter_shardings(ShardingsParameterShardingsArgs* args) {
  args->n = args->exe->program->argument_shardings.size();
  args->protos = args->exe->program->argument_shardings.data();
  args->proto_lens = args->exe->program->argument_sharding_lens.data();
  return nullptr;
}

Error* executable_output_shardings(ShardingsOutputShardingsArgs* args) {
  args->n = args->exe->program->output_shardings.size();
  args->protos = args->exe->program->output_shardings.data();
  args->proto_lens = args->exe->program->output_sharding_lens.data();
  return nullptr;
}

}  // namespace ullage::pjrt
