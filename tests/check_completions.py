#!/usr/bin/env python3
"""Completions of bash, zsh and fish: each script has every option that the help of a command prints, each shell that is
here parses its script, and bash and fish complete by them.

    check_completions.py PROGRAM TOOLS
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

program, tools = sys.argv[1], pathlib.Path(sys.argv[2])
failures = []


def output(*command, **how):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **how)
    if done.returncode != 0:
        failures.append(f"{command[0]} failed: {done.stderr.strip()}")
    return done.stdout


def expect(ok, message):
    if not ok:
        failures.append(message)


def declared():
    """For each command that has no subcommands: its words and its long options, as the help prints them."""
    names = re.findall(r"^  (\w+) ", output(program, "--help").split("Subcommands:")[1].split("\n\n")[0], re.M)
    for name in names:
        text = output(program, name, "--help")
        subs = re.findall(r"^  (\w+) ", text.split("Subcommands:")[1].split("\n\n")[0], re.M) if "Subcommands:" in text else []
        for words in [[name, sub] for sub in subs] or [[name]]:
            yield words, re.findall(r"^  (?:-\w,)?--([\w-]+)", output(program, *words, "--help"), re.M)


def check_lists(scripts):
    count = 0
    for words, options in declared():
        expect(options, f"{words}: no option found in the help")
        for option in options:
            count += 1
            condition = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in words)
            expect(re.search(rf"'{condition}'.* -l {option}( |$)", scripts["fish"], re.M), f"fish: {words} lacks --{option}")
            expect(f"'*--{option}[" in scripts["zsh"], f"zsh: {words} lacks --{option}")
            last = scripts["bash"].split(f"= {words[0]} ]" + (f' && [ "$sub" = {words[1]} ]' if len(words) > 1 else "; then"))[1]
            expect(re.search(rf'[" ]--{option}[" ]', last.split("\n  fi")[0]), f"bash: {words} lacks --{option}")
    expect(count > 300, f"expected hundreds of options, found {count}")


def bash_completes(path, *words):
    line = " ".join(f"'{word}'" for word in words)
    return output("bash", "-c", f"source {path}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _fovea; echo ${{COMPREPLY[*]}}").split()


def fish_completes(path, line):
    return [entry.split("\t")[0] for entry in output("fish", "-c", f"source {path}; complete -C '{line}'").splitlines()]


with tempfile.TemporaryDirectory() as folder:
    paths = {shell: pathlib.Path(folder) / f"fovea.{shell}" for shell in ("bash", "zsh", "fish")}
    for shell, path in paths.items():
        output(sys.executable, "-B", tools / "completions.py", program, shell, path)
        if shutil.which(shell):
            output(shell, "-n", path)
        else:
            print(f"{shell} is not here: its script is compared with the help, not parsed")
    check_lists({shell: path.read_text() for shell, path in paths.items()})
    for words, completed in {("fovea", "tr"): ["train", "translate"],
                             ("fovea", "translate", "--mbr"): ["--mbr", "--mbr-metric"],
                             ("fovea", "translate", "--mbr-metric", ""): ["bleu", "chrf"],
                             ("fovea", "data", "imp"): ["import"],
                             ("fovea", "data", "import", "--fo"): ["--format", "--forward"]}.items():
        got = sorted(bash_completes(paths["bash"], *words))
        expect(got == completed, f"bash: {words}: expected {completed}, got {got}")
        if shutil.which("fish"):
            got = sorted(fish_completes(paths["fish"], " ".join(words)))
            expect(got == completed, f"fish: {words}: expected {completed}, got {got}")

print("\n".join(failures) or "completions are complete")
sys.exit(1 if failures else 0)
