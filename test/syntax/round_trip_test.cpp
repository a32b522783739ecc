// What the writer prints reads back as an equal program, and prints the same again. The programs of
// the shared folder are taken in full with ULLAGE_LONG_TESTS=1, else one in many.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "ir/equal.h"
#include "shared_data.h"
#include "syntax/reader.h"
#include "syntax/writer.h"

namespace ullage {
namespace {

void expect_round_trip(const std::string& path) {
  auto text = read_program_text(path);
  ASSERT_TRUE(text.ok()) << to_string(text.diagnostics());
  auto modules = read_modules(*text, path);
  ASSERT_TRUE(modules.ok()) << to_string(modules.diagnostics());
  for (const auto& module : *modules) {
    for (bool locations : {false, true}) {
      const std::string written = write_text(*module, {.locations = locations});
      auto again = read_text(written, "written.mlir");
      ASSERT_TRUE(again.ok()) << path << ": " << to_string(again.diagnostics());
      std::string why;
      EXPECT_TRUE(equal(*module, **again, &why)) << path << ": " << why;
      EXPECT_TRUE(write_text(**again, {.locations = locations}) == written) << path;
    }
  }
}

void expect_all_round_trip(const std::filesystem::path& folder, size_t stride,
                           const std::string& suffix = ".mlir") {
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is absent";
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().string().ends_with(suffix)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  for (size_t i = 0; i < files.size(); i += long_tests() ? 1 : stride) expect_round_trip(files[i]);
}

TEST(RoundTrip, AllForms) {
  expect_round_trip(ULLAGE_SOURCE_DIR "/test/syntax/all_forms.mlir");
}
TEST(RoundTrip, Programs) {
  expect_all_round_trip(shared_folder() / "programs", 16, "program.mlir");
}
TEST(RoundTrip, GenericForm) {
  expect_all_round_trip(shared_folder() / "programs", 2, ".generic.mlir");
}
TEST(RoundTrip, SelfCheckingPrograms) {
  expect_all_round_trip(shared_folder() / "conformance/testdata", 40);
}
TEST(RoundTrip, TextsOfBytecode) {
  expect_all_round_trip(shared_folder() / "conformance/bytecode", 20);
}

TEST(RoundTrip, GenericAndPrettyFormsAreEqual) {
  const auto folder = shared_folder() / "programs";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is absent";
  size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!std::filesystem::exists(entry.path() / "program.generic.mlir")) continue;
    auto pretty = read_file((entry.path() / "program.mlir").string());
    auto generic = read_file((entry.path() / "program.generic.mlir").string());
    ASSERT_TRUE(pretty.ok() && generic.ok());
    std::string why;
    EXPECT_TRUE(equal(**pretty, **generic, &why)) << entry.path() << ": " << why;
    ++compared;
  }
  EXPECT_GT(compared, 0u);
}

}  // namespace
}  // namespace ullage
