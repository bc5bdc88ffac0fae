"""Oracles of the family hazard (q21 to q46): `python engines/oracles/hazard.py [q21 …]`."""
import csv
import datetime
import json
import math
import warnings
from pathlib import Path

import numpy as np
from scipy import integrate, optimize, stats

from jsonlines import main

warnings.filterwarnings("ignore")
ORACLES = {}
DATA = Path(__file__).parent.parent / "hazard" / "data"
KNOT = 1852 / 3600


def table(name):
    lines = [line for line in (DATA / name).read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def oracle(number, package, tolerance, count=200):
    def register(cls):
        ORACLES[number] = dict(package=package, tolerance=tolerance, count=count, sample=cls.sample, expect=cls.expect)
        return cls
    return register


def uniform(rng, low, high):
    return float(rng.uniform(low, high))


def near(text, seconds, within):
    """The time that was answered, if it is within some seconds of the expected one; else the expected one."""
    answered = datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    return text if abs(answered - seconds) <= within else str(datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc))


@oracle(21, "MetPy heat_index, xclim humidex", 3e-3)
class HeatStress:
    def sample(rng):
        return {"temperature": uniform(rng, -10, 55), "humidity": uniform(rng, 1, 100)}

    def expect(i, out):
        from metpy.calc import heat_index
        from metpy.units import units
        from xclim.indices import humidex
        t, rh = i["temperature"], i["humidity"]
        index = heat_index(units.Quantity(t, "degC"), units.Quantity(rh / 100, ""), mask_undefined=False)
        gamma = math.log(rh / 100) + 17.625 * t / (243.04 + t)
        dew = 243.04 * gamma / (17.625 - gamma)
        return {"heat_index": float(index[0].to("degC").magnitude), "dew_point": dew,
                "humidex": float(humidex(xarray(t, "degC"), xarray(dew, "degC")))}


def xarray(value, unit):
    import xarray as xr
    return xr.DataArray(value, attrs={"units": unit})


@oracle(22, "MetPy windchill", 2e-3)
class ColdStress:
    def sample(rng):
        return {"temperature": uniform(rng, -50, 9.9), "wind_speed": uniform(rng, 5, 150)}

    def expect(i, out):
        from metpy.calc import windchill
        from metpy.units import units
        chill = windchill(units.Quantity(i["temperature"], "degC"), units.Quantity(i["wind_speed"], "km/h"))
        return {"wind_chill": float(chill.magnitude)}


# pyet lets the heat of evaporation depend on the temperature in Hargreaves' equation: one percent.
@oracle(23, "pyet pm_fao56, hargreaves", 0.02)
class Evapotranspiration:
    def sample(rng):
        low = uniform(rng, -5, 20)
        value = {"t_min": low, "t_max": low + uniform(rng, 3, 18), "rh_mean": uniform(rng, 20, 95), "wind_2m": uniform(rng, 0.3, 8),
                 "latitude": uniform(rng, -55, 55), "elevation": uniform(rng, 0, 2500), "day_of_year": int(rng.integers(1, 366))}
        if rng.random() < 0.7:
            value["solar_radiation"] = uniform(rng, 3, 28)
        return value

    def expect(i, out):
        import pandas as pd
        import pyet
        index = pd.DatetimeIndex([datetime.datetime(2025, 1, 1) + datetime.timedelta(days=i["day_of_year"] - 1)])
        series = lambda x: pd.Series([x], index=index)
        low, high, lat = i["t_min"], i["t_max"], math.radians(i["latitude"])
        if "solar_radiation" not in i:
            et0 = pyet.hargreaves(series((low + high) / 2), series(high), series(low), lat, method=0)
            # Equation 52 has the latent heat of 20 °C, 2.45 MJ/kg; pyet that of the day.
            return {"et0": float(et0.iloc[0]) * pyet.calc_lambda((low + high) / 2) / 2.45}
        # The engine takes vapour pressure by the mean humidity (equation 19), as the paper allows.
        es = (0.6108 * math.exp(17.27 * low / (low + 237.3)) + 0.6108 * math.exp(17.27 * high / (high + 237.3))) / 2
        et0 = pyet.pm_fao56(series((low + high) / 2), series(i["wind_2m"]), rs=series(i["solar_radiation"]), tmax=series(high),
                            tmin=series(low), ea=series(i["rh_mean"] / 100 * es), elevation=i["elevation"], lat=lat)
        return {"et0": float(et0.iloc[0])}


@oracle(24, "pvlib spa_python, sun_rise_set_transit_spa", 0.02)
class SolarDay:
    def sample(rng):
        day = datetime.date(2000, 1, 1) + datetime.timedelta(days=int(rng.integers(0, 18000)))
        hour = int(rng.integers(0, 24))
        return {"position": {"lat": uniform(rng, -60, 60), "lon": uniform(rng, -90, 90)}, "date": day.isoformat(),
                "time": f"{day.isoformat()}T{hour:02}:17:00Z"}

    def expect(i, out):
        import pandas as pd
        from pvlib import solarposition
        place, at = i["position"], pd.DatetimeIndex([i["time"]])
        spa = solarposition.spa_python(at, place["lat"], place["lon"], temperature=10, pressure=101325).iloc[0]
        def event(name):
            # The package's time of day is that of a day of UTC, its date may be another: the day is that of the engine's event.
            day = pd.Timestamp(out[name]).normalize()
            events = solarposition.sun_rise_set_transit_spa(pd.DatetimeIndex([day]), place["lat"], place["lon"]).iloc[0]
            return day.timestamp() + events[name.replace("solar_noon", "transit")].timestamp() % 86400
        elevation = spa.apparent_elevation if spa.elevation > -0.5 else None
        azimuth = spa.azimuth if spa.elevation < 85 else None
        if azimuth is not None and abs(azimuth - out["azimuth"]) > 359.9:
            azimuth = None
        return {"elevation": elevation, "azimuth": azimuth,
                "sunrise": near(out["sunrise"], event("sunrise"), 60), "sunset": near(out["sunset"], event("sunset"), 60),
                "solar_noon": near(out["solar_noon"], event("solar_noon"), 30)}


@oracle(25, "metar", 1e-3)
class MetarDecode:
    def sample(rng):
        wind = f"{int(rng.integers(1, 36)) * 10:03}{int(rng.integers(3, 40)):02}" + (f"G{int(rng.integers(41, 60))}" if rng.random() < 0.4 else "")
        american = rng.random() < 0.5
        seen = str(rng.choice(["10SM", "3SM", "1/2SM", "1 1/2SM"])) if american else f"{int(rng.integers(1, 90)) * 100:04}"
        weather = str(rng.choice(["", "-RA", "BR", "+TSRA", "FZFG"]))
        base = int(rng.integers(1, 80))
        sky = str(rng.choice(["BKN", "OVC"])) + f"{base:03}"
        low, dew = int(rng.integers(-20, 35)), int(rng.integers(-25, 20))
        degrees = lambda t: f"{'M' if t < 0 else ''}{abs(t):02}"
        pressure = f"A{int(rng.integers(2850, 3080))}" if american else f"Q{int(rng.integers(960, 1045)):04}"
        report = f"METAR KXYZ 041651Z {wind}KT {seen} {weather} FEW{base // 2 + 1:03} {sky} {degrees(low)}/{degrees(dew)} {pressure}"
        return {"report": " ".join(report.split())}

    def expect(i, out):
        from metar.Metar import Metar
        report = Metar(i["report"], month=11, year=2026)
        speed = report.wind_speed.value("KT") * KNOT
        gust = report.wind_gust.value("KT") * KNOT if report.wind_gust else speed
        ceiling = min(layer[1].value("FT") for layer in report.sky if layer[0] in ("BKN", "OVC"))
        return {"station": report.station_id, "wind": {"direction": report.wind_dir.value(), "speed": speed, "gust": gust},
                "visibility": report.vis.value("M"), "temperature": report.temp.value("C"), "dew_point": report.dewpt.value("C"),
                "pressure": report.press.value("HPA"), "ceiling": ceiling * 0.3048}


@oracle(26, "python-aqi", 1e-9)
class AirQuality:
    # Its tables of ozone and fine particles are older than the rule.
    UNITS = {"pm10": 1, "co_8h": 1, "so2_1h": 0, "no2_1h": 0}
    MOST = {"pm10": 424, "co_8h": 30.4, "so2_1h": 304, "no2_1h": 1249}

    def sample(rng):
        return {name: round(uniform(rng, 0, most), AirQuality.UNITS[name]) for name, most in AirQuality.MOST.items() if rng.random() < 0.7} or {"pm10": 50}

    def expect(i, out):
        import aqi
        names = {"pm10": aqi.POLLUTANT_PM10, "co_8h": aqi.POLLUTANT_CO_8H,
                 "so2_1h": aqi.POLLUTANT_SO2_1H, "no2_1h": aqi.POLLUTANT_NO2_1H}
        indices = {name: int(aqi.to_iaqi(names[name], str(value))) for name, value in i.items()}
        return {"sub_indices": indices, "aqi": max(indices.values())}


@oracle(27, "numpy", 1e-9)
class Cyclone:
    def sample(rng):
        start, wind, track = datetime.datetime(2025, 9, 1), uniform(rng, 20, 60), []
        for step in range(int(rng.integers(4, 60))):
            wind = float(np.clip(wind + rng.normal(0, 9), 15, 180))
            track.append({"time": (start + datetime.timedelta(hours=3 * step)).isoformat() + "Z", "lat": 15 + step / 5, "lon": -40 - step / 3, "wind": wind})
        return {"track": track}

    def expect(i, out):
        wind = np.array([fix["wind"] for fix in i["track"]])
        six = wind[::2]
        rises = [wind[b] - wind[a] for b in range(len(wind)) for a in range(max(0, b - 8), b)]
        return {"category": int(np.searchsorted([34, 64, 83, 96, 113, 137], wind.max(), side="right")) - 1,
                "ace": float((six[six >= 34] ** 2).sum() / 1e4), "rapid_intensification": bool(max(rises) >= 30),
                "pressure_estimate": float(1010 - (wind.max() / 6.7) ** (1 / 0.644))}


@oracle(28, "numpy, scipy brentq", 1e-8)
class WindField:
    def sample(rng):
        return {"central_pressure": uniform(rng, 890, 995), "max_wind": uniform(rng, 20, 80), "radius_max_wind": uniform(rng, 10, 100),
                "latitude": uniform(rng, 5, 40), "radii": [uniform(rng, 5, 500) for _ in range(4)]}

    def expect(i, out):
        drop = (1010 - i["central_pressure"]) * 100
        b = float(np.clip(i["max_wind"] ** 2 * 1.15 * math.e / drop, 1, 2.5))
        f = 2 * 7.2921e-5 * abs(math.sin(math.radians(i["latitude"])))
        rm = i["radius_max_wind"]

        def wind(r):
            x = (rm / r) ** b
            return math.sqrt(b * drop / 1.15 * x * math.exp(-x) + (r * 1000 * f / 2) ** 2) - r * 1000 * f / 2
        outer = lambda v: optimize.brentq(lambda r: wind(r) - v, rm, 3000, xtol=1e-12) if wind(rm) >= v else None
        return {"b": b, "profile": [{"wind": wind(r)} for r in i["radii"]], "r34": outer(34 * KNOT), "r50": outer(50 * KNOT), "r64": outer(64 * KNOT)}


@oracle(29, "xclim cffwis", 2e-3, 50)
class FireWeather:
    def sample(rng):
        days = [{"temperature": uniform(rng, -5, 38), "humidity": uniform(rng, 10, 99), "wind": uniform(rng, 0, 50),
                 "rain": float(rng.choice([0, 0, 0, 0.3, 2, 8, 25])), "month": int(rng.integers(1, 13))} for _ in range(20)]
        return {"days": days, "latitude": uniform(rng, -60, 70)}

    def expect(i, out):
        from xclim.indices.fire import _cffwis as cff
        ffmc, dmc, dc, days = 85.0, 6.0, 15.0, []
        for day in i["days"]:
            t, rain, wind, rh = day["temperature"], day["rain"], day["wind"], day["humidity"]
            ffmc = float(cff._fine_fuel_moisture_code(t, rain, wind, rh, ffmc))
            dmc = float(cff._duff_moisture_code(t, rain, rh, day["month"], i["latitude"], dmc))
            dc = float(cff._drought_code(t, rain, day["month"], i["latitude"], dc))
            isi = float(cff.initial_spread_index(wind, ffmc))
            bui = float(cff.build_up_index(dmc, dc))
            fwi = float(cff.fire_weather_index(isi, bui))
            days.append({"ffmc": ffmc, "dmc": dmc, "dc": dc, "isi": isi, "bui": bui, "fwi": fwi})
        return {"days": days}


@oracle(30, "pyretechnics", 2e-3)
class FireSpread:
    def sample(rng):
        return {"fuel_model": int(rng.integers(1, 14)), "moisture_1h": uniform(rng, 2, 12), "moisture_10h": uniform(rng, 3, 13),
                "moisture_100h": uniform(rng, 4, 14), "moisture_live": uniform(rng, 60, 200), "midflame_wind": uniform(rng, 0, 15),
                "slope": uniform(rng, 0, 30)}

    def expect(i, out):
        import pyretechnics.fuel_models as fm
        import pyretechnics.surface_fire as sf
        m1, m10, m100, live = (i[name] / 100 for name in ("moisture_1h", "moisture_10h", "moisture_100h", "moisture_live"))
        fuel = fm.moisturize(fm.fuel_model_table[i["fuel_model"]], (m1, m10, m100, 0.0, live, live))
        fire = sf.calc_surface_fire_behavior_no_wind_no_slope(fuel)
        by_slope = fire["get_phi_S"](math.tan(math.radians(i.get("slope", 0))))
        by_wind = fire["get_phi_W"](i["midflame_wind"] * 1000 / 60)
        return {"spread_rate": float(fire["base_spread_rate"]) * (1 + float(by_wind) + float(by_slope))}


@oracle(31, "numpy on the table", 1e-9)
class Runoff:
    def sample(rng):
        row = table("curve_numbers.csv")[int(rng.integers(0, 32))]
        return {"rainfall": uniform(rng, 0, 300), "land_use": row["land_use"], "soil_group": str(rng.choice(list("ABCD"))), "area": uniform(rng, 0, 50),
                "moisture_condition": str(rng.choice(["dry", "normal", "wet"])), "time_of_concentration": uniform(rng, 0.2, 12), "storm_duration": 6}

    def expect(i, out):
        number = float(next(row for row in table("curve_numbers.csv") if row["land_use"] == i["land_use"])[i["soil_group"]])
        number = {"dry": number / (2.281 - 0.01281 * number), "normal": number, "wet": number / (0.427 + 0.00573 * number)}[i["moisture_condition"]]
        s = 25400 / number - 254
        q = max(i["rainfall"] - 0.2 * s, 0) ** 2 / (i["rainfall"] + 0.8 * s)
        return {"curve_number": number, "runoff": q, "peak_flow": 0.208 * i["area"] * q / (3 + 0.6 * i["time_of_concentration"])}


@oracle(32, "numpy", 1e-9)
class Rational:
    def sample(rng):
        return {"runoff_coefficient": uniform(rng, 0, 1), "area": uniform(rng, 0.1, 80), "flow_length": uniform(rng, 20, 2000),
                "slope": uniform(rng, 0.001, 0.2), "idf": {"a": uniform(rng, 500, 3000), "b": uniform(rng, 0, 30), "c": uniform(rng, 0.5, 1.1)}}

    def expect(i, out):
        minutes = 0.0195 * i["flow_length"] ** 0.77 * i["slope"] ** -0.385
        intensity = i["idf"]["a"] / (minutes + i["idf"]["b"]) ** i["idf"]["c"]
        return {"time_of_concentration": minutes, "intensity": intensity, "peak_flow": i["runoff_coefficient"] * intensity * i["area"] / 360}


@oracle(33, "scipy brentq", 1e-8)
class Channel:
    def sample(rng):
        value = {"shape": str(rng.choice(["trapezoid", "rectangle", "circle"])), "slope": uniform(rng, 1e-4, 0.02), "roughness": uniform(rng, 0.01, 0.06)}
        if value["shape"] == "circle":
            return value | {"diameter": 2.0, "flow": uniform(rng, 0.05, 0.5)}
        return value | {"width": uniform(rng, 0.5, 20), "side_slope": uniform(rng, 0, 3), "flow": uniform(rng, 0.1, 100)}

    def expect(i, out):
        side = i["side_slope"] if i["shape"] == "trapezoid" else 0

        def section(y):
            if i["shape"] == "circle":
                angle = 2 * math.acos(1 - y)
                return (angle - math.sin(angle)) / 2, angle, 2 * math.sin(angle / 2)
            return (i["width"] + side * y) * y, i["width"] + 2 * y * math.hypot(1, side), i["width"] + 2 * side * y
        most = 1.87 if i["shape"] == "circle" else 500

        def manning(y):
            area, perimeter, _ = section(y)
            return area * (area / perimeter) ** (2 / 3) * math.sqrt(i["slope"]) / i["roughness"]
        if manning(most) < i["flow"]:
            return {}
        depth = optimize.brentq(lambda y: manning(y) - i["flow"], 1e-9, most, xtol=1e-14)
        critical = optimize.brentq(lambda y: i["flow"] ** 2 * section(y)[2] - 9.81 * section(y)[0] ** 3, 1e-9, 1.99999 if i["shape"] == "circle" else 500, xtol=1e-14)
        area, _, top = section(depth)
        return {"depth": depth, "critical_depth": critical, "froude": i["flow"] / area / math.sqrt(9.81 * area / top)}


@oracle(34, "lmoments3, scipy pearson3", 1e-4, 40)
class FloodFrequency:
    def sample(rng):
        values = stats.genextreme(c=uniform(rng, -0.2, 0.2), loc=100, scale=25).rvs(int(rng.integers(15, 60)), random_state=rng)
        return {"annual_maxima": [round(float(max(x, 1)), 2) for x in values], "distribution": str(rng.choice(["gev", "gumbel", "log-pearson3"])),
                "return_periods": [2, 10, 100]}

    def expect(i, out):
        from lmoments3 import distr
        values, p = np.array(i["annual_maxima"]), 1 - 1 / np.array([2, 10, 100])
        if i["distribution"] == "log-pearson3":
            logs = np.log10(values)
            levels = 10 ** (logs.mean() + logs.std(ddof=1) * stats.pearson3(stats.skew(logs, bias=False)).ppf(p))
        else:
            kind = distr.gev if i["distribution"] == "gev" else distr.gum
            levels = kind(**kind.lmom_fit(values)).ppf(p)
        return {"levels": [{"level": float(level)} for level in levels]}


@oracle(35, "numpy", 1e-9)
class DamBreach:
    def sample(rng):
        return {"water_volume": uniform(rng, 1e5, 1e8), "breach_height": uniform(rng, 4, 60), "water_height": uniform(rng, 4, 60),
                "mode": str(rng.choice(["overtopping", "piping"]))}

    def expect(i, out):
        v, h = i["water_volume"], i["breach_height"]
        return {"peak_outflow": 0.607 * v ** 0.295 * i["water_height"] ** 1.24, "formation_time": 63.2 * math.sqrt(v / (9.81 * h * h)) / 3600,
                "average_width": 0.27 * (1.3 if i["mode"] == "overtopping" else 1.0) * v ** 0.32 * h ** 0.04}


@oracle(36, "climate-indices spi; scipy for spei", 2e-3, 20)
class Drought:
    def sample(rng):
        years = int(rng.integers(20, 40))
        rain = np.round(rng.gamma(2, 30, years * 12), 1)
        value = {"precipitation": [float(x) for x in rain], "start_month": 1, "scales": [int(rng.choice([1, 3, 6]))]}
        if rng.random() < 0.3:
            value["pet"] = [float(x) for x in np.round(rng.normal(60, 12, years * 12), 1)]
        return value

    def expect(i, out):
        scale, rain = i["scales"][0], np.array(i["precipitation"])
        if "pet" in i:
            sums = np.convolve(rain - np.array(i["pet"]), np.ones(scale), "valid")
            values = np.empty(len(sums))
            for month in range(12):
                x = sums[month::12]
                s, n = np.sort(x), len(x)
                j = np.arange(n)
                b0, b1, b2 = s.mean(), (j / (n - 1) * s).mean(), (j * (j - 1) / ((n - 1) * (n - 2)) * s).mean()
                # Beguería et al. 2014, with moments of (1 - F).
                w0, w1, w2 = b0, b0 - b1, b0 - 2 * b1 + b2
                beta = (2 * w1 - w0) / (6 * w1 - w0 - 6 * w2)
                g = math.gamma(1 + 1 / beta) * math.gamma(1 - 1 / beta)
                alpha = (w0 - 2 * w1) * beta / g
                values[month::12] = stats.norm.ppf(1 / (1 + (alpha / (x - (w0 - alpha * g))) ** beta))
            values = np.clip(values, -3.09, 3.09)
        else:
            from climate_indices import compute, indices
            years = len(rain) // 12
            values = indices.spi(rain, scale, indices.Distribution.gamma, 1990, 1990, 1990 + years - 1, compute.Periodicity.monthly)[scale - 1:]
        return {"series": [{"scale": scale, "values": [float(x) for x in values]}]}


BRIGGS = {"A": (0.22, lambda x: 0.20 * x), "B": (0.16, lambda x: 0.12 * x), "C": (0.11, lambda x: 0.08 * x / np.sqrt(1 + 2e-4 * x)),
          "D": (0.08, lambda x: 0.06 * x / np.sqrt(1 + 1.5e-3 * x)), "E": (0.06, lambda x: 0.03 * x / (1 + 3e-4 * x)),
          "F": (0.04, lambda x: 0.016 * x / (1 + 3e-4 * x))}


@oracle(37, "scipy", 1e-6)
class Plume:
    def sample(rng):
        return {"rate": uniform(rng, 1, 1000), "height": uniform(rng, 10, 80), "wind_speed": uniform(rng, 1, 12),
                "stability": str(rng.choice(list("ABCDEF"))), "source": {"lat": 10, "lon": 20}, "thresholds": [uniform(rng, 50, 2000)]}

    def expect(i, out):
        y, z = BRIGGS[i["stability"]]
        c = lambda x: i["rate"] * 1e6 / (math.pi * i["wind_speed"] * y * x / math.sqrt(1 + 1e-4 * x) * z(x)) * math.exp(-i["height"] ** 2 / (2 * z(x) ** 2))
        grid = np.geomspace(10, 1e5, 2000)
        k = int(np.argmax([c(x) for x in grid]))
        best = optimize.minimize_scalar(lambda x: -c(x), bounds=(grid[max(k - 1, 0)], grid[min(k + 1, 1999)]), method="bounded", options={"xatol": 1e-9})
        top, threshold = -best.fun, i["thresholds"][0]
        distance = 0.0 if top < threshold else 1e5 if c(1e5) >= threshold else optimize.brentq(lambda x: c(x) - threshold, best.x, 1e5)
        return {"max_concentration": top, "threshold_distances": [{"distance": distance}], "centreline": [{"concentration": c(100)}, {"concentration": c(200)}]}


@oracle(38, "kingery-bulmash", 1e-6)
class Blast:
    def sample(rng):
        mass = uniform(rng, 1, 5000)
        return {"mass": mass, "distances": [uniform(rng, 0.3, 39) * mass ** (1 / 3) for _ in range(3)]}

    def expect(i, out):
        import kingery_bulmash as kb
        blasts = [kb.Blast_Parameters(kb.Units.METRIC, i["mass"], d, safe=False) for d in i["distances"]]
        return {"points": [{"overpressure": b.incident_pressure, "arrival": b.time_of_arrival} for b in blasts]}


@oracle(39, "scipy quad", 1e-7)
class Radiation:
    def sample(rng):
        return {"mode": "fallout", "reference_rate": uniform(rng, 10, 1000), "reference_hour": uniform(rng, 1, 5), "entry_hour": uniform(rng, 1, 100), "dose_limit": uniform(rng, 1, 50)}

    def expect(i, out):
        rate = lambda t: i["reference_rate"] * (t / i["reference_hour"]) ** -1.2
        dose = lambda hours: integrate.quad(rate, i["entry_hour"], i["entry_hour"] + hours, epsabs=1e-12, epsrel=1e-12)[0]
        stay = out.get("stay_time")
        if stay is not None and stay < 1e5:
            assert abs(dose(stay) - i["dose_limit"]) < 1e-6 * i["dose_limit"], (dose(stay), i)
        return {"rate": rate(i["entry_hour"]), "dose_per_hour": dose(1)}


@oracle(40, "numpy on the table", 1e-9)
class Source:
    def sample(rng):
        return {"magnitude": uniform(rng, 4.8, 8.1), "fault_type": str(rng.choice(["all", "strike-slip", "reverse", "normal"]))}

    def expect(i, out):
        row = {k: v if k == "fault_type" else float(v) for k, v in next(r for r in table("wells_coppersmith.csv") if r["fault_type"] == i["fault_type"]).items()}
        m, area = i["magnitude"], 10 ** (row["ra_a"] + row["ra_b"] * i["magnitude"])
        return {"moment": 10 ** (1.5 * m + 9.1), "energy": 10 ** (1.5 * m + 4.8), "rupture_area": area,
                "rupture_length": 10 ** (row["srl_a"] + row["srl_b"] * m), "mean_slip": 10 ** (1.5 * m + 9.1) / (3e16 * area)}


@oracle(41, "pyGMM BooreStewartSeyhanAtkinson2014", 1e-6, 100)
class GroundMotion:
    NAMES = {"unspecified": "U", "strike-slip": "SS", "normal": "NS", "reverse": "RS"}

    def sample(rng):
        return {"magnitude": uniform(rng, 4, 8), "epicentre": {"lat": 0, "lon": 0}, "mechanism": str(rng.choice(list(GroundMotion.NAMES))),
                "sites": [{"id": "s", "lat": 0.1, "lon": 0.1, "vs30": uniform(rng, 160, 1400), "rjb": uniform(rng, 0, 290)}], "periods": [0.2, 0.33, 1, 7.7]}

    def expect(i, out):
        import pygmm
        site = i["sites"][0]
        model = pygmm.BooreStewartSeyhanAtkinson2014(pygmm.Scenario(
            mag=i["magnitude"], dist_jb=site["rjb"], v_s30=site["vs30"], mechanism=GroundMotion.NAMES[i["mechanism"]], region="california"))
        sa = model.interp_spec_accels(np.array(i["periods"]))
        return {"sites": [{"pga": float(model.pga), "pgv": float(model.pgv), "sa": {str(p): float(a) for p, a in zip(i["periods"], sa)}}],
                "sigma": {"pga": float(model.ln_std_pga), "pgv": float(model.ln_std_pgv)}}


@oracle(42, "scipy quad, poisson; SeismoStats", 1e-7, 60)
class Aftershocks:
    def sample(rng):
        magnitudes = np.round(2.0 + rng.exponential(1 / (0.9 * math.log(10)), 400), 1)
        start = datetime.datetime(2025, 1, 1)
        events = [{"time": (start + datetime.timedelta(hours=k)).isoformat() + "Z", "magnitude": float(m)} for k, m in enumerate(magnitudes)]
        return {"mainshock": uniform(rng, 5, 8), "start_day": uniform(rng, 0, 10), "window_days": uniform(rng, 1, 100), "magnitudes": [3, 4, 5],
                "p": uniform(rng, 0.8, 1.4), "catalogue": events}

    def expect(i, out):
        from seismostats.analysis import UtsuBValueEstimator, estimate_b
        time = integrate.quad(lambda t: (t + 0.05) ** -i["p"], i["start_day"], i["start_day"] + i["window_days"], epsabs=1e-13, epsrel=1e-12)[0]
        forecast = []
        for m in i["magnitudes"]:
            mean = 10 ** (-1.67 + 0.91 * (i["mainshock"] - m)) * time
            forecast.append({"expected": mean, "probability": -math.expm1(-mean), "low": int(stats.poisson.ppf(0.025, mean)), "high": int(stats.poisson.ppf(0.975, mean))})
        magnitudes = np.array([event["magnitude"] for event in i["catalogue"]])
        mc = round(out["completeness"], 1)
        b, sigma = estimate_b(magnitudes[magnitudes >= mc - 1e-6], mc=mc, delta_m=0.1, return_std=True, method=UtsuBValueEstimator)
        return {"forecast": forecast, "b_value": float(b), "b_sigma": float(sigma)}


@oracle(43, "numpy", 1e-9)
class Tsunami:
    def sample(rng):
        distance = np.cumsum(rng.uniform(5, 200, 8))
        depth = np.sort(rng.uniform(10, 6000, 8))[::-1]
        return {"profile": [{"distance": float(a), "depth": float(b)} for a, b in zip(distance, depth)], "amplitude": uniform(rng, 0.05, 2), "shore_depth": 10}

    def expect(i, out):
        x = np.array([p["distance"] for p in i["profile"]]) * 1000
        d = np.array([p["depth"] for p in i["profile"]])
        seconds = np.trapezoid(1 / np.sqrt(9.81 * d), x)
        return {"minutes": seconds / 60, "mean_speed": (x[-1] - x[0]) / seconds * 3.6, "coastal_amplitude": i["amplitude"] * (d[0] / i["shore_depth"]) ** 0.25}


@oracle(44, "geographiclib through pyproj, scipy theilslopes", 1e-8)
class Lightning:
    def sample(rng):
        start = datetime.datetime(2026, 7, 1, 12)
        drift = uniform(rng, -1, 1)
        strikes = [{"time": (start + datetime.timedelta(minutes=k)).isoformat() + "Z", "lat": 10 + abs(30 + drift * k + float(rng.normal(0, 2))) / 111, "lon": 20.0} for k in range(25)]
        return {"site": {"lat": 10, "lon": 20}, "strikes": strikes, "now": (start + datetime.timedelta(minutes=24)).isoformat() + "Z", "flash_to_bang": uniform(rng, 1, 90), "temperature": uniform(rng, -10, 35)}

    def expect(i, out):
        from pyproj import Geod
        km = np.array([Geod(ellps="WGS84").inv(20, 10, s["lon"], s["lat"])[2] / 1000 for s in i["strikes"]])
        slope = stats.theilslopes(km, np.arange(len(km)))[0]
        return {"distance": i["flash_to_bang"] * 331.3 * math.sqrt(1 + i["temperature"] / 273.15) / 1000, "nearest": float(km.min()), "strikes_in_radius": int((km <= 10).sum()),
                "trend": "approaching" if slope <= -0.1 else "receding" if slope >= 0.1 else "steady"}


@oracle(45, "numpy", 1e-7)
class Avalanche:
    def sample(rng):
        x = np.arange(0, 4001, 50.0)
        height = 1000 * np.exp(-x / uniform(rng, 500, 900))
        return {"profile": [{"distance": float(a), "height": float(b)} for a, b in zip(x, height)], "sigmas": uniform(rng, -1, 1)}

    def expect(i, out):
        x, z = (np.array([p[name] for p in i["profile"]]) for name in ("distance", "height"))
        slopes = np.degrees(np.arctan(-np.diff(z) / np.diff(x)))
        k = next(k for k in range(int(np.argmax(slopes)) + 1, len(slopes)) if slopes[k] <= 10)
        beta = math.degrees(math.atan((z[0] - z[k]) / x[k]))
        alpha = 0.96 * beta - 1.4 + 2.3 * i["sigmas"]
        gap = lambda s: z[0] - s * math.tan(math.radians(alpha)) - np.interp(s, x, z)
        crossing = [optimize.brentq(gap, a, b) for a, b in zip(x[1:], x[2:]) if gap(a) > 0 >= gap(b)]
        return {"beta": beta, "alpha": alpha, "runout_distance": crossing[-1] if crossing else None}


@oracle(46, "numpy", 1e-9)
class Landslide:
    def sample(rng):
        return {"slope": uniform(rng, 10, 50), "cohesion": uniform(rng, 0, 20), "friction_angle": uniform(rng, 15, 40), "depth": uniform(rng, 0.5, 6),
                "saturation": uniform(rng, 0, 1), "seismic_coefficient": uniform(rng, 0, 0.2), "rain_intensity": uniform(rng, 0.1, 10), "rain_duration": uniform(rng, 1, 100)}

    def expect(i, out):
        b, z, g = math.radians(i["slope"]), i["depth"], 19
        normal, shear = g * z * math.cos(b) ** 2, g * z * math.sin(b) * math.cos(b)
        k, phi = i["seismic_coefficient"], math.tan(math.radians(i["friction_angle"]))
        safety = max(i["cohesion"] + (normal - 9.81 * i["saturation"] * z * math.cos(b) ** 2 - k * shear) * phi, 0) / (shear + k * normal)
        threshold = 2.2 * i["rain_duration"] ** -0.44
        return {"factor_of_safety": safety, "threshold_intensity": threshold, "exceeded": i["rain_intensity"] >= threshold}


if __name__ == "__main__":
    main("hazard", ORACLES)
