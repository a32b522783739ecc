// The data that lies beside the repository (programs, conformance files, packing instances), or
// where ULLAGE_SHARED says. Tests that find nothing there are skipped; those that would take
// minutes take a sample of it unless ULLAGE_LONG_TESTS is set, as the long suite does.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace ullage {

inline std::filesystem::path shared_folder() {
  const char* given = std::getenv("ULLAGE_SHARED");
  return given ? given : ULLAGE_SOURCE_DIR "/../shared";
}

inline bool long_tests() {
  return std::getenv("ULLAGE_LONG_TESTS") != nullptr;
}

}  // namespace ullage
