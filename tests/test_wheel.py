"""The wheels that `make wheel` builds; `make test-wheel` runs this, `make test` leaves it out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
WHEELS = os.environ.get("MAXMARGIN_WHEELS")

pytestmark = pytest.mark.skipif(WHEELS is None, reason="make test-wheel builds the wheels first")


def wheels():
    return {"none-any" in path.name: path for path in Path(WHEELS).resolve().glob("*.whl")}


def names(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return [name for name in archive.namelist() if "_library/" in name]


def test_one_wheel_has_the_library_and_one_is_pure():
    found = wheels()
    assert sorted(Path(name).name for name in names(found[False])) == [
        "x86-64-v2.json",
        "x86-64-v2.so",
        "x86-64-v3.json",
        "x86-64-v3.so",
    ]
    assert "manylinux_2_" in found[False].name and found[False].name.endswith("_x86_64.whl")
    assert names(found[True]) == []


def test_no_file_names_a_folder_of_the_machine_it_was_built_on():
    for wheel in wheels().values():
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                content = archive.read(name)
                for folder in (HERE.parent, sys.prefix):
                    assert os.fsencode(folder) not in content, (wheel.name, name)


def test_every_estimator_fits_without_compiling_anything(tmp_path):
    home = tmp_path / "environment"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "-c", HERE.parent / "constraints.txt"]
    subprocess.run([*install, wheels()[False]], check=True)
    # No compiler is found, and there is no folder for a cache. NUMBA_CPU_NAME must not be set.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_CPU")}
    clean |= {"PATH": str(tmp_path), "NUMBA_CACHE_DIR": "/dev/null/none", "PYTHONPATH": ""}
    clean.pop("MAXMARGIN_LIBRARY", None)
    done = subprocess.run(
        [python, HERE / "wheel_case.py"], cwd=tmp_path, env=clean, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    sys.stdout.write(done.stdout)
    assert found["level"], found["reason"]
    assert found["compiled"] == []
