"""Models from Python: the same answers as the program's, and clear exceptions."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import warnings

import fovea
import numpy

PROGRAM = os.environ["FOVEA_PROGRAM"]
SENTENCES = ["I love you.", "", "Where is the station?", "I like apples."]


def program(*arguments, text=None):
    done = subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Translation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = fovea.load("en-zh")

    def test_equals_the_program(self):
        expected = program("translate", "-m", "en-zh", "--json", "--beam", "4", "--nbest", "2", text="\n".join(SENTENCES) + "\n")
        found = self.model.translate(SENTENCES, beam=4, nbest=2)
        self.assertEqual(len(found), 4)
        for line, translation in zip(expected, found):
            self.assertEqual(translation.text, line["translation"])
            self.assertEqual(translation.source_tokens, line["source_tokens"])
            self.assertEqual([c.text for c in translation.candidates], [c["text"] for c in line["candidates"]])
            for c, theirs in zip(translation.candidates, line["candidates"]):
                self.assertAlmostEqual(c.score, theirs["score"], places=6)
                self.assertAlmostEqual(c.log_probability, theirs["log_probability"], places=6)
                self.assertIsNone(c.record)

    def test_a_string_has_one_translation(self):
        one = self.model.translate("I love you.")
        self.assertIsInstance(one, fovea.Translation)
        self.assertEqual(str(one), one.text)
        self.assertIn(repr(one.text), repr(one))
        self.assertEqual(self.model.translate(iter(["I love you."]))[0].text, one.text)
        self.assertEqual(self.model.translate([]), [])

    def test_options_are_those_of_the_program(self):
        with self.assertRaisesRegex(TypeError, "translate: .*beam_size.*beam"):
            self.model.translate("a", beam_size=3)
        with self.assertRaisesRegex(fovea.Error, "beam: expected"):
            self.model.translate("a", beam=0)
        with self.assertRaisesRegex(fovea.Error, "nbest: expected at most the beam size of 5, got 9"):
            self.model.translate("a", nbest=9)  # the beam that the model's folder stores
        with self.assertRaisesRegex(fovea.Error, "nbest: expected at most the beam size of 1, got 3"):
            self.model.translate("a", nbest=3, beam=1)
        with self.assertRaisesRegex(fovea.Error, "beam: expected an integer"):
            self.model.translate("a", beam="five")
        with self.assertRaisesRegex(TypeError, "beam: expected a number"):
            self.model.translate("a", beam=[5])
        with self.assertRaisesRegex(fovea.Error, "record=True"):
            self.model.translate("a", alternatives=3)
        with self.assertWarnsRegex(UserWarning, "length_penalty"):
            self.model.translate("a", beam=1, length_penalty=1.5)
        numbers = {"beam": numpy.int64(2), "length_penalty": numpy.float32(0.5)}
        self.assertEqual(self.model.translate("I love you.", **numbers).text, self.model.translate("I love you.", beam=2, length_penalty=0.5).text)

    def test_sampling_is_seeded(self):
        first, again, other = (self.model.translate("Where is the station?", sample=True, seed=seed, nbest=4) for seed in (3, 3, 4))
        self.assertEqual([c.text for c in first.candidates], [c.text for c in again.candidates])
        self.assertNotEqual([c.log_probability for c in first.candidates], [c.log_probability for c in other.candidates])

    def test_wrong_types(self):
        for wrong in (5, None, b"bytes", ["a", 5], [["a"]]):
            with self.assertRaisesRegex(TypeError, "translate: expected a string or a sequence of strings, got"):
                self.model.translate(wrong)

    def test_scores(self):
        best = self.model.translate("I love you.")
        score = self.model.score("I love you.", best.text)
        self.assertAlmostEqual(score.log_probability, best.log_probability, delta=0.05)
        self.assertAlmostEqual(float(score), float(score.log_probabilities.sum()), places=4)
        worse = self.model.score(["I love you."], ["苹果"])[0]
        self.assertLess(worse.log_probability, score.log_probability)
        self.assertGreater(worse.perplexity, score.perplexity)
        with self.assertRaisesRegex(fovea.Error, "score: expected a target for each of 2 sources, got 1"):
            self.model.score(["a", "b"], ["c"])

    def test_an_ensemble(self):
        twice = fovea.load(["en-zh", "en-zh"])
        self.assertEqual(twice.translate("I love you.").text, self.model.translate("I love you.").text)


class OtherTasks(unittest.TestCase):
    def test_classify(self):
        texts = ["a film to remember", "two hours of nothing", ""]
        expected = program("classify", "-m", "sentiment-en", "--json", text="\n".join(texts) + "\n")
        model = fovea.load("sentiment-en")
        for line, found in zip(expected, model.classify(texts)):
            self.assertEqual(found.label, line["label"])
            self.assertAlmostEqual(found.probability, line["probability"], places=5)
            self.assertEqual([c.label for c in found.classes], [c["label"] for c in line["classes"]])
            self.assertIsNone(found.record)
        self.assertEqual(sorted(model.labels), sorted(c["label"] for c in expected[0]["classes"]))
        record = model.attend(texts[0])
        self.assertEqual(record.classes[0].label, expected[0]["label"])
        self.assertEqual(record.view().kind, "highlight")

    def test_answer(self):
        passage, question = "长城位于中国北部，全长两万多公里。", "长城位于哪里？"
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(passage)
            file.flush()
            expected = program("answer", "-m", "answer-zh", "--passage", file.name, "--json", question)[0]
        model = fovea.load("answer-zh")
        found = model.answer(passage, question, nbest=2)
        self.assertEqual((found.text, found.begin, found.end), (expected["text"], expected["begin"], expected["end"]))
        self.assertEqual(passage[found.begin:found.end], found.text)
        self.assertLessEqual(len(found.candidates), 2)
        self.assertEqual(len(model.answer(passage, [question, question])), 2)
        self.assertIn(question, model.attend(passage, question).target_text)
        with self.assertRaisesRegex(TypeError, "attend: expected a passage and a question"):
            model.attend(passage)

    def test_caption(self):
        model = fovea.load("caption-en")
        red = numpy.zeros((60, 80, 3), numpy.uint8)
        red[..., 0] = 200
        one = model.caption(red, beam=2)
        self.assertIsInstance(one.text, str)
        self.assertGreater(len(one.text), 3)
        record = model.attend(red)
        self.assertEqual(record.view().kind, "strip")
        self.assertIn("<svg", record.overlay().html())
        with self.assertRaisesRegex(fovea.Error, "view flow: expected overlay, strip or heads"):
            record.flow()
        with self.assertRaisesRegex(fovea.Error, "expected an array of uint8 with the shape"):
            model.caption(red.astype(float))
        with self.assertRaisesRegex(fovea.Error, "nowhere.jpg"):
            model.caption("nowhere.jpg")


class Loading(unittest.TestCase):
    def test_what_is_not_there(self):
        with self.assertRaisesRegex(fovea.Error, "en-zhh: there is no such model folder; did you mean en-zh"):
            fovea.load("en-zhh")
        with self.assertRaisesRegex(fovea.Error, "runs/nowhere"):
            fovea.load("runs/nowhere")
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(fovea.Error, "config.json"):
                fovea.load(pathlib.Path(folder))
        with self.assertRaises(TypeError):
            fovea.load(5)
        with self.assertRaisesRegex(fovea.Error, "precision: expected"):
            fovea.load("en-zh", precision="f7")

    def test_a_model_of_another_task(self):
        model = fovea.load("sentiment-en")
        for call in (lambda: model.translate("a"), lambda: model.answer("a", "b"), lambda: model.caption("a.png"),
                     lambda: model.score("a", "b")):
            with self.assertRaisesRegex(fovea.Error, r"expected a model of another task, got one of the task classify, which has classify\(\)"):
                call()
        with self.assertRaisesRegex(fovea.Error, "got one of the task sequence"):
            fovea.load("en-zh").classify("a")

    def test_models_by_name(self):
        self.assertIn("en-zh", [pathlib.Path(folder).name for folder in fovea.models()])


if __name__ == "__main__":
    unittest.main()
