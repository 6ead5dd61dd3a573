"""The strings of the figures about loads: bursts, back-pressure, coordinated omission."""

STRINGS: dict[str, dict[str, str]] = {
    # fluid.py: a fluid line over simulated paths (C22)
    "fluid.path": {"zh": "模拟的样本路径", "en": "simulated paths"},
    "fluid.line": {"zh": "流体近似", "en": "fluid"},
    "fluid.believed": {"zh": "以为一下单就有", "en": "if it served at once"},
    "fluid.x": {"zh": "时间（s）", "en": "Time (s)"},
    "fluid.y": {"zh": "系统内请求数", "en": "Requests in the system"},
    "fluid.alt": {
        "zh": "{title}流体线的拐点（秒，个）：{corners}。{count} 条样本路径，最高处从 {least} 到 {most}。",
        "en": "{title} Corners of the fluid line (s, requests): {corners}. {count} paths, peaks {least} to {most}.",
    },
    "fluid.alt_believed": {
        "zh": "虚线是以为新设备一下单就能用：最高只有 {most}。",
        "en": " Dashed, a device believed to serve at once: at most {most}.",
    },
    "fluid.corner": {"zh": "（{x}，{y}）", "en": "({x}, {y})"},
    # shares.py: what became of all requests (X5, C22)
    "shares.x": {"zh": "占全部已提交请求（%）", "en": "Of all submitted requests (%)"},
    "shares.part": {"zh": "{name} {percent} %", "en": "{name} {percent} %"},
    # survival.py: how many took longer than t (C30)
    "survival.x": {"zh": "时延 t（s）", "en": "Latency t (s)"},
    "survival.y": {"zh": "时延超过 t 的请求（%）", "en": "Requests slower than t (%)"},
    "survival.read_here": {"zh": "1 %：这里读 p99", "en": "1 %: read p99 here"},
    "survival.alt_one": {
        "zh": "{name}：{n} 个样本，中位数 {median} s，p99 {p99} s，最大 {most} s",
        "en": "{name}: {n} samples, median {median} s, p99 {p99} s, greatest {most} s",
    },
    # tanks.py: what grows where a link is cut (C20)
    "tanks.title": {"zh": "断开一环，哪里会涨？", "en": "One link is cut: what grows, and where?"},
    "tanks.whole": {"zh": "链条完整", "en": "chain whole"},
    "tanks.cut": {"zh": "断开这一环", "en": "this link cut"},
    "tanks.output": {"zh": "输出缓冲断开：未读词元", "en": "output cut: unread tokens"},
    "tanks.active": {"zh": "活动序列断开：占着页的请求", "en": "active cut: requests holding pages"},
    "tanks.queue": {"zh": "队列断开：排队的请求", "en": "queue cut: waiting requests"},
    "tanks.entry": {"zh": "入口断开：放进来却误期", "en": "entry cut: let in, then too late"},
    "tanks.alt": {
        "zh": "{name}：完整时最高 {whole}，断开后最高 {cut}",
        "en": "{name}: at most {whole} with the chain whole, {cut} with it cut",
    },
}
