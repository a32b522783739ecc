#include "driver/reproducer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "driver/exit_codes.h"
#include "support/check.h"
#include "support/file.h"

namespace ullage {
namespace {

std::string fresh_folder(const std::string& name) {
  std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("ullage_reproducer_" + name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

std::string content(const std::string& path) {
  Result<FileBytes> file = FileBytes::open(path);
  return file.ok() ? std::string(file->text()) : "missing";
}

TEST(Reproducer, ABrokenInvariantEndsInSeventyWithTheCommandAndTheProgram) {
  std::string folder = fresh_folder("text");
  CommandRecord record{{"run", "a file.mlir", "--json"}, "--threads=1", ""};
  for (int number = 1; number <= 2; ++number) {
    int code = run_guarded(record, folder, [](CommandRecord& seen) -> int {
      seen.program_text = "module {}\n";
      ULLAGE_CHECK(1 + 1 == 3, "sums\nare right");
      return 0;
    });
    EXPECT_EQ(code, kExitInternalError);
    std::string text = content(folder + "/ullage-reproducer-" + std::to_string(number) + ".mlir");
    EXPECT_TRUE(text.starts_with(
        "// ullage run 'a file.mlir' --json\n// ULLAGE_FLAGS=--threads=1\n// internal error: "))
        << text;
    EXPECT_NE(text.find("check failed: 1 + 1 == 3: sums are right\nmodule {}\n"), std::string::npos)
        << text;
  }
}

TEST(Reproducer, BytecodeIsWrittenBeside) {
  std::string folder = fresh_folder("bytecode");
  CommandRecord record{{"run", "-"}, "", "ML\xefR\x01\x02"};
  EXPECT_EQ(write_reproducer(record, "x", folder), folder + "/ullage-reproducer-1.mlir");
  EXPECT_EQ(content(folder + "/ullage-reproducer-1.mlir"),
            "// ullage run -\n// internal error: x\n");
  EXPECT_EQ(content(folder + "/ullage-reproducer-1.mlirbc"), record.program_text);
}

TEST(Reproducer, WithoutAnExceptionTheCommandsOwnCodeCounts) {
  std::string folder = fresh_folder("none");
  CommandRecord record;
  EXPECT_EQ(run_guarded(record, folder, [](CommandRecord&) { return 3; }), 3);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(Reproducer, AFolderThatCannotBeWrittenIsNoSecondError) {
  CommandRecord record;
  EXPECT_EQ(run_guarded(record, "/nowhere/at/all", [](CommandRecord&) -> int { throw 5; }),
            kExitInternalError);
}

}  // namespace
}  // namespace ullage
