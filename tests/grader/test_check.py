"""`check FILE`: a student's public checks without a browser, and never the value."""

import pytest

from labkit.__main__ import main
from labkit.grade import catalog
from labkit.grade.public import NotYetError, checker

EXERCISE = catalog.find("31.1")
GIVEN = "arrival, start, first, last, count = 0, 0.1, 0.3, 0.9, 31\n"
RIGHT_B = 'stages = [{"name": "首词元时延", "seconds": 0.3}, {"name": "解码间隔之和", "seconds": 0.6}]\n'
RIGHT_B += "ttft_plus_wait_is_first_token = False\n"


def checked(tmp_path, capsys, text, name="ex_31_01.py"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="\n")
    status = main(["check", str(path)])
    return status, capsys.readouterr().out.replace(str(path), "FILE")


def test_the_reference_passes_in_both_forms(capsys, tmp_path):
    from labkit.grade.notebook import read, to_percent

    assert main(["check", str(catalog.source_of(EXERCISE))]) == 0
    assert capsys.readouterr().out.count("形式正确") == 3
    status, said = checked(tmp_path, capsys, to_percent(read(catalog.source_of(EXERCISE))))
    assert (status, said.count("形式正确")) == (0, 3)


def test_the_empty_notebook_says_what_is_missing(capsys):
    assert main(["check", str(catalog.release_of(EXERCISE))]) == 1
    said = capsys.readouterr().out
    assert "ttft：还没有定义" in said
    assert "measures：还没有作答" in said


@pytest.mark.parametrize(
    ("answers", "hint"),
    [
        ("ttft, tpot, wait = 0.4, 0.02, 0.1", "已经包含等待"),
        ("ttft, tpot, wait = 0.2, 0.02, 0.1", "不是从开始执行算起"),
        ("ttft, tpot, wait = 0.3, 0.6 / 31, 0.1", "不是词元个数"),
        ("ttft, tpot, wait = 300.0, 20.0, 100.0", "不是毫秒"),
        ("ttft, tpot, wait = '0.3', 0.02, 0.1", "应为一个有限的数"),
        ("ttft, tpot, wait = 0.3, float('nan'), 0.1", "tpot：形式不对"),
        ("ttft, tpot, wait = True, 0.02, 0.1", "ttft：形式不对"),
    ],
)
def test_hints_name_the_misconception(tmp_path, capsys, answers, hint):
    status, said = checked(tmp_path, capsys, f"{GIVEN}{answers}\n{RIGHT_B}")
    assert status == 1
    assert hint in said
    assert "0.02" not in said
    assert "0.3" not in said


def test_a_failing_cell_is_named_and_the_rest_goes_on(tmp_path, capsys):
    text = f"# %%\n{GIVEN}\n# %%\nraise ValueError('\\x1b[31mred')\n# %%\nttft, tpot, wait = 0.3, 0.02, 0.1\n"
    status, said = checked(tmp_path, capsys, text)
    assert status == 1
    assert "第 2 个代码单元：ValueError: \\x1b[31mred" in said
    assert "第 a 部分形式正确" in said


def test_check_cells_say_their_lines_without_a_traceback():
    with pytest.raises(NotYetError) as raised:
        checker("31.1", {"ttft": 0.3, "tpot": 0.02})("a")
    assert raised.value._render_traceback_() == ["wait：还没有定义"]
    with pytest.raises(NotYetError, match="可以检查的是 a、b、c"):
        checker("31.1", {})("z")


def test_scenarios_are_still_checked(capsys):
    assert main(["check", "x1_static"]) == 0
    assert main(["check", "x1_static", "ex_31_01.py"]) == 2
