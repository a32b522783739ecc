// The extensions about layouts and shardings. A layout lives as long as the process and nobody
// needs to destroy it.
#include "pjrt/functions.h"
#include "pjrt/objects.h"

namespace ullage::pjrt {

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
  args->layout = args->buffer->layout;
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
