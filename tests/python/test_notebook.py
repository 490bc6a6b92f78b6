"""The notebook of python/examples, executed: every cell runs, and the views are in its output."""
import importlib.util
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "python/examples/fovea.ipynb"
MISSING = [name for name in ("nbconvert", "ipykernel") if importlib.util.find_spec(name) is None]


class Notebook(unittest.TestCase):
    def test_it_is_committed_without_output(self):
        for cell in json.loads(NOTEBOOK.read_text())["cells"]:
            self.assertFalse(cell.get("outputs"))

    @unittest.skipIf(MISSING, f"needs {' and '.join(MISSING)} (jupyter-nbconvert, python3-ipykernel)")
    def test_it_runs(self):
        import nbformat
        from nbconvert import HTMLExporter
        from nbconvert.preprocessors import ExecutePreprocessor
        text = NOTEBOOK.read_text()
        short = text.replace('\\"training.steps\\": 600, \\"validation.every\\": 100',
                             '\\"training.steps\\": 8, \\"validation.every\\": 4, \\"validation.sentences\\": 4, '
                             '\\"data.generated\\": 400, \\"data.generated_valid\\": 20')
        self.assertNotEqual(short, text)
        if os.environ.get("FOVEA_NOTEBOOK"):  # to look at it: train as it says and leave the page there
            short = text
        notebook = nbformat.reads(short, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            # The kernel is this Python, whichever is first in the PATH.
            kernel = pathlib.Path(folder) / "kernels/python3"
            kernel.mkdir(parents=True)
            (kernel / "kernel.json").write_text(json.dumps(
                {"argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                 "display_name": "Python 3", "language": "python"}))
            os.environ["JUPYTER_PATH"] = folder
            os.environ["JUPYTER_DATA_DIR"] = folder  # nothing of the user's own settings
            ExecutePreprocessor(timeout=600, kernel_name="python3").preprocess(notebook, {"metadata": {"path": folder}})
        outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
        pages = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
        self.assertEqual(sum(page.startswith("<iframe srcdoc") for page in pages), 6)
        self.assertEqual(sum(page.startswith("<img") for page in pages), 1)
        self.assertFalse([o for o in outputs if o.output_type == "error"])
        page, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook)
        self.assertEqual(len(re.findall("<iframe srcdoc", page)), 6)
        if where := os.environ.get("FOVEA_NOTEBOOK"):
            pathlib.Path(where).write_text(HTMLExporter().from_notebook_node(notebook)[0])


if __name__ == "__main__":
    unittest.main()
