"""Recipes of scripts/fetch_models.py: model files that are derived from the members of published packages.

Each function takes the bytes of its sources and returns the bytes of one file, always the same for the same sources: the
manifest pins the hash of both. Python 3.9 or later, standard library only.
"""

import ast
import gzip
import io
import json
import lzma
import struct
import tarfile
import zipfile
from operator import itemgetter

# --- NanoDet: a TensorFlow.js graph model to ONNX --------------------------------------------------------------------

NHWC = [0, 2, 3, 1]
F32, I64 = 1, 7


def nanodet_onnx(graph, weights):
    """Converts the published TensorFlow.js graph of NanoDet to ONNX.

    Tensors keep the layout NCHW throughout: transpositions only change how a name is read, paddings go into the
    convolution behind them, added constants become biases. Weights are stored as the float32 of their float16.
    """
    return _Conversion(json.loads(graph), weights).model()


class _Conversion:
    def __init__(self, graph, weights):
        topology = graph["modelTopology"]["node"]
        self.nodes = {node["name"]: node for node in topology}
        self.order = [node["name"] for node in topology]
        self.constants = dict(_constants(graph["weightsManifest"][0]["weights"], weights))
        self.outputs = sorted(graph["signature"]["outputs"])
        self.users = {}
        for node in topology:
            for name in node.get("input", []):
                self.users.setdefault(_base(name), []).append(node["name"])
        self.values, self.emitted, self.initializers, self.padded = {}, [], [], {}

    def model(self):
        for name in self.order:
            self.value(name)
        inputs = [_value_info("image", [1, 3, 416, 416])]
        outputs = []
        for name in self.outputs:
            stored, perm, shape = self.value(_base(name))
            output = _base(name).lower()
            if perm == sorted(perm):
                self.emit("Identity", [stored], output)
            else:
                self.emit("Transpose", [stored], output, perm=perm)
            outputs.append(_value_info(output, [shape[axis] for axis in perm]))
        body = b"".join(_field(1, node) for node in self.emitted) + _field(2, b"nanodet-416")
        body += b"".join(_field(5, tensor) for tensor in self.initializers)
        body += b"".join(_field(11, info) for info in inputs) + b"".join(_field(12, info) for info in outputs)
        return _number(1, 8) + _field(2, b"muster") + _field(7, body) + _field(8, _number(2, 13))

    def emit(self, op, inputs, output, **attributes):
        node = b"".join(_field(1, name.encode()) for name in inputs)
        node += _field(2, output.encode()) + _field(3, output.encode()) + _field(4, op.encode())
        node += b"".join(_field(5, _attribute(name, value)) for name, value in sorted(attributes.items()))
        self.emitted.append(node)

    def initializer(self, name, shape, values, kind=F32):
        packed = struct.pack(f"<{len(values)}{'f' if kind == F32 else 'q'}", *values)
        dims = b"".join(_number(1, size) for size in shape)
        self.initializers.append(dims + _number(2, kind) + _field(8, name.encode()) + _field(9, packed))
        return name

    def constant(self, name):
        """Shape and values of a constant, folding what is computed from constants."""
        name = _base(name)
        if name in self.constants:
            return self.constants[name]
        node = self.nodes[name]
        of = [self.constant(each) for each in node.get("input", [])]
        if node["op"] == "SparseToDense":
            (_, places), (_, size), (_, values), (_, default) = of
            dense = [default[0]] * size[0]
            for number, place in enumerate(places):
                dense[place] = values[number if len(values) > 1 else 0]
            self.constants[name] = (size, dense)
        elif node["op"] in ("AddV2", "Add"):
            self.constants[name] = (of[0][0], [a + b for a, b in zip(of[0][1], of[1][1])])
        else:
            raise ValueError(f"{name}: {node['op']} is not folded")
        return self.constants[name]

    def is_constant(self, name):
        name = _base(name)
        if name in self.constants:
            return True
        node = self.nodes[name]
        return node["op"] in ("SparseToDense", "AddV2", "Add") and all(map(self.is_constant, node["input"]))

    def value(self, reference):
        """Stored name, the order in which TensorFlow reads its axes, and the stored shape."""
        if reference in self.values:
            return self.values[reference]
        name = _base(reference)
        node = self.nodes[name]
        op = node["op"]
        if op == "Placeholder":
            self.values[name] = ("image", [0, 1, 2, 3], [1, 3, 416, 416])
        elif op == "Const" or self.is_constant(name):
            return None
        else:
            getattr(self, "on_" + op)(name, node, node["input"])
        return self.values[reference]

    def on_Identity(self, name, _node, inputs):
        self.values[name] = self.value(inputs[0])

    def on_Transpose(self, name, _node, inputs):
        stored, perm, shape = self.value(inputs[0])
        _, order = self.constant(inputs[1])
        if _base(inputs[0]) in self.padded:
            self.padded[name] = self.padded[_base(inputs[0])]
        self.values[name] = (stored, [perm[axis] for axis in order], shape)

    def on_Pad(self, name, _node, inputs):
        stored, perm, shape = self.value(inputs[0])
        _, flat = self.constant(inputs[1])
        pads = [[0, 0] for _ in perm]
        for axis, low, high in zip(perm, flat[0::2], flat[1::2]):
            pads[axis] = [low, high]
        self.padded[name] = pads
        self.values[name] = (stored, perm, [size + sum(pad) for size, pad in zip(shape, pads)])

    on_PadV2 = on_Pad

    def spatial(self, name):
        """Padding of the input of a window, as ONNX lists it."""
        pads = self.padded.get(_base(name), [[0, 0]] * 4)
        return [pads[2][0], pads[3][0], pads[2][1], pads[3][1]]

    def on_Conv2D(self, name, node, inputs):
        stored, perm, shape = self.value(inputs[0])
        (height, width, read, written), kernel = self.constant(inputs[1])
        if perm != NHWC or node["attr"]["padding"]["s"] not in ("VkFMSUQ=", "VALID"):
            raise ValueError(f"{name}: layout {perm}, padding {node['attr']['padding']}")
        strides = [int(size) for size in node["attr"]["strides"]["list"]["i"]][1:3]
        groups = shape[1] // read
        turned = [kernel[((y * width + x) * read + i) * written + o]
                  for o in range(written) for i in range(read) for y in range(height) for x in range(width)]
        sizes = [written] + [(size - k) // stride + 1 for size, k, stride in zip(shape[2:], (height, width), strides)]
        operands = [stored, self.initializer(name + "/kernel", [written, read, height, width], turned)]
        # The constant that its only user adds is the bias.
        end, users = name, self.users.get(name, [])
        chain = [name]
        while len(users) == 1 and self.nodes[users[0]]["op"] == "Transpose":
            chain.append(users[0])
            users = self.users.get(users[0], [])
        if len(users) == 1 and self.nodes[users[0]]["op"] in ("Add", "AddV2"):
            added = [each for each in self.nodes[users[0]]["input"] if self.is_constant(each)]
            if added and len(self.constant(added[0])[1]) == written:
                operands.append(self.initializer(name + "/bias", [written], self.constant(added[0])[1]))
                end = users[0]
        self.emit("Conv", operands, name, group=groups, kernel_shape=[height, width], pads=self.spatial(inputs[0]),
                  strides=strides)
        self.values[name] = (name, NHWC, [1] + sizes)
        if end != name:
            self.values[end] = self.value(chain[-1])

    def on_Add(self, name, _node, inputs):
        if name in self.values:
            return
        known = [each for each in inputs if self.is_constant(each)]
        if known:
            stored, perm, shape = self.value(next(each for each in inputs if each not in known))
            size, values = self.constant(known[0])
            aligned = [1] * (len(perm) - len(size)) + size
            turned = [1] * len(perm)
            for axis, extent in zip(perm, aligned):
                turned[axis] = extent
            if sum(extent > 1 for extent in turned) > 1:
                raise ValueError(f"{name}: adds a constant of shape {turned}")
            second = self.initializer(name + "/term", turned, values)
        else:
            stored, perm, shape = self.value(inputs[0])
            second, other, _ = self.value(inputs[1])
            if perm != other:
                raise ValueError(f"{name}: layouts {perm} and {other}")
        self.emit("Add", [stored, second], name)
        self.values[name] = (name, perm, shape)

    on_AddV2 = on_Add

    def same_shape(self, op, name, inputs, **attributes):
        stored, perm, shape = self.value(inputs[0])
        self.emit(op, [stored], name, **attributes)
        self.values[name] = (name, perm, shape)

    def on_LeakyRelu(self, name, node, inputs):
        self.same_shape("LeakyRelu", name, inputs, alpha=float(node["attr"]["alpha"]["f"]))

    def on_Sigmoid(self, name, _node, inputs):
        self.same_shape("Sigmoid", name, inputs)

    def on_MaxPool(self, name, node, inputs):
        stored, perm, shape = self.value(inputs[0])
        kernel = [int(size) for size in node["attr"]["ksize"]["list"]["i"]][1:3]
        strides = [int(size) for size in node["attr"]["strides"]["list"]["i"]][1:3]
        if perm != NHWC:
            raise ValueError(f"{name}: layout {perm}")
        self.emit("MaxPool", [stored], name, kernel_shape=kernel, pads=self.spatial(inputs[0]), strides=strides)
        sizes = [(size - k) // stride + 1 for size, k, stride in zip(shape[2:], kernel, strides)]
        self.values[name] = (name, NHWC, shape[:2] + sizes)

    def on_ConcatV2(self, name, _node, inputs):
        parts = [self.value(each) for each in inputs[:-1]]
        perm = parts[0][1]
        if any(part[1] != perm for part in parts):
            raise ValueError(f"{name}: layouts {[part[1] for part in parts]}")
        axis = perm[self.constant(inputs[-1])[1][0]]
        self.emit("Concat", [part[0] for part in parts], name, axis=axis)
        shape = list(parts[0][2])
        shape[axis] = sum(part[2][axis] for part in parts)
        self.values[name] = (name, perm, shape)

    def on_SplitV(self, name, _node, inputs):
        stored, perm, shape = self.value(inputs[0])
        sizes, axis = self.constant(inputs[1])[1], perm[self.constant(inputs[2])[1][0]]
        names = [name if not number else f"{name}:{number}" for number in range(len(sizes))]
        split = self.initializer(name + "/split", [len(sizes)], sizes, I64)
        node = _field(1, stored.encode()) + _field(1, split.encode())
        node += b"".join(_field(2, each.encode()) for each in names) + _field(3, name.encode()) + _field(4, b"Split")
        self.emitted.append(node + _field(5, _attribute("axis", axis)))
        for each, size in zip(names, sizes):
            part = list(shape)
            part[axis] = size
            self.values[each] = (each, perm, part)

    def on_ResizeBilinear(self, name, node, inputs):
        stored, perm, shape = self.value(inputs[0])
        _, size = self.constant(inputs[1])
        attributes = node["attr"]
        if perm != NHWC or attributes.get("align_corners", {}).get("b"):
            raise ValueError(f"{name}: {perm} {attributes}")
        mode = "half_pixel" if attributes.get("half_pixel_centers", {}).get("b") else "asymmetric"
        sizes = self.initializer(name + "/sizes", [4], shape[:2] + size, I64)
        self.emit("Resize", [stored, "", "", sizes], name, coordinate_transformation_mode=mode, mode="linear")
        self.values[name] = (name, NHWC, shape[:2] + size)

    def on_Reshape(self, name, _node, inputs):
        stored, perm, shape = self.value(inputs[0])
        _, size = self.constant(inputs[1])
        if perm != sorted(perm):
            self.emit("Transpose", [stored], name + "/read", perm=perm)
            stored, shape = name + "/read", [shape[axis] for axis in perm]
        total = 1
        for extent in shape:
            total *= extent
        known = 1
        for extent in size:
            known *= extent if extent > 0 else 1
        size = [extent if extent > 0 else total // known for extent in size]
        self.emit("Reshape", [stored, self.initializer(name + "/shape", [len(size)], size, I64)], name)
        self.values[name] = (name, list(range(len(size))), size)


def _base(name):
    return name.split(":")[0].lstrip("^")


def _constants(manifest, data):
    at = 0
    for entry in manifest:
        shape = entry["shape"]
        count = 1
        for size in shape:
            count *= size
        kind = entry.get("quantization", {}).get("dtype") or entry["dtype"]
        code, width = {"float16": ("e", 2), "float32": ("f", 4), "int32": ("i", 4)}[kind]
        yield entry["name"], (shape, list(struct.unpack_from(f"<{count}{code}", data, at)))
        at += count * width
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes of weights are left over")


def _varint(value):
    out = bytearray()
    value &= (1 << 64) - 1
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def _number(field, value):
    return _varint(field << 3) + _varint(value)


def _field(field, data):
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _attribute(name, value):
    out = _field(1, name.encode())
    if isinstance(value, float):
        return out + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, 1)
    if isinstance(value, int):
        return out + _number(3, value) + _number(20, 2)
    if isinstance(value, str):
        return out + _field(4, value.encode()) + _number(20, 3)
    return out + b"".join(_number(8, each) for each in value) + _number(20, 7)


def _value_info(name, shape):
    dims = b"".join(_field(1, _number(1, size)) for size in shape)
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, F32) + _field(2, dims)))


# --- Language identification: the table of py3langid, held to the languages that Muster names ------------------------

# The codes of the 84 languages. Where the table has another code for one, it stands behind the colon.
LANGUAGES = (
    "af am ar az be bg bn bs ca cs cy da de el en es et eu fa fi fr ga gu ha he hi hr ht hu hy id is it ja jv ka kk km kn ko "
    "ku lg lt lv mi mk ml mn mr ms my nb:no ne nl or pa pl ps pt ro ru si sk sl sn so sq sr st sv sw ta te th tl tr uk ur uz "
    "vi xh yo zh zu"
).split()


def language_table(source):
    """Converts the published table (NumPy arrays in an xz file) to one binary file of little-endian numbers.

    Layout: the magic `MLID1\\n`, u32 counts of languages, states, transition rows and features; the languages' codes, 3 bytes
    each; f32 prior of each language; u16 transition row of each state; i32 feature of each state (-1: none); u32 next state by
    row and byte; f16 weight by feature and language. A script of a language that the table names twice counts as one more
    column of the same code.
    """
    with zipfile.ZipFile(io.BytesIO(lzma.decompress(source))) as archive:
        arrays = {name[:-4]: _numpy(archive.read(name)) for name in archive.namelist()}
    wanted = {(pair.split(":") + [pair])[1] if ":" in pair else pair: pair.split(":")[0] for pair in LANGUAGES}
    (_, classes), (_, prior) = arrays["classes"], arrays["pc"]
    codes = [classes[at:at + 12].decode("utf-32-le").rstrip("\0") for at in range(0, len(classes), 12)]
    columns = [number for number, code in enumerate(codes) if code in wanted]
    (rows, width), weights = arrays["ptc"]
    states, out = arrays["nextmove_row"][0][0], io.BytesIO()
    out.write(b"MLID1\n" + struct.pack("<4I", len(columns), states, arrays["nextmove"][0][0] // 256, rows))
    for column in columns:
        out.write(wanted[codes[column]].encode().ljust(3, b"\0"))
    for column in columns:
        out.write(prior[4 * column:4 * column + 4])
    for name in ("nextmove_row", "out_feat", "nextmove"):
        out.write(arrays[name][1])
    pick, line = itemgetter(*columns), struct.Struct(f"<{width}H")
    packed = struct.Struct(f"<{len(columns)}H")
    for row in line.iter_unpack(weights):
        out.write(packed.pack(*pick(row)))
    return out.getvalue()


def _numpy(data):
    """Shape and bytes of an array in NumPy's format."""
    if data[:6] != b"\x93NUMPY":
        raise ValueError("not an array of NumPy")
    length, at = (struct.unpack_from("<H", data, 8)[0], 10) if data[6] == 1 else (struct.unpack_from("<I", data, 8)[0], 12)
    header = ast.literal_eval(data[at:at + length].decode("latin-1"))
    if header["fortran_order"] or header["descr"][0] not in "<|":
        raise ValueError(f"an array of NumPy with {header}")
    return header["shape"], data[at + length:]


# --- Pictures and their names ----------------------------------------------------------------------------------------

SKIN_TONES = range(0x1F3FB, 0x1F400)


def pictures(icons, characters):
    """The drawings of the emoji without skin tones, as JSON: {"size": 32, "pictures": {emoji: SVG elements}}."""
    icons, characters = json.loads(icons), json.loads(characters)
    drawn = {}
    for points, name in sorted(characters.items()):
        codes = [int(point, 16) for point in points.split("-")]
        icon = icons["icons"].get(name)
        if icon and not any(code in SKIN_TONES for code in codes):
            drawn["".join(map(chr, codes))] = icon["body"]
    return _json({"size": icons.get("width", 32), "pictures": drawn})


def picture_names(archive):
    """CLDR's names and keywords of emoji in the 84 languages, as JSON: {language: {emoji: [name, keyword, ...]}}."""
    names = {}
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(archive))) as files:
        for code in (pair.split(":")[0] for pair in LANGUAGES):
            tags = [code, {"nb": "no", "tl": "fil"}.get(code, code)]
            for tag in tags:
                try:
                    member = files.extractfile(f"package/annotations/{tag}/annotations.json")
                except KeyError:
                    continue
                entries = json.load(member)["annotations"]["annotations"]
                named = {emoji: _distinct(entry.get("tts", []) + entry.get("default", []))
                         for emoji, entry in sorted(entries.items()) if entry.get("tts")}
                if len(named) > len(names.get(code, {})):
                    names[code] = named
    return _json(names)


def _distinct(words):
    return list(dict.fromkeys(words))


def _json(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
