"""Threads, processes and signals: one model used by many, and Ctrl-C during work."""
import concurrent.futures
import multiprocessing
import subprocess
import sys
import threading
import time
import unittest

import fovea

SENTENCES = ["I love you.", "Where is the station?", "I like apples.", "He reads a book every day."] * 8

INTERRUPTED = """
import fovea, os, signal, threading, time
model = fovea.load("en-zh")
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
began = time.monotonic()
try:
    model.translate(["Where is the station, please? I would like to go there today."] * 200000, beam=5)
    print("finished")
except KeyboardInterrupt:
    print("KeyboardInterrupt", time.monotonic() - began < 60)
print(model.translate("I love you.").text)
"""

ENVIRONMENT = """
import os
before = dict(os.environ)
import fovea
assert dict(os.environ) == before, "import changes the environment"
"""

model = None


def translate(sentences):
    return [t.text for t in model.translate(sentences)]


def choose_threads(number):
    fovea.set_threads(number)


class Processes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        global model
        model = fovea.load("en-zh")
        cls.expected = translate(SENTENCES)

    def test_threads_share_a_model(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for found in pool.map(translate, [SENTENCES] * 8):
                self.assertEqual(found, self.expected)

    def test_other_threads_run_meanwhile(self):
        ticks, stop = [], threading.Event()

        def tick():
            while not stop.wait(0.001):
                ticks.append(time.monotonic())
        thread = threading.Thread(target=tick)
        thread.start()
        began = time.monotonic()
        translate(SENTENCES * 4)
        ended = time.monotonic()
        stop.set()
        thread.join()
        self.assertGreater(sum(began < t < ended for t in ticks), 2)

    def test_a_forked_process_translates_on_one_thread(self):
        with multiprocessing.get_context("fork").Pool(2) as pool:
            work = pool.map_async(translate, [SENTENCES] * 4)
            self.assertEqual(work.get(timeout=120), [self.expected] * 4)
            with self.assertRaisesRegex(fovea.Error, "threads: expected 1 in a process that was started by fork"):
                pool.apply_async(choose_threads, (2,)).get(timeout=60)

    def test_the_number_of_threads(self):
        try:
            fovea.set_threads(1)
            self.assertEqual(translate(SENTENCES), self.expected)
        finally:
            fovea.set_threads(0)
        with self.assertRaisesRegex(fovea.Error, "threads: expected 0 for all cores"):
            fovea.set_threads(-1)

    def test_ctrl_c_ends_work(self):
        done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=240)
        self.assertEqual(done.stdout.splitlines(), ["KeyboardInterrupt True", self.expected[0]], done.stderr)

    def test_import_leaves_the_environment_alone(self):
        subprocess.run([sys.executable, "-c", ENVIRONMENT], check=True)


if __name__ == "__main__":
    unittest.main()
