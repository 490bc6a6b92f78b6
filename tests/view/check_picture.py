"""Checks pictures (SVG, or HTML in XML's syntax) with parsers that are not Fovea's own.

check_picture.py TOKENS FILE...: each FILE parses as XML, refers to nothing outside itself, runs no script but the one its
policy names, and its text holds every token of TOKENS (separated by NUL).
"""
import base64
import hashlib
import html.parser
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

VOID = {"meta", "input"}
RUNS = "text/javascript"


def local(name: str) -> str:
    return name.rsplit("}", 1)[-1]


class Page(html.parser.HTMLParser):
    """The page as HTML: elements that nest, its scripts, its policy."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.scripts, self.policy, self.problems = [], [], "", []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if attrs.get("http-equiv") == "Content-Security-Policy":
            self.policy = attrs["content"]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append([attrs.get("type", RUNS), ""])

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"HTML: </{tag}> closes another element")

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += data


def problems_of_page(text: str) -> list[str]:
    page = Page()
    page.feed(text)
    page.close()
    found = page.problems + [f"HTML: <{tag}> is not closed" for tag in page.open]
    for kind, content in page.scripts:
        if kind == "application/json":
            json.loads(content)
            continue
        digest = "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        if f"script-src '{digest}'" not in page.policy:
            found.append(f"the policy does not allow the script {digest}: {page.policy}")
    if "default-src 'none'" not in page.policy:
        found.append("the policy allows what it does not name")
    return found


def problems(text: str, tokens: list[str]) -> list[str]:
    root = ElementTree.fromstring(text)
    found = []
    for element in root.iter():
        name = local(element.tag)
        if name not in ("svg", "html") and name in ("iframe", "object", "link", "foreignObject", "base"):
            found.append(f"<{name}> is not for pictures")
        for attribute, value in element.attrib.items():
            if local(attribute) in ("href", "src") and not value.startswith(("data:image/png;base64,", "data:image/jpeg;base64,", "#")):
                found.append(f"{name} refers to {value[:80]}")
            if local(attribute).startswith("on"):
                found.append(f"{name} has a script in {attribute}")
    scripts = [e for e in root.iter() if local(e.tag) == "script"]
    if local(root.tag) == "svg" and scripts:
        found.append("a script in an SVG")
    outside = re.sub(r'xmlns="http://www\.w3\.org/2000/svg"', "", text)
    found += [f"an address: {match}" for match in re.findall(r"https?://.{0,40}|url\((?!#).{0,40}|@import.{0,40}", outside)]
    if local(root.tag) == "html":
        found += problems_of_page(text)
    shown = "\0".join(e.text or "" for e in root.iter() if local(e.tag) != "script")
    return found + [f"the token {token!r} is missing" for token in tokens if token not in shown]


if __name__ == "__main__":
    wanted = [token for token in pathlib.Path(sys.argv[1]).read_bytes().decode().split("\0") if token]
    wrong = []
    for name in sys.argv[2:]:
        path = pathlib.Path(name)
        try:
            wrong += [f"{path.name}: {problem}" for problem in problems(path.read_bytes().decode(), wanted)]
        except ValueError as error:  # no UTF-8, no JSON
            wrong.append(f"{path.name}: {error}")
        except ElementTree.ParseError as error:
            wrong.append(f"{path.name}: {error}")
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)
