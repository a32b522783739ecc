// Real artifacts of the shared folder read to the same program as their text.
//
// conformance/bytecode holds artifacts with the text that was printed from them: those pairs are
// equal in everything, the names of values included.
//
// programs/ holds what jax.export wrote, beside the text of the program before it was exported.
// Exporting changes programs on the way, and what follows takes both sides to a common form:
//   - constants are merged, moved to the beginning of a function, or dropped when unused, and so is
//     unused arithmetic: every use gets a constant of its own, unused operations are removed;
//   - chlo.square becomes a product;
//   - other CHLO operations become arithmetic or composites, with functions of their own, and the
//     exponential of a complex number becomes arithmetic: functions that contain one are left out;
//   - collectives lose the type of their channel, and the module gains an attribute about shapes.
// All are read with ULLAGE_LONG_TESTS=1, else one program in eight.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/equal.h"
#include "ops/verify.h"
#include "shared_data.h"
#include "syntax/bytecode.h"
#include "syntax/reader.h"
#include "syntax/writer.h"

namespace ullage {
namespace {

std::vector<std::filesystem::path> artifacts(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> out;
  if (!std::filesystem::exists(folder)) return out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".mlirbc") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::unique_ptr<Module> read(const std::filesystem::path& path) {
  auto module = read_file(path.string());
  EXPECT_TRUE(module.ok()) << to_string(module.diagnostics());
  return module.ok() ? std::move(*module) : nullptr;
}

std::filesystem::path text_of(std::filesystem::path artifact) {
  return artifact.replace_extension(".mlir");
}

// Values that have no name in the text (of reductions that only name their operation) are passed
// over.
void expect_same_names(const Region& bytecode, const Region& text) {
  auto same = [](const Value* a, const Value* b) {
    if (b->name.empty()) return;
    EXPECT_EQ(a->name, b->name);
  };
  for (size_t i = 0; i < text.arguments().size(); ++i) same(bytecode.argument(i), text.argument(i));
  const Op* a = bytecode.first();
  for (const Op* b = text.first(); b; b = b->next(), a = a->next()) {
    for (size_t i = 0; i < b->num_results(); ++i) same(a->result(i), b->result(i));
    for (size_t i = 0; i < b->num_regions(); ++i) expect_same_names(a->nested(i), b->nested(i));
  }
}

TEST(BytecodeCorpus, ArtifactsReadAsTheirTexts) {
  const auto files = artifacts(shared_folder() / "conformance/bytecode");
  if (files.empty()) GTEST_SKIP() << "no shared artifacts";
  for (const auto& path : files) {
    SCOPED_TRACE(path.filename());
    auto bytecode = read(path), text = read(text_of(path));
    ASSERT_TRUE(bytecode && text);
    std::string why;
    ASSERT_TRUE(equal(*text, *bytecode, &why)) << why;
    EXPECT_TRUE(verify(*bytecode).ok());
    for (size_t i = 0; i < text->functions.size(); ++i)
      expect_same_names(bytecode->functions[i]->body(), text->functions[i]->body());
  }
}

// -- Exported programs

void give_uses_their_constants(Function& function, Region& region) {
  for (Op* op : region) {
    for (size_t i = 0; i < op->num_regions(); ++i)
      give_uses_their_constants(function, op->nested(i));
    if (op->kind == OpKind::constant) continue;
    for (size_t i = 0; i < op->num_operands(); ++i) {
      const Op* constant = op->operand(i)->op();
      if (!constant || constant->kind != OpKind::constant) continue;
      const Type type = constant->result()->type;
      Op* own = function.create(region, OpKind::constant, {}, {&type, 1}, constant->attributes, {},
                                0, op);
      op->set_operand(i, own->result());
    }
  }
}

void drop_unused(Region& region) {
  Op* previous = nullptr;
  for (Op* op = region.last(); op; op = previous) {
    previous = op->prev();
    for (size_t i = 0; i < op->num_regions(); ++i) drop_unused(op->nested(i));
    bool used = false;
    for (const Value* result : op->results()) used |= result->has_uses();
    if (!used && has_trait(op->kind, kPure)) op->erase();
  }
}

void to_common_form(Module& module) {
  std::erase_if(module.extra, [](const NamedAttribute& attribute) {
    return attribute.name == "jax.uses_shape_polymorphism";
  });
  for (const auto& function : module.functions) {
    walk(function->body(), [&](Op* op) {
      if (auto* collective = std::get_if<CollectiveAttributes>(&op->attributes))
        collective->channel_type = 0;
      if (op->kind != OpKind::chlo_square) return;
      Value* both[] = {op->operand(0), op->operand(0)};
      const Type type = op->result()->type;
      Op* product = function->create(*op->region(), OpKind::multiply, both, {&type, 1}, {},
                                     op->location, 0, op);
      op->result()->replace_all_uses_with(product->result());
      op->erase();
    });
    give_uses_their_constants(*function, function->body());
    drop_unused(function->body());
  }
}

bool changed_by_export(const Function& function) {
  bool out = false;
  walk(function.body(), [&](const Op* op) {
    out |= info(op->kind).family == OpFamily::chlo;
    out |= op->kind == OpKind::exponential && is_complex(op->result()->type.dtype);
  });
  return out;
}

// Where the user should look for each operation; the lines of the script that exported differ.
void expect_same_places(const Module& a, const Module& b, const Region& x, const Region& y) {
  const Op* p = x.first();
  for (const Op* q = y.first(); q; q = q->next(), p = p->next()) {
    if (q->kind == OpKind::constant || has_trait(q->kind, kTerminator)) continue;
    EXPECT_EQ(a.locations.source(p->location).str(), b.locations.source(q->location).str());
    EXPECT_EQ(a.locations.label(p->location), b.locations.label(q->location));
    for (size_t i = 0; i < q->num_regions(); ++i)
      expect_same_places(a, b, p->nested(i), q->nested(i));
  }
}

TEST(BytecodeCorpus, ExportedProgramsReadAsTheirTexts) {
  const auto files = artifacts(shared_folder() / "programs");
  if (files.empty()) GTEST_SKIP() << "no shared programs";
  const size_t stride = long_tests() ? 1 : 8;
  size_t compared = 0, left_out = 0;
  for (size_t i = 0; i < files.size(); i += stride) {
    SCOPED_TRACE(files[i]);
    auto bytecode = read(files[i]), text = read(text_of(files[i]));
    ASSERT_TRUE(bytecode && text);
    EXPECT_TRUE(verify(*bytecode).ok());
    to_common_form(*bytecode);
    to_common_form(*text);
    EXPECT_EQ(bytecode->name, text->name);
    EXPECT_EQ(bytecode->extra, text->extra);
    EXPECT_EQ(bytecode->meshes, text->meshes);
    for (const auto& function : text->functions) {
      const Function* other = bytecode->find(function->name);
      ASSERT_TRUE(other) << function->name;
      if (changed_by_export(*function)) {
        ++left_out;
        EXPECT_EQ(other->result_types, function->result_types);
        continue;
      }
      ++compared;
      std::string why;
      ASSERT_TRUE(equal(*function, *other, &why)) << why;
      expect_same_places(*bytecode, *text, other->body(), function->body());
    }
  }
  EXPECT_GT(compared, 9 * left_out);
}

// What was read from bytecode is written as text and read back.
TEST(BytecodeCorpus, IsWrittenAsText) {
  const auto files = artifacts(shared_folder() / "conformance/bytecode");
  if (files.empty()) GTEST_SKIP() << "no shared artifacts";
  for (size_t i = 0; i < files.size(); i += 8) {
    auto module = read(files[i]);
    ASSERT_TRUE(module);
    auto again = read_text(write_text(*module, {.locations = true}), "written.mlir");
    ASSERT_TRUE(again.ok()) << files[i] << to_string(again.diagnostics());
    std::string why;
    EXPECT_TRUE(equal(*module, **again, &why)) << files[i] << ": " << why;
  }
}

}  // namespace
}  // namespace ullage
