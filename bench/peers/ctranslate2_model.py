"""Writes a CTranslate2 model folder from a Fovea folder, with the same 8-bit weights.

    python3 bench/peers/ctranslate2_model.py models/en-zh OUT

A token is named by its id in decimal, so that both programs read and write the same ids. Only what CTranslate2 computes
in the same way is converted: Transformers with pre-norm, sinusoidal positions and scaled dot-product attention.
"""
import array
import json
import math
import pathlib
import struct
import sys

VERSION, REVISION = 6, 7  # of the file format and of the Transformer's list of variables
FLOAT32, INT8, INT16 = 0, 1, 2  # type ids
POSITIONS = 512


class Folder:
    """The tensors of a Fovea folder: (type id, shape, bytes) by name."""

    def __init__(self, folder):
        path = folder / "model.safetensors"
        data = path.read_bytes()
        length = struct.unpack_from("<Q", data)[0]
        self.header = json.loads(data[8:8 + length])
        self.data = data[8 + length:]
        self.path = path

    def __contains__(self, name):
        return name in self.header

    def get(self, name):
        if name not in self.header:
            sys.exit(f"{self.path}: expected a tensor {name}")
        about = self.header[name]
        types = {"F32": FLOAT32, "I8": INT8}
        if about["dtype"] not in types:
            sys.exit(f"{self.path}: {name}: expected F32 or I8, got {about['dtype']}")
        begin, end = about["data_offsets"]
        return types[about["dtype"]], about["shape"], self.data[begin:end]


def concatenated(tensors):
    kind, shape, _ = tensors[0]
    return kind, [sum(t[1][0] for t in tensors)] + shape[1:], b"".join(t[2] for t in tensors)


def inverse(tensor):
    """Fovea multiplies by a scale, CTranslate2 divides by it. A row of zeros has the scale 0 or 1."""
    kind, shape, data = tensor
    return kind, shape, array.array("f", [1.0 / x if x else 1.0 for x in array.array("f", data)]).tobytes()


def sinusoids(depth):
    values = array.array("f")
    for position in range(POSITIONS):
        for i in range(0, depth, 2):
            angle = position / 10000.0 ** (i / depth)
            values.extend((math.sin(angle), math.cos(angle)))
    return FLOAT32, [POSITIONS, depth], values.tobytes()


def scalar(kind, value):
    return kind, [], struct.pack({INT8: "<b", INT16: "<h"}[kind], value)


def checked_model(folder):
    config = json.loads((folder / "config.json").read_text())
    model = config["model"]
    expected = {"architecture": "transformer", "norm": "pre", "activation": "relu", "positions": "sinusoidal"}
    attention = {"score": "scaled-dot", "scope": "global", "selection": "soft", "relative": "none", "coverage": False}
    for where, found, wanted in (("model", model, expected), ("attention", model["attention"], attention),
                                 ("self_attention", model["self_attention"], attention)):
        for key, value in wanted.items():
            if found[key] != value:
                sys.exit(f"{folder}/config.json: {where}.{key}: expected {value}, got {found[key]}")
    if model["attention"]["heads"] != model["self_attention"]["heads"]:
        sys.exit(f"{folder}/config.json: expected as many heads in attention as in self_attention")
    return config, model


class Converter:
    def __init__(self, folder, model):
        self.weights, self.model = Folder(folder), model
        self.variables, self.aliases = {}, {}

    def matrix(self, to, names):
        self.variables[f"{to}/weight"] = concatenated([self.weights.get(n) for n in names])
        if f"{names[0]}.scale" in self.weights:
            scales = [self.weights.get(f"{n}.scale") for n in names]
            self.variables[f"{to}/weight_scale"] = inverse(concatenated(scales))

    def linear(self, to, names):
        self.matrix(to, [f"{n}.weight" for n in names])
        self.variables[f"{to}/bias"] = concatenated([self.weights.get(f"{n}.bias") for n in names])

    def norm(self, to, name):
        for part in ("gamma", "beta"):
            self.variables[f"{to}/layer_norm/{part}"] = self.weights.get(f"{name}.norm.{part}")

    def layer(self, to, name, cross):
        self.norm(f"{to}/self_attention", f"{name}.self")
        self.linear(f"{to}/self_attention/linear_0", [f"{name}.self.{x}" for x in ("query", "keys", "values")])
        self.linear(f"{to}/self_attention/linear_1", [f"{name}.self.out"])
        if cross:
            self.norm(f"{to}/attention", f"{name}.cross")
            self.linear(f"{to}/attention/linear_0", [f"{name}.cross.query"])
            self.linear(f"{to}/attention/linear_1", [f"{name}.cross.keys", f"{name}.cross.values"])
            self.linear(f"{to}/attention/linear_2", [f"{name}.cross.out"])
        self.norm(f"{to}/ffn", f"{name}.forward")
        self.linear(f"{to}/ffn/linear_0", [f"{name}.forward.in"])
        self.linear(f"{to}/ffn/linear_1", [f"{name}.forward.out"])

    def side(self, side, embeddings):
        self.matrix(f"{side}/{embeddings}", [f"{side}.words.table"])
        self.norm(side, side)
        self.variables[f"{side}/position_encodings/encodings"] = sinusoids(self.model["embedding"])
        self.variables[f"{side}/num_heads"] = scalar(INT16, self.model["attention"]["heads"])
        for name, value in (("pre_norm", 1), ("activation", 0), ("scale_embeddings", 1)):
            self.variables[f"{side}/{name}"] = scalar(INT8, value)
        for i in range(self.model[f"{side}_layers"]):
            self.layer(f"{side}/layer_{i}", f"{side}.{i}", cross=side == "decoder")

    def convert(self):
        self.side("encoder", "embeddings_0")
        self.side("decoder", "embeddings")
        self.variables["encoder/embeddings_merge"] = scalar(INT8, 0)
        self.variables["decoder/alignment_layer"] = scalar(INT16, -1)
        self.variables["decoder/alignment_heads"] = scalar(INT16, 1)
        if self.model["tie_embeddings"]:
            self.aliases["decoder/projection/weight"] = "decoder/embeddings/weight"
        else:
            self.matrix("decoder/projection", ["decoder.out.weight"])
        self.variables["decoder/projection/bias"] = self.weights.get("decoder.out.bias")

    def write(self, path):
        def text(value):
            return struct.pack("<H", len(value) + 1) + value.encode() + b"\0"

        with open(path, "wb") as out:
            out.write(struct.pack("<I", VERSION) + text("TransformerSpec") + struct.pack("<I", REVISION))
            out.write(struct.pack("<I", len(self.variables)))
            for name, (kind, shape, data) in sorted(self.variables.items()):
                out.write(text(name) + struct.pack(f"<B{len(shape)}I", len(shape), *shape))
                out.write(struct.pack("<BI", kind, len(data)) + data)
            out.write(struct.pack("<I", len(self.aliases)))
            for alias, name in self.aliases.items():
                out.write(text(alias) + text(name))


def main():
    folder, out = (pathlib.Path(p) for p in sys.argv[1:])
    config, model = checked_model(folder)
    converter = Converter(folder, model)
    converter.convert()
    out.mkdir(parents=True, exist_ok=True)
    converter.write(out / "model.bin")
    special = ["<pad>", "<unk>", "<s>", "</s>"]
    for side in ("source", "target"):
        ids = special + [str(i) for i in range(len(special), config[f"{side}_words"])]
        (out / f"{side}_vocabulary.json").write_text(json.dumps(ids))
    (out / "config.json").write_text(json.dumps({
        "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "decoder_start_token": "<s>",
        "add_source_bos": False, "add_source_eos": config["end_source"], "layer_norm_epsilon": 1e-5}))


main()
