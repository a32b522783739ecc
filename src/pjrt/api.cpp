// The function table and the one exported symbol.
#include <algorithm>
#include <iterator>

#include "pjrt/error.h"
#include "pjrt/functions.h"
#include "pjrt/native.h"

namespace ullage::pjrt {

namespace {

using Slot = Error* (*)(void*);

// What the plugin does not have says so; writing nothing into its argument record is safe, because
// a caller that gets an error reads none of it.
#define ULLAGE_SLOT(record, function)
#define ULLAGE_MISSING_SLOT(name)                                                     \
  Error* missing_##name(void*) {                                                      \
    return make_error(kUnimplemented, "PJRT_" #name " is not implemented by Ullage"); \
  }
#include "pjrt/slots.def"
#undef ULLAGE_SLOT
#undef ULLAGE_MISSING_SLOT

template <auto function>
struct Adapt;
template <typename Record, Error* (*function)(Record*)>
struct Adapt<function> {
  static Error* call(void* args) { return function(static_cast<Record*>(args)); }
};

struct Version {
  size_t struct_size;
  const Extension* extensions;
  int32_t major, minor;
};

struct Table {
  size_t struct_size;
  const Extension* extensions;
  Version version;
  Slot slots[138];
};
static_assert(offsetof(Table, slots) == 40);

constexpr Slot kSlots[] = {
#define ULLAGE_SLOT(record, function) Adapt<&function>::call,
#define ULLAGE_MISSING_SLOT(name) missing_##name,
#include "pjrt/slots.def"
#undef ULLAGE_SLOT
#undef ULLAGE_MISSING_SLOT
};
static_assert(std::size(kSlots) == 138);

// An extension's record: its head, then its functions.
template <size_t count>
struct ExtensionTable {
  Extension head;
  Slot slots[count];
};

const ExtensionTable<2> kShardings = {
    {sizeof(ExtensionTable<2>), kShardingsExtension, nullptr},
    {Adapt<&executable_parameter_shardings>::call, Adapt<&executable_output_shardings>::call}};

const ExtensionTable<7> kLayouts = {
    {sizeof(ExtensionTable<7>), kLayoutsExtension, &kShardings.head},
    {Adapt<&layout_destroy>::call, Adapt<&layout_serialize>::call,
     Adapt<&client_default_layout>::call, Adapt<&buffer_memory_layout>::call,
     Adapt<&topology_default_layout>::call, Adapt<&executable_output_layouts>::call,
     Adapt<&executable_parameter_layouts>::call}};

}  // namespace

extern "C" __attribute__((visibility("default"))) const void* GetPjrtApi() {
  static const Table table = [] {
    Table out{
        sizeof(Table), native_extension(&kLayouts.head), {24, nullptr, kAbiMajor, kAbiMinor}, {}};
    std::copy(std::begin(kSlots), std::end(kSlots), out.slots);
    return out;
  }();
  return &table;
}

}  // namespace ullage::pjrt
