"""How a clone sets itself up, tried on made-up clones: nothing here uses a network."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from labkit import __main__ as entry
from labkit import bootstrap, testing

PYPROJECT = """\
[project]
name = "labkit"
dependencies = ["tqdm>=4", "torch>=2; sys_platform != 'darwin'"]
[project.optional-dependencies]
test = ["pytest"]
bench = ["simpy"]
"""


def given(**options):
    return argparse.Namespace(**{"model": None, "index": None, "wheelhouse": None, **options})


class Clone(bootstrap.Environment):
    """A clone whose pip only writes down what it is asked, and whose .venv starts when it is there."""

    def __init__(self, root):
        super().__init__(root)
        self.asked = []
        self.status = 0
        (root / "labkit").mkdir()
        (root / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8", newline="\n")
        (root / "constraints.txt").write_text("tqdm==4.1\n", encoding="utf-8", newline="\n")

    def _make(self):
        venv.create(self.folder, with_pip=False)

    def pip(self, command, log, tell, variables):
        self.asked.append(command[command.index("-c") + 2 :])
        assert command[command.index("-c") + 1] == str(self.root / "constraints.txt")
        return self.status, ["ERROR: no such thing"] if self.status else []


@pytest.fixture
def clone(tmp_path, monkeypatch):
    made = Clone(tmp_path)
    monkeypatch.setattr(bootstrap, "follow", made.pip)
    monkeypatch.setattr(bootstrap, "runs", lambda command: True)
    return made


def test_the_second_start_has_nothing_to_do(clone):
    assert clone.prepare([], given()) == clone.python
    assert clone.asked == [["tqdm>=4", "torch>=2; sys_platform != 'darwin'"]]
    clone.prepare([], given(index="https://mirror.example/simple"))
    assert len(clone.asked) == 1


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_a_changed_file_installs_again(clone, name):
    clone.prepare([], given())
    with (clone.root / name).open("a", encoding="utf-8", newline="\n") as file:
        file.write("# changed\n")
    clone.prepare([], given())
    assert len(clone.asked) == 2


def test_another_python_installs_again(clone):
    clone.prepare([], given())
    config = clone.folder / "pyvenv.cfg"
    text = config.read_text(encoding="utf-8")
    config.write_text(re.sub(r"(?m)^version = .*", "version = 3.99.0", text), encoding="utf-8", newline="\n")
    clone.site.mkdir(parents=True)
    clone.prepare([], given())
    assert len(clone.asked) == 2


def test_extras_add_up_and_stay(clone):
    clone.prepare(["test"], given())
    clone.prepare([], given())
    assert len(clone.asked) == 1
    clone.prepare(["bench"], given())
    assert clone.asked[1][-2:] == ["simpy", "pytest"]


def test_no_model_leaves_out_torch_alone_and_is_remembered(clone):
    clone.prepare([], given(model=False))
    assert clone.asked == [["tqdm>=4"]]
    clone.prepare([], given())
    assert len(clone.asked) == 1
    clone.prepare([], given(model=True))
    assert clone.asked[1] == ["tqdm>=4", "torch>=2; sys_platform != 'darwin'"]
    clone.prepare([], given(model=False))
    assert len(clone.asked) == 2


def test_a_failed_installation_is_not_taken_for_a_finished_one(clone):
    clone.prepare([], given())
    clone.status = 1
    with pytest.raises(bootstrap.ProblemError, match="no such thing"):
        clone.prepare(["test"], given())
    assert clone.installed() == {}
    clone.status = 0
    clone.prepare(["test"], given())
    assert clone.installed()["extras"] == ["test"]


def test_where_packages_come_from(clone, tmp_path):
    clone.prepare([], given(index="https://mirror.example/simple"))
    assert clone.asked[-1][:2] == ["--index-url", "https://mirror.example/simple"]
    wheels = tmp_path / "some wheels"
    wheels.mkdir()
    clone.prepare(["test"], given(wheelhouse=str(wheels)))
    assert clone.asked[-1][:3] == ["--no-index", "--find-links", str(wheels)]
    with pytest.raises(bootstrap.ProblemError, match="nowhere is not a folder"):
        clone.prepare(["bench"], given(wheelhouse=str(tmp_path / "nowhere")))


def test_a_broken_venv_is_kept_aside_and_said(tmp_path, monkeypatch, capsys):
    mine = tmp_path / ".venv"
    mine.mkdir()
    (mine / "precious").write_text("x", encoding="utf-8", newline="\n")
    monkeypatch.setattr(bootstrap.subprocess, "run", lambda *_, **__: argparse.Namespace(returncode=0))
    bootstrap.Environment(tmp_path)._make()
    assert (tmp_path / ".venv-old-1" / "precious").exists()
    assert ".venv-old-1" in capsys.readouterr().out


def test_a_python_without_ensurepip_is_told_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(bootstrap.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(bootstrap.ProblemError, match="python3-venv"):
        bootstrap.Environment(tmp_path)._make()


@pytest.mark.encoding
def test_the_venv_finds_its_clone_after_a_move_to_a_strange_folder(tmp_path, monkeypatch):
    first = tmp_path / "实验 手册 a"
    first.mkdir()
    clone = Clone(first)
    monkeypatch.setattr(bootstrap, "follow", clone.pip)
    (first / "labkit" / "__init__.py").write_text("", encoding="utf-8", newline="\n")
    python = clone.prepare([], given())
    assert (clone.site / "labkit.pth").read_text(encoding="ascii")
    second = tmp_path / "搬 家 b"
    shutil.move(first, second)
    moved = second / python.relative_to(first)
    asked = subprocess.run(
        [moved, "-c", "import labkit; print(ascii(labkit.__file__))"],
        cwd=tmp_path, capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    assert asked.stdout.strip() == ascii(str(second / "labkit" / "__init__.py"))


@pytest.mark.parametrize(
    ("said", "lines"),
    [
        ("no file of sympy==1.14.0", ["  requested (constraint) sympy==1.14.0", "ERROR: ResolutionImpossible: x"]),
        ("could not be reached", ["WARNING: Retrying (Retry(total=4)", "ERROR: No matching distribution found"]),
        ("disk is full", ["ERROR: Could not install packages due to an OSError: No space left on device"]),
        ("No matching distribution found for x", ["ERROR: No matching distribution found for x"]),
        ("something odd", ["something odd", ""]),
    ],
)  # fmt: skip
def test_one_line_says_why_an_installation_failed(said, lines):
    assert said in bootstrap._why(lines)
    assert "\n" not in bootstrap._why(lines)


def test_output_is_followed_and_kept(tmp_path):
    log = tmp_path / "log"
    command = [sys.executable, "-c", "print('数 1'); import sys; print('two', file=sys.stderr); sys.exit(3)"]
    told = []
    status, lines = bootstrap.follow(command, log, lambda line: told.append(line) or "", {})
    assert (status, sorted(lines)) == (3, ["two", "数 1"])
    assert sorted(told) == sorted(log.read_text(encoding="utf-8").splitlines()) == sorted(lines)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Collecting tqdm>=4.66 (from labkit)", "looking up tqdm>=4.66"),
        (
            "Downloading https://x.example/torch-2.13.0.whl (190.1 MB)",
            "downloading torch-2.13.0.whl (190.1 MB)",
        ),
        ("Downloading tqdm-4.70.1-py3-none-any.whl.metadata (57 kB)", ""),
        ("Installing collected packages: a, b, c", "installing 3 packages"),
        ("Requirement already satisfied: a", ""),
    ],
)
def test_pip_is_told_in_short(line, told):
    assert bootstrap._told_by_pip(line) == told


@pytest.fixture
def started(monkeypatch):
    """Let `lab` and `bench` prepare nothing and start nothing; what they would start is returned."""
    commands = []
    monkeypatch.setattr(bootstrap.Environment, "prepare", lambda *_: Path("python"))
    monkeypatch.setattr(bootstrap, "replace_process", lambda command: commands.append(command) or 0)
    monkeypatch.chdir(os.getcwd())
    return commands


def test_lab_listens_on_loopback_at_the_start_page(started, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    assert entry.main(["lab", "--port", str(port := free_port()), "--debug"]) == 0
    [command] = started
    assert command[:3] == ["python", "-m", "jupyterlab"]
    assert "--ServerApp.ip=127.0.0.1" in command
    assert f"--ServerApp.root_dir={bootstrap.ROOT}" in command
    assert "--LabApp.default_url=/lab/tree/notebooks/00_start.ipynb" in command
    assert f"--port={port}" in command
    assert command[-1] == "--debug"
    assert "--no-browser" not in command
    assert ("--allow-root" in command) == (hasattr(os, "geteuid") and os.geteuid() == 0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is always a display")
def test_lab_opens_no_browser_without_a_display(started, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    entry.main(["lab"])
    assert "--no-browser" in started[0]


def free_port():
    with bootstrap.socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_taken_port_is_said(started, capsys):
    with bootstrap.socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert entry.main(["lab", "--port", str(port)]) == 1
    assert capsys.readouterr().err == f"labkit: port {port} is taken: give another with --port, or none\n"
    assert started == []


@pytest.mark.parametrize("port", ["0", "65536", "-1", "x"])
def test_a_wrong_port_is_said(started, capsys, port):
    with pytest.raises(SystemExit, match="2"):
        entry.main(["lab", f"--port={port}"])
    assert "--port" in capsys.readouterr().err
    assert started == []


def test_bench_hands_its_arguments_on(started):
    entry.main(["bench", "--no-model", "--", "--help"])
    assert started == [["python", "-m", "benchmarks", "--help"]]


@pytest.mark.parametrize("command", entry.BOOTSTRAP)
def test_help_of_each(command, capsys):
    with pytest.raises(SystemExit, match="0"):
        entry.main([command, "--help"])
    assert f"python -m labkit {command}" in capsys.readouterr().out


def labkit(*arguments, python=sys.executable, **variables):
    command = [python, "-m", "labkit", *arguments]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", **variables}
    return subprocess.run(
        command, cwd=bootstrap.ROOT, env=environment, capture_output=True, encoding="utf-8", check=False
    )


def test_usage_names_every_command():
    done = labkit()
    assert done.returncode == 0
    named = re.findall(r"(?m)^  (\w+) ", done.stdout)
    assert named == [*entry.BOOTSTRAP, *entry.ENGINE]


@pytest.mark.parametrize("command", entry.ENGINE)
def test_each_command_answers_through_the_entry(command):
    """Its own module is there and takes the arguments as the entry hands them over."""
    done = labkit(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(rf"usage: (labkit|python -m labkit) {command}\b", done.stdout)


def test_an_unknown_command_is_one_line():
    done = labkit("bake")
    assert (done.returncode, done.stdout) == (2, "")
    names = ", ".join([*entry.BOOTSTRAP, *entry.ENGINE])
    assert done.stderr == f"labkit: there is no command 'bake'; the commands are {names}\n"


def test_an_old_python_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr(entry.sys, "version_info", (3, 10, 2))
    assert entry.main(["lab"]) == 2
    assert re.fullmatch(r"labkit: labkit needs Python 3\.11.* is 3\.10\n", capsys.readouterr().err)


def blocked(monkeypatch, name):
    for module in [m for m in sys.modules if m.startswith("labkit.scenario")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)


SCENARIO = """{"schema": "labkit.scenario/1", "budget": {"tokens": 8, "seats": 1},
 "cost": {"kind": "table", "seconds": {"1": 0.01}},
 "requests": [{"id": "A", "arrival": 0.0, "prompt_tokens": 4, "output_tokens": 2, "wrong": 1}]}"""


def test_a_missing_package_is_said_where_there_is_no_venv(tmp_path, monkeypatch, capsys):
    (tmp_path / "wrong.json").write_text(SCENARIO, encoding="utf-8", newline="\n")
    blocked(monkeypatch, "jsonschema")
    monkeypatch.setattr(bootstrap, "ready_python", lambda: None)
    assert entry.main(["check", str(tmp_path / "wrong.json")]) == 2
    assert re.fullmatch(
        r"labkit: the package jsonschema is not installed .*python3 -m labkit lab.*\n",
        capsys.readouterr().err,
    )


def test_a_missing_package_is_looked_for_in_the_venv_once(tmp_path, monkeypatch, capsys):
    (tmp_path / "wrong.json").write_text(SCENARIO, encoding="utf-8", newline="\n")
    blocked(monkeypatch, "jsonschema")
    commands = []
    monkeypatch.setattr(bootstrap, "ready_python", lambda: "the/python")
    monkeypatch.setattr(bootstrap, "replace_process", lambda command: commands.append(command) or 0)
    monkeypatch.setenv(entry.REEXEC, "")
    monkeypatch.delenv(entry.REEXEC)
    assert entry.main(["check", "x"]) == 0
    assert commands == [["the/python", "-m", "labkit", "check", "x"]]
    assert entry.main(["check", str(tmp_path / "wrong.json")]) == 2
    assert len(commands) == 1
    assert "jsonschema" in capsys.readouterr().err


def test_an_incomplete_copy_is_not_sent_elsewhere(monkeypatch, capsys):
    monkeypatch.setattr(bootstrap, "ready_python", lambda: pytest.fail("it would run in the .venv"))
    blocked(monkeypatch, "labkit.scenario.command")
    assert entry.main(["run", "x"]) == 2
    assert "labkit.scenario.command" in capsys.readouterr().err


def test_the_ready_python_is_another_one_with_a_stamp(clone, monkeypatch):
    monkeypatch.setattr(bootstrap, "Environment", lambda: clone)
    assert bootstrap.ready_python() is None
    clone.prepare([], given())
    assert bootstrap.ready_python() == str(clone.python)
    monkeypatch.setattr(bootstrap.sys, "prefix", str(clone.folder))
    assert bootstrap.ready_python() is None


@pytest.mark.parametrize(("raised", "status"), [(KeyboardInterrupt, 130), (BrokenPipeError, 1)])
def test_interrupts_end_quietly(raised, status):
    # BrokenPipeError closes standard output, so this is tried in a process of its own.
    code = (
        "import labkit.__main__ as entry\n"
        f"def main(argv): raise {raised.__name__}\n"
        "entry.main = main\n"
        "raise SystemExit(entry._start())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=bootstrap.ROOT, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")


REPORT = """<testsuites><testsuite>
<testcase classname="tests.a" name="good"/>
<testcase classname="tests.a" name="bad"><failure message="x"/></testcase>
<testcase classname="tests.a" name="broken"><error message="x"/></testcase>
<testcase classname="tests.a" name="left"><skipped type="pytest.skip" message="needs Chromium"/></testcase>
<testcase classname="tests.a" name="known"><skipped type="pytest.xfail" message=""/></testcase>
</testsuite></testsuites>"""


def test_the_closing_line_is_pytests(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(REPORT, encoding="utf-8", newline="\n")
    tally = testing.Tally()
    tally.add("ruff", good=True)
    tally.read(report, status=1)
    assert tally.failed == ["tests.a::bad", "tests.a::broken"]
    assert tally.skipped == ["tests.a::left: needs Chromium"]
    assert tally.closing(1.5).strip("=") == " 2 failed, 3 passed, 1 skipped in 1.50s "
    assert tally.closing(3723).strip("=").endswith(" in 3723.00s (1:02:03) ")


@pytest.mark.parametrize(("status", "said"), [(5, "found no test"), (3, "ended with status 3")])
def test_a_run_without_a_report_has_failed(tmp_path, status, said):
    tally = testing.Tally()
    tally.read(tmp_path / "none.xml", status)
    assert tally.failed == [f"pytest {said}"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="apt-get is for Linux")
def test_tools_come_from_apt_for_root_and_from_playwright_else(monkeypatch, capsys):
    ran = []
    monkeypatch.setattr(testing, "_tool", ran.append)
    monkeypatch.setattr(testing, "find_chromium", lambda python: None)
    monkeypatch.setattr(
        testing.shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None
    )
    monkeypatch.setattr(testing.sys, "platform", "linux")
    monkeypatch.setattr(testing.os, "geteuid", lambda: 0)
    assert testing.provide("python") is None
    assert [command[-1] for command in ran] == ["update", "chromium", "bubblewrap", "chromium"]
    said = capsys.readouterr().out
    assert "no Chromium" in said
    assert "no bubblewrap" in said
    ran.clear()
    monkeypatch.setattr(testing.os, "geteuid", lambda: 1000)
    testing.provide("python")
    assert ran == [["python", "-m", "playwright", "install", "chromium"]]


def test_nothing_is_fetched_that_is_there(monkeypatch):
    monkeypatch.setattr(testing, "_tool", lambda command: pytest.fail(str(command)))
    monkeypatch.setattr(testing, "find_chromium", lambda python: "/somewhere/chromium")
    monkeypatch.setattr(testing.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert testing.provide("python") == "/somewhere/chromium"


@pytest.mark.parametrize(("ci", "counts"), [("", "1 passed, 1 skipped"), ("true", "1 passed, 1 error")])
def test_what_lacks_its_tool_is_named_and_fails_in_ci(tmp_path, ci, counts):
    shutil.copy(bootstrap.ROOT / "tests" / "conftest.py", tmp_path)
    text = "import pytest\n@pytest.mark.sandbox\ndef test_caged(): pass\ndef test_free(): pass\n"
    (tmp_path / "test_tools.py").write_text(text, encoding="utf-8", newline="\n")
    environment = {**os.environ, "CI": ci, "PATH": str(tmp_path), "PYTHONPATH": str(bootstrap.ROOT)}
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = sandbox\n", encoding="utf-8", newline="\n")
    command = [sys.executable, "-m", "pytest", "-rsE", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert counts in done.stdout
    assert "needs bubblewrap" in done.stdout
    assert "test_tools.py" in done.stdout
    assert ("test_caged" in done.stdout) == bool(ci)
