"""Training from Python: progress, stopping, Ctrl-C, errors."""
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import fovea

SMALL = {"data.generated": 300, "data.generated_valid": 20, "training.steps": 6, "validation.every": 3,
         "validation.metric": "loss", "validation.goal": 0, "model.hidden": 32,
         "model.embedding": 16, "training.precision": "f32", "threads": 1}

INTERRUPTED = """
import fovea, sys
settings = dict(%r, **{"training.steps": 1000000, "validation.every": 1000000, "folder": sys.argv[1]})
def callback(event):
    if isinstance(event, fovea.Step) and event.step == 3: print("running", flush=True)
try:
    fovea.train("dates", callback, settings=settings)
except KeyboardInterrupt:
    print("KeyboardInterrupt")
"""


class Training(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.place.name) / "run"
        self.settings = dict(SMALL, folder=self.folder)

    def tearDown(self):
        self.place.cleanup()

    def test_progress_and_result(self):
        events = []
        result = fovea.train("dates", events.append, settings=self.settings)
        steps = [e for e in events if isinstance(e, fovea.Step)]
        validations = [e for e in events if isinstance(e, fovea.Validation)]
        self.assertEqual([s.step for s in steps], [1, 2, 3, 4, 5, 6])
        self.assertTrue(all(s.loss > 0 and s.learning_rate > 0 and s.unit == "token" for s in steps))
        self.assertEqual([v.step for v in validations][:2], [3, 6])
        self.assertTrue(validations[0].improved and isinstance(validations[0].loss, float))
        self.assertTrue(any(isinstance(e, fovea.Message) and str(e) for e in events))
        self.assertEqual((result.steps, result.interrupted, result.folder), (6, False, str(self.folder)))
        self.assertIsInstance(fovea.load(result.folder).translate("1 may 1986").text, str)
        curves = fovea.curves(self.folder)
        self.assertIn("<svg", curves.svg())
        self.assertTrue(curves._repr_html_().startswith("<img"))
        self.assertIn("loss", curves.to_text())

    def test_the_callback_stops_it_and_it_resumes(self):
        result = fovea.train("dates", lambda event: not (isinstance(event, fovea.Step) and event.step == 2),
                             settings=self.settings)
        self.assertEqual((result.steps, result.interrupted), (2, True))
        self.assertTrue((self.folder / "checkpoint.safetensors").exists())
        again = fovea.train(self.folder, resume=True)
        self.assertEqual((again.steps, again.interrupted), (6, False))

    def test_an_exception_of_the_callback_arrives(self):
        class Mine(Exception):
            pass

        def callback(event):
            if isinstance(event, fovea.Step):
                raise Mine("enough")
        with self.assertRaisesRegex(Mine, "enough"):
            fovea.train("dates", callback, settings=self.settings)
        self.assertTrue((self.folder / "checkpoint.safetensors").exists())

    def test_ctrl_c_saves_a_checkpoint_and_raises(self):
        child = subprocess.Popen([sys.executable, "-c", INTERRUPTED % SMALL, str(self.folder)], stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "running\n")
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.communicate(timeout=60)[0], "KeyboardInterrupt\n")
        self.assertEqual(child.returncode, 0)
        self.assertTrue((self.folder / "checkpoint.safetensors").exists())
        self.assertGreaterEqual(fovea.train(self.folder, resume=True, settings={"training.steps": 3}).steps, 3)

    def test_the_gil_is_released(self):
        counted, stop = [], threading.Event()

        def count():
            while not stop.is_set():
                counted.append(1)
                time.sleep(0.001)
        thread = threading.Thread(target=count)
        thread.start()
        before = len(counted)
        fovea.train("dates", settings=self.settings)
        after = len(counted)
        stop.set()
        thread.join()
        self.assertGreater(after - before, 5)

    def test_errors(self):
        with self.assertRaisesRegex(fovea.Error, "datess: there is no such recipe; did you mean dates"):
            fovea.train("datess")
        with self.assertRaisesRegex(fovea.Error, "training.stepps.*training.steps"):
            fovea.train("dates", settings={"training.stepps": 3})
        with self.assertRaisesRegex(fovea.Error, "expected one of resume and overwrite"):
            fovea.train("dates", settings=self.settings, resume=True, overwrite=True)
        fovea.train("dates", settings=self.settings)
        with self.assertRaisesRegex(fovea.Error, "run"):
            fovea.train("dates", settings=self.settings)  # the folder has a run
        self.assertEqual(fovea.train("dates", settings=self.settings, overwrite=True).steps, 6)
        with self.assertRaisesRegex(fovea.Error, "nowhere"):
            fovea.curves("nowhere")


if __name__ == "__main__":
    unittest.main()
