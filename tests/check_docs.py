#!/usr/bin/env python3
"""What the documents tell a reader to do, done: every command of their `sh` blocks, and of the comments of recipes, is run,
in order, in an empty folder with the recipes, the shipped models and small texts made by the program. What is not run as
it stands follows from the rules below alone, and is printed. All links between documents must lead somewhere.

    check_docs.py PROGRAM REPOSITORY DOCUMENT...
    check_docs.py PROGRAM --self-test
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

# Commands that are not run, and why: they build, install, or name what only a reader has.
SKIPPED = [
    (r"^(make|cmake|ctest|git|cd|sudo|tools/|build/)\b", "builds or installs"),
    (r"^alias ", "the program is found without it"),
    (r"\bRECIPE\b", "names no file"),
    (r"mobilenet-edgetpu\.safetensors|photo\.jpg|runs/caption\b", "needs the weights of a trained network and a photograph"),
]
# Training is cut short: it has to begin, validate, and leave a model that later commands can use.
SHORT = ["training.steps=4", "training.minutes=1", "data.generated=400", "data.generated_valid=20", "data.held_out=20",
         "validation.sentences=4", "validation.every=2", "validation.search.max_length=12", "threads=1"]
# Texts of the reader's own: (source, target, how many pairs).
TEXTS = [("my.en", "my.de", 300), ("train.en", "train.de", 300), ("train.en", "train.zh", 300), ("val.en", "val.de", 20),
         ("val.en", "val.zh", 20), ("train.letters", "train.sounds", 300), ("val.letters", "val.sounds", 20),
         ("test.en", "test.de", 10), ("new.en", "unused", 5), ("abstracts.txt", "titles.txt", 300),
         ("val.abstracts", "val.titles", 20), ("documents.txt", "summaries.txt", 300), ("talk.source", "talk.target", 300),
         ("train.source", "train.target", 300), ("val.source", "val.target", 20), ("test.source", "test.target", 10),
         ("test.refs", "test.category", 10), ("gaps.source", "gaps.target", 300), ("words.source", "words.target", 300)]
# Files with a label and a text on each line. A name with .gz is that of plain text, which is read alike.
LABELLED = ["reviews.tsv", "test.tsv", "train.phrases.gz", "train.gz", "val.gz", "test.gz"]
# Folders with a folder of pictures for each label.
PICTURES = ["flowers", "test-flowers"]
SECONDS = 120  # for a command


class Failure(Exception):
    pass


def commands(document):
    """(line, command) of the sh blocks, lines that end in a backslash joined and comments dropped; of a recipe, what its
    comments set apart."""
    shell, joined, begun = False, "", 0
    for number, line in enumerate(document.read_text().split("\n"), 1):
        if document.suffix == ".toml":
            if line.startswith("#   "):
                yield number, line[4:]
            continue
        if line.startswith("```"):
            shell = line == "```sh"
            continue
        if not shell:
            continue
        begun = begun if joined else number
        joined += line.rstrip("\\") if line.endswith("\\") else line
        command = re.sub(r"(^|\s)#\s.*$", "", joined).strip()
        if line.endswith("\\"):
            continue
        joined = ""
        if command:
            yield begun, command


class Reader:
    """Somebody who types what the documents say."""

    def __init__(self, program, repository, folder):
        self.folder, self.servers = folder, []
        bin = folder / "bin"
        bin.mkdir()
        (bin / "fovea").symlink_to(pathlib.Path(program).resolve())
        for name in ("recipes", "models", "docs"):
            (folder / name).symlink_to(repository / name)
        self.environment = {**os.environ, "PATH": f"{bin}:{os.environ['PATH']}", "FOVEA_MODELS": str(repository / "models")}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        for seed, (source, target, count) in enumerate(TEXTS, 1):
            self.type(f"fovea data dates -n {count} --seed {seed} --source {source} --target {target}")

        for seed, name in enumerate(PICTURES, 1):
            self.type(f"fovea data shapes -n 40 --seed {seed} --out {name}")
        talk = '{"turns": ["Are you coming, %d?", "In a minute.", "Good, I will wait for %d."]}\n'
        (folder / "talks.jsonl").write_text("".join(talk % (i, i) for i in range(100)))
        for name in LABELLED:
            rows = [f"1:books\tgood book {i}\n0:hotels\tbad room {i}\n" for i in range(100)]
            (folder / name).write_text("".join(rows))
        (folder / "reviews.txt").write_text("good book\n\nbad room\n")
        passage = "The river is called %d. It is near the town."
        question = '{"context": "' + passage + '", "question": "What is it called?", "answers": [{"text": "%d", "start": 20}]}\n'
        for name in ("train.jsonl.gz", "val.jsonl.gz", "test.jsonl.gz", "questions.jsonl"):
            (folder / name).write_text("".join(question % (i, i) for i in range(10, 50)))
        squad = ",".join(
            '{"context": "' + passage % i + '", "qas": [{"id": "%d", "question": "What is it called?", '
            '"answers": [{"text": "%d", "answer_start": 20}]}]}' % (i, i) for i in range(10, 50))
        (folder / "train.json").write_text('{"data": [{"paragraphs": [' + squad + "]}]}")
        (folder / "article.txt").write_text(passage % 1)
        (folder / "lake.txt").write_text("湖中有苏堤和白堤。一位渔夫在湖边救了一条小白蛇。\n")

    def type(self, command):
        try:
            done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=self.folder, env=self.environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise Failure(f"took more than {SECONDS} s") from None
        if done.returncode != 0:
            raise Failure(f"exit status {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}")

    def follow(self, command):
        """Runs a command under the rules; says what was done with it."""
        for pattern, reason in SKIPPED:
            if re.search(pattern, command):
                return f"not run: {reason}"
        if re.match(r"fovea train\b", command) and "--print-defaults" not in command:
            self.type(command + "".join(f" --set {setting}" for setting in SHORT)
                      + ("" if re.search("--(resume|overwrite)", command) else " --overwrite"))
            return "run, for a few steps"
        if re.match(r"fovea data shapes\b", command):
            self.type(re.sub(r"--count \d+", "--count 60", command))
            return "run, with fewer pictures"
        if re.match(r"fovea serve\b", command):
            return self.serve(command)
        if re.match(r"curl\b", command):
            if not shutil.which("curl"):
                return "not run: there is no curl"
            self.type(command.replace("curl", "curl -fsS", 1).replace("localhost:8080", f"localhost:{self.port}"))
            return "run, on another port"
        self.type(command)
        return "run"

    def serve(self, command):
        """Served until the next server is started, on a port that is free."""
        self.close()
        server = subprocess.Popen(["bash", "-c", f"exec {command} --port {self.port} --threads 1 --log off"], cwd=self.folder,
                                  env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.servers.append(server)
        for _ in range(SECONDS * 10):
            if server.poll() is not None:
                raise Failure(f"exit status {server.returncode}: {server.stdout.read()[-500:]}")
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", self.port)) == 0:
                    return "run, on another port"
            time.sleep(0.1)
        raise Failure("does not answer")

    def close(self):
        for server in self.servers:
            server.terminate()
            server.communicate()
        self.servers.clear()


def lost_links(document):
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) + re.findall(r'\bsrc="([^"]+)"', text):
        if "://" not in target and not (document.parent / target).exists():
            yield target


def check(program, repository, documents):
    """How much is wrong."""
    failed = 0
    for path in sorted({*repository.glob("*.md"), *repository.glob("docs/*.md"), *repository.glob("models/**/*.md")}):
        for target in lost_links(path):
            failed += 1
            print(f"{path.relative_to(repository)}: nothing at {target}")
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(program, repository, pathlib.Path(folder))
        try:
            for name in documents:
                for line, command in commands(repository / name):
                    try:
                        print(f"{name}:{line}: {command}\n    {reader.follow(command)}", flush=True)
                    except Failure as failure:
                        failed += 1
                        print(f"{name}:{line}: {command}\n    FAILED, {failure}", flush=True)
        finally:
            reader.close()
    return failed


def self_test(program):
    """A document with four mistakes and two commands that are right."""
    with tempfile.TemporaryDirectory() as folder:
        repository = pathlib.Path(folder)
        (repository / "README.md").write_text("[lost](docs/lost.md)\n```sh\nfovea data \\\n  dates   # right\nfovea translat x\n"
                                              "fovea train lost.toml\nfovea data | grep tomatoes\nmake all\n```\n")
        failed = check(program, repository, ["README.md"])
    print("found" if failed == 4 else f"expected 4 mistakes to be found, got {failed}")
    return failed != 4


def main():
    program = sys.argv[1]
    if sys.argv[2] == "--self-test":
        return self_test(program)
    return 1 if check(program, pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]) else 0


if __name__ == "__main__":
    sys.exit(main())
