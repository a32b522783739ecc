#!/usr/bin/env python3
"""Tests test/check_includes.py on small trees that break one rule each."""
import os
import subprocess
import sys
import tempfile
import unittest

CHECKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "check_includes.py")
ROOMS = """ullage_room(support DEPS fmt::fmt)
ullage_room(ir DEPS support)
ullage_room(ops DEPS ir)
ullage_room(runtime DEPS support)
ullage_room(codegen/cpu DEPS ops runtime)
ullage_room(driver DEPS codegen_cpu)
"""
GOOD = {"src/support/a.h": "#include <vector>\n", "src/ir/b.h": '#include "support/a.h"\n',
        "src/ops/c.h": '#include "ir/b.h"\n#include "support/a.h"\n', "src/runtime/d.h": '#include "support/a.h"\n',
        "src/codegen/cpu/e.cpp": '#include <llvm/IR/IRBuilder.h>\n#include "runtime/d.h"\n#include "ir/b.h"\n',
        "src/driver/f.cpp": '#include "ops/c.h"\n', "include/ullage/g.h": "#include <vector>\n"}


def run(files, rooms=ROOMS):
    with tempfile.TemporaryDirectory() as root:
        for path, text in {"CMakeLists.txt": rooms, **GOOD, **files}.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        result = subprocess.run([sys.executable, CHECKER, root], capture_output=True, text=True, check=False)
        return result.returncode, result.stdout


class CheckIncludes(unittest.TestCase):
    def refused(self, files, message, rooms=ROOMS):
        code, out = run(files, rooms)
        self.assertEqual(code, 1, out)
        self.assertIn(message, out)

    def test_good_tree(self):
        self.assertEqual(run({}), (0, "include rules: 7 files, 0 violations\n"))

    def test_upwards(self):
        self.refused({"src/ir/b.h": '\n#include "ops/c.h"\n'}, 'src/ir/b.h:2: room ir must not include "ops/c.h" of room ops')

    def test_runtime_knows_no_ir(self):
        self.refused({"src/runtime/d.h": '#include "ir/b.h"\n'}, 'room runtime must not include "ir/b.h"')

    def test_libraries(self):
        self.refused({"src/ops/c.h": "#include <llvm/IR/Module.h>\n"}, "<llvm/IR/Module.h> may be included in codegen/cpu only")
        self.refused({"src/driver/f.cpp": "#include <dnnl.hpp>\n"}, "<dnnl.hpp> may be included in codegen/cpu only")

    def test_unknown_files_and_folders(self):
        self.refused({"src/ops/c.h": '#include "b.h"\n'}, '"b.h" is no file below src/')
        self.refused({"src/stray/h.h": ""}, "src/stray/h.h: its folder is not a room")

    def test_public_headers(self):
        self.refused({"include/ullage/g.h": '#include "ir/b.h"\n'}, "public headers include the standard library")

    def test_order_of_the_list(self):
        self.refused({}, "room support names ir, which is not above it",
                     ROOMS.replace("support DEPS", "support DEPS ir"))


if __name__ == "__main__":
    unittest.main()
