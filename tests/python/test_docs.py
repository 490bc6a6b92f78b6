"""The Python code in the documents runs."""
import os
import pathlib
import re
import tempfile
import types
import unittest
import warnings

import fovea
import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHORT = {"training.steps": 4, "validation.every": 2, "validation.sentences": 4, "data.generated": 300,
         "data.generated_valid": 10, "threads": 1}


def blocks(document):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text(), re.M | re.S)


class Documents(unittest.TestCase):
    def run_blocks(self, document, least):
        layer = numpy.tril(numpy.ones((3, 3))) / numpy.arange(1, 4)[:, None]
        names = {"tokens": ["a", "b", "c"], "source_tokens": ["a", "b", "c"], "target_tokens": ["d", "e", "f"],
                 "weights": layer, "attentions": layer, "outputs": types.SimpleNamespace(attentions=(layer[None, None],) * 2)}
        train = fovea.train
        fovea.train = lambda recipe, callback=None, settings={}, **options: train(
            recipe, callback, settings={**settings, **SHORT}, **options)  # cut short
        before = os.getcwd()
        found = blocks(document)
        try:
            with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                os.chdir(folder)
                for block in found:
                    exec(compile(block, document, "exec"), names)
        finally:
            os.chdir(before)
            fovea.train = train
        self.assertGreaterEqual(len(found), least)

    def test_python_md(self):
        self.run_blocks("docs/python.md", 4)

    def test_readme(self):
        self.run_blocks("README.md", 1)


if __name__ == "__main__":
    unittest.main()
