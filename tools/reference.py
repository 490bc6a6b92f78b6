#!/usr/bin/env python3
"""Generates documents from the program's own help: docs/command-reference.md, docs/recipe-reference.md, the tables of
docs/attention.md, and a man page.

    tools/reference.py PROGRAM docs DOCS          writes the documents; with `--check` fails if they are not current
    tools/reference.py PROGRAM man FILE
"""
import json
import pathlib
import re
import subprocess
import sys

BEGIN, END = "<!-- from the program: {} -->", "<!-- end -->"


def output_of(program, *arguments):
    text = subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout
    text = text.replace(program, "fovea")
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))


def commands(program, *parents):
    """The names of the commands, in the order of the help; with parents, of their subcommands."""
    parts = output_of(program, *parents, "--help").split("Subcommands:")
    return re.findall(r"^  (\w+) +.+$", parts[1].split("\n\n")[0], re.M) if len(parts) > 1 else []


def all_commands(program):
    """Every command as the words that call it: data, data import."""
    for name in commands(program):
        yield (name,)
        for sub in commands(program, name):
            yield name, sub


def command_reference(program):
    out = ["# Commands", "", "What `fovea COMMAND --help` prints; made by `tools/reference.py`.", ""]
    for words in all_commands(program):
        out += [f"## fovea {' '.join(words)}", "", "```", output_of(program, *words, "--help"), "```", ""]
    return "\n".join(out)


def recipe_reference(program):
    return "\n".join(["# Recipes", "", "Every setting with its meaning and its default, as `fovea train --print-defaults` prints them; made by",
                      "`tools/reference.py`. A recipe holds what differs; `--set key=value` changes one for a run.", "",
                      "```toml", output_of(program, "train", "--print-defaults"), "```", ""])


def mechanism_table(entries):
    out = ["| name | weights come from | paper | cost | |", "|---|---|---|---|---|"]
    for e in entries:
        cell = lambda key: e.get(key, "").replace("|", "\\|")
        equation = f"`{cell('equation')}`" if e.get("equation") else ""
        out.append(f"| `{cell('name')}` | {equation} | {cell('paper')} | {cell('cost')} | {cell('help')} |")
    return "\n".join(out)


def with_tables(text, program):
    listed = json.loads(output_of(program, "mechanisms", "--json"))

    def table(match):
        name = match.group(1)
        return f"{BEGIN.format(name)}\n{mechanism_table(listed[name])}\n{END}"

    return re.sub(re.escape(BEGIN).replace(r"\{\}", r"(\w+)") + r".*?" + re.escape(END), table, text, flags=re.S)


def documents(program, folder):
    attention = folder / "attention.md"
    yield folder / "command-reference.md", command_reference(program)
    yield folder / "recipe-reference.md", recipe_reference(program)
    yield attention, with_tables(attention.read_text(), program)


def man_page(program):
    roff = lambda text: re.sub(r"^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"), flags=re.M)
    version = output_of(program, "--version").split()[1]
    out = [f'.TH FOVEA 1 "" "fovea {version}" "User Commands"', ".SH NAME", "fovea \\- attention you can train, run and see",
           ".SH SYNOPSIS", ".B fovea", ".I COMMAND", "[options]", ".SH DESCRIPTION", ".nf", roff(output_of(program, "--help")), ".fi"]
    for words in all_commands(program):
        out += [f".SH FOVEA {' '.join(words).upper()}", ".nf", roff(output_of(program, *words, "--help")), ".fi"]
    return "\n".join(out) + "\n"


def main():
    program, what, where = sys.argv[1:4]
    if what != "docs":
        pathlib.Path(where).write_text(man_page(program))
        return 0
    stale = []
    for path, text in documents(program, pathlib.Path(where)):
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(str(path))
    if stale:
        print("not what the program says, run tools/reference.py PROGRAM docs docs:", *stale)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
