// Every file of test/error is a wrong program. Its first line says what must be reported, and
// where:
//   // error: <part of the message> @<line>:<column>
// Reading it, and verifying what was read, must give exactly that one diagnostic.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ops/verify.h"
#include "syntax/reader.h"

namespace ullage {
namespace {

std::vector<std::filesystem::path> wrong_programs() {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(ULLAGE_SOURCE_DIR "/test/error"))
    if (entry.path().extension() == ".mlir") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

class WrongProgram : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(WrongProgram, IsReportedOnceWhereItIsWrong) {
  std::ifstream stream(GetParam());
  std::stringstream content;
  content << stream.rdbuf();
  const std::string text = content.str();
  const std::string first = text.substr(0, text.find('\n'));
  const std::string prefix = "// error: ";
  const size_t at = first.rfind(" @");
  ASSERT_TRUE(first.starts_with(prefix) && at != std::string::npos) << "first line: " << first;
  const std::string message = first.substr(prefix.size(), at - prefix.size());
  const std::string place = first.substr(at + 2);

  std::vector<Diagnostic> diagnostics;
  auto module = read_text(text, "program.mlir");
  if (!module) {
    diagnostics = module.diagnostics();
  } else {
    Status verified = verify(**module);
    ASSERT_FALSE(verified.ok()) << "nothing was reported";
    diagnostics = verified.diagnostics();
  }
  ASSERT_EQ(diagnostics.size(), 1u) << to_string(diagnostics);
  EXPECT_NE(diagnostics[0].message.find(message), std::string::npos) << diagnostics[0].str();
  EXPECT_EQ(diagnostics[0].where.str(), "program.mlir:" + place) << diagnostics[0].str();
  EXPECT_EQ(diagnostics[0].severity, Severity::error);
}

INSTANTIATE_TEST_SUITE_P(Folder, WrongProgram, testing::ValuesIn(wrong_programs()),
                         [](const auto& file) { return file.param.stem().string(); });

TEST(WrongPrograms, AreMany) {
  EXPECT_GE(wrong_programs().size(), 60u);
}

}  // namespace
}  // namespace ullage
