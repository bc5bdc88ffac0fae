"""Oracles of the family medical (q214 to q236): `python engines/oracles/medical.py [q214 …]`.

clincalc rounds its results: the tolerances are half of its last digit where a value is a fraction.
"""
import clincalc
import numpy as np
import pandas as pd
import scipy.stats as st
from cgmzscore.src.main import z_score_lhfa, z_score_wfa, z_score_wfl
from epyestim.estimate_r import estimate_r, gamma_quantiles
from scipy.integrate import solve_ivp
from statsmodels.stats.proportion import proportion_confint

from jsonlines import main, pick

ORACLES = {}


def oracle(number, package, tolerance, count=200):
    def register(cls):
        ORACLES[number] = dict(package=package, tolerance=tolerance, count=count, sample=cls.sample, expect=cls.expect)
        return cls
    return register


def calc(name, **inputs):
    return clincalc.calculate(name, inputs)


def value(name, **inputs):
    return calc(name, **inputs)["result"]


def coin(rng, p=0.5):
    return bool(rng.random() < p)


@oracle(214, "clincalc", 0)
class Warning:
    def sample(rng):
        return {"respiratory_rate": int(rng.integers(4, 40)), "spo2": int(rng.integers(75, 101)), "oxygen": coin(rng),
                "systolic": int(rng.integers(60, 240)), "heart_rate": int(rng.integers(30, 160)),
                "consciousness": pick(rng, "AACVPU"), "temperature": float(np.round(rng.uniform(33, 41), 1)), "scale2": coin(rng)}

    def expect(i, out):
        total = value("news2", consciousness="alert" if i["consciousness"] == "A" else "confusion-or-vpu", on_oxygen=i["oxygen"],
                      pulse=i["heart_rate"], respiratory_rate=i["respiratory_rate"], spo2=i["spo2"],
                      spo2_scale="2" if i["scale2"] else "1", systolic_bp=i["systolic"], temperature=i["temperature"])
        return {"score": total}


@oracle(215, "clincalc", 0)
class Sepsis:
    def sample(rng):
        agent = pick(rng, ["none", "dopamine", "dobutamine", "norepinephrine", "epinephrine"])
        dose = 0.0 if agent == "none" else float(np.round(rng.uniform(1, 20) if agent.startswith("do") else rng.uniform(0.02, 0.4), 2))
        return {"pao2_fio2": int(rng.integers(50, 500)), "ventilated": coin(rng), "platelets": int(rng.integers(10, 300)),
                "bilirubin": float(np.round(rng.uniform(0.2, 15), 1)), "map": int(rng.integers(50, 100)),
                "vasopressor": {"agent": agent, "dose": dose}, "gcs": int(rng.integers(3, 16)),
                "creatinine": float(np.round(rng.uniform(0.5, 6), 1)), "respiratory_rate": int(rng.integers(8, 40)),
                "systolic": int(rng.integers(70, 160)), "heart_rate": 80, "temperature": 37.0, "wbc": 8.0}

    def expect(i, out):
        agent, dose = i["vasopressor"]["agent"], i["vasopressor"]["dose"]
        if agent == "none":
            level = "map-at-least70" if i["map"] >= 70 else "map-below70"
        elif agent == "dobutamine" or agent == "dopamine" and dose <= 5:
            level = "dopamine-low"
        else:
            level = "moderate-vasopressors" if dose <= (15 if agent == "dopamine" else 0.1) else "high-vasopressors"
        sofa = value("sofa", bilirubin=i["bilirubin"], bilirubin_unit="mg/dL", cardiovascular=level, creatinine=i["creatinine"],
                     creatinine_unit="mg/dL", gcs=i["gcs"], pao2_fio2=i["pao2_fio2"], platelets=i["platelets"],
                     respiratory_support=i["ventilated"])
        qsofa = value("qsofa", altered_mentation=i["gcs"] < 15, respiratory_rate=i["respiratory_rate"], systolic_bp=i["systolic"])
        return {"sofa": sofa, "qsofa": qsofa, "sepsis": sofa >= 2, "delta": sofa}


@oracle(216, "definitions (numpy)", 1e-4)
class Trauma:
    def sample(rng):
        return {"eye": int(rng.integers(1, 5)), "verbal": int(rng.integers(1, 6)), "motor": int(rng.integers(1, 7)),
                "systolic": int(rng.integers(0, 180)), "respiratory_rate": int(rng.integers(0, 45)), "age": int(rng.integers(16, 90)),
                "ais": {r: int(rng.integers(0, 6)) for r in ("head", "face", "chest", "abdomen", "extremities", "external")},
                "mechanism": pick(rng, ["blunt", "penetrating"]), "pupils_unreactive": int(rng.integers(0, 3))}

    def expect(i, out):
        gcs = i["eye"] + i["verbal"] + i["motor"]
        code = np.digitize(gcs, [4, 6, 9, 13]), np.digitize(i["systolic"], [1, 50, 76, 90])
        rate = i["respiratory_rate"]
        breath = 0 if rate == 0 else 1 if rate <= 5 else 2 if rate <= 9 else 4 if rate <= 29 else 3
        rts = 0.9368 * code[0] + 0.7326 * code[1] + 0.2908 * breath
        iss = int((np.sort(list(i["ais"].values()))[-3:] ** 2).sum())
        b = np.array([-0.4499, 0.8085, -0.0835, -1.7430] if i["mechanism"] == "blunt" else [-2.5355, 0.9934, -0.0651, -1.1360])
        return {"gcs": gcs, "gcs_p": gcs - i["pupils_unreactive"], "rts": rts, "iss": iss,
                "survival": 1 / (1 + np.exp(-(b @ [1, rts, iss, float(i["age"] >= 55)])))}


@oracle(219, "clincalc", 0)
class Chest:
    def sample(rng):
        return {"age": int(rng.integers(20, 95)), "history": int(rng.integers(3)), "ecg": int(rng.integers(3)),
                "troponin_ratio": float(pick(rng, [0.2, 1.0, 1.1, 2.9, 3.0, 3.1, 20.0])), "risk_factors": int(rng.integers(0, 6)),
                "known_cad": coin(rng, 0.3), "aspirin_7d": coin(rng), "severe_angina": coin(rng), "st_deviation": coin(rng)}

    def expect(i, out):
        heart = value("heart", age=i["age"], history=["slightly_suspicious", "moderately_suspicious", "highly_suspicious"][i["history"]],
                      ecg=["normal", "non_specific_repolarisation", "significant_st_deviation"][i["ecg"]],
                      risk_factors="three_or_more_or_atherosclerosis" if i["risk_factors"] >= 3 or i["known_cad"]
                      else "one_or_two" if i["risk_factors"] else "none",
                      troponin="normal" if i["troponin_ratio"] <= 1 else "one_to_three_times" if i["troponin_ratio"] <= 3
                      else "over_three_times")
        timi = value("timi", age=i["age"], aspirin_use_past_7_days=i["aspirin_7d"], known_cad=i["known_cad"],
                     positive_biomarker=i["troponin_ratio"] > 1, severe_angina=i["severe_angina"], st_deviation=i["st_deviation"],
                     three_or_more_cad_risk_factors=i["risk_factors"] >= 3)
        return {"heart": heart, "timi": timi}


@oracle(220, "clincalc", 1e-9)
class Clot:
    PE = ["dvt_signs", "pe_most_likely", "immobilised", "previous_vte", "haemoptysis", "malignancy", "leg_swelling",
          "surgery_or_trauma", "hormone_use"]
    DVT = ["active_cancer", "paralysis_or_plaster", "bedridden_or_surgery", "localised_tenderness", "entire_leg_swollen",
           "calf_swelling", "pitting_oedema", "collateral_veins", "previous_dvt", "alternative_as_likely"]

    def sample(rng):
        pe = coin(rng)
        return {"condition": "pe" if pe else "dvt", "age": int(rng.integers(18, 90)), "heart_rate": int(rng.integers(60, 140)),
                "spo2": int(rng.integers(88, 101)), "criteria": {c: coin(rng, 0.3) for c in (Clot.PE if pe else Clot.DVT)}}

    def expect(i, out):
        c = i["criteria"]
        if i["condition"] == "dvt":
            return {"wells": value("wells_dvt", active_cancer=c["active_cancer"], alternative_diagnosis_as_likely=c["alternative_as_likely"],
                                   bedridden_or_major_surgery=c["bedridden_or_surgery"], calf_swelling_over_3cm=c["calf_swelling"],
                                   collateral_superficial_veins=c["collateral_veins"], entire_leg_swollen=c["entire_leg_swollen"],
                                   localised_tenderness=c["localised_tenderness"],
                                   paralysis_paresis_immobilisation=c["paralysis_or_plaster"], pitting_oedema=c["pitting_oedema"],
                                   previously_documented_dvt=c["previous_dvt"])}
        wells = value("wells_pe", clinical_signs_of_dvt=c["dvt_signs"], haemoptysis=c["haemoptysis"],
                      heart_rate_over_100=i["heart_rate"] > 100, immobilisation_or_surgery=c["immobilised"],
                      malignancy=c["malignancy"], pe_most_likely_diagnosis=c["pe_most_likely"], previous_dvt_or_pe=c["previous_vte"])
        perc = value("perc", age_years=i["age"], exogenous_oestrogen_use=c["hormone_use"], haemoptysis=c["haemoptysis"],
                     heart_rate_bpm=i["heart_rate"], low_pretest_probability_confirmed=True, prior_vte=c["previous_vte"],
                     recent_surgery_or_trauma_requiring_hospitalisation=c["surgery_or_trauma"],
                     room_air_oxygen_saturation_percent=i["spo2"], unilateral_leg_swelling=c["leg_swelling"])
        return {"wells": wells, "perc_negative": perc == 0 if isinstance(perc, (int, float)) else None,
                "d_dimer_threshold": max(500, 10 * i["age"]) if i["age"] > 50 else 500}


@oracle(221, "clincalc", 0)
class Fibrillation:
    FLAGS = ["heart_failure", "hypertension", "diabetes", "stroke", "vascular_disease", "uncontrolled_bp", "renal", "liver",
             "bleeding", "labile_inr", "drugs", "alcohol"]

    def sample(rng):
        return {"age": int(rng.integers(40, 95)), "sex": pick(rng, ["female", "male"]), **{f: coin(rng, 0.3) for f in Fibrillation.FLAGS}}

    def expect(i, out):
        return {"cha2ds2_vasc": value("cha2ds2vasc", age=i["age"], congestive_heart_failure=i["heart_failure"], diabetes=i["diabetes"],
                                      hypertension=i["hypertension"], sex=i["sex"], stroke_tia_thromboembolism=i["stroke"],
                                      vascular_disease=i["vascular_disease"]),
                "has_bled": value("hasbled", abnormal_liver_function=i["liver"], abnormal_renal_function=i["renal"],
                                  alcohol_excess=i["alcohol"], bleeding_history=i["bleeding"], drugs_antiplatelet_nsaid=i["drugs"],
                                  elderly_over_65=i["age"] > 65, hypertension_uncontrolled=i["uncontrolled_bp"],
                                  labile_inr=i["labile_inr"], stroke=i["stroke"])}


@oracle(222, "clincalc (ASCVD), coefficients of framinghamheartstudy.org (Framingham)", 0.0501)
class Cardiovascular:
    def sample(rng):
        return {"age": int(rng.integers(40, 80)), "sex": pick(rng, ["female", "male"]), "race": pick(rng, ["white", "african-american"]),
                "total_cholesterol": int(rng.integers(130, 321)), "hdl": int(rng.integers(20, 101)),
                "systolic": int(rng.integers(90, 201)), "treated": coin(rng), "smoker": coin(rng), "diabetes": coin(rng)}

    def expect(i, out):
        # Age, cholesterol, HDL, pressure untreated and treated, smoking, diabetes, survival, mean (the latter of Medscape).
        b = {"female": [2.32888, 1.20904, -0.70833, 2.76157, 2.82263, 0.52873, 0.69154, 0.95012, 26.1931],
             "male": [3.06117, 1.12370, -0.93263, 1.93303, 1.99881, 0.65451, 0.57367, 0.88936, 23.9802]}[i["sex"]]
        x = b[0] * np.log(i["age"]) + b[1] * np.log(i["total_cholesterol"]) + b[2] * np.log(i["hdl"])
        x += b[4 if i["treated"] else 3] * np.log(i["systolic"]) + b[5] * i["smoker"] + b[6] * i["diabetes"] - b[8]
        general = 100 * (1 - b[7] ** np.exp(x)) if i["age"] < 75 else None
        return {"framingham": general, "ascvd": value("ascvd", age=i["age"], current_smoker=i["smoker"], diabetes=i["diabetes"], hdl_cholesterol_mg_dl=i["hdl"],
                               race="white" if i["race"] == "white" else "black", sex=i["sex"], systolic_bp_mm_hg=i["systolic"],
                               total_cholesterol_mg_dl=i["total_cholesterol"], treated_bp=i["treated"])}


@oracle(223, "clincalc", 0.08)
class Kidney:
    def sample(rng):
        return {"creatinine": float(np.round(rng.uniform(0.4, 6), 2)), "age": int(rng.integers(18, 95)),
                "sex": pick(rng, ["female", "male"]), "weight": float(np.round(rng.uniform(45, 120), 1))}

    def expect(i, out):
        same = dict(age=i["age"], creatinine=i["creatinine"], creatinine_unit="mg/dL", sex=i["sex"])
        return {"egfr": value("egfr", **same), "crcl": value("cockcroft_gault", **same, weight_kg=i["weight"])}


@oracle(224, "clincalc", 0.0501)
class Liver:
    def sample(rng):
        return {"bilirubin": float(np.round(rng.uniform(0.4, 12), 1)), "inr": float(np.round(rng.uniform(0.9, 4), 1)),
                "creatinine": float(np.round(rng.uniform(0.5, 4), 1)), "sodium": int(rng.integers(118, 145)),
                "albumin": float(np.round(rng.uniform(1.2, 4.5), 1)), "sex": pick(rng, ["female", "male"]),
                "age": int(rng.integers(20, 80)), "dialysis": coin(rng, 0.2), "ascites": pick(rng, ["none", "mild", "moderate"]),
                "encephalopathy": int(rng.integers(0, 5)), "ast": int(rng.integers(10, 300)), "alt": int(rng.integers(10, 300)),
                "platelets": int(rng.integers(30, 400))}

    def expect(i, out):
        meld = value("meld_3", albumin=i["albumin"], albumin_unit="g/dL", bilirubin=i["bilirubin"], bilirubin_unit="mg/dL",
                     creatinine=i["creatinine"], creatinine_unit="mg/dL", female_for_adult_meld=i["sex"] == "female", inr=i["inr"],
                     qualifying_dialysis_in_prior_7_days=i["dialysis"], registration_age_years=i["age"], sodium_mmol_l=i["sodium"])
        child = value("child_pugh", albumin=i["albumin"], albumin_unit="g/dL", bilirubin=i["bilirubin"], bilirubin_unit="mg/dL",
                      ascites={"moderate": "moderate-severe"}.get(i["ascites"], i["ascites"]), inr=i["inr"],
                      encephalopathy="none" if i["encephalopathy"] == 0 else "grade1-to2" if i["encephalopathy"] <= 2 else "grade3-to4")
        return {"meld3": meld, "child_pugh": child, "fib4": value("fib4", age=i["age"], alt=i["alt"], ast=i["ast"], platelets=i["platelets"])}


@oracle(225, "clincalc (CURB-65), definition (PSI)", 0)
class Pneumonia:
    def sample(rng):
        return {"age": int(rng.integers(18, 95)), "sex": pick(rng, ["female", "male"]), "confusion": coin(rng, 0.3),
                "urea": float(np.round(rng.uniform(3, 15), 1)), "respiratory_rate": int(rng.integers(12, 40)),
                "systolic": int(rng.integers(80, 160)), "diastolic": int(rng.integers(40, 80)),
                "heart_rate": int(rng.integers(60, 140)), "temperature": float(np.round(rng.uniform(34, 41), 1)),
                "nursing_home": coin(rng, 0.2), "comorbidities": [c for c in ("cancer", "liver", "heart-failure", "cerebrovascular", "renal") if coin(rng, 0.2)],
                "ph": float(np.round(rng.uniform(7.2, 7.5), 2)), "sodium": int(rng.integers(120, 145)), "glucose": int(rng.integers(80, 300)),
                "haematocrit": int(rng.integers(20, 50)), "pao2": int(rng.integers(45, 100)), "effusion": coin(rng, 0.2)}

    def expect(i, out):
        curb = value("curb65", age=i["age"], confusion=i["confusion"], diastolic_bp=i["diastolic"], respiratory_rate=i["respiratory_rate"],
                     systolic_bp=i["systolic"], urea_mmol_l=i["urea"])
        ill = {"cancer": 30, "liver": 20, "heart-failure": 10, "cerebrovascular": 10, "renal": 10}
        points = i["age"] - 10 * (i["sex"] == "female") + 10 * i["nursing_home"] + sum(ill[c] for c in i["comorbidities"])
        points += 20 * i["confusion"] + 20 * (i["respiratory_rate"] >= 30) + 20 * (i["systolic"] < 90)
        points += 15 * (not 35 <= i["temperature"] < 40) + 10 * (i["heart_rate"] >= 125) + 30 * (i["ph"] < 7.35)
        points += 20 * (i["urea"] >= 11) + 20 * (i["sodium"] < 130) + 10 * (i["glucose"] >= 250) + 10 * (i["haematocrit"] < 30)
        points += 10 * (i["pao2"] < 60) + 10 * i["effusion"]
        first = (i["age"] <= 50 and not i["comorbidities"] and not i["confusion"] and i["respiratory_rate"] < 30 and i["systolic"] >= 90
                 and 35 <= i["temperature"] < 40 and i["heart_rate"] < 125)
        return {"curb65": curb, "crb65": curb - (i["urea"] > 7), "psi": points,
                "psi_class": 1 if first else int(np.digitize(points, [71, 91, 131])) + 2}


@oracle(226, "clincalc (ABCD2)", 0)
class Stroke:
    def sample(rng):
        return {"items": {}, "age": int(rng.integers(40, 90)), "systolic": int(rng.integers(100, 200)), "diastolic": int(rng.integers(60, 99)),
                "unilateral_weakness": coin(rng), "speech_impairment": coin(rng), "duration_minutes": float(pick(rng, [5, 9.9, 10, 59, 60, 200])),
                "diabetes": coin(rng)}

    def expect(i, out):
        feature = "unilateral-weakness" if i["unilateral_weakness"] else "speech-disturbance" if i["speech_impairment"] else "other"
        minutes = i["duration_minutes"]
        return {"abcd2": value("abcd2", age=i["age"], clinical_features=feature, diabetes=i["diabetes"], diastolic_bp=i["diastolic"],
                               systolic_bp=i["systolic"],
                               duration="60min-or-more" if minutes >= 60 else "10-59min" if minutes >= 10 else "under-10min")}


@oracle(227, "clincalc", 0.0501)
class AcidBase:
    def sample(rng):
        ph, pco2 = float(np.round(rng.uniform(7.0, 7.6), 2)), int(rng.integers(20, 80))
        return {"ph": ph, "pco2": pco2, "hco3": float(np.round(24 * pco2 / 10 ** (9 - ph), 1)), "sodium": int(rng.integers(120, 160)),
                "chloride": int(rng.integers(90, 120)), "albumin": float(np.round(rng.uniform(1.5, 5), 1)), "glucose": int(rng.integers(100, 900)),
                "calcium": float(np.round(rng.uniform(6, 14), 1))}

    def expect(i, out):
        gap = calc("anion_gap", albumin_g_l=10 * i["albumin"], bicarbonate_mmol_l=i["hco3"], chloride_mmol_l=i["chloride"],
                   sodium_mmol_l=i["sodium"]) if 1 <= i["hco3"] <= 60 else {"result": None}
        return {"corrected_gap": gap["result"],
                "corrected_sodium": value("corrected_sodium", glucose=i["glucose"], glucose_unit="mg/dL", method="katz", sodium=i["sodium"]),
                "consistent": True}


@oracle(229, "clincalc", 0.01)
class Body:
    def sample(rng):
        return {"weight": float(np.round(rng.uniform(45, 130), 1)), "height": float(np.round(rng.uniform(150, 200), 1)),
                "age": int(rng.integers(18, 90)), "sex": pick(rng, ["female", "male"])}

    def expect(i, out):
        return {"bmi": value("bmi", height_cm=i["height"], weight_kg=i["weight"]),
                "bmr": value("energy_requirement", age=i["age"], equation="mifflin_st_jeor", height_cm=i["height"], sex=i["sex"],
                             weight_kg=i["weight"])}


@oracle(231, "cgmzscore", 0.0151)
class Nutrition:
    def sample(rng):
        days = int(rng.integers(20, 1820))
        size = 50 + 0.75 * 20 * np.sqrt(days / 365.25) + rng.normal(0, 3)
        lying = days < 731
        size = float(np.round(np.clip(size, 46, 108) if lying else np.clip(size, 66, 119), 1))
        weight = float(np.round(max(1.5, 2.5e-4 * size ** 2.35 * rng.uniform(0.7, 1.35) * 1.15), 1))
        return {"children": [{"id": str(days), "sex": pick(rng, ["female", "male"]), "age_months": days / 30.4375, "weight": weight,
                              "height": size, "measured": "lying" if lying else "standing"}]}

    def expect(i, out):
        c = i["children"][0]
        sex = "F" if c["sex"] == "female" else "M"
        same = dict(age_in_days=c["id"], sex=sex)
        size = str(c["height"])
        return {"children": [{"waz": z_score_wfa(weight=str(c["weight"]), **same), "haz": z_score_lhfa(height=size, **same),
                              "whz": z_score_wfl(weight=str(c["weight"]), height=size, **same)}]}


@oracle(233, "clincalc", 0)
class Mental:
    def sample(rng):
        return {"phq9": [int(x) for x in rng.integers(0, 4, 9)], "gad7": [int(x) for x in rng.integers(0, 4, 7)]}

    def expect(i, out):
        return {"scores": {"phq9": value("phq9", responses=i["phq9"]), "gad7": value("gad7", responses=i["gad7"])},
                "self_harm_flag": i["phq9"][8] > 0}


@oracle(234, "statsmodels, definitions", 1e-9)
class Diagnostic:
    def sample(rng):
        return {**{c: int(x) for c, x in zip(("tp", "fp", "fn", "tn"), rng.integers(1, 400, 4))}, "pretest": float(rng.uniform(0.01, 0.6)),
                "confidence": float(pick(rng, [0.9, 0.95, 0.99]))}

    def expect(i, out):
        tp, fp, fn, tn, prior = i["tp"], i["fp"], i["fn"], i["tn"], i["pretest"]
        alpha = 1 - i["confidence"]

        def share(hits, of):
            low, high = proportion_confint(hits, of, alpha, method="wilson")
            return {"value": hits / of, "low": low, "high": high}

        def ratio(a, m, b, n):
            spread = st.norm.ppf(1 - alpha / 2) * np.sqrt(1 / a - 1 / m + 1 / b - 1 / n)
            r = (a / m) / (b / n)
            return {"value": r, "low": r * np.exp(-spread), "high": r * np.exp(spread)}
        sens, spec = tp / (tp + fn), tn / (tn + fp)
        return {"sensitivity": share(tp, tp + fn), "specificity": share(tn, tn + fp), "ppv": share(tp, tp + fp), "npv": share(tn, tn + fn),
                "lr_positive": ratio(tp, tp + fn, fp, fp + tn), "lr_negative": ratio(fn, tp + fn, tn, fp + tn),
                "post_positive": sens * prior / (sens * prior + (1 - spec) * (1 - prior)),
                "post_negative": (1 - sens) * prior / ((1 - sens) * prior + spec * (1 - prior)), "youden": sens + spec - 1}


def interval(mean, sd, days):
    """Web appendix 11 of Cori and others 2013, by numerical integration of the shifted gamma's triangle."""
    shape, scale = ((mean - 1) / sd) ** 2, sd ** 2 / (mean - 1)
    cdf, moment = st.gamma(shape, scale=scale).cdf, st.gamma(shape + 1, scale=scale).cdf
    k = np.arange(days + 1)
    w = k * cdf(k) + (k - 2) * cdf(k - 2) - 2 * (k - 1) * cdf(k - 1) + shape * scale * (2 * moment(k - 1) - moment(k - 2) - moment(k))
    return np.maximum(w, 0)


@oracle(235, "epyestim (R), scipy (SEIR)", 2e-4, 60)
class Outbreak:
    def sample(rng):
        days = int(rng.integers(25, 60))
        return {"cases": [int(x) for x in rng.poisson(20 * np.exp(rng.uniform(-0.05, 0.1) * np.arange(days)))],
                "population": int(rng.integers(10_000, 1_000_000)), "r0": float(rng.uniform(0.7, 5)), "latent_days": float(rng.uniform(1, 8)),
                "infectious_days": float(rng.uniform(2, 10)), "serial_interval": {"mean": float(rng.uniform(2, 9)), "sd": float(rng.uniform(1, 5))},
                "days": 120, "window": int(rng.integers(3, 10))}

    def expect(i, out):
        n, latent, infectious = i["population"], i["latent_days"], i["infectious_days"]

        def rates(t, y):
            s, e, inf, _ = y
            new = i["r0"] / infectious * s * inf / n
            return [-new, new - e / latent, e / latent - inf / infectious, inf / infectious]
        grid = solve_ivp(rates, (0, 120), [n - 10, 0, 10, 0], "DOP853", np.arange(121), rtol=1e-11, atol=1e-9).y
        cases = pd.Series(i["cases"], index=pd.date_range("2026-01-01", periods=len(i["cases"])), dtype=float)
        weights = interval(i["serial_interval"]["mean"], i["serial_interval"]["sd"], 200)
        found = estimate_r(cases, weights, a_prior=1, b_prior=5, window_size=i["window"])
        # The window of the first day has no earlier cases: the engine leaves it out, as EpiEstim does.
        rt = [{"mean": a * b, "low": gamma_quantiles(0.025, a, b), "high": gamma_quantiles(0.975, a, b)}
              for a, b in found.iloc[1:].itertuples(index=False)]
        return {"series": [{"s": s, "e": e, "i": f, "r": r} for s, e, f, r in grid.T], "herd_threshold": max(0, 1 - 1 / i["r0"]),
                "rt": rt}


if __name__ == "__main__":
    main("medical", ORACLES)
