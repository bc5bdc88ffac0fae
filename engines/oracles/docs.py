"""Oracles of the family docs (q237 to q247): `python engines/oracles/docs.py [q237 …]`."""

import base64
import datetime
import hashlib
import io
import re
import warnings
import zoneinfo
from fractions import Fraction

import cmarkgfm
import cv2
import html5lib
import icalendar
import imagehash
import lxml.etree
import mapclassify
import networkx
import numpy as np
import odf.opendocument
import odf.table
import odf.text
import openpyxl
import piexif
import pikepdf
import pypdf
import pyproj
import scipy.ndimage
import segno
import zxingcpp
from cmarkgfm.cmark import Options
from dateutil import rrule
from mizani.breaks import breaks_extended
from PIL import Image, ImageOps
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen import canvas
from skimage.metrics import structural_similarity

from jsonlines import claim, main, pick

warnings.filterwarnings("ignore")
ORACLES = {}
UTC = datetime.timezone.utc
pdfmetrics.registerFont(TTFont("Vera", "Vera.ttf"))


def oracle(number, package, tolerance, count=200):
    def register(cls):
        ORACLES[number] = dict(package=package, tolerance=tolerance, count=count, sample=cls.sample, expect=cls.expect)
        return cls

    return register


def encoded(data):
    return base64.b64encode(data).decode()


def picture(rng, mode="RGB", least=1, most=70):
    """Noise, gradients, shapes and plain colours."""
    width, height = (int(rng.integers(least, most)) for _ in range(2))
    channels = {"1": 1, "L": 1, "P": 3, "LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4}[mode]
    kind = rng.integers(4)
    y, x = np.mgrid[0:height, 0:width]
    if kind == 0:
        data = rng.integers(0, 256, (height, width, channels))
    elif kind == 1:
        data = np.stack([(x * rng.uniform(0, 6) + y * rng.uniform(0, 6) + rng.integers(256)) % 256 for _ in range(channels)], -1)
    elif kind == 2:
        data = np.stack([128 + 100 * np.sin(x / rng.uniform(2, 20) + rng.uniform(0, 6)) * np.cos(y / rng.uniform(2, 20)) for _ in range(channels)], -1)
    else:
        data = np.full((height, width, channels), rng.integers(0, 256, channels))
        for _ in range(int(rng.integers(0, 5))):
            a, b = sorted(rng.integers(0, width + 1, 2)), sorted(rng.integers(0, height + 1, 2))
            data[b[0] : b[1], a[0] : a[1]] = rng.integers(0, 256, channels)
    data = data.astype(np.uint8)
    if mode in ("1", "P"):
        return Image.fromarray(data[..., 0] if mode == "1" else data, "L" if mode == "1" else "RGB").convert(mode)
    return Image.fromarray(data[..., 0] if channels == 1 else data, mode)


def saved(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


@oracle(237, "Pillow, piexif", 1e-6)
class Inspect:
    """Pillow writes the pictures and piexif their Exif data. Hints of edits and the words for values of Exif are ours."""

    WORDS = {"1": "grey", "L": "grey", "LA": "grey with alpha", "RGB": "rgb", "RGBA": "rgb with alpha", "P": "palette", "CMYK": "cmyk"}

    def sample(rng):
        kind = pick(rng, ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
        mode = pick(
            rng, {"PNG": ["1", "L", "LA", "P", "RGB", "RGBA"], "JPEG": ["L", "RGB", "CMYK"], "WEBP": ["RGB", "RGBA"], "GIF": ["P", "L"], "BMP": ["RGB"]}[kind]
        )
        options = {}
        Inspect.planted = planted = {}
        if kind in ("PNG", "JPEG", "WEBP") and rng.random() < 0.7:
            zeroth, exif, gps = {}, {}, {}
            if rng.random() < 0.7:
                zeroth[piexif.ImageIFD.Make], zeroth[piexif.ImageIFD.Model] = pick(rng, [b"ACME", b"Nikon "]), b"X-1"
                planted["Make"] = zeroth[piexif.ImageIFD.Make].decode().strip()
            if rng.random() < 0.7:
                planted["orientation"] = zeroth[piexif.ImageIFD.Orientation] = int(rng.integers(1, 9))
            if rng.random() < 0.7:
                taken = datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=int(rng.integers(0, 2 * 10**8)))
                exif[piexif.ExifIFD.DateTimeOriginal] = taken.strftime("%Y:%m:%d %H:%M:%S").encode()
                hours = int(rng.integers(-11, 13)) if rng.random() < 0.5 else 0
                if hours:
                    exif[piexif.ExifIFD.OffsetTimeOriginal] = f"{hours:+03}:30".encode()
                    taken -= datetime.timedelta(minutes=hours * 60 + (30 if hours > 0 else -30))
                planted["taken_at"] = taken.strftime("%Y-%m-%dT%H:%M:%SZ")
            if rng.random() < 0.7:
                parts, position = [], []
                for most in (89, 179):
                    d, m, s = int(rng.integers(0, most)), int(rng.integers(0, 60)), int(rng.integers(0, 6000))
                    parts.append(((d, 1), (m, 1), (s, 100)))
                    position.append((d + m / 60 + s / 360000) * pick(rng, [1, -1]))
                gps = {
                    piexif.GPSIFD.GPSLatitude: parts[0],
                    piexif.GPSIFD.GPSLatitudeRef: b"S" if position[0] < 0 else b"N",
                    piexif.GPSIFD.GPSLongitude: parts[1],
                    piexif.GPSIFD.GPSLongitudeRef: b"W" if position[1] < 0 else b"E",
                }
                planted["position"] = dict(zip(("lat", "lon"), position))
            options["exif"] = piexif.dump({"0th": zeroth, "Exif": exif, "GPS": gps})
        image = picture(rng, mode)
        Inspect.mode = mode
        return {"image": encoded(saved(image, kind, **options))}

    def expect(i, out):
        data = base64.b64decode(i["image"])
        image, planted = Image.open(io.BytesIO(data)), dict(Inspect.planted)
        bits = data[24] if image.format == "PNG" else 8
        # WebP and GIF are written in the modes that Pillow chooses.
        mode = image.mode if image.format in ("WEBP", "GIF", "BMP") else Inspect.mode
        e = {
            "format": image.format.lower(),
            "width": image.width,
            "height": image.height,
            "sha256": hashlib.sha256(data).hexdigest(),
            "orientation": planted.pop("orientation", 1),
        }
        if image.format != "GIF":
            e["color"] = f"{Inspect.WORDS[mode]}, {bits} bits"
        if "Make" in planted:
            e["exif"] = {"Make": planted.pop("Make")}
        return {**e, **planted, **claim(all(out.get(name) is None for name in {"position", "taken_at"} - set(planted)), "nothing that was not written")}


@oracle(238, "Pillow, numpy", 0)
class Transform:
    """Pixels of crops, turns, mirror images and grey are equal; of a Lanczos resampling within one level of Pillow's in single
    precision (its own with 8 bits rounds between the axes). A blur is left out: the library's is an approximation."""

    def sample(rng):
        image = picture(rng, pick(rng, ["RGB", "RGB", "L", "RGBA"]), 2)
        operations, (width, height) = [], image.size
        for _ in range(int(rng.integers(0, 4))):
            op = pick(rng, ["crop", "rotate", "flip", "greyscale", "resize", "fit", "auto-orient"])
            args = {}
            if op == "crop":
                x, y = int(rng.integers(0, width)), int(rng.integers(0, height))
                args = {"x": x, "y": y, "width": int(rng.integers(1, width - x + 1)), "height": int(rng.integers(1, height - y + 1))}
                width, height = args["width"], args["height"]
            elif op == "rotate":
                args = {"degrees": int(rng.choice([-90, 0, 90, 180, 270, 450]))}
                width, height = (height, width) if args["degrees"] % 180 else (width, height)
            elif op == "flip":
                args = pick(rng, [{}, {"vertical": 1}, {"horizontal": 1, "vertical": 1}, {"horizontal": 1}])
            elif op in ("resize", "fit"):
                args = {"width": int(rng.integers(1, 90)), "height": int(rng.integers(1, 90))}
                if op == "fit":
                    scale = min(args["width"] / width, args["height"] / height, 1)
                    width, height = (max(1, int(np.floor(side * scale + 0.5))) for side in (width, height))
                else:
                    width, height = args["width"], args["height"]
            operations.append({"op": op, "args": args})
        options = {}
        if rng.random() < 0.3:
            options["exif"] = piexif.dump({"0th": {piexif.ImageIFD.Orientation: int(rng.integers(1, 9))}})
            operations = operations[:1] if operations and operations[0]["op"] in ("rotate", "flip", "greyscale") else []
        i = {"image": encoded(saved(image, "PNG", **options)), "operations": operations, "format": pick(rng, ["png", "webp", "bmp", "jpeg", "gif"])}
        return dict(i, quality=int(rng.integers(30, 95)), max_bytes=int(rng.integers(700, 3000))) if i["format"] == "jpeg" and rng.random() < 0.5 else i

    def expect(i, out):
        image = ImageOps.exif_transpose(Image.open(io.BytesIO(base64.b64decode(i["image"]))))
        exact = image.mode != "RGBA"
        if image.mode == "RGBA":
            a = np.asarray(image, float)
            image = Image.fromarray(np.floor(a[..., :3] * a[..., 3:] / 255 + 255 - a[..., 3:] + 0.5).astype(np.uint8))
        image = image.convert("RGB")
        for operation in i["operations"]:
            op, args = operation["op"], operation["args"]
            if op == "crop":
                image = image.crop((args["x"], args["y"], args["x"] + args["width"], args["y"] + args["height"]))
            elif op == "rotate":
                image = image.rotate(-args["degrees"], expand=True)
            elif op == "flip":
                image = ImageOps.mirror(image) if args.get("horizontal", not args.get("vertical")) else image
                image = ImageOps.flip(image) if args.get("vertical") else image
            elif op == "greyscale":
                a = np.asarray(image, int)
                image = Image.fromarray(np.repeat((a @ [299, 587, 114] + 500)[..., None] // 1000, 3, 2).astype(np.uint8))
            elif op in ("resize", "fit"):
                size = (args["width"], args["height"])
                if op == "fit":
                    scale = min(size[0] / image.width, size[1] / image.height, 1)
                    size = tuple(max(1, int(np.floor(side * scale + 0.5))) for side in image.size)
                if size != image.size:
                    bands = [np.asarray(Image.fromarray(np.asarray(band, np.float32)).resize(size, Image.LANCZOS)) for band in image.split()]
                    image, exact = Image.fromarray(np.clip(np.floor(np.stack(bands, -1) + 0.5), 0, 255).astype(np.uint8)), False
        data = base64.b64decode(out["image"])
        made = Image.open(io.BytesIO(data))
        e = {
            "width": image.width,
            "height": image.height,
            "bytes": len(data),
            **claim(made.size == image.size and made.format.lower() == i["format"], "size and format"),
            **claim(len(data) <= i.get("max_bytes", len(data)), "max_bytes"),
        }
        if i["format"] in ("png", "webp", "bmp"):
            gap = np.abs(np.asarray(made.convert("RGB"), int) - np.asarray(image, int)).max()
            # Each resampling rounds once.
            e |= claim(gap <= (0 if exact else 1 + 2 * sum(o["op"] in ("resize", "fit") for o in i["operations"])), f"pixels, {gap} levels apart")
        return e


@oracle(239, "ImageHash, networkx", 0)
class Hashes:
    """Bits equal ImageHash's where they are clear: Pillow resamples 8 bits in two rounded passes, so that a pixel may be a level
    off, and a bit another where what is compared is as near. Pictures have 64 pixels a side or more: in ones that are
    enlarged Pillow also cuts off what overshoots between its passes."""

    def sample(rng):
        images = []
        for at in range(int(rng.integers(1, 6))):
            if images and rng.random() < 0.5:
                image = Image.open(io.BytesIO(base64.b64decode(images[-1]["image"])))
                image = image.resize((image.width + 7, image.height + 3)) if rng.random() < 0.5 else image
            else:
                image = picture(rng, "L", 64, 160)
            images.append({"id": f"i{at}", "image": encoded(saved(image, "PNG"))})
        return {"images": images, "hash_size": int(rng.choice([4, 8, 8, 9, 16])), "threshold": int(rng.integers(0, 20))}

    def expect(i, out):
        size, bits, e = i["hash_size"], [], {}
        for given, hashed in zip(i["images"], out["hashes"]):
            image = Image.open(io.BytesIO(base64.b64decode(given["image"])))
            grey = np.asarray(image, np.float32)
            scaled = lambda w, h: np.asarray(Image.fromarray(grey).resize((w, h), Image.LANCZOS), float).clip(0, 255)
            square, wide = scaled(size, size), scaled(size + 1, size)
            low = scipy.fftpack.dct(scipy.fftpack.dct(scaled(4 * size, 4 * size), axis=0), axis=1)[:size, :size]
            margins = {
                "ahash": (np.abs(square - square.mean()), 1.5),
                "dhash": (np.abs(np.diff(wide, axis=1)), 1.5),
                # Six times the spread that rounding gives a coefficient of a transform of 4 size by 4 size pixels.
                "phash": (np.abs(low - np.median(low)), 10 * 4 * size),
            }
            theirs = {"ahash": imagehash.average_hash(image, size), "dhash": imagehash.dhash(image, size), "phash": imagehash.phash(image, size)}
            row = {}
            for name, hash_ in theirs.items():
                number = bin(int(hashed[name], 16))[2:].zfill(size * size)
                row[name] = np.array([bit == "1" for bit in number])
                differ = row[name] != hash_.hash.flatten()
                margin, near = margins[name]
                e |= claim(not (differ & (margin.flatten() > near)).any(), f"{name} of {given['id']}: {differ.sum()} bits")
            bits.append(row)
        pairs, graph = [], networkx.Graph()
        graph.add_nodes_from(range(len(bits)))
        for a in range(len(bits)):
            for b in range(a + 1, len(bits)):
                near = [(name, int((bits[a][name] != bits[b][name]).sum())) for name in ("ahash", "dhash", "phash")]
                near = [(name, distance) for name, distance in near if distance <= i["threshold"]]
                pairs += [{"a": f"i{a}", "b": f"i{b}", "distance": distance, "method": name} for name, distance in near]
                if len(near) > 1:
                    graph.add_edge(a, b)
        groups = sorted(sorted(group) for group in networkx.connected_components(graph) if len(group) > 1)
        return {
            **e,
            "pairs": pairs,
            "groups": [[f"i{at}" for at in group] for group in groups],
            **claim(len(out["pairs"]) == len(pairs) and len(out["groups"]) == len(groups), "numbers of pairs and groups"),
        }


@oracle(240, "opencv-python-headless, scikit-image, scipy", 1e-6)
class Analyse:
    """Sharpness by OpenCV's Laplacian, SSIM by scikit-image, boxes by scipy's labels, shares by the record's rules in
    fractions.
    The cut of colours and the description are ours."""

    def sample(rng):
        image = picture(rng, "RGB", 12, 60)
        i = {"image": encoded(saved(image, "PNG"))}
        if rng.random() < 0.6:
            other = np.array(image)
            y, x = (int(rng.integers(0, side - 5)) for side in other.shape[:2])
            other[y : y + int(rng.integers(1, 15)), x : x + int(rng.integers(1, 15))] = rng.integers(0, 256, 3)
            i["previous"] = encoded(saved(Image.fromarray(other), "PNG"))
        return i

    def expect(i, out):
        load = lambda text: np.asarray(Image.open(io.BytesIO(base64.b64decode(text))), int)
        grey = lambda a: ((a @ [299, 587, 114] + 500) // 1000).astype(np.uint8)
        now = load(i["image"])
        luma = grey(now)
        e = {"sharpness": cv2.Laplacian(luma, cv2.CV_64F)[1:-1, 1:-1].var(), "brightness": luma.mean() / 255, "contrast": luma.std() / 255}
        counts = dict.fromkeys(("water", "vegetation", "smoke", "fire", "dark"), 0)
        for r, g, b in now.reshape(-1, 3).tolist():
            # In fractions, as many colours lie on the bounds of the rules.
            most, least = max(r, g, b), min(r, g, b)
            chroma, v, s = most - least, Fraction(most, 255), Fraction(most - least, most) if most else 0
            h = 0
            if chroma:
                h = (Fraction(g - b, chroma) % 6 if most == r else Fraction(b - r, chroma) + 2 if most == g else Fraction(r - g, chroma) + 4) * 60
            counts["water"] += 180 <= h <= 250 and s >= Fraction(1, 5) and v >= Fraction(3, 20)
            counts["vegetation"] += 65 <= h <= 165 and s >= Fraction(1, 5) and v >= Fraction(1, 10)
            counts["smoke"] += s < Fraction(3, 20) and Fraction(7, 20) <= v < Fraction(23, 25)
            counts["fire"] += not 50 <= h < 350 and s >= Fraction(3, 5) and v >= Fraction(7, 10)
            counts["dark"] += v < Fraction(1, 10)
        e["shares"] = {name: count / luma.size for name, count in counts.items()}
        e |= claim(abs(sum(colour["share"] for colour in out["dominant"]) - 1) < 1e-9, "shares of colours")
        if "previous" in i:
            score, full = structural_similarity(
                grey(load(i["previous"])), luma, win_size=11, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=255, full=True
            )
            changed, (height, width) = full < 0.5, luma.shape
            labels, n = scipy.ndimage.label(changed)
            least = max(int(luma.size * 0.0005), 4)
            boxes = sorted(
                [
                    [x.start / width, y.start / height, x.stop / width, y.stop / height]
                    for at, (y, x) in enumerate(scipy.ndimage.find_objects(labels))
                    if (labels == at + 1).sum() >= least
                ]
            )
            e["change"] = {"ssim": score, "score": changed.mean(), **claim(sorted(out["change"]["boxes"]) == boxes[:50], f"boxes {boxes}")}
        return e


@oracle(241, "segno, zxing-cpp", 0)
class Barcode:
    """Codes that are written have the version of segno's and are read by ZXing; codes of segno are read, turned by quarters too. Of
    codes that are turned by a few degrees the engine reads most, ZXing all: these are left out."""

    TEXTS = [
        "12345",
        "HELLO WORLD",
        "https://example.org/a?b=1",
        "Überschwemmung 洪水 👍",
        "(01)09521234543213(10)ABC123",
        "0" * 50,
        "a" * 100,
        "A:B-C.D/E+F*G$H%",
        "é",
        "line\nbreak",
        "otpauth://totp/Muster:ann?secret=JBSWY3DPEHPK3PXP&issuer=Muster",
    ]

    def sample(rng):
        text = pick(rng, Barcode.TEXTS)
        if rng.random() < 0.5:
            letters = pick(rng, ["0123456789", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:", "abc é洪👍1A"])
            text = "".join(pick(rng, letters) for _ in range(int(rng.integers(1, 300))))
        ecc = pick(rng, list("LMQH"))
        if rng.random() < 0.5:
            return {"operation": "encode", "text": text, "ecc": ecc, "output": pick(rng, ["png", "svg"]), "scale": int(rng.integers(1, 9))}
        code = segno.make(text, error=ecc, micro=False, boost_error=False, encoding=None if text.isascii() else "utf-8")
        image = io.BytesIO()
        turn = float(rng.choice([0, 90, 180, 270]))
        code.save(image, kind="png", scale=int(rng.integers(3, 7)))
        image = Image.open(image).convert("L").rotate(turn, expand=True, fillcolor=255, resample=Image.BICUBIC)
        Barcode.text, Barcode.version = text, code.version
        return {"operation": "decode", "image": encoded(saved(image, "PNG"))}

    def expect(i, out):
        if i["operation"] == "decode":
            return {"codes": [{"text": Barcode.text}], "version": Barcode.version, "modules": 17 + 4 * Barcode.version}
        code = segno.make(i["text"], error=i["ecc"], micro=False, boost_error=False, encoding=None if i["text"].isascii() else "utf-8")
        side = 17 + 4 * code.version
        if i["output"] == "png":
            image = Image.open(io.BytesIO(base64.b64decode(out["image"]))).convert("L")
        else:
            pixels = np.full((side + 8, side + 8), 255, np.uint8)
            path = lxml.etree.fromstring(out["svg"].encode()).findall("{*}path")[-1].get("d")
            for x, y, run in re.findall(r"M(\d+) (\d+)h(\d+)", path):
                pixels[int(y), int(x) : int(x) + int(run)] = 0
            image = Image.fromarray(pixels)
        size = (side + 8) * (i["scale"] if i["output"] == "png" else 1)
        read = zxingcpp.read_barcodes(image.resize((size * 4, size * 4), Image.NEAREST))
        return {
            "version": code.version,
            "modules": side,
            **claim(image.size == (size, size), "size"),
            **claim([(r.text, r.ec_level) for r in read] == [(i["text"], i["ecc"])], f"ZXing reads {[(r.text, r.ec_level) for r in read]}"),
        }


@oracle(242, "mizani, numpy, lxml", 1e-9)
class Chart:
    """Labels are mizani's for one of the numbers of labels that may fit; counts of histograms, and quartiles of boxes, as their
    titles say them, numpy's."""

    def sample(rng):
        kind = pick(rng, ["line", "scatter", "histogram", "box", "bar", "heatmap"])

        def values(n):
            return [
                float(v) for v in np.round(rng.normal(size=n) * 10 ** rng.uniform(-3, 6) + rng.normal() * 10 ** rng.uniform(-2, 5), int(rng.integers(0, 4)))
            ]

        series = []
        for at in range(int(rng.integers(1, 3))):
            n = int(rng.integers(2, 60))
            series.append({"name": f"<s & {at}>", "y": values(n), **({"x": values(n)} if rng.random() < 0.5 and kind in ("line", "scatter") else {})})
        return {"kind": kind, "series": series, "title": "T & <x>", "width": int(rng.integers(200, 1500)), "height": int(rng.integers(350, 900))}

    def expect(i, out):
        root = lxml.etree.fromstring(out["svg"].encode())
        titles = [title.text for title in root.iter("{*}title") if title.text]
        e = {
            **claim(root.get("width") == str(i["width"]) and root.get("height") == str(i["height"]), "size"),
            **claim("T & <x>" in out["svg"] or titles[0] == "T & <x>", "title"),
        }
        y = [v for series in i["series"] for v in series["y"]]

        def fits(labels, low, high):
            if high - low <= max(abs(low), abs(high)) * 1e-9:
                return True
            return any(
                len(found) == len(labels) and np.allclose(found, labels, rtol=1e-9, atol=1e-9 * (high - low))
                for found in (breaks_extended(n=n)((low, high)) for n in range(2, 11))
            )

        if i["kind"] in ("line", "scatter"):
            x = [v for series in i["series"] for v in series.get("x", range(1, len(series["y"]) + 1))]
            e |= claim(fits(out["axes"]["y"], min(y), max(y)), "labels of y") | claim(fits(out["axes"]["x"], min(x), max(x)), "labels of x")
        elif i["kind"] == "bar":
            e |= claim(fits(out["axes"]["y"], min(0, *y), max(0, *y)), "labels of y")
        elif i["kind"] == "histogram":
            edges = np.array(out["axes"]["x"])
            counts = [int(n) for series in i["series"] for n in np.histogram(series["y"], edges)[0]]
            found = [int(title.split(": ")[1]) for title in titles if re.search(r" to .*: \d+$", title)]
            e |= claim(edges[0] <= min(y) and edges[-1] >= max(y) and np.ptp(np.diff(edges)) < 1e-6 * (edges[-1] - edges[0]), "edges enclose the values")
            e |= claim(found == counts, f"counts {counts}")
        elif i["kind"] == "box":
            found = [[float(n) for n in re.search(r"median (\S+), quartiles (\S+) and (\S+)$", title).groups()] for title in titles if "quartiles" in title]
            e |= claim(np.allclose(found, [np.quantile(series["y"], [0.5, 0.25, 0.75]) for series in i["series"]], rtol=1e-12, atol=1e-12), "quartiles")
        return e


@oracle(243, "pyproj, mapclassify", 1e-6)
class Map:
    """Marks are where pyproj projects them, but for the place and size of the frame, which are fitted; the scale is the one that
    fits. Classes have the deviations of mapclassify's Fisher-Jenks, or less."""

    def sample(rng):
        n, lat, lon = int(rng.integers(3, 30)), float(rng.uniform(-65, 65)), float(rng.uniform(-150, 150))
        size = 10 ** float(rng.uniform(-1.5, 1))
        features = [
            {
                "type": "Feature",
                "properties": {"v": float(np.round(rng.choice([rng.normal(), rng.exponential() * 10]), 2))},
                "geometry": {"type": "Point", "coordinates": [lon + float(rng.uniform(-size, size)), lat + float(rng.uniform(-size, size))]},
            }
            for _ in range(n)
        ]
        return {
            "layers": [{"name": "p", "value_field": "v", "data": {"type": "FeatureCollection", "features": features}}],
            "classes": int(rng.integers(2, 8)),
            "projection": pick(rng, ["mercator", "equirectangular", "lambert-azimuthal"]),
            "width": int(rng.integers(300, 2000)),
            "height": int(rng.integers(300, 2000)),
        }

    def expect(i, out):
        features = i["layers"][0]["data"]["features"]
        lon, lat = np.array([f["geometry"]["coordinates"] for f in features]).T
        west, south, east, north = out["bbox"]
        centre = (west + east) / 2, (south + north) / 2
        name = {"mercator": "merc", "equirectangular": "eqc", "lambert-azimuthal": "laea"}[i["projection"]]
        geod = pyproj.Geod(ellps="WGS84")
        if name == "eqc":
            # True to scale at the centre in both directions: lengths of a small step there.
            step = 1e-4
            across = geod.inv(centre[0] - step, centre[1], centre[0] + step, centre[1])[2] / (2 * step)
            along = geod.inv(centre[0], centre[1] - step, centre[0], centre[1] + step)[2] / (2 * step)
            x, y = (lon - centre[0]) * across, (lat - centre[1]) * along
            factor = 1.0
        else:
            crs = pyproj.Proj(f"+proj={name} +lon_0={centre[0]} +ellps=WGS84" + (f" +lat_0={centre[1]}" if name == "laea" else ""))
            x, y = crs(lon, lat)
            factor = crs.get_factors(*centre).meridional_scale
        root = lxml.etree.fromstring(out["svg"].encode())
        marks = np.array([[float(c.get("cx")), float(c.get("cy"))] for c in root.iter("{*}circle")])[: len(features)]
        per_pixel = out["scale"] * factor
        dx, dy = marks[:, 0] - x / per_pixel, marks[:, 1] + y / per_pixel
        values = np.array([f["properties"]["v"] for f in features])
        classes = min(i["classes"], len(np.unique(values)))

        def deviations(ends):
            groups = [values[(values <= high) & (values > low)] for low, high in zip([-np.inf, *ends[:-1]], ends)]
            return sum(((group - group.mean()) ** 2).sum() for group in groups if len(group))

        best = deviations(sorted(mapclassify.FisherJenks(values, classes).bins)) if classes > 1 else None
        # Marks are written with two decimals.
        return {
            **claim(np.ptp(dx) < 0.03 and np.ptp(dy) < 0.03, f"marks {np.ptp(dx)} {np.ptp(dy)}"),
            **claim(len(out["breaks"]) == classes + 1 and out["breaks"][0] == values.min(), "number of classes"),
            **claim(best is None or deviations(out["breaks"][1:]) <= best * (1 + 1e-9) + 1e-9, "deviations of the classes"),
        }


@oracle(244, "reportlab, pikepdf, pypdf", 1e-3)
class Pdf:
    """What reportlab wrote: lines, sizes, turns, metadata, outline, fields; what pypdf attached; encrypted by pikepdf. Texts are
    compared without the space between words, which is a guess of every reader."""

    def sample(rng):
        lines = [
            "The river rose.",
            "Grüße aus Köln: 12,5 °C",
            "Évacuation (niveau 2) -- 100%",
            "a\\b [x] {y} <z>",
            "Łódka, čaj, Šibenik, žena",
            "ffi fl \"quoted\" 'x'",
            "Total: 1.234,56 €",
        ]
        out = io.BytesIO()
        size = (float(rng.integers(200, 900)), float(rng.integers(200, 900)))
        pdf = canvas.Canvas(out, pagesize=size, pageCompression=int(rng.integers(0, 2)), invariant=1)
        planted = {"pages": [], "outline": [], "metadata": {}, "fields": {}}
        if rng.random() < 0.7:
            for name, put in (("Title", pdf.setTitle), ("Author", pdf.setAuthor), ("Subject", pdf.setSubject)):
                planted["metadata"][name] = pick(rng, ["Report", "Übersicht 洪水", "x (y)"])
                put(planted["metadata"][name])
        for number in range(int(rng.integers(1, 5))):
            turned = pick(rng, [0, 0, 90, 180])
            pdf.setPageRotation(turned)
            text = []
            for row in range(int(rng.integers(1, 6))):
                font = pick(rng, ["Vera", "Helvetica", "Times-Roman", "Courier"])
                line = pick(rng, lines if font == "Vera" else lines[:4] + lines[5:])
                pdf.setFont(font, 12)
                pdf.drawString(20, size[1] - 30 - 20 * row, line)
                text.append(line)
            if rng.random() < 0.5:
                title = f"Part {number} é"
                pdf.bookmarkPage(f"k{number}", fit="XYZ")
                pdf.addOutlineEntry(title, f"k{number}", level=0)
                planted["outline"].append(title)
            if rng.random() < 0.3:
                name, value = f"f{number}", pick(rng, ["yes", "Ann Lee"])
                pdf.acroForm.textfield(name=name, value=value, x=20, y=20, width=100, height=20)
                planted["fields"][name] = value
            planted["pages"].append((text, turned))
            pdf.showPage()
        pdf.save()
        data, i = out.getvalue(), {}
        if rng.random() < 0.3:
            writer = pypdf.PdfWriter(clone_from=io.BytesIO(data))
            writer.add_attachment("notes é.txt", b"hello")
            out = io.BytesIO()
            writer.write(out)
            data, planted["attachment"] = out.getvalue(), "notes é.txt"
        if rng.random() < 0.4:
            with pikepdf.open(io.BytesIO(data)) as file:
                out = io.BytesIO()
                options = {"object_stream_mode": pick(rng, [pikepdf.ObjectStreamMode.generate, pikepdf.ObjectStreamMode.disable])}
                if rng.random() < 0.6:
                    revision = int(rng.choice([3, 4, 6]))
                    options["encryption"] = pikepdf.Encryption(user="secret", owner="boss", R=revision, aes=revision > 3, metadata=revision > 3)
                    i["password"] = "secret"
                file.save(out, **options)
            data = out.getvalue()
        Pdf.planted = planted
        return dict(i, pdf=encoded(data))

    def expect(i, out):
        planted = Pdf.planted
        bare = lambda text: re.sub(r"\s", "", text)
        reader = pypdf.PdfReader(io.BytesIO(base64.b64decode(i["pdf"])), password=i.get("password"))
        e = {
            "page_count": len(planted["pages"]),
            "scanned": False,
            "metadata": planted["metadata"],
            "fields": planted["fields"],
            "outline": [{"title": title, "page": None} for title in planted["outline"]],
            **claim(len(out["outline"]) == len(planted["outline"]), "outline"),
            "pages": [
                {"number": at + 1, "width": box[page.rotation % 180 > 0], "height": box[page.rotation % 180 == 0]}
                for at, page in enumerate(reader.pages)
                for box in [(float(page.mediabox.width), float(page.mediabox.height))]
            ],
            "attachments": [planted["attachment"]] if "attachment" in planted else [],
        }
        for at, (text, _) in enumerate(planted["pages"]):
            found = bare(out["pages"][at]["text"])
            e |= claim(bare("".join(text)) in found, f"text of page {at + 1}: {text} is {out['pages'][at]['text']!r}")
            e |= claim(sorted(bare(reader.pages[at].extract_text())) == sorted(found), f"pypdf reads {reader.pages[at].extract_text()!r}")
        return e


@oracle(245, "cmarkgfm, html5lib", 0)
class Document:
    """HTML without the allow-list is that of GitHub's cmark with the same extensions; with it no script, handler or address of a script is left in the
    tree that html5lib makes."""

    PARTS = [
        "# Heading *x*",
        "Setext\n===",
        "para with **bold**, *em*, `code` and ~~gone~~",
        "- a\n- b\n  - c\n\n  d",
        "1. one\n2. two\n10. ten",
        "> quote\nlazy\n> > deep",
        "| a | b |\n|---|:-:|\n| 1 | *2* |\n| `x\\|y` | |",
        "```rust\nfn x() {}\n```",
        "    indented <b>",
        "- [ ] open\n- [x] done",
        "www.example.org and https://example.org/a_b?c=(d).",
        '[link](</a b> "t") ![img](x.png)',
        "[ref]: /url 'title'\n\n[ref] and [Ref][ref]",
        "a\\*b &amp; &copy; &#x1F600; é 洪水",
        "line one  \nline two\\\nthree",
        "***",
        "<div>\n*raw*\n</div>",
        "text <b>raw</b> <script>alert(1)</script>",
        "a@b.example <https://x.example>",
        "*a**b*c** __d__ _e_f_",
        "[x](javascript:alert(1))",
        "<img src=x onerror=alert(1)>",
        "## Heading *x*",
        "* * *\n\n+ x",
        "`` a`b ``  and ` `",
        "\ttab",
        "Hard\\\nbreak &nbsp; end",
        "1) paren\n2) two",
        "![a *b*](u 'v')",
        "<!-- comment -->",
        "~~a~b~~",
        "<a href='java&#115;cript:x'>y</a>",
        "note[^1] and[^n]\n\n[^1]: the *note*\n[^n]: other",
        "text\n# not\n## Title ##",
    ]

    def sample(rng):
        # Each once: comrak 0.59 breaks the list of footnotes where one is defined twice.
        parts = [str(part) for part in rng.choice(Document.PARTS, int(rng.integers(1, 10)), replace=False)]
        return {"content": pick(rng, ["\n\n", "\n\n", "\n"]).join(parts) + "\n", "sanitise": bool(rng.random() < 0.4)}

    def expect(i, out):
        tree = html5lib.parse(out["content"], namespaceHTMLElements=False)
        if not i["sanitise"]:
            options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
            html = cmarkgfm.cmark.markdown_to_html_with_extensions(i["content"], options, extensions=["table", "strikethrough", "autolink", "tasklist"])
            headings = [int(node.tag[1]) for node in html5lib.parse(html, namespaceHTMLElements=False).iter() if re.fullmatch("h[1-6]", str(node.tag))]
            return {"content": html, "outline": [{"level": level} for level in headings], **claim(len(out["outline"]) == len(headings), "outline")}
        bad = [
            node
            for node in tree.iter()
            if str(node.tag) in ("script", "style", "iframe", "object")
            or any(name.startswith("on") or str(value).strip().lower().startswith("javascript:") for name, value in node.attrib.items())
        ]
        return claim(not bad, f"nothing harmful: {bad}")


@oracle(246, "python-dateutil, icalendar", 0)
class Calendar:
    """Occurrences of rules by dateutil, in the local time of the zone; EXDATE and RDATE by its rruleset; what is written is read
    by icalendar. Times that the clock skips or repeats are left out of starts, as dateutil resolves them otherwise."""

    def sample(rng):
        zone = pick(rng, ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"])
        start = datetime.datetime(2024, 1, 1) + datetime.timedelta(
            days=int(rng.integers(0, 700)), hours=int(rng.integers(4, 24)), minutes=15 * int(rng.integers(0, 4))
        )
        freq = pick(rng, ["DAILY", "WEEKLY", "MONTHLY", "YEARLY", "HOURLY"])
        rule = [f"FREQ={freq}"]

        def some(values, most=3):
            return ",".join(str(v) for v in rng.choice(values, int(rng.integers(1, most + 1)), replace=False))

        if rng.random() < 0.5:
            rule.append(f"INTERVAL={rng.integers(1, 5)}")
        days = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
        if rng.random() < 0.5 and freq in ("WEEKLY", "DAILY"):
            rule.append("BYDAY=" + some(days))
        elif rng.random() < 0.5 and freq in ("MONTHLY", "YEARLY"):
            rule.append(
                "BYDAY=" + some([f"{n}{day}" for n in (1, 2, -1, 3) for day in days])
                if rng.random() < 0.6
                else "BYMONTHDAY=" + some([1, 15, 29, 30, 31, -1, -2])
            )
        if rng.random() < 0.3 and freq != "HOURLY":
            rule.append("BYMONTH=" + some(range(1, 13)))
        if rng.random() < 0.2 and freq == "YEARLY" and len(rule) == 1:
            rule.append(pick(rng, ["BYWEEKNO=" + some([1, 20, 52, 53, -1]) + ";BYDAY=MO", "BYYEARDAY=" + some([1, 100, 200, 366, -1])]))
        if rng.random() < 0.3 and freq in ("DAILY", "WEEKLY", "MONTHLY"):
            rule.append("BYHOUR=" + some([8, 12, 20]))
        if rng.random() < 0.2 and freq in ("MONTHLY", "YEARLY") and any(part.startswith("BY") for part in rule):
            rule.append("BYSETPOS=" + some([1, 2, -1], 2))
        if rng.random() < 0.2:
            rule.append("WKST=" + pick(rng, days))
        rule.append(
            pick(rng, [f"COUNT={rng.integers(1, 30)}", "", f"UNTIL={(start + datetime.timedelta(days=int(rng.integers(1, 500)))).strftime('%Y%m%dT%H%M%SZ')}"])
        )
        rule = ";".join(part for part in rule if part)
        minutes = int(rng.choice([0, 30, 60, 600, 3000]))
        begin = start + datetime.timedelta(days=int(rng.integers(-30, 200)))
        Calendar.rule, Calendar.start, Calendar.minutes = rule, start, minutes
        Calendar.more = Calendar.without = None
        i = {
            "from": begin.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "to": (begin + datetime.timedelta(days=int(rng.integers(1, 400)))).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "timezone": zone,
        }
        utc = lambda local: local.replace(tzinfo=zoneinfo.ZoneInfo(zone)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if rng.random() < 0.5:
            return dict(
                i,
                events=[
                    {
                        "summary": "duty, é; x",
                        "start": utc(start),
                        "end": (
                            utc(start)
                            if not minutes
                            else (start.replace(tzinfo=zoneinfo.ZoneInfo(zone)).astimezone(UTC) + datetime.timedelta(minutes=minutes)).strftime(
                                "%Y-%m-%dT%H:%M:%SZ"
                            )
                        ),
                        "rrule": rule,
                    }
                ],
            )
        local = lambda time: time.strftime("%Y%m%dT%H%M%S")
        lines = [
            "BEGIN:VCALENDAR",
            "VERSION:2.0",
            "BEGIN:VEVENT",
            "UID:1",
            "SUMMARY:duty\\, é\\; x",
            f"DTSTART;TZID={zone}:{local(start)}",
            f"DURATION:PT{minutes}M",
            f"RRULE:{rule}",
        ]
        if rng.random() < 0.5:
            Calendar.more = start + datetime.timedelta(days=3, hours=1)
            lines.append(f"RDATE;TZID={zone}:{local(Calendar.more)}")
        if rng.random() < 0.5:
            Calendar.without = start
            lines.append(f"EXDATE;TZID={zone}:{local(start)}")
        return dict(i, ics="\r\n".join([*lines, "END:VEVENT", "END:VCALENDAR", ""]))

    def expect(i, out):
        zone = zoneinfo.ZoneInfo(i["timezone"])
        parse = lambda text: datetime.datetime.fromisoformat(text)
        begin, end, length = parse(i["from"]), parse(i["to"]), datetime.timedelta(minutes=Calendar.minutes)
        until = re.search(r"UNTIL=(\w+)Z", Calendar.rule)
        rule = re.sub(r";?UNTIL=\w+", "", Calendar.rule)
        last = datetime.datetime.strptime(until[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC) if until else None
        starts = set()
        for local in rrule.rrulestr(rule, dtstart=Calendar.start):
            at = local.replace(tzinfo=zone)
            back = at.astimezone(UTC).astimezone(zone).replace(tzinfo=None)
            # RFC 5545, section 3.3.5: a skipped time moves on with the offset before the gap.
            at = (at if back == local else local.replace(tzinfo=zone, fold=0)).astimezone(UTC)
            if at >= end + datetime.timedelta(days=2) or last and at > last:
                break
            starts.add(at)
        if Calendar.more:
            starts.add(Calendar.more.replace(tzinfo=zone).astimezone(UTC))
        if Calendar.without:
            starts.discard(Calendar.without.replace(tzinfo=zone).astimezone(UTC))
        found = sorted(at for at in starts if at < end and (at + length > begin or at >= begin))
        show = lambda time: time.strftime("%Y-%m-%dT%H:%M:%SZ")
        busy, free = begin, []
        for at in found:
            if min(at, end) - busy >= datetime.timedelta(minutes=30):
                free.append({"start": show(busy), "end": show(min(at, end))})
            busy = max(busy, at + length)
        if end - busy >= datetime.timedelta(minutes=30):
            free.append({"start": show(busy), "end": show(end)})
        conflicts = [[a, b] for b in range(len(found)) for a in range(b) if length and found[a] + length > found[b]]
        written = [(e.decoded("dtstart"), e.decoded("dtend"), str(e["summary"])) for e in icalendar.Calendar.from_ical(out["ics"]).walk("VEVENT")]
        return {
            "occurrences": [{"summary": "duty, é; x", "start": show(at), "end": show(at + length)} for at in found],
            "free": free,
            "problems": [],
            **claim(len(out["occurrences"]) == len(found) and len(out["free"]) == len(free), f"numbers {len(found)} {len(free)}"),
            **claim(sorted(map(sorted, out["conflicts"])) == sorted(conflicts)[:10000] or len(conflicts) > 10000, "conflicts"),
            **claim(written == [(at, at + length, "duty, é; x") for at in found], "what icalendar reads"),
        }


@oracle(247, "openpyxl, odfpy", 1e-12)
class Spreadsheet:
    """Workbooks of openpyxl and odfpy are read; what is written is read by openpyxl."""

    def sample(rng):
        def cell(depth=0):
            return pick(
                rng,
                [
                    None,
                    "text",
                    "é 洪水 👍",
                    " spaced ",
                    "line\nbreak",
                    "0123",
                    int(rng.integers(-(10**6), 10**6)),
                    float(rng.normal() * 10 ** rng.uniform(-8, 12)),
                    True,
                    False,
                    "=1+2",
                    "@x",
                    "-5",
                    "<a & b>",
                    "_x0041_",
                    2**53,
                    -0.5,
                    "a\tb",
                    "'quoted",
                ],
            )

        rows = [[cell() for _ in range(int(rng.integers(1, 6)))] for _ in range(int(rng.integers(1, 12)))]
        Spreadsheet.planted = None
        if rng.random() < 0.4:
            return {"operation": "write", "tables": {"Sheet é": rows, "b": [[1]]}, "header": bool(rng.random() < 0.5)}
        if rng.random() < 0.3:
            document = odf.opendocument.OpenDocumentSpreadsheet()
            table = odf.table.Table(name="Sheet é")
            rows = [
                [value if isinstance(value, (int, float)) or value in ("text", "é 洪水 👍", "0123", "<a & b>", "=1+2", "'quoted") else "x" for value in row]
                for row in rows
            ]
            for row in rows:
                line = odf.table.TableRow()
                for value in row:
                    kind = (
                        {"valuetype": "boolean", "booleanvalue": str(value).lower()}
                        if isinstance(value, bool)
                        else {"valuetype": "float", "value": repr(value)} if not isinstance(value, str) else {"valuetype": "string"}
                    )
                    one = odf.table.TableCell(**kind)
                    one.addElement(odf.text.P(text=str(value)))
                    line.addElement(one)
                table.addElement(line)
            document.spreadsheet.addElement(table)
            out = io.BytesIO()
            document.write(out)
            Spreadsheet.planted = rows
            return {"operation": "read", "file": encoded(out.getvalue()), "header": False}
        book, late = openpyxl.Workbook(), rng.random() < 0.2
        if late:
            book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
        sheet = book.active
        sheet.title = "Sheet é"
        formulas, merged = {}, []
        for r, row in enumerate(rows, 1):
            for c, value in enumerate(row, 1):
                if isinstance(value, str) and value.startswith("="):
                    formulas[sheet.cell(r, c).coordinate] = value[1:]
                if rng.random() < 0.15:
                    early = datetime.datetime(1904 if late else 1900, 3, 1)
                    value = pick(rng, [datetime.datetime(2026, 5, 2, 14, 30, 5), datetime.date(1999, 12, 31), early, datetime.time(6, 30)])
                    formulas.pop(sheet.cell(r, c).coordinate, None)
                # openpyxl does not escape what the format reads as the letter A.
                value = "x" if value == "_x0041_" else value
                sheet.cell(r, c).value = value
                row[c - 1] = value
        if rng.random() < 0.3:
            sheet.merge_cells("H20:I22")
            merged = ["merged: H20:I22"]
        book.create_sheet("second")["B2"] = 5
        out = io.BytesIO()
        book.save(out)
        Spreadsheet.planted, Spreadsheet.formulas, Spreadsheet.merged = rows, formulas, merged
        i = {"operation": "read", "file": encoded(out.getvalue()), "header": False}
        return dict(i, range="B2:C4") if rng.random() < 0.2 else i

    def shown(value):
        if isinstance(value, datetime.datetime):
            return value.strftime("%Y-%m-%d") if value.time() == datetime.time() else value.strftime("%Y-%m-%dT%H:%M:%S")
        if isinstance(value, (datetime.date, datetime.time)):
            return value.isoformat()
        return value

    def expect(i, out):
        if i["operation"] == "write":
            book = openpyxl.load_workbook(io.BytesIO(base64.b64decode(out["file"])))
            e = claim(book.sheetnames == sorted(i["tables"]), f"names {book.sheetnames}")
            for name, rows in i["tables"].items():
                for r, row in enumerate(rows, 1):
                    for c, value in enumerate(row, 1):
                        found = book[name].cell(r, c)
                        same = found.value == value and isinstance(found.value, bool) == isinstance(value, bool)
                        if isinstance(value, float):
                            same = abs(found.value - value) <= 1e-14 * abs(value)
                        if isinstance(value, str) and value[0] in "=+-@":
                            same &= found.data_type == "s" and found.quotePrefix
                        e |= claim(same, f"{found.coordinate} of {name}: {value!r} is {found.value!r} {found.data_type}")
            return e
        rows = [[Spreadsheet.shown(value) for value in row] for row in Spreadsheet.planted]
        formulas = {} if "sheets" not in out or out["sheets"][-1]["name"] != "second" else Spreadsheet.formulas
        # openpyxl stores no values for formulas.
        rows = [[None if isinstance(value, str) and value.startswith("=") and formulas else value for value in row] for row in rows]
        if "range" in i:
            cells = lambda r, c: rows[r][c] if r < len(rows) and c < len(rows[r]) else None
            want = [[cells(r, c) for c in (1, 2)] for r in (1, 2, 3)]
            return claim(
                all(
                    value == (want[r][c] if r < 3 and c < 2 else None) or isinstance(value, float)
                    for r, row in enumerate(out["rows"])
                    for c, value in enumerate(row)
                ),
                f"range {want}",
            )
        width = max(map(len, rows))
        e = {"rows": [row + [None] * (width - len(row)) for row in rows]}
        last = [row for row in rows if any(value is not None for value in row)]
        e["rows"] = e["rows"][: len(out["rows"])]
        e = {"rows": [[value for value in row[: len(out["rows"][0])]] for row in e["rows"]]}
        nulls = all((a is None) == (b is None) for x, y in zip(e["rows"], out["rows"]) for a, b in zip(x, y))
        e |= claim(nulls, "empty cells") | claim(len(out["rows"]) >= len(last) or bool(formulas), "number of rows")
        if out["sheets"][-1]["name"] == "second":
            e |= {
                "formulas": formulas,
                **claim(set(out["formulas"]) == set(formulas), "formulas"),
                **claim(all(text in out["warnings"] for text in Spreadsheet.merged), "merged areas"),
            }
        return e


main("docs", ORACLES)
