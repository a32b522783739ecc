// The functions of the table, one per filled slot. Each takes its argument record and returns an
// error, or null. They are called from any thread.
#pragma once

#include "pjrt/abi_buffer.h"
#include "pjrt/abi_client.h"
#include "pjrt/abi_executable.h"

namespace ullage::pjrt {

#define ULLAGE_SLOT(record, function) Error* function(record* args);
#define ULLAGE_MISSING_SLOT(name)
#include "pjrt/slots.def"
#undef ULLAGE_SLOT
#undef ULLAGE_MISSING_SLOT

// Extensions.
Error* layout_destroy(LayoutsMemoryLayoutDestroyArgs* args);
Error* layout_serialize(LayoutsMemoryLayoutSerializeArgs* args);
Error* client_default_layout(LayoutsClientGetDefaultLayoutArgs* args);
Error* buffer_memory_layout(LayoutsBufferMemoryLayoutArgs* args);
Error* topology_default_layout(LayoutsTopologyGetDefaultLayoutArgs* args);
Error* executable_output_layouts(LayoutsExecutableGetOutputLayoutsArgs* args);
Error* executable_parameter_layouts(LayoutsExecutableGetParameterLayoutsArgs* args);
Error* executable_parameter_shardings(ShardingsParameterShardingsArgs* args);
Error* executable_output_shardings(ShardingsOutputShardingsArgs* args);

}  // namespace ullage::pjrt
