"""What a hostile student might hand in, as data, and one run of the grader over all of it among honest students.

`python -m tests.grader.attacks` runs it in every kind of box that this machine has and prints the table.
The exercise is 31.1 with a secret, so no attacker knows the numbers that are right.
"""

import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from labkit.bootstrap import ROOT
from labkit.grade import catalog, report, run
from labkit.grade.bundle import notebook
from labkit.grade.collect import collect
from labkit.grade.session import Limits

SECRET = b"nobody knows this one"
# Files of the repository that are watched: those that attackers know by name.
OWN = ("ex_31_01", "judge", "checks", "values", "worker", "session", "run", "public")
LIMITS = Limits(cell=1.5, call=1, notebook=8)
# Names of all answers, as objects that claim to equal everything.
EQUAL = """
class Equal:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __hash__(self): return 0
    def __getattr__(self, name): return self
    def __call__(self, *a, **k): return self
    def __sub__(self, other): return 0
    __rsub__ = __add__ = __radd__ = __abs__ = __sub__
    def __float__(self): return 0.0
    def __getitem__(self, key): return self
    def __len__(self): return 2
    def __bool__(self): return True
e = Equal()
"""
ALL = "ttft = tpot = wait = stages = ttft_plus_wait_is_first_token = {0}\ndef measures(*a): return {0}\n"
CHANNEL = """
import os, socket, json, threading, stat
def channel():
    for fd in range(3, 200):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode): return fd
        except OSError: pass
fd = channel()
"""
HUNT = """
import os
seen = []
for top in ("{submissions}", "{out}", "{hidden}", "{root}", "/proc", "/home", "/etc", "/var", "/tmp"):
    for folder, _, files in os.walk(top):
        for name in files:
            path = os.path.join(folder, name)
            {do}
"""

ATTACKS = {
    # libraries and the worker patched
    "comparison helpers patched": "import math, operator, fractions, builtins\nmath.isclose = lambda *a, **k: True\n"
    "operator.eq = lambda *a: True\nfractions.Fraction.__eq__ = lambda *a: True\nbuiltins.abs = lambda v: 0\n"
    + ALL.format("0.0"),
    "numpy and sympy patched": "import numpy, sympy\nnumpy.allclose = numpy.isclose = lambda *a, **k: True\n"
    "sympy.simplify = lambda v: sympy.S.Zero\nsympy.Basic.__eq__ = lambda *a: True\n" + ALL.format("sympy.Symbol('x')"),
    "serialiser patched": "import json, sys\njson.dumps = lambda *a, **k: '{{\"right\": true, \"share\": 1}}'\n"
    "values = sys.modules.get('values')\nif values: values.encode = lambda v: True\n" + ALL.format("0"),
    "worker module patched": "import sys\nfor m in list(sys.modules.values()):\n    for n in ('judge', 'check', 'equal', 'same',"
    " '_mark', 'right'):\n        if hasattr(m, n):\n            try: setattr(m, n, lambda *a, **k: True)\n"
    "            except Exception: pass\n" + ALL.format("True"),
    "public checker replaced": "import labkit.grade.public as p\np.checker = lambda *a, **k: lambda *b: print('100%')\n",
    "later cells rewritten": EQUAL + "import gc\nfor o in gc.get_objects():\n    if type(o) is dict and 'cells' in o:\n"
    "        o['cells'][:] = [" + repr(ALL.format("e")) + "] * len(o['cells'])\n",
    "frames climbed": "import sys\nf = sys._getframe()\nwhile f:\n    for k, v in list(f.f_locals.items()):\n"
    "        if isinstance(v, dict): v.update(earned=9, status='right', share=1)\n    f = f.f_back\n",
    "builtins removed": "import builtins\nfor n in list(vars(builtins)):\n    if n not in ('delattr', 'vars'):\n"
    "        try: delattr(builtins, n)\n        except Exception: pass\n",
    "namespace cleared": "globals().clear()",
    "tracer installed": "import sys\ndef trace(frame, event, arg):\n    frame.f_globals.update(ttft=0)\n    return trace\n"
    "sys.settrace(trace)\n",
    # objects
    "equal to everything": EQUAL + ALL.format("e"),
    "int subclass": "class I(int):\n    def __eq__(s, o): return True\n    def __sub__(s, o): return 0\n    __hash__ = int.__hash__\n"
    + ALL.format("I(1)"),
    "float subclass": "class F(float):\n    def __eq__(s, o): return True\n    def hex(s): return '0x1p-2'\n    __hash__ = None\n"
    + ALL.format("F(1)"),
    "fraction subclass": "from fractions import Fraction\nclass Q(Fraction):\n    def __eq__(s, o): return True\n    __hash__ = None\n"
    + ALL.format("Q(1, 3)"),
    "str and dict subclasses": "class S(str):\n    def __eq__(s, o): return True\n    def __hash__(s): return 0\n"
    "class D(dict):\n    def __getitem__(s, k): return 0\n    def __eq__(s, o): return True\n" + ALL.format("D()"),
    "numpy object array": EQUAL + "import numpy\n" + ALL.format("numpy.array([e], dtype=object)"),
    "sympy subclass": "import sympy\nclass X(sympy.Symbol):\n    def __eq__(s, o): return True\n    def __hash__(s): return 0\n"
    + ALL.format("X('x')"),
    "not finite": ALL.format("float('nan')"),
    "infinite": ALL.format("float('inf')"),
    "number with a million digits": "n = 10 ** 1_000_000\n" + ALL.format("n"),
    "list inside itself": "x = []\nx.append(x)\n" + ALL.format("x"),
    "hundred megabytes of text": "x = 'x' * 100_000_000\n" + ALL.format("x"),
    "tower of powers": "import sympy as sp\nx = sp.Integer(10)\nfor _ in range(6): x = sp.Pow(10, x, evaluate=False)\n"
    + ALL.format("x"),
    "sum of a trillion terms": "import sympy as sp\nk = sp.Symbol('k')\nx = sp.Sum(k, (k, 0, 10**12))\n" + ALL.format("x"),
    "code as text": ALL.format("\"__import__('os').system('touch {out}/canary')\""),
    "code as a symbol's name": "import sympy as sp\nx = sp.Symbol('__import__(\"os\").system(\"touch {out}/canary\")')\n"
    + ALL.format("x"),
    "object that unpickles to code": "class P:\n    def __reduce__(s): return (__import__('os').system, ('touch {out}/canary',))\n"
    + ALL.format("P()"),
    # files
    "shadowing files": "import os\nfor n in ('json', 'values', 'labkit', 'numpy', 'sitecustomize', 'fractions'):\n"
    "    for d in ('.', '/scratch', '{root}', os.path.dirname(os.__file__)):\n"
    "        try:\n            with open(d + '/' + n + '.py', 'w') as f: f.write('raise SystemExit(0)')\n"
    "        except OSError: pass\n",
    "files of others read": HUNT.replace("{do}", "try: seen.append(open(path).read())\n            except Exception: pass")
    + "import re\nfound = ' '.join(seen)\n" + ALL.format("found[:1000]"),
    "files of others written": HUNT.replace(
        "{do}", "if 'labkit-attack' in path or 'nbgrader' in path:\n                try: open(path, 'a').write('x')\n"
        "                except Exception: pass"
    ),
    "gradebook rewritten": "import sqlite3\ndb = sqlite3.connect('{gradebook}', timeout=0.1)\n"
    "db.execute('update grade set auto_score = 100')\ndb.commit()\n",
    "hidden checks imported": "import sys\nsys.path[:0] = ['{root}', '{hidden}']\nimport ex_31_01\n"
    "measures = ex_31_01.measures\n",
    "labkit of the repository imported": "import sys\nsys.path.insert(0, '{root}')\n"
    "for n in [n for n in sys.modules if n.startswith('labkit')]: del sys.modules[n]\nimport labkit.measure.times as m\n"
    "measures = m.times\n",
    "results written ahead": "open('{out}/results.jsonl', 'a').write('{{\"key\": \"x\"}}\\n')\n",
    # processes
    "background child": "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        while True:\n"
    "            for p in ('{out}/canary', '{gradebook}', '/scratch/x'):\n                try: open(p, 'a').write('x')\n"
    "                except OSError: pass\n            time.sleep(0.01)\n    os._exit(0)\n",
    "child that answers": CHANNEL + "if os.fork() == 0:\n    while True:\n        q = os.read(fd, 65536)\n"
    "        for line in q.splitlines():\n            try: os.write(fd, json.dumps({{'nonce': json.loads(line)['nonce'], 'value': ['b', True]}}).encode() + b'\\n')\n"
    "            except Exception: pass\n",
    "grader signalled": "import os, signal\nfor p in (-1, os.getppid(), *range(1, 3000)):\n    if p != os.getpid():\n"
    "        try: os.kill(p, signal.SIGKILL)\n        except OSError: pass\n",
    "other processes read": "import ctypes, os\nlibc = ctypes.CDLL(None)\nfor p in range(1, 500): libc.ptrace(16, p, 0, 0)\n"
    "found = []\nfor p in range(1, 500):\n    try: found.append(open(f'/proc/{{p}}/environ').read())\n    except OSError: pass\n"
    + ALL.format("found"),
    "namespaces entered": "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.unshare(0x10000000 | 0x00020000)\n"
    "libc.umount2(b'{root}', 2)\nlibc.mount(b'none', b'/', None, 1 << 20, None)\nlibc.chroot(b'/proc/1/root')\n"
    "open('{out}/canary', 'w').write('x')\n",
    # replies
    "reply ahead": CHANNEL + "os.write(fd, b'{{\"ready\": true}}\\n' + b'{{\"nonce\": \"\", \"value\": [\"b\", true]}}\\n' * 50)\n",
    "replies on a timer": CHANNEL + "def flood():\n    import time\n    while True:\n        time.sleep(0.0005)\n"
    "        os.write(fd, b'{{\"nonce\": null, \"value\": [\"f\", \"0x1p-2\"], \"share\": 1}}\\n')\n"
    "threading.Thread(target=flood, daemon=True).start()\n",
    "protocol taken over": CHANNEL + "os.write(fd, b'{{\"ready\": true}}\\n')\nwhile True:\n    for line in os.read(fd, 65536).splitlines():\n"
    "        try: n = json.loads(line)['nonce']\n        except Exception: continue\n"
    "        os.write(fd, json.dumps({{'nonce': n, 'value': ['b', True], 'share': 1, 'status': 'right', 'earned': 9}}).encode() + b'\\n')\n",
    "reply of a wild shape": CHANNEL + "os.write(fd, b'{{\"ready\": true}}\\n')\nwhile True:\n    for line in os.read(fd, 65536).splitlines():\n"
    "        try: n = json.loads(line)['nonce']\n        except Exception: continue\n"
    "        os.write(fd, ('{{\"nonce\": \"' + n + '\", \"value\": ' + '[\"l\", [' * 5000 + ']]' * 5000 + '}}\\n').encode())\n",
    "channel flooded": CHANNEL + "while True: os.write(fd, b'x' * 65536)\n",
    "channel closed": CHANNEL + "os.close(fd)\n",
    # the network
    "network": "import socket, urllib.request\nfor a in (('127.0.0.1', 22), ('1.1.1.1', 53), ('169.254.169.254', 80)):\n    try:\n"
    "        s = socket.create_connection(a, timeout=0.3); s.sendall(b'x'); open('{out}/canary', 'w')\n    except OSError: pass\n",
    # bombs and loops
    "fork bomb": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n",
    "thread bomb": "import threading, time\nwhile True:\n    try: threading.Thread(target=time.sleep, args=(60,)).start()\n"
    "    except RuntimeError: pass\n",
    "memory bomb": "x = []\nwhile True: x.append(bytearray(1 << 26))\n",
    "disk filled": "n = 0\nwhile n < 4000:\n    n += 1\n    with open(f'/scratch/{{n}}', 'wb') as f: f.write(bytes(1 << 20))\n",
    "files left open": "import os\nx = []\nwhile True: x.append(os.open('/', 0))\n",
    "endless loop": "while True: pass\n",
    "endless loop that hears no alarm": "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass\n",
    "endless loop in C": "x = 10 ** 10 ** 9\n",
    "endless call": ALL.format("0") + "def measures(*a):\n    while True:\n        try:\n            while True: pass\n"
    "        except BaseException: pass\n",
    "endless output": "import sys\nwhile True: print('x' * 10000); sys.stderr.write('y' * 10000)\n",
    "endless output past Python": "import os\nwhile True:\n    try: os.write(1, b'x' * 65536); os.write(2, b'x' * 65536)\n    except OSError: break\n",
    # ends
    "sys.exit": "import sys\nsys.exit(0)\n",
    "os._exit": "import os\nos._exit(0)\n",
    "killed by itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
    "abort": "import os\nos.abort()\n",
    "segmentation fault": "import ctypes\nctypes.string_at(1)\n",
    "interrupt": "raise KeyboardInterrupt\n",
    "stack overflow": "import sys\nsys.setrecursionlimit(10**8)\ndef f(): f()\nf()\n",
    "exit handler": "import atexit, os\natexit.register(lambda: os.write(3, b'{{\"ready\": true}}\\n'))\n",
    # words that others read
    "markup in an error": "class E(Exception): pass\nraise E('</code><script>alert(1)</script><img src=x onerror=alert(1)>')\n",
    "formula in an error": "raise ValueError('=HYPERLINK(\"http://x\")\\n@SUM(1)')\n",
}  # fmt: skip

FIRST = {
    "public checker replaced",
    "later cells rewritten",
    "tracer installed",
    "builtins removed",
    "shadowing files",
}

# Files that are no notebooks: name -> (file name, bytes or a function that makes something at the path).
FILES = {
    "empty file": ("ex_31_01.ipynb", b""),
    "half a notebook": ("ex_31_01.ipynb", b'{"cells": [{"cell_type": "code", "source": "ttft ='),
    "not text": ("ex_31_01.ipynb", b"\xff\xfe\x00\x01" * 100),
    "deeply nested": ("ex_31_01.ipynb", b"[" * 200_000),
    "cells of a wild shape": ("ex_31_01.ipynb", b'{"cells": [1, null, {"source": {"a": 1}}]}'),
    "huge": ("ex_31_01.ipynb", b'{"cells": [], "x": "' + b"x" * (9 << 20) + b'"}'),
    "thousands of cells": ("ex_31_01.ipynb", json.dumps({"cells": [{"source": ""}] * 5000}).encode()),
    "emptied": ("ex_31_01.ipynb", json.dumps({"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}).encode()),
    "NUL in a cell": ("ex_31_01.py", b"ttft = 1\x00\n"),
    "syntax error": ("ex_31_01.py", b"def ("),
    "half a million brackets": ("ex_31_01.py", b"(" * 500_000),
    "link to the hidden checks": ("ex_31_01.py", lambda path: path.symlink_to(catalog.SOLUTIONS / "hidden" / "ex_31_01.py")),
    "link to another student": ("ex_31_01.ipynb", lambda path: path.symlink_to(path.parents[1] / "honest" / path.name)),
    "pipe": ("ex_31_01.ipynb", os.mkfifo),
    "folder": ("ex_31_01.ipynb", lambda path: path.mkdir()),
}  # fmt: skip


def build(submissions, out, gradebook):
    """Write a folder of hostile and honest submissions; return the students' names by attack."""
    names = {}
    texts = {
        "submissions": submissions, "out": out, "gradebook": gradebook, "root": ROOT,
        "hidden": catalog.SOLUTIONS / "hidden",
    }  # fmt: skip
    exercise = catalog.find("31.1")
    for number, (attack, code) in enumerate(ATTACKS.items()):
        names[attack] = name = f"a{number:03}"
        (submissions / name).mkdir()
        stubs = json.loads(notebook(exercise, name, SECRET))
        place = 0 if attack in FIRST else len(stubs["cells"])
        stubs["cells"].insert(place, {"cell_type": "code", "source": filled(code, texts)})
        write(submissions / name / "ex_31_01.ipynb", json.dumps(stubs).encode())
    for number, (attack, (file, content)) in enumerate(FILES.items()):
        names[attack] = name = f"f{number:03}"
        (submissions / name).mkdir()
        if callable(content):
            content(submissions / name / file)
        else:
            write(submissions / name / file, content)
    for name in ("<b>honest", "honest", "zz-honest"):
        (submissions / name).mkdir()
        write(submissions / name / "ex_31_01.ipynb", answered(exercise, name))
    wrong = (
        answered(exercise, "half")
        .decode()
        .replace("ttft = first - arrival", "ttft = first - arrival + start - arrival")
    )
    (submissions / "half").mkdir()
    write(submissions / "half" / "ex_31_01.ipynb", wrong.encode())
    return names


def filled(code, texts):
    """Put the places into an attack's text; doubled braces become single ones."""
    for key, text in texts.items():
        code = code.replace("{" + key + "}", str(text))
    return code.replace("{{", "{").replace("}}", "}")


def answered(exercise, student):
    """Return the reference answers with a student's own numbers."""
    source = json.loads(catalog.source_of(exercise).read_text(encoding="utf-8"))
    for cell in source["cells"]:
        if cell["id"] == "given":
            cell["source"] = exercise.render_given(exercise.numbers(SECRET, student))
    return json.dumps(source, ensure_ascii=False).encode()


def write(path, data):
    path.write_bytes(data)


def hashes(*folders):
    return {
        str(file): hashlib.sha256(file.read_bytes()).hexdigest()
        for folder in folders for file in sorted(folder.glob("*") if folder.is_relative_to(ROOT) else folder.rglob("*"))
        if (file.stem in OWN or not folder.is_relative_to(ROOT)) and file.is_file() and not file.is_symlink() and "__pycache__" not in file.parts
    }  # fmt: skip


class Outcome:
    """One run over everything: rows by student, files changed, canaries found, seconds."""

    def __init__(self, mode, base, jobs=2):
        submissions, out = base / "labkit-attack", base / "report"
        submissions.mkdir()
        out.mkdir()
        gradebook = base / "nbgrader.db"
        gradebook.write_bytes(b"a gradebook")
        (base / "report").chmod(0o755)
        self.names = build(submissions, out, gradebook)
        watched = (submissions, ROOT / "labkit" / "grade", catalog.SOLUTIONS / "hidden")
        before = hashes(*watched)
        started = time.monotonic()
        self.found, self.strangers = collect(submissions, None)
        self.found = [s for s in self.found if s.exercise == "31.1"]
        tasks = run.tasks(self.found, SECRET)
        results = run.grade_all(tasks, out, mode, jobs, LIMITS, lambda *_: None)
        self.seconds = time.monotonic() - started
        keys = {(task.submission.student, task.submission.exercise): task.key for task in tasks}
        rows = report.rows(self.found, keys, results)
        report.write(out, rows, self.strangers, mode)
        self.rows = {row.student: row for row in rows}
        self.changed = {path for path, value in hashes(*watched).items() if before.get(path) != value}
        self.canaries = [
            *out.glob("canary*"),
            *([] if gradebook.read_bytes() == b"a gradebook" else [gradebook]),
        ]
        self.out = out
        self.tasks = tasks


def main():
    for mode in sys.argv[1:] or ["bwrap", "uid"]:
        base = Path(tempfile.mkdtemp(prefix="labkit-attacks-"))
        try:
            outcome = Outcome(mode, base)
            print(f"\n{mode}: {len(outcome.names)} attacks, {outcome.seconds:.0f} s")
            print("| attack | marks gained | what the report says |\n|---|---|---|")
            for attack, name in outcome.names.items():
                row = outcome.rows.get(name)
                if row is None or row.marks is None:
                    print(f"| {attack} | 0 | not handed in |")
                    continue
                said = row.marks.not_run or ", ".join(dict.fromkeys(m.status for m in row.marks.marks))
                cells = ", ".join(
                    dict.fromkeys(c["kind"] for c in row.marks.cells if c["kind"] != "NotImplementedError")
                )
                print(f"| {attack} | {row.earned:g} | {said}{f' ({cells})' if cells else ''} |")
            honest = [f"{name} {outcome.rows[name].earned:g}" for name in ("honest", "zz-honest", "half")]
            print(f"honest students: {', '.join(honest)}; files changed: {sorted(outcome.changed) or 'none'}; "
                  f"canaries: {outcome.canaries or 'none'}")  # fmt: skip
        finally:
            shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
