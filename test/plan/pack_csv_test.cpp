#include "plan/pack_csv.h"

#include <gtest/gtest.h>

namespace ullage {
namespace {

std::string first_error(std::string_view text) {
  Result<PackTable> table = read_pack_csv(text, "b.csv");
  return table.ok()
             ? "no error"
             : table.diagnostics().front().where.str() + ": " + table.diagnostics().front().message;
}

TEST(PackCsv, ReadsRows) {
  Result<PackTable> table =
      read_pack_csv("id,lower,upper,size\n0,0,3,10\r\nb7, -5 ,2,0\n\n", "b.csv");
  ASSERT_TRUE(table.ok()) << to_string(table.diagnostics());
  EXPECT_EQ(table->ids, (std::vector<std::string>{"0", "b7"}));
  EXPECT_EQ(table->lines, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(table->buffers[1].lower, -5);
  EXPECT_EQ(table->buffers[1].upper, 2);
  EXPECT_EQ(table->buffers[0].size, 10);
}

TEST(PackCsv, ColumnsInAnyOrderWithAlignment) {
  Result<PackTable> table =
      read_pack_csv("\xef\xbb\xbfsize,id,alignment,upper,lower,offset\n8,x,4,2,1,0", "b.csv");
  ASSERT_TRUE(table.ok()) << to_string(table.diagnostics());
  EXPECT_EQ(table->buffers[0].lower, 1);
  EXPECT_EQ(table->buffers[0].alignment, 4);
  EXPECT_EQ(table->buffers[0].fixed_offset, -1);
  EXPECT_EQ(write_pack_csv(*table, std::vector<int64_t>{12}),
            "id,lower,upper,size,alignment,offset\nx,1,2,8,4,12\n");
}

TEST(PackCsv, WritesWhatItReads) {
  Result<PackTable> table = read_pack_csv("id,lower,upper,size\n0,0,3,10\n1,2,4,6\n", "b.csv");
  ASSERT_TRUE(table.ok());
  std::string text = write_pack_csv(*table, std::vector<int64_t>{0, 10});
  EXPECT_EQ(text, "id,lower,upper,size,offset\n0,0,3,10,0\n1,2,4,6,10\n");
  Result<PackTable> again = read_pack_csv(text, "b.csv");
  ASSERT_TRUE(again.ok()) << to_string(again.diagnostics());
  EXPECT_EQ(again->ids, table->ids);
}

TEST(PackCsv, NoRowsIsAnEmptyTable) {
  Result<PackTable> table = read_pack_csv("id,lower,upper,size\n", "b.csv");
  ASSERT_TRUE(table.ok());
  EXPECT_TRUE(table->buffers.empty());
}

TEST(PackCsv, BadHeaders) {
  EXPECT_EQ(first_error(""), "b.csv:1: no header: the file is empty");
  EXPECT_EQ(first_error("id,lower,size\n"), "b.csv:1:1: column 'upper' is missing");
  EXPECT_EQ(first_error("id,lower,upper,size,size\n"), "b.csv:1:21: column 'size' is given twice");
  EXPECT_EQ(first_error("id,lower,upper,bytes\n"), "b.csv:1:16: unknown column 'bytes'");
}

TEST(PackCsv, BadRows) {
  auto row = [](std::string text) { return first_error("id,lower,upper,size\n" + text + "\n"); };
  EXPECT_EQ(row("0,1,2"), "b.csv:2:5: 3 fields where the header has 4");
  EXPECT_EQ(row("0,1,2,3,4"), "b.csv:2:9: 5 fields where the header has 4");
  EXPECT_EQ(row("0,x,2,3"), "b.csv:2:3: lower 'x' is not a whole number");
  EXPECT_EQ(row("0,1,2.5,3"), "b.csv:2:5: upper '2.5' is not a whole number");
  EXPECT_EQ(row("0,1,2,"), "b.csv:2:7: size is empty");
  EXPECT_EQ(row("0,1,2,9223372036854775808"),
            "b.csv:2:7: size '9223372036854775808' does not fit in 64 bits");
  EXPECT_EQ(row("0,1,2,-3"), "b.csv:2:7: size -3 is negative");
  EXPECT_EQ(row("0,2,2,3"), "b.csv:2:5: lower 2 is not below upper 2: the buffer is never alive");
  EXPECT_EQ(row(",1,2,3"), "b.csv:2:1: id is empty");
  EXPECT_EQ(row("0,1,2,3\n\n0,4,5,6"), "b.csv:4:1: id '0' is used twice");
  EXPECT_EQ(row("0,1,2,4000000000000000000\n1,4,5,4000000000000000000"),
            "b.csv:3:7: the sizes up to here add up to more than 2^62 bytes");
}

TEST(PackCsv, ReportsAllBadRowsUpToALimit) {
  std::string text = "id,lower,upper,size\n0,2,1,5\n1,0,1,5\n2,0,a,5\n";
  Result<PackTable> table = read_pack_csv(text, "b.csv");
  ASSERT_FALSE(table.ok());
  ASSERT_EQ(table.diagnostics().size(), 2u);
  EXPECT_EQ(table.diagnostics()[1].where.line, 4u);
  for (int k = 0; k < 100; ++k) text += "x\n";
  table = read_pack_csv(text, "b.csv");
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.diagnostics().size(), 20u);
}

}  // namespace
}  // namespace ullage
