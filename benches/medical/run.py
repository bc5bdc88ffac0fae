#!/usr/bin/env python3
"""The medical interface over HTTP: lookups of protocols by 1 and by 64 clients, and at an even rate, the start of the server, its memory.

Needs release builds of `muster` and of the example `post_load`. What an assessment costs without HTTP, how long the
knowledge base takes to parse and what it takes of memory is `cargo bench -p muster-medical`. Wall-clock figures of a shared
machine are lower bounds.

  benches/medical/run.py --target target [--secs 5] [--json FILE]
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from serving import load, resident, server  # noqa: E402

ROUTE = "/api/medical/clinical-protocols"
# Lookups a second that are due at even times: the latency of a server that is not saturated.
RATE = 2000
SETTINGS = """[store]
path = "data"
[llm]
model = "none"
[limits]
medical = "unlimited"
[limits.agent]
health = "unlimited"
"""
# Complaints of ten patients; each lookup has the vital signs and the history of the same adult.
SYMPTOMS = [
    ["chest pain radiating to the left arm", "sweating", "nausea"],
    ["sore throat", "cough for two days", "no fever"],
    ["sudden weakness of the right arm", "slurred speech"],
    ["fever and chills", "productive cough", "short of breath"],
    ["swollen painful calf after a long flight"],
    ["severe headache, the worst of my life", "vomiting", "stiff neck"],
    ["pain in the right lower abdomen", "loss of appetite"],
    ["itchy eyes and sneezing every spring"],
    ["burning when passing urine", "back pain", "rigors"],
    ["dizzy when I turn over in bed for thirty seconds"],
]
ADULT = {
    "specialty": "internal-medicine",
    "vitalSigns": {"systolic": 128, "diastolic": 82, "heartRate": 92, "respiratoryRate": 18, "temperature": 37.6, "spo2": 96},
    "labResults": {"creatinine": 1.1, "creatinineUnit": "mg/dL"},
    "medicalHistory": ["hypertension", "type 2 diabetes"], "patientContext": {"age": 58, "sex": "male"},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=pathlib.Path, default=pathlib.Path("target"))
    parser.add_argument("--secs", type=float, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    release = args.target.resolve() / "release"
    bodies = [ADULT | {"symptoms": symptoms} for symptoms in SYMPTOMS]
    with server(release / "muster", SETTINGS, ROUTE) as (process, url, seconds, answer):
        details = answer["details"]
        print(f"  {details['protocols']} protocols, {details['redFlagRules']} rules; answers after {seconds:.2f} s, "
              f"{resident(process.pid) >> 20} MiB resident")
        lines = []
        for options in (["--clients", "1,64"], ["--clients", "64", "--rate", str(RATE)]):
            measured = load(release, url + ROUTE, bodies, process, args.secs, *options)
            lines += [line | {"load": " ".join(options[2:])} for line in measured]
        for line in lines:
            print(f"  {line['clients']:4} clients {line['load']:11} {line['calls_s']:8.0f} lookups/s  p50 {line['p50_ms']:6.2f} ms  "
                  f"p99 {line['p99_ms']:6.2f} ms  {line['cpu_us_call']:5.0f} us CPU a lookup  {line['errors'] or ''}")
        print(f"  {resident(process.pid) >> 20} MiB resident after load")
        if args.json:
            args.json.write_text(json.dumps({"start_s": seconds, "lines": lines}))


if __name__ == "__main__":
    main()
