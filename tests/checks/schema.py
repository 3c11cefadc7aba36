"""schema.py PROGRAM SOURCE: a run's result.json and docs/results/*.json follow docs/result.schema.json, by the judgement
of the package jsonschema. Exits with 77 where that is not installed; tests/experiments/test_schema.c needs none."""

import json
import pathlib
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("the Python package jsonschema is not installed: only test_schema.c checks the schema")
    sys.exit(77)

program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
schema = json.loads((source / "docs/result.schema.json").read_text())
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)
failed = False


def check(path):
    global failed
    for error in validator.iter_errors(json.loads(path.read_text())):
        failed = True
        print(f"{path}: {error.json_path}: {error.message}")


for path in sorted((source / "docs/results").glob("*.json")):
    check(path)
with tempfile.TemporaryDirectory() as scratch:
    out = pathlib.Path(scratch) / "out"
    subprocess.run([program, "run", source / "tests/fixtures/maps.json", "--out", out, "--quiet"], check=True,
                   stdout=subprocess.DEVNULL)
    check(out / "result.json")
sys.exit(failed)
