"""Attention records: arrays without copies, views, and records of weights from elsewhere."""
import gc
import json
import pathlib
import tempfile
import unittest
import xml.dom.minidom

import fovea
import numpy


def softmax(scores):
    scores = numpy.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True)


class Arrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = fovea.load("en-zh")

    def test_weights_share_the_memory_of_the_record(self):
        record = self.model.attend("I love you.")
        for attention in record.attentions:
            weights = attention.weights
            rows = {"cross": len(record.target), "encoder-self": len(record.source), "decoder-self": len(record.target)}
            self.assertEqual(weights.shape[:3], (attention.layers, attention.heads, rows[attention.kind]))
            self.assertEqual(weights.dtype, numpy.float32)
            self.assertTrue(numpy.shares_memory(weights, attention.weights))
            numpy.testing.assert_allclose(numpy.nansum(weights, -1), 1, atol=1e-3)
            with self.assertRaises(ValueError):
                weights[0, 0, 0, 0] = 1
            self.assertIsNone(attention.scores)
        self.assertEqual(record.weights.shape[3], len(record.source))

    def test_an_array_keeps_its_record_alive(self):
        record = self.model.attend("I love you.")
        weights, copy = record.weights, record.weights.copy()
        del record
        gc.collect()
        self.model.attend(["Where is the station?"] * 20)  # would reuse the memory
        numpy.testing.assert_array_equal(weights, copy)

    def test_scores_become_weights(self):
        model = fovea.load("en-zh", precision="f32")  # in int8 and bf16 some kernels round queries and keys
        for beam in (1, 5):
            record = model.attend("I love you.", scores=True, beam=beam)
            cross = next(a for a in record.attentions if a.kind == "cross")
            numpy.testing.assert_allclose(softmax(cross.scores), cross.weights, atol=1e-6)

    def test_what_was_decoded_is_what_is_shown(self):
        texts = ["I love you.", "Where is the station?"]
        plain, shown = self.model.translate(texts, beam=3), self.model.translate(texts, beam=3, record=True, alternatives=2)
        self.assertEqual([t.text for t in plain], [t.record.target_text for t in shown])
        self.assertEqual(shown[0].record.search, "beam 3")
        steps = json.loads(shown[0].record.to_json())["steps"]
        self.assertEqual(len(steps[0]["alternatives"]), 2)

    def test_given_targets(self):
        record = self.model.attend("I love you.", "你好。")
        self.assertEqual((record.target_text, record.search), ("你好。", "forced"))


class Views(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.record = fovea.load("en-zh").attend("I love <you> & \"them\".")

    def test_it_shows_itself(self):
        pages = [self.record._repr_html_(), self.record.flow()._repr_html_(), self.record.steps()._repr_html_()]
        for page in pages:
            self.assertTrue(page.startswith("<iframe srcdoc=\""))
            self.assertNotIn("http:", page.replace("http://www.w3.org", "").replace("http-equiv", ""))
        self.assertEqual(len(set(pages)), 3)
        import html.parser
        frames = []

        class Parser(html.parser.HTMLParser):
            def handle_starttag(self, tag, attributes):
                frames.append((tag, dict(attributes)))
        Parser().feed(pages[0])
        self.assertEqual([tag for tag, _ in frames], ["iframe"])  # the page is one attribute, whatever its text is
        self.assertEqual(frames[0][1]["srcdoc"], self.record.heatmap().html())

    def test_every_view(self):
        for name in ("heatmap", "highlight", "flow", "steps", "heads"):
            view = getattr(self.record, name)()
            self.assertEqual(view.kind, name)
            self.assertEqual(xml.dom.minidom.parseString(view.svg()).documentElement.tagName, "svg")
            self.assertIn("<!DOCTYPE html>", view.html())
            self.assertIn("source: I love", view.to_text())
            self.assertEqual(self.record.view(name).svg(), view.svg())

    def test_options(self):
        self.assertNotEqual(self.record.heatmap(heads="one", layer=1, head=1).svg(), self.record.heatmap(heads="max").svg())
        self.assertIn("by words", self.record.heatmap(words=True).to_text(120))
        with self.assertRaisesRegex(TypeError, "heatmap: .*pallette.*palette"):
            self.record.heatmap(pallette="greys")
        with self.assertRaisesRegex(fovea.Error, "palette: expected one of blues, greys"):
            self.record.heatmap(palette="reds")
        with self.assertRaisesRegex(fovea.Error, "view heatmup: .*did you mean heatmap"):
            self.record.view("heatmup")
        with self.assertRaisesRegex(fovea.Error, "view strip: expected attention over a picture"):
            self.record.strip()

    def test_files(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.record.save(folder / "a.svg", "flow")
            self.assertEqual((folder / "a.svg").read_text(), self.record.flow().svg())
            self.record.save(folder / "a.html")
            self.assertEqual((folder / "a.html").read_text(), self.record.heatmap().html())
            self.record.heatmap(palette="greys").save(folder / "a.txt")
            self.record.save(folder / "a.json")
            again = fovea.read_records(folder / "a.json")
            self.assertEqual([r.to_json() for r in again], [self.record.to_json()])
            numpy.testing.assert_allclose(again[0].weights, self.record.weights, atol=1e-6)
            for wrong in ("a.gif", "a"):
                with self.assertRaisesRegex(fovea.Error, "expected the ending svg, png, pdf, html, txt or json"):
                    self.record.save(folder / wrong)
            with self.assertRaisesRegex(fovea.Error, "nowhere"):
                self.record.save(folder / "nowhere" / "a.svg")
            with self.assertRaisesRegex(fovea.Error, "JSON holds the whole record"):
                self.record.save(folder / "b.json", "flow")
            try:
                self.record.save(folder / "a.png")
            except fovea.Error as error:
                self.assertIn("librsvg", str(error))
            else:
                self.assertEqual((folder / "a.png").read_bytes()[:4], b"\x89PNG")


class GivenWeights(unittest.TestCase):
    def setUp(self):
        random = numpy.random.default_rng(1)
        self.weights = softmax(random.normal(size=(2, 3, 3, 4)))
        self.source, self.target = ["▁the", "▁cat", "s", "</s>"], ["▁die", "▁Katzen", "</s>"]

    def test_a_foreign_record(self):
        record = fovea.record(self.source, self.target, self.weights, model="somebody's")
        numpy.testing.assert_allclose(record.weights, self.weights, atol=1e-6)
        self.assertEqual((record.source_text, record.target_text), ("the cats", "die Katzen"))
        self.assertEqual([(t.text, t.begin, t.end, t.starts_word, t.mark) for t in record.source],
                         [("the", 0, 3, True, False), ("cat", 4, 7, True, False), ("s", 7, 8, False, False), ("</s>", 8, 8, True, True)])
        for name in ("heatmap", "highlight", "flow", "steps", "heads"):
            self.assertIn("cat", getattr(record, name)().svg())
        self.assertIn("somebody's", record.to_text())
        with tempfile.TemporaryDirectory() as folder:
            record.save(f"{folder}/a.json")
            self.assertEqual(fovea.read_records(f"{folder}/a.json")[0].to_json(), record.to_json())

    def test_fewer_dimensions(self):
        self.assertEqual(fovea.record(self.source, self.target, self.weights[0]).weights.shape, (1, 3, 3, 4))
        self.assertEqual(fovea.record(self.source, self.target, self.weights[0, 0].tolist()).weights.shape, (1, 1, 3, 4))

    def test_layers_in_a_sequence_with_a_batch_of_one(self):
        record = fovea.record(self.source, self.target, tuple(layer[None].astype(numpy.float16) for layer in self.weights))
        self.assertEqual(record.weights.shape, (2, 3, 3, 4))
        with self.assertRaisesRegex(fovea.Error, r"got the shape \[2, 2, 3, 3, 4\]"):
            fovea.record(self.source, self.target, [numpy.stack([layer, layer]) for layer in self.weights])

    def test_word_marks(self):
        weights = numpy.full((3, 3), 1 / 3)
        for tokens, text in ((["un", "##believ", "able"], "unbeliev able"), (["hello", "Ġwor", "ld"], "hello world"),
                             (["new@@", "er", "one"], "newer one"), (["a", "b", "c"], "a b c"), (["[CLS]", "b", "[SEP]"], "b")):
            self.assertEqual(fovea.record(tokens, weights).source_text, text)

    def test_self_attention(self):
        full = softmax(numpy.zeros((3, 3)))
        record = fovea.record(["a", "b", "c"], full)
        self.assertEqual(record.attentions[0].kind, "encoder-self")
        self.assertIn("self-attention", record.to_text())
        triangle = numpy.tril(numpy.ones((3, 3))) / numpy.arange(1, 4)[:, None]
        masked = fovea.record(["a", "b", "c"], triangle, causal=True).weights[0, 0]
        self.assertTrue(numpy.isnan(masked[0, 1]) and numpy.isnan(masked[1, 2]))
        numpy.testing.assert_allclose(masked[2], 1 / 3, atol=1e-6)
        with self.assertRaisesRegex(fovea.Error, "no weight right of the diagonal, got 0.33.* row 1, column 2"):
            fovea.record(["a", "b", "c"], full, causal=True)
        with self.assertRaisesRegex(fovea.Error, "causal weights between the tokens of one sequence"):
            fovea.record(["a", "b", "c"], ["d", "e", "f"], full, causal=True)

    def test_checks(self):
        with self.assertRaisesRegex(fovea.Error, r"expected weights with the shape \[layers, heads, 3, 4\].*got \(1, 1, 4, 3\)"):
            fovea.record(self.source, self.target, self.weights[0, 0].T)
        halves = self.weights.copy()
        halves[1, 2, 0] /= 2
        with self.assertRaisesRegex(fovea.Error, "sum to 1, got 0.5000 in layer 2, head 3, row 1; any_sums accepts"):
            fovea.record(self.source, self.target, halves)
        self.assertEqual(fovea.record(self.source, self.target, halves, any_sums=True).weights.shape, (2, 3, 3, 4))
        for wrong in (-0.5, numpy.inf):
            bad = self.weights.copy()
            bad[0, 1, 2, 3] = wrong
            with self.assertRaisesRegex(fovea.Error, "in layer 1, head 2, row 3, column 4"):
                fovea.record(self.source, self.target, bad, any_sums=True)
        masked = self.weights.copy()
        masked[0, 0, 0] = numpy.nan  # a row of padding
        fovea.record(self.source, self.target, masked)
        with self.assertRaisesRegex(fovea.Error, "expected tokens of the target"):
            fovea.record(self.source, [], self.weights)
        with self.assertRaisesRegex(fovea.Error, "expected tokens of the source"):
            fovea.record([], numpy.zeros((0, 0)))
        with self.assertRaises(TypeError):
            fovea.record([1, 2], numpy.full((2, 2), 0.5))

    def test_hostile_tokens_stay_text(self):
        tokens = ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "</iframe>"]
        page = fovea.record(tokens, numpy.full((3, 3), 1 / 3))._repr_html_()
        self.assertEqual(page.count("<"), 2)  # <iframe ...></iframe>


if __name__ == "__main__":
    unittest.main()
