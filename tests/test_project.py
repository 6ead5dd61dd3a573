"""What holds for the repository as a whole: its files agree, its rooms keep apart, it runs where it is put."""

import ast
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from labkit.bootstrap import ROOT, TRIED

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8")
PINS = {
    canonicalize_name(name): Version(version)
    for name, version in re.findall(r"^([\w.-]+)==(\S+)$", CONSTRAINTS, re.MULTILINE)
}
REQUIREMENTS = [
    Requirement(line)
    for line in [*PROJECT["dependencies"], *(r for e in PROJECT["optional-dependencies"].values() for r in e)]
]
LIBRARY = ROOT / "labkit" / "scenario" / "library"


def own_files(*patterns):
    """Return the files of the repository, as git lists them or, in a download without git, as they lie."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("this is no git checkout")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


# ---------------------------------------------------------------- the three lists of packages


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_every_requirement_is_pinned_within_its_range(requirement):
    assert PINS[canonicalize_name(requirement.name)] in requirement.specifier


def test_constraints_hold_pins_alone():
    lines = [line for line in CONSTRAINTS.splitlines() if not line.startswith("#")]
    assert len(lines) == len(PINS) > 100
    assert lines == sorted(lines)


def test_what_is_installed_is_what_is_pinned():
    """Walk from the requirements through all that they bring: this very run proves the pins."""
    queue, seen = list(REQUIREMENTS), {}
    while queue:
        requirement = queue.pop()
        name = canonicalize_name(requirement.name)
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # an extra that this environment was made without
        if (name, *requirement.extras) in seen or re.match("nvidia-|cuda-|triton", name):
            continue
        seen[name, *requirement.extras] = Version(Version(found.version).public)
        for line in found.requires or ():
            needed = Requirement(line)
            extras = ["", *requirement.extras]
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                queue.append(needed)
    installed = {name: version for (name, *_), version in seen.items()}
    if sys.platform == "linux":
        assert installed.keys() <= PINS.keys()
    wrong = {name: str(v) for name, v in installed.items() if name in PINS and PINS[name] != v}
    assert wrong == {}
    assert len(installed) > 80


def test_conda_users_get_the_same_packages():
    lines = [line.strip(" -") for line in (ROOT / "environment.yml").read_text(encoding="utf-8").splitlines()]
    assert f"name: {PROJECT['name']}" in lines
    assert "c constraints.txt" in lines
    assert "e ." in lines
    [python] = [line.removeprefix("python=") for line in lines if line.startswith("python=")]
    assert tuple(map(int, python.split("."))) in TRIED


def test_python_versions_agree():
    assert PROJECT["requires-python"] == ">={}.{}".format(*TRIED[0])
    assert sys.version_info[:2] >= TRIED[0]


def test_torch_is_left_out_on_intel_macs_alone():
    [torch] = [r for r in REQUIREMENTS if r.name == "torch"]
    systems = [("darwin", "x86_64"), ("darwin", "arm64"), ("linux", "x86_64"), ("win32", "AMD64")]
    wanted = [torch.marker.evaluate({"sys_platform": s, "platform_machine": m}) for s, m in systems]
    assert wanted == [False, True, True, True]


# ---------------------------------------------------------------- imports


def in_a_new_python(code, *options, **variables):
    done = subprocess.run(
        [sys.executable, *options, "-c", code], cwd=ROOT, env={**os.environ, **variables},
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


NEW_MODULES = """
import importlib, json, sys
before = set(sys.modules)
for name in sys.argv[1:] or NAMES: importlib.import_module(name)
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""


@pytest.mark.parametrize(
    "names",
    [["labkit"], ["labkit.__main__", "labkit.bootstrap"], ["labkit.core", "labkit.engine", "labkit.executors.virtual"]],
    ids=" ".join,
)  # fmt: skip
def test_the_engine_starts_with_the_standard_library_alone(names):
    loaded = json.loads(in_a_new_python(NEW_MODULES.replace("NAMES", repr(names))))
    assert "labkit" in loaded
    assert [name for name in loaded if name not in {*sys.stdlib_module_names, "labkit"}] == []


def test_public_names_are_fetched_when_they_are_used():
    import labkit.scenario
    import labkit.show

    assert labkit.run is labkit.scenario.run
    assert labkit.load is labkit.scenario.load
    assert labkit.plot_style is labkit.show.plot_style
    assert {"run", "load", "plot_style"} <= set(dir(labkit))
    with pytest.raises(AttributeError, match="no attribute 'walk'"):
        _ = labkit.walk


@pytest.mark.parametrize(
    ("file", "line", "broken"),
    [
        ("core/types.py", "import numpy", "core imports nothing but the standard library"),
        ("core/types.py", "import labkit.engine.loop", "core imports nothing but the standard library"),
        ("executors/virtual.py", "import labkit.engine.journal", "executors know core"),
        ("executors/virtual.py", "import numpy", "start without heavy packages"),
        ("engine/loop.py", "import labkit.measure", "the engine knows core and executors"),
        ("workload/__init__.py", "import labkit.engine", "workload knows core only"),
        ("scenario/load.py", "import labkit.show", "scenario does not draw"),
        ("measure/result.py", "import labkit.engine.loop", "measure reads journals only"),
        ("show/text.py", "import labkit.scenario.run", "show reads measure and journals"),
        ("show/text.py", "import labkit.grade.run", "nothing imports the grader"),
        ("show/text.py", "import labkit.studies.loops", "no room below reads studies"),
        ("theory/queueing.py", "import labkit.measure.fold", "theory stands alone"),
        ("scenario/load.py", "import torch", "torch in the real model alone"),
        ("measure/result.py", "import ipywidgets", "widgets in show alone"),
    ],
)
def test_each_arrow_is_held(tmp_path, file, line, broken):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "labkit", tmp_path / "labkit", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "labkit" / file).open("a", encoding="utf-8", newline="\n") as module:
        module.write(f"\n{line}\n")
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"],
        cwd=tmp_path, env={**os.environ, "PYTHONUTF8": "1"}, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert re.search(f"{re.escape(broken)}.*BROKEN", done.stdout), done.stdout


WITHOUT_TORCH = """
import importlib, pkgutil, sys
import warnings
warnings.simplefilter("ignore")
sys.modules["torch"] = None
import labkit
model = ("labkit.executors.torch_model", "labkit.executors.model", "labkit.executors.calibrate")
seen = []
for module in pkgutil.walk_packages(labkit.__path__, "labkit."):
    if not module.name.startswith(model) and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
        seen.append(module.name)
print(" ".join(seen))
"""


def test_every_room_but_the_real_model_opens_without_torch():
    seen = in_a_new_python(WITHOUT_TORCH).split()
    assert {"labkit.core.scheduler", "labkit.scenario.command", "labkit.show.figures"} <= set(seen)


def test_the_engine_runs_without_torch(scenario):
    code = f"import sys; sys.modules['torch'] = None; from labkit.__main__ import main; main(['run', {scenario!r}])"
    assert in_a_new_python(code)


# ---------------------------------------------------------------- text and places


@pytest.fixture
def scenario():
    """Return a small scenario of the library, as a path from the repository's root."""
    files = sorted(LIBRARY.rglob("*.json"), key=lambda path: (path.stat().st_size, path.name))
    return str(files[0].relative_to(ROOT))


# Where the mode stands, and what it is when it is not given.
OPENERS = {
    "open": (1, "r"),
    "fdopen": (1, "r"),
    "NamedTemporaryFile": (0, "w+b"),
    "TemporaryFile": (0, "w+b"),
}
MODES = {kind + more for kind in "rwax" for more in ("", "b", "t", "+", "b+", "+b")} | {"b"}
NO_TEXT = {"os", "webbrowser", "Image"}  # their `open` is another one


def text_problems(source, name):
    """Return the text reads and writes of a module that leave the encoding or the line ends to the system."""
    problems = []
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call):
            continue
        owner = getattr(getattr(call.func, "value", None), "id", "")
        function = getattr(call.func, "attr", getattr(call.func, "id", ""))
        if function in OPENERS and owner not in NO_TEXT:
            place, mode = OPENERS[function]
            if function == "open" and isinstance(call.func, ast.Attribute) and owner != "io":
                place, mode = (
                    0,
                    "b",
                )  # a bare open() may open anything; ruff's PLW1514 knows a path by its type
            given = [k.value for k in call.keywords if k.arg == "mode"] or call.args[place : place + 1]
            mode = getattr(given[0], "value", mode) if given else mode
            if place == 0 and mode not in MODES:
                continue  # a method of that name that opens something else
        elif function in ("read_text", "write_text", "TextIOWrapper"):
            mode = "r" if function == "read_text" else "w"
        else:
            continue
        due = (
            []
            if "b" in str(mode)
            else ["encoding", "newline"]
            if set("wax+") & set(str(mode))
            else ["encoding"]
        )
        missing = set(due) - {keyword.arg for keyword in call.keywords}
        if missing:
            problems.append(f"{name}:{call.lineno}: {function} does not name {' and '.join(sorted(missing))}")
    return problems


@pytest.mark.parametrize(
    ("line", "problems"),
    [
        ("open(p)", 1),
        ("open(p, 'rb')", 0),
        ("open(p, 'w', encoding='utf-8')", 1),
        ("p.open('a', encoding='utf-8', newline='\\n')", 0),
        ("p.open('wb')", 0),
        ("p.open(mode='w', encoding='utf-8')", 1),
        ("panel.open()", 0),
        ("p.open('w')", 1),
        ("page.open(f'{address}/lab')", 0),
        ("p.read_text()", 1),
        ("p.write_text(t, encoding='utf-8')", 1),
        ("p.write_text(t, encoding='utf-8', newline='\\n')", 0),
        ("NamedTemporaryFile('w', encoding='utf-8')", 1),
        ("NamedTemporaryFile()", 0),
        ("os.open(p, f)", 0),
    ],
)
def test_text_problems_are_seen(line, problems):
    assert len(text_problems(line, "x.py")) == problems


def test_each_text_file_is_read_and_written_as_utf8_with_plain_line_ends():
    files = own_files("*.py")
    assert len(files) > 20
    assert [p for f in files for p in text_problems(f.read_text(encoding="utf-8"), f.relative_to(ROOT))] == []


def test_text_files_are_utf8_with_plain_line_ends():
    kinds = {
        ".py",
        ".md",
        ".toml",
        ".txt",
        ".yml",
        ".json",
        ".jsonl",
        ".csv",
        ".js",
        ".css",
        ".html",
        ".ipynb",
        "",
    }
    files = [path for path in own_files() if path.suffix in kinds]
    assert len(files) > 30
    for path in files:
        assert b"\r" not in path.read_bytes(), path
        path.read_text(encoding="utf-8")


@pytest.mark.encoding
def test_the_command_names_its_encodings_where_the_system_has_another(scenario, tmp_path):
    """Other packages' reads are theirs; ours warn from modules of labkit, which `run` and `check` go through."""
    code = f"""
import sys, warnings
warnings.filterwarnings("error", category=EncodingWarning, module="labkit")
from labkit.__main__ import main
sys.exit(main(["check", {scenario!r}]) or main(["run", {scenario!r}, "--journal", {str(tmp_path / "日 志.jsonl")!r}]))
"""
    done = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", "-W", "ignore", "-c", code],
        cwd=ROOT, env={**os.environ, "PYTHONIOENCODING": "gbk"}, capture_output=True, encoding="gbk", check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
    assert b"\r" not in (tmp_path / "日 志.jsonl").read_bytes()


@pytest.mark.encoding
def test_a_clone_works_in_a_folder_with_spaces_and_chinese(scenario, tmp_path):
    clone = tmp_path / "实验 手册" / "labkit 克隆"
    for path in own_files("labkit"):
        (clone / path.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, clone / path.relative_to(ROOT))

    def there(*arguments):
        done = subprocess.run(
            [sys.executable, *arguments], cwd=clone, env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            capture_output=True, encoding="utf-8", check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert there("-c", "import labkit; print(labkit.__file__)").strip() == str(
        clone / "labkit" / "__init__.py"
    )
    there("-m", "labkit", "check", scenario)
    result = there("-m", "labkit", "run", scenario, "--json", "--journal", "运 行.jsonl")
    assert json.loads(result)["schema"] == "labkit.result/1"
    assert there("-m", "labkit", "replay", "运 行.jsonl", "--json") == result


# ---------------------------------------------------------------- what a newcomer reads


@pytest.mark.parametrize("name", ["README.md", "README.zh.md", "LICENSE-text.md"])
def test_links_lead_somewhere(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert name.startswith("LICENSE") or links
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_commands_in_the_readme_exist(name):
    from labkit.__main__ import BOOTSTRAP, ENGINE

    text = (ROOT / name).read_text(encoding="utf-8")
    assert set(re.findall(r"-m labkit (\w+)", text)) == {*BOOTSTRAP, *ENGINE}
