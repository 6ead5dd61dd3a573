"""The one table of strings that a person sees in figures, panels and tables, in Chinese and English.

`t("timeline.title")` gives the text in the reader's language: Chinese unless the environment variable
`LABKIT_LANG` says `en`. Values go into braces: `t("axis.seat", seat=1)`. Terms are those of the book's
glossary.
"""

from __future__ import annotations

import os

from labkit.show.figures.load_words import STRINGS as LOADS
from labkit.show.grade_words import GRADE
from labkit.show.replay.words import STRINGS as REPLAY
from labkit.show.report_words import REPORT

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
    # a real run beside its virtual twin
    "beside_real.title": {
        "zh": "拟合出的代价模型，说中真实模型的轮时了吗？",
        "en": "Does the fitted cost model foretell the real model's rounds?",
    },
    "beside_real.rounds": {"zh": "每一轮（误差中位数 {error}）", "en": "Each round (median error {error})"},
    "beside_real.ends": {"zh": "每个请求（误差中位数 {error}）", "en": "Each request (median error {error})"},
    "beside_real.measured_ms": {"zh": "测得的轮时（ms）", "en": "Measured round time (ms)"},
    "beside_real.predicted_ms": {"zh": "预测的轮时（ms）", "en": "Predicted round time (ms)"},
    "beside_real.real_s": {"zh": "真实运行的完成时间（s）", "en": "End in the real run (s)"},
    "beside_real.virtual_s": {"zh": "虚拟运行的完成时间（s）", "en": "End in the virtual run (s)"},
    "beside_real.alt": {
        "zh": "{title}左图：{rounds} 轮，预测误差中位数 {error}。",
        "en": "{title} Left: {rounds} rounds, median error of the prediction {error}. ",
    },
    "beside_real.alt_ends": {
        "zh": "右图：{requests} 个请求，完成时间误差中位数 {error}。虚线上两者相等。",
        "en": "Right: {requests} requests, median error of their ends {error}. On the dashed line both are equal.",
    },
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
    "round_times.table_ends": {
        "zh": "左图：t₁ = {one} ms、t₂ = {two} ms 时各请求何时完成（ms）",
        "en": "Left: completions at t₁ = {one} ms, t₂ = {two} ms (ms)",
    },
    "round_times.table_saved": {
        "zh": "右图：t₁ = {one} ms 时，{second}比{first}早多少（ms）",
        "en": "Right: at t₁ = {one} ms, how much earlier {second} is than {first} (ms)",
    },
    "round_times.two_ms": {"zh": "t₂（ms）", "en": "t₂ (ms)"},
    "round_times.name": {"zh": "轮时与两种策略的先后", "en": "Round times and which policy is earlier"},
    "round_times.one": {"zh": "一条序列一轮 t₁", "en": "Round with one sequence, t₁"},
    "round_times.two": {"zh": "两条序列一轮 t₂", "en": "Round with two sequences, t₂"},
    # C10: the waiting window
    "window.name": {"zh": "等待上限与最大批量", "en": "Waiting window and greatest batch size"},
    "window.window": {"zh": "等待上限", "en": "Longest wait"},
    "window.size": {"zh": "最大批量", "en": "Greatest batch size"},
    "window.title_ttft": {
        "zh": "等得越久，首词元越早吗？",
        "en": "Does waiting bring the first token sooner?",
    },
    "window.title_filled": {"zh": "等待买到了多满的批？", "en": "How full a batch does it buy?"},
    "window.axis_window": {"zh": "等待上限（ms）", "en": "Longest wait (ms)"},
    "window.axis_ttft": {"zh": "TTFT 平均（ms）", "en": "Mean TTFT (ms)"},
    "window.axis_filled": {"zh": "每批几个请求", "en": "Requests a batch"},
    "window.rate": {"zh": "{rate}/s", "en": "{rate}/s"},
    "window.size_line": {"zh": "虚线：最大批量 {size}", "en": "dashed: greatest size {size}"},
    "window.at_rate": {
        "zh": "每秒 {rate} 个请求，TTFT 平均 {ttft} ms，每批 {filled} 个",
        "en": "{rate} requests a second: mean TTFT {ttft} ms, {filled} a batch",
    },
    "window.says": {
        "zh": "等待上限 {window} ms、最大批量 {size}：{parts}。",
        "en": "Longest wait {window} ms, greatest size {size}: {parts}.",
    },
    "window.alt": {
        "zh": "左图，等待上限从 {low} 到 {high} ms：{curves}。",
        "en": "Left, longest wait from {low} to {high} ms: {curves}.",
    },
    "window.alt_curve": {
        "zh": "每秒 {rate} 个，TTFT 从 {first} 到 {last} ms",
        "en": "{rate} a second, TTFT from {first} to {last} ms",
    },
    "window.window_ms": {"zh": "等待上限（ms）", "en": "Longest wait (ms)"},
    "window.table_ttft": {"zh": "{rate}/s：TTFT（ms）", "en": "{rate}/s: TTFT (ms)"},
    "window.table_filled": {"zh": "{rate}/s：每批", "en": "{rate}/s: a batch"},
    "window.table": {
        "zh": "最大批量 {size} 时，每种负载的 TTFT 平均与每批请求数",
        "en": "Mean TTFT and requests a batch at greatest size {size}",
    },
    # plain curves
    "curves.axes": {"zh": "横轴{x}，纵轴{y}。", "en": "Across: {x}; upright: {y}."},
    "curves.series": {"zh": "{name}：{points}。", "en": "{name}: {points}."},
    "curves.point": {"zh": "（{x}，{y}）", "en": "({x}, {y})"},
    "curves.brief": {
        "zh": "{count} 个点，从{first}到{last}，最小{least}，最大{greatest}",
        "en": "{count} points from {first} to {last}, least {least}, greatest {greatest}",
    },
    # C18: predicted and measured tails
    "tails.title": {
        "zh": "M/M/1 说中了连续批处理的尾部吗？",
        "en": "Does M/M/1 tell the tail of continuous batching?",
    },
    "tails.axis_t": {"zh": "逗留时间 t（s）", "en": "Sojourn time t (s)"},
    "tails.axis_p": {"zh": "Pr(T > t)", "en": "Pr(T > t)"},
    "tails.over_title": {
        "zh": "哪种负载下，M/M/1 的 p99 错得最多？",
        "en": "At which load is the p99 of M/M/1 most wrong?",
    },
    "tails.axis_rate": {
        "zh": "到达率 λ（请求/s），间距按 {rate} − λ 取对数",
        "en": "Arrival rate λ (requests/s), spaced by log({rate} − λ)",
    },
    "tails.axis_over": {"zh": "逗留时间 p99（s）", "en": "p99 of the sojourn time (s)"},
    "tails.crossing": {"zh": "相等处：λ = {rate}", "en": "equal at λ = {rate}"},
    "tails.predicted": {"zh": "M/M/1 的预测", "en": "predicted by M/M/1"},
    "tails.servers": {"zh": "每个座位单独处理（M/M/c）", "en": "a server for each seat (M/M/c)"},
    "tails.exact": {"zh": "按座位和轮精确计算", "en": "exact, with seats and rounds"},
    "tails.formula": {"zh": "式 31.13", "en": "equation 31.13"},
    "tails.sampled": {"zh": "随机样本，95% 区间", "en": "sampled, 95% interval"},
    "tails.measured": {"zh": "引擎测得，95% 区间", "en": "measured on the engine, 95% interval"},
    # panels
    "panel.error": {"zh": "这一步没有算成：{error}", "en": "This step failed: {error}"},
    "panel.silent": {
        "zh": "内核没有回应：它在忙，或者没有运行。",
        "en": "No answer from the kernel: it is busy, or not running.",
    },
    "panel.table": {"zh": "显示数据表", "en": "Show data table"},
    "panel.keys": {
        "zh": "方向键一次一格，Page Up / Page Down 一次多格，Home / End 到两端。",
        "en": "Arrow keys move one step, Page Up and Page Down several, Home and End to the ends.",
    },
    "panel.still": {
        "zh": "静态图：滑块要有运行中的内核才能拖动。这里是几组事先选好的值。",
        "en": "Still pictures: the sliders need a running kernel. These are values chosen beforehand.",
    },
    # prediction cells
    "predict.name": {"zh": "先猜", "en": "Predict"},
    "predict.first": {"zh": "先猜：{question}", "en": "Predict: {question}"},
    "predict.field": {"zh": "你的数", "en": "Your number"},
    "predict.give": {"zh": "写下", "en": "Keep it"},
    "predict.skip": {"zh": "跳过", "en": "Skip"},
    "predict.again": {"zh": "重猜", "en": "Guess again"},
    "predict.hands": {"zh": "全班举手", "en": "Show of hands"},
    "predict.reveal": {"zh": "亮出答案", "en": "Show the answer"},
    "predict.clear": {"zh": "清零", "en": "Clear"},
    "predict.keys": {
        "zh": "按数字键，给那一项加一只手；按住 Shift 减一只；0 亮出答案。",
        "en": "A digit key adds a hand to that choice, with Shift it takes one away; 0 shows the answer.",
    },
    "predict.hand": {
        "zh": "{label}：{count} 只手，按一下加一只",
        "en": "{label}: {count} hands, press to add one",
    },
    "predict.tally": {
        "zh": "{label}，{count} 只手；一共 {total} 只。",
        "en": "{label}: {count} hands; {total} in all.",
    },
    "predict.mark": {"zh": "算出来 {truth}", "en": "computed: {truth}"},
    "predict.silent": {
        "zh": "内核没有回应：它在忙，或者没有运行。数还没有记下。",
        "en": "No answer from the kernel: it is busy, or not running. Nothing is kept yet.",
    },
    "predict.both": {
        "zh": "你猜 {guess}，算出来 {truth}：{verdict}。",
        "en": "You said {guess}, computed {truth}: {verdict}.",
    },
    "predict.truth": {"zh": "算出来 {truth}。", "en": "Computed: {truth}."},
    "predict.exact": {"zh": "正好", "en": "exactly"},
    "predict.more": {"zh": "多猜了 {difference}", "en": "too high by {difference}"},
    "predict.less": {"zh": "少猜了 {difference}", "en": "too low by {difference}"},
    "predict.share": {"zh": "，即答案的 {percent}%", "en": ", {percent}% of it"},
    "predict.later": {
        "zh": "数已记下。答案由下面的格子算出，运行到那里就会显示。",
        "en": "Kept. Cells further down compute the answer; it appears when they have run.",
    },
    "predict.failed": {"zh": "答案没有算成：{error}", "en": "The answer could not be computed: {error}"},
    "predict.no_number": {
        "zh": "“{given}”不是一个数。可以写 33.3，也可以写 100/3。",
        "en": "{given!r} is no number. Write 33.3, or 100/3.",
    },
    "predict.unreadable": {
        "zh": "以前记下的数读不出来（{reason}），从头再猜。",
        "en": "What was kept here can't be read ({reason}); guess anew.",
    },
    "predict.unsaved": {
        "zh": "数记不到磁盘上（{reason}），只记到内核停止为止。",
        "en": "It can't be kept on disk ({reason}), only until the kernel stops.",
    },
    "predict.too_long": {"zh": "文件太长", "en": "the file is too long"},
    "predict.no_json": {"zh": "不是 JSON", "en": "it is no JSON"},
    "predict.no_prediction": {"zh": "内容不是一条预测", "en": "it holds no prediction"},
    "predict.still": {
        "zh": "这里没有可用的输入框。请把数写在纸上，或在这一格的括号里加上 guess=你的数 再运行。",
        "en": "No input field can be used here. Write your number down, or add guess=… to this cell and run it.",
    },
    "predict.score": {"zh": "这一页的预测", "en": "Predictions on this page"},
    "predict.question": {"zh": "问题", "en": "Question"},
    "predict.guess": {"zh": "猜的", "en": "Guess"},
    "predict.computed": {"zh": "算的", "en": "Computed"},
    "predict.error": {"zh": "猜的减去算的", "en": "Guess minus computed"},
    # tables
    "table.request": {"zh": "请求", "en": "Request"},
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
STRINGS |= REPLAY | LOADS | REPORT | GRADE


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
