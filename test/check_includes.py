#!/usr/bin/env python3
"""Checks that includes follow the rooms: a file of src/<room> includes its own room and the rooms that its DEPS in
CMakeLists.txt reach, nothing else. Libraries are tied to rooms as well, and the public headers stand alone.

    check_includes.py [ROOT]      prints one line per violation; exit status 1 if there is any
"""
import os
import re
import sys

# Headers of libraries (by prefix) and the rooms that may include them. What is not listed may be included anywhere.
LIBRARIES = {
    "llvm/": {"codegen/cpu"},
    "llvm-c/": {"codegen/cpu"},
    "lld/": {"codegen/cpu"},
    "clang/": set(),
    "dnnl": {"codegen/cpu"},
    "oneapi/": {"codegen/cpu"},
    "nlohmann/": {"report", "driver", "pjrt"},
    "zlib.h": {"runtime", "driver"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
ROOM = re.compile(r"^\s*ullage_room\(\s*(\S+)(?:\s+DEPS\s+([^)]*))?\)", re.MULTILINE)
SOURCES = (".h", ".cpp", ".def", ".inc")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def sources_below(folder):
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if name.endswith(SOURCES):
                yield os.path.join(parent, name)


def read_rooms(root):
    """room -> the rooms it names, from CMakeLists.txt; and what is wrong with the list itself."""
    rooms, problems = {}, []
    for path, deps in ROOM.findall(read(os.path.join(root, "CMakeLists.txt"))):
        named = [d.replace("codegen_cpu", "codegen/cpu") for d in deps.split() if "::" not in d]
        # Data flows down the list, so a room can only name rooms above it. This also rules out cycles.
        problems += [f"CMakeLists.txt: room {path} names {d}, which is not above it" for d in named if d not in rooms]
        rooms[path] = [d for d in named if d in rooms]
    return rooms, problems


def reachable(rooms):
    """room -> itself and all rooms above that it may include."""
    out = {}
    for room, named in rooms.items():  # in the order of the list, so what it names is already there
        out[room] = {room}.union(*(out[d] for d in named))
    return out


def room_of(path, rooms):
    """The innermost room that a path relative to src/ lies in, or None."""
    folder = os.path.dirname(path)
    while folder and folder not in rooms:
        folder = os.path.dirname(folder)
    return folder or None


def includes_of(path):
    text = read(path)
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(2)) + 1, match.group(1), match.group(2)


def check_source(root, path, rooms, allowed):
    src = os.path.join(root, "src")
    shown = os.path.relpath(path, root)
    room = room_of(os.path.relpath(path, src), rooms)
    if room is None:
        return [f"{shown}: its folder is not a room of CMakeLists.txt"]
    problems = []
    for line, quote, target in includes_of(path):
        where = f"{shown}:{line}"
        for prefix, places in LIBRARIES.items():
            if target.startswith(prefix) and room not in places:
                problems.append(f"{where}: <{target}> may be included in {', '.join(sorted(places)) or 'no room'} only")
        if quote == "<" or target.startswith("ullage/"):
            continue
        if not os.path.isfile(os.path.join(src, target)):
            problems.append(f'{where}: "{target}" is no file below src/; write "room/file.h"')
            continue
        other = room_of(target, rooms)
        if other is not None and other not in allowed[room]:
            problems.append(f'{where}: room {room} must not include "{target}" of room {other}')
    return problems


def check_public_header(root, path):
    return [f"{os.path.relpath(path, root)}:{line}: public headers include the standard library and ullage/ only"
            for line, quote, target in includes_of(path)
            if not target.startswith("ullage/") and (quote == '"' or "/" in target or target.endswith(".h"))]


def check(root):
    rooms, problems = read_rooms(root)
    if not rooms:
        return ["CMakeLists.txt: no ullage_room() found"], 0
    allowed = reachable(rooms)
    count = 0
    for path in sources_below(os.path.join(root, "src")):
        problems += check_source(root, path, rooms, allowed)
        count += 1
    for path in sources_below(os.path.join(root, "include")):
        problems += check_public_header(root, path)
        count += 1
    return problems, count


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    problems, count = check(root)
    for problem in problems:
        print(problem)
    print(f"include rules: {count} files, {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
