"""The one table of strings that a person sees in figures, panels and tables, in Chinese and English.

`t("timeline.title")` gives the text in the reader's language: Chinese unless the environment variable
`LABKIT_LANG` says `en`. Values go into braces: `t("axis.seat", seat=1)`. Terms are those of the book's
glossary.
"""

from __future__ import annotations

import os

LANGUAGES = ("zh", "en")

STRINGS: dict[str, dict[str, str]] = {
    # punctuation between the parts of a sentence that is put together here
    "list.comma": {"zh": "、", "en": ", "},
    "list.colon": {"zh": "：", "en": ": "},
    "list.semicolon": {"zh": "；", "en": "; "},
    "list.stop": {"zh": "", "en": " "},
    # axes and marks
    "axis.time_ms": {"zh": "时间（ms）", "en": "Time (ms)"},
    "axis.seat": {"zh": "座位 {seat}", "en": "Seat {seat}"},
    "axis.end_ms": {"zh": "完成时间（ms）", "en": "Completion time (ms)"},
    "axis.two_ms": {"zh": "两条序列一轮的时间 t₂（ms）", "en": "Round time with two sequences, t₂ (ms)"},
    "axis.saved_ms": {
        "zh": "{second}比{first}早多少（ms）",
        "en": "How much earlier {second} is than {first} (ms)",
    },
    "mark.empty": {"zh": "空座", "en": "empty"},
    "mark.empty_waited": {"zh": "有人等的空座", "en": "empty while others wait"},
    "mark.end": {"zh": "{id} {ms}", "en": "{id} {ms}"},
    "mark.mean": {"zh": "平均", "en": "mean"},
    "mark.makespan": {"zh": "全部完成", "en": "all done"},
    "mark.request": {"zh": "请求 {id}", "en": "request {id}"},
    # figure 31.1
    "timeline.title": {
        "zh": "有请求在等，为什么还有座位空着？",
        "en": "Requests wait: why does a seat stand empty?",
    },
    "timeline.title_one": {
        "zh": "每一轮，谁坐在哪个座位上？",
        "en": "Who sits in which seat, round by round?",
    },
    "timeline.policy": {
        "zh": "{policy}　平均完成 {mean}，座位轮次 {busy}/{offered} 有人",
        "en": "{policy}: mean completion {mean}, seat-rounds busy {busy}/{offered}",
    },
    "timeline.alt": {
        "zh": "时间线：{seats} 个座位，{rounds} 轮，共 {span}。",
        "en": "Timeline: {seats} seats, {rounds} rounds, {span} in all.",
    },
    "timeline.alt_seat": {"zh": "座位 {seat}：{stretches}。", "en": "Seat {seat}: {stretches}."},
    "timeline.alt_stretch": {"zh": "{id} {start} 到 {end} ms", "en": "{id} {start} to {end} ms"},
    "timeline.alt_seat_brief": {
        "zh": "座位 {seat}：{count} 个请求，{busy}/{rounds} 轮有人。",
        "en": "Seat {seat}: {count} requests, busy in {busy} of {rounds} rounds.",
    },
    "timeline.alt_ends": {
        "zh": "完成：{ends}，平均 {mean}。座位轮次 {busy}/{offered} 有人。",
        "en": "Completions: {ends}; mean {mean}. Seat-rounds busy: {busy} of {offered}.",
    },
    "timeline.alt_ends_brief": {
        "zh": "{count} 个请求完成，最早 {first}，最晚 {last}，平均 {mean}。座位轮次 {busy}/{offered} 有人。",
        "en": "{count} requests completed, first {first}, last {last}, mean {mean}. Busy: {busy}/{offered}.",
    },
    "timeline.none": {"zh": "没有请求完成", "en": "no request completed"},
    # Q31.2: round times that depend on how many sequences run
    "round_times.title_ends": {
        "zh": "这两个轮时下，谁先完成？",
        "en": "With these round times, who is done first?",
    },
    "round_times.title_flip": {
        "zh": "t₂ 多大时，先后颠倒？",
        "en": "From which t₂ on does the order flip?",
    },
    "round_times.line": {"zh": "{factor} t₁", "en": "{factor} t₁"},
    "round_times.says": {
        "zh": "t₁ = {one} ms，t₂ = {two} ms：{verdicts}。",
        "en": "t₁ = {one} ms, t₂ = {two} ms: {verdicts}.",
    },
    "round_times.verdict": {"zh": "{what}，{policy}早 {ms}", "en": "{what}: {policy} earlier by {ms}"},
    "round_times.tie": {"zh": "{what}，两者相同", "en": "{what}: no difference"},
    "round_times.alt_ends": {
        "zh": "左图，{policy}：{ends}，平均 {mean}。",
        "en": "Left, {policy}: {ends}; mean {mean}.",
    },
    "round_times.alt_flips": {
        "zh": "右图，t₂ 从 {low} 到 {high} ms，颠倒处：{flips}。",
        "en": "Right, t₂ from {low} to {high} ms; the order flips at: {flips}.",
    },
    "round_times.alt_flip": {"zh": "{what} t₂ = {at}", "en": "{what} t₂ = {at}"},
    "round_times.alt_no_flip": {"zh": "{what}没有", "en": "{what} nowhere"},
    "round_times.name": {"zh": "轮时与两种策略的先后", "en": "Round times and which policy is earlier"},
    "round_times.one": {"zh": "一条序列一轮 t₁", "en": "Round with one sequence, t₁"},
    "round_times.two": {"zh": "两条序列一轮 t₂", "en": "Round with two sequences, t₂"},
    # panels
    "panel.error": {"zh": "这一步没有算成：{error}", "en": "This step failed: {error}"},
    "panel.silent": {
        "zh": "内核没有回应：它在忙，或者没有运行。",
        "en": "No answer from the kernel: it is busy, or not running.",
    },
    "panel.keys": {
        "zh": "方向键一次一格，Page Up / Page Down 一次多格，Home / End 到两端。",
        "en": "Arrow keys move one step, Page Up and Page Down several, Home and End to the ends.",
    },
    "panel.still": {
        "zh": "静态图：滑块要有运行中的内核才能拖动。这里是默认值的结果。",
        "en": "Still picture: the sliders need a running kernel. These are the default values.",
    },
    # tables
    "table.policy": {"zh": "策略", "en": "Policy"},
    "table.ends": {"zh": "各请求何时完成（ms）", "en": "When each request completes (ms)"},
    "table.mean": {"zh": "平均", "en": "Mean"},
    "table.makespan": {"zh": "全部完成", "en": "All done"},
    "table.busy": {"zh": "座位轮次（有人/共有）", "en": "Seat-rounds (busy/all)"},
    # hardware
    "hardware.title": {"zh": "这台机器", "en": "This machine"},
    "hardware.cpu": {"zh": "处理器", "en": "Processor"},
    "hardware.cores": {"zh": "可用核", "en": "Usable cores"},
    "hardware.memory": {"zh": "内存", "en": "Memory"},
    "hardware.system": {"zh": "系统", "en": "System"},
    "hardware.python": {"zh": "Python", "en": "Python"},
    "hardware.torch": {"zh": "PyTorch", "en": "PyTorch"},
    "hardware.gpu": {"zh": "显卡", "en": "GPU"},
    "hardware.unknown": {"zh": "问不到", "en": "unknown"},
    "hardware.no_torch": {
        "zh": "没有装。只有真实模型要用它，别的都能做",
        "en": "not installed. Only the real model needs it",
    },
    "hardware.torch_cuda": {"zh": "{version}，为 CUDA {cuda} 编译", "en": "{version}, built for CUDA {cuda}"},
    "hardware.torch_cpu": {"zh": "{version}，只用处理器", "en": "{version}, processor only"},
    "hardware.no_gpu": {
        "zh": "没有找到 NVIDIA 显卡。真实模型在处理器上跑",
        "en": "no NVIDIA GPU found; the real model runs on the CPU",
    },
    "hardware.gpu_idle": {
        "zh": "{name}，但装着的 PyTorch 用不了它",
        "en": "{name}, but the installed PyTorch cannot use it",
    },
}


def language() -> str:
    """The reader's language, `zh` or `en`, from `LABKIT_LANG`; anything else counts as `zh`."""
    asked = os.environ.get("LABKIT_LANG", "zh")
    return asked if asked in LANGUAGES else "zh"


def t(key: str, lang: str | None = None, **values: object) -> str:
    """The visible string of `key` in `lang` (default: `language()`), with `values` put into its braces.

    Raises KeyError, naming the key, where the table has no such string.
    """
    if key not in STRINGS:
        raise KeyError(
            f"no visible string {key!r}: add it to labkit/show/text.py in {' and '.join(LANGUAGES)}"
        )
    return STRINGS[key][lang or language()].format(**values)
