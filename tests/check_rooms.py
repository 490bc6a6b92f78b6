"""Dependencies point downward only: a file of a room includes only from its own room and rooms below.

The order of the rooms is that of add_subdirectory in src/CMakeLists.txt; apps come after all of them. Inside a room,
<fovea/...> would name a second copy of a header (cmake/public_headers.cmake).
"""
import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"/]+)/[^"]*"', re.M)
OUTSIDE = re.compile(r"^\s*#\s*include\s+<fovea/", re.M)
SOURCES = {".h", ".cpp", ".cu", ".cuh"}


def violations(root: pathlib.Path) -> list[str]:
    order = re.findall(r"^add_subdirectory\((\w+)\)", (root / "src/CMakeLists.txt").read_text(), re.M)
    level = {room: i for i, room in enumerate(order)}
    found = []
    for folder in sorted(p for p in (root / "src").iterdir() if p.is_dir()):
        if folder.name not in level:
            found.append(f"src/{folder.name}: not among the rooms of src/CMakeLists.txt")
            continue
        for path in sorted(p for p in folder.rglob("*") if p.suffix in SOURCES):
            text = path.read_text()
            if OUTSIDE.search(text):
                found.append(f"{path.relative_to(root)}: <fovea/...> is for programs outside; include \"ROOM/NAME.h\"")
            for included in INCLUDE.findall(text):
                if included not in level or level[included] > level[folder.name]:
                    found.append(f"{path.relative_to(root)}: {folder.name} may not include from {included}")
    return found


def self_test() -> None:
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for room in ("low", "high"):
            (root / "src" / room).mkdir(parents=True)
        (root / "src/CMakeLists.txt").write_text("add_subdirectory(low)\nadd_subdirectory(high)\n")
        (root / "src/high/a.h").write_text('#include "low/b.h"\n')
        (root / "src/low/b.h").write_text("#include <vector>\n")
        assert violations(root) == [], violations(root)
        (root / "src/low/b.h").write_text('#include "high/a.h"\n')
        assert violations(root) == ["src/low/b.h: low may not include from high"], violations(root)
        (root / "src/low/b.h").write_text("#include <fovea/low/b.h>\n")
        assert violations(root) == ['src/low/b.h: <fovea/...> is for programs outside; include "ROOM/NAME.h"'], violations(root)


if sys.argv[1] == "--self-test":
    self_test()
else:
    problems = violations(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "every include points downward")
    sys.exit(1 if problems else 0)
