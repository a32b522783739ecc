#include "support/file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace ullage {
namespace {

TEST(File, WrittenTextIsReadBackAndNoOtherFileIsLeft) {
  std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "ullage_file_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::string path = folder / "text";
  ASSERT_TRUE(write_file(path, "first").ok());
  ASSERT_TRUE(write_file(path, "second").ok());
  Result<FileBytes> file = FileBytes::open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->text(), "second");
  size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++entries;
  EXPECT_EQ(entries, 1u);
}

TEST(File, AnEmptyFileIsEmpty) {
  std::string path = ::testing::TempDir() + "ullage_empty";
  ASSERT_TRUE(write_file(path, "").ok());
  Result<FileBytes> file = FileBytes::open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->bytes().size(), 0u);
}

TEST(File, WhatCannotBeReadOrWrittenIsADiagnostic) {
  Result<FileBytes> missing = FileBytes::open("/nowhere/at/all");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(to_string(missing.diagnostics()),
            "error: cannot open '/nowhere/at/all': No such file or directory\n");
  EXPECT_FALSE(FileBytes::open(::testing::TempDir()).ok());
  EXPECT_FALSE(write_file("/nowhere/at/all", "x").ok());
}

}  // namespace
}  // namespace ullage
