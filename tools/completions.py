#!/usr/bin/env python3
"""Writes the completions of a shell from the program's own help, which prints the declarations of its options.

    tools/completions.py PROGRAM bash|zsh|fish FILE
"""
import dataclasses
import pathlib
import re
import sys

import reference

# Arguments of an option that are names of files, and of models or recipes that come with the program.
FILES = {"FILE", "DIR", "GOLD", "PREFIX", "RECIPE"}


@dataclasses.dataclass
class Option:
    names: list  # -m, --model
    argument: str = ""  # DIR; empty for a switch
    choices: list = dataclasses.field(default_factory=list)
    help: str = ""


def options(program, words):
    """The options of a command, in the order of its help."""
    found = []
    for line in reference.output_of(program, *words, "--help").split("\n"):
        match = re.match(r"  (-[a-zA-Z](?:,--[\w-]+)?|--[\w-]+)(.*)$", line)
        if match:
            declared, _, text = match.group(2).partition("  ")
            argument, _, choices = re.sub(r"=.*$", "", declared.strip()).partition(":")
            argument = argument.split(" ")[0] if argument else ""
            listed = re.match(r"\{(.*?)\}", choices)
            found.append(Option(match.group(1).split(","), "" if argument.endswith(":") else argument,
                                listed.group(1).split(",") if listed else [], text.strip()))
        elif found and not found[-1].help and re.match(r" {30}\S", line):
            found[-1].help = line.strip()
    return found


def tree(program):
    """For each command the help of its name, its options, and the names of its subcommands."""
    about = dict(re.findall(r"^  (\w+) +(.+)$", reference.output_of(program, "--help").split("Subcommands:")[1].split("\n\n")[0], re.M))
    return {words: (about.get(words[0], "") if len(words) == 1 else "", options(program, words),
                    reference.commands(program, *words) if len(words) == 1 else [])
            for words in reference.all_commands(program)}


def first_sentence(text):
    return re.split(r"(?<=[.;:]) |;", text)[0].rstrip(".;:")


def bash(program):
    commands = tree(program)
    top = [words[0] for words in commands if len(words) == 1]
    out = ["# bash completion of fovea", "_fovea() {", "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}",
           '  local command=${COMP_WORDS[1]} sub=${COMP_WORDS[2]}', '  if [ "$COMP_CWORD" -eq 1 ]; then',
           f'    COMPREPLY=($(compgen -W "{" ".join(top)} --help --version" -- "$word"))', "    return", "  fi"]
    for words, (_, listed, subcommands) in commands.items():
        test = '[ "$command" = %s ]' % words[0] + (' && [ "$sub" = %s ]' % words[1] if len(words) > 1 else "")
        if subcommands:
            out += [f'  if {test} && [ "$COMP_CWORD" -eq 2 ]; then',
                    f'    COMPREPLY=($(compgen -W "{" ".join(subcommands)} --help" -- "$word"))', "    return", "  fi"]
            continue
        out += [f"  if {test}; then", '    case "$before" in']
        for option in listed:
            if option.choices:
                out.append(f'      {"|".join(option.names)}) COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$word")); return ;;')
        names = " ".join(name for option in listed for name in option.names if name.startswith("--"))
        out += ["      *) ;;", "    esac", f'    [[ $word == -* ]] && COMPREPLY=($(compgen -W "{names}" -- "$word")) && return', "  fi"]
    return "\n".join(out + ['  COMPREPLY=($(compgen -f -- "$word"))', "}", "complete -o filenames -F _fovea fovea", ""])


def zsh_quoted(text):
    return text.replace("'", "'\\''")


def zsh_option(option):
    help_text = re.sub(r"([\[\]:\\])", r"\\\1", first_sentence(option.help))
    value = ""
    if option.argument:
        kind = f"({' '.join(option.choices)})" if option.choices else "_files" if option.argument in FILES else " "
        value = f":{option.argument.lower()}:{kind}"
    repeat = "*"  # that an option may be given once only is the program's to say
    return [f"'{repeat}{name}[{zsh_quoted(help_text)}]{zsh_quoted(value)}'" for name in option.names]


def zsh(program):
    commands = tree(program)
    out = ["#compdef fovea", "", "_fovea() {", "  local curcontext=$curcontext state line", "  typeset -A opt_args",
           "  _arguments -C '--help[Print this help message and exit]' '--version[Print the version]' '1:command:->command' '*::argument:->argument'",
           "  case $state in", "    command)", "      local -a commands=("]
    for words, (about, _, _) in commands.items():
        if len(words) == 1:
            out.append(f"        '{words[0]}:{zsh_quoted(about.replace(':', chr(92) + ':'))}'")
    out += ["      )", "      _describe command commands ;;", "    argument)", "      case $line[1] in"]
    for words, (_, listed, subcommands) in commands.items():
        if len(words) > 1:
            continue
        if subcommands:
            out += [f"        {words[0]})", f"          if (( CURRENT == 2 )); then compadd {' '.join(subcommands)}; return; fi",
                    "          case $words[2] in"]
            for sub in subcommands:
                out.append(f"            {sub}) shift words; (( CURRENT-- )); _arguments -S \\")
                out += [f"              {item} \\" for option in commands[(words[0], sub)][1] for item in zsh_option(option)]
                out.append("              '*:file:_files' ;;")
            out += ["          esac ;;"]
            continue
        out.append(f"        {words[0]}) _arguments -S \\")
        out += [f"          {item} \\" for option in listed for item in zsh_option(option)]
        out.append("          '*:file:_files' ;;")
    return "\n".join(out + ["      esac ;;", "  esac", "}", "", '_fovea "$@"', ""])


def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish(program):
    commands = tree(program)
    out = ["# fish completion of fovea", "complete -c fovea -n __fish_use_subcommand -f",
           "complete -c fovea -n __fish_use_subcommand -l version -d 'Print the version'"]
    for words, (about, listed, subcommands) in commands.items():
        here = f"__fish_seen_subcommand_from {words[0]}"
        if len(words) == 1:
            out.append(f"complete -c fovea -n __fish_use_subcommand -a {words[0]} -d {fish_quoted(first_sentence(about))}")
            if subcommands:
                names = " ".join(subcommands)
                out.append(f"complete -c fovea -n '{here}; and not __fish_seen_subcommand_from {names}' -f -a '{names}'")
                continue
        else:
            here += f"; and __fish_seen_subcommand_from {words[1]}"
        for option in listed:
            flags = " ".join(f"-s {n[1:]}" if not n.startswith("--") else f"-l {n[2:]}" for n in option.names)
            takes = "" if not option.argument else " -r" if option.argument in FILES else " -x"
            if option.choices:
                takes += f" -a '{' '.join(option.choices)}'"
            out.append(f"complete -c fovea -n '{here}' {flags}{takes} -d {fish_quoted(first_sentence(option.help))}")
    return "\n".join(out + [""])


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}

if __name__ == "__main__":
    pathlib.Path(sys.argv[3]).write_text(SHELLS[sys.argv[2]](sys.argv[1]))
