"""The visible strings of `report`, in Chinese and English; part of the table in text.py."""

from __future__ import annotations

REPORT: dict[str, dict[str, str]] = {
    "report.title_one": {"zh": "运行报告：{title}", "en": "Report: {title}"},
    "report.title_many": {"zh": "并排的运行报告", "en": "Runs side by side"},
    "report.made_of": {"zh": "由日志算出：{names}", "en": "Computed from: {names}"},
    "report.window": {
        "zh": "观察窗 {start} 到 {end} s。请求表只含窗内发出的请求；Little 关系、吞吐和轮按窗内发生的算，"
        "轮在窗边截断。",
        "en": "Window {start} to {end} s. Tables of requests hold those sent in it; Little's law, "
        "throughput and rounds "
        "what happened in it, rounds clipped at its ends.",
    },
    "report.kept": {
        "zh": "逐行读日志，只留每个请求一行、各种间隔的次数和若干总和。",
        "en": "The journal is read line by line; kept are a row a request, how often each gap was seen, "
        "and sums.",
    },
    "report.contents": {"zh": "目录", "en": "Contents"},
    "report.figures": {"zh": "图", "en": "Figures"},
    "report.tables": {"zh": "表", "en": "Tables"},
    "report.run": {"zh": "运行", "en": "Run"},
    "report.value": {"zh": "值", "en": "Value"},
    "report.quantity": {"zh": "量", "en": "Quantity"},
    "report.numerator": {"zh": "分子", "en": "Numerator"},
    "report.denominator": {"zh": "分母", "en": "Denominator"},
    "report.population": {"zh": "总体", "en": "Population"},
    "report.unit": {"zh": "单位", "en": "Unit"},
    "report.units_count": {"zh": "单位的含义：{units}。", "en": " What the units count: {units}."},
    "report.undefined": {"zh": "不定义", "en": "undefined"},
    # runs
    "report.runs": {"zh": "运行", "en": "Runs"},
    "report.scenario": {"zh": "场景", "en": "Scenario"},
    "report.executor": {"zh": "执行者", "en": "Executor"},
    "report.seed": {"zh": "种子", "en": "Seed"},
    "report.seconds": {"zh": "时长（s）", "en": "Length (s)"},
    "report.rounds": {"zh": "轮数", "en": "Rounds"},
    "report.differs": {"zh": "比的是什么", "en": "What is compared"},
    "report.field": {"zh": "字段", "en": "Field"},
    "report.same": {"zh": "预算和策略都一样。", "en": "Budget and policy are the same."},
    "report.shorter": {
        "zh": "{second}有 {count} 个回答比{first}短，共短 {tokens} 个词元：短回答不是加速。",
        "en": "{count} answers of {second} are shorter than in {first}, by {tokens} tokens in all: that is "
        "no speed-up.",
    },
    "report.closed": {
        "zh": "闭合环：下一个请求等上一个结束才发，到达时刻是结果，不是条件。",
        "en": "Closed loop: a request is sent after the one before it has ended, so arrival times are a "
        "result, no condition.",
    },
    # requests
    "report.requests": {"zh": "请求的去向（个）", "en": "What became of the requests (count)"},
    "report.requests_note": {
        "zh": "谁都不丢：被拒、取消、过期、失败、没做完的都在。“没做完”是观察结束时还在的（删失）。",
        "en": "Nobody is dropped: rejected, cancelled, expired, failed and unfinished ones are here. "
        "Unfinished: still there "
        "when the observation ended (censored).",
    },
    "report.planned": {"zh": "计划", "en": "planned"},
    "report.submitted": {"zh": "发出", "en": "submitted"},
    "report.accepted": {"zh": "接纳", "en": "accepted"},
    "report.admitted": {"zh": "入座过", "en": "admitted"},
    "report.finished": {"zh": "完成", "en": "finished"},
    "report.rejected": {"zh": "被拒", "en": "rejected"},
    "report.cancelled": {"zh": "取消", "en": "cancelled"},
    "report.expired": {"zh": "过期", "en": "expired"},
    "report.failed": {"zh": "失败", "en": "failed"},
    "report.unfinished": {"zh": "没做完", "en": "unfinished"},
    "report.on_target": {"zh": "达标", "en": "on target"},
    # latency
    "report.latency": {"zh": "时延（{unit}）", "en": "Latency ({unit})"},
    "report.latency_note": {
        "zh": "总体：接纳的请求；间隔的总体：它们的全部间隔。分位数取最近秩，即第 ⌈p·n⌉ 小的一个。"
        "被截断的请求以“至少这么久”"
        "留在 n 里：下界把它算成已见的时长，上界把它算成无穷；两界相同写一个数，写“≥”的没有上界。"
        "均值只含量到头的，括号里是把截断的也算上时至少多少。",
        "en": "Population: accepted requests; of gaps, all of theirs. Percentiles are nearest ranks, the "
        "⌈p·n⌉-th smallest. "
        "Who was cut off stays in n as 'at least so long': the lower bound takes what was seen of it, the "
        "upper one "
        "infinity; one number where both agree, ≥ where there is no upper bound. Means are of those "
        "measured to the "
        "end; in brackets the least that the mean over all can be.",
    },
    "report.observed": {"zh": "观测点", "en": "Observed at"},
    "report.both": {"zh": "两处相同", "en": "worker and client"},
    "report.worker": {"zh": "工作进程", "en": "worker"},
    "report.client": {"zh": "客户端", "en": "client"},
    "report.intended": {"zh": "客户端，从本该发出时起", "en": "client, from the intended start"},
    "report.count": {"zh": "n（个）", "en": "n (count)"},
    "report.cut": {"zh": "其中截断（个）", "en": "cut off (count)"},
    "report.mean": {"zh": "均值", "en": "mean"},
    "report.max": {"zh": "最大", "en": "max"},
    "report.ttft": {"zh": "首词元时延 TTFT", "en": "time to first token, TTFT"},
    "report.tpot": {"zh": "平均输出词元时间 TPOT", "en": "time per output token, TPOT"},
    "report.itl": {"zh": "词元间时延 ITL", "en": "inter-token latency, ITL"},
    "report.chunk_interval": {"zh": "块间隔", "en": "chunk interval"},
    "report.sojourn": {"zh": "逗留时间 T", "en": "sojourn time T"},
    "report.wait": {"zh": "首执行等待 W", "en": "first wait W"},
    "report.waits_total": {"zh": "全部等待 Wq", "en": "total waiting Wq"},
    # weights
    "report.weights": {"zh": "请求级与词元级（{unit}）", "en": "By request and by token ({unit})"},
    "report.weights_note": {
        "zh": "请求级均值掩盖单次停顿，也不等于把间隔汇总的均值：后者让长回答多占权重。最后两行才看得见停顿。",
        "en": "The mean over requests hides a single stall and is not the mean over gaps, in which long "
        "answers weigh more. "
        "A stall shows in the last two rows alone.",
    },
    "report.weight": {"zh": "权重", "en": "Weight"},
    "report.tpot_mean": {"zh": "TPOT 的均值", "en": "mean TPOT"},
    "report.itl_mean": {"zh": "ITL 的均值", "en": "mean ITL"},
    "report.itl_high": {"zh": "ITL 的 p99", "en": "p99 of ITL"},
    "report.itl_max": {"zh": "最长的 ITL", "en": "longest ITL"},
    "report.each_request": {"zh": "每个请求算一次", "en": "each request once"},
    "report.each_gap": {"zh": "每个间隔算一次", "en": "each gap once"},
    # goodput
    "report.goodput": {"zh": "有效吞吐与分母", "en": "Goodput and its denominators"},
    "report.goodput_note": {
        "zh": "达标：已完成，并满足：{targets}。",
        "en": "On target: finished, with {targets}.",
    },
    "report.no_targets": {
        "zh": "没有设目标：完成即达标。",
        "en": "No target was set: finished is on target.",
    },
    "report.target": {"zh": "{name} ≤ {bound} s", "en": "{name} ≤ {bound} s"},
    "report.longest_itl": {"zh": "最长 ITL", "en": "longest ITL"},
    "report.target_deadline": {"zh": "不超过自己的期限", "en": "by its own deadline"},
    "report.target_quality": {"zh": "质量合格", "en": "its quality passed"},
    "report.target_point": {"zh": "（{point}）", "en": " ({point})"},
    "report.submit_rate": {"zh": "提交率（请求/s）", "en": "submit rate (requests/s)"},
    "report.throughput": {"zh": "成功吞吐（请求/s）", "en": "throughput (requests/s)"},
    "report.goodput_rate": {"zh": "有效吞吐（请求/s）", "en": "goodput (requests/s)"},
    "report.on_target_of_finished": {"zh": "达标率，完成者中", "en": "on target, of the finished"},
    "report.on_target_of_accepted": {"zh": "达标率，接纳者中", "en": "on target, of the accepted"},
    "report.on_target_of_submitted": {"zh": "达标率，发出者中", "en": "on target, of all submitted"},
    "report.in_seconds": {"zh": "{count} s", "en": "{count} s"},
    "report.in_requests": {"zh": "{count} 个{kind}", "en": "{count} {kind}"},
    # throughput
    "report.flows": {"zh": "四种吞吐", "en": "Four throughputs"},
    "report.flows_note": {
        "zh": "分子是窗内发生的。词元流量 λ·E[P + O] 不是设备需求；前缀命中的位置在输入里，却不必计算。",
        "en": "Numerators are what happened in the window. Token flow λ·E[P + O] is no demand on the "
        "device; prefix hits are "
        "input that needs no computing.",
    },
    "report.flow_requests": {"zh": "完成的请求（请求/s）", "en": "requests finished (requests/s)"},
    "report.flow_input": {"zh": "它们的输入词元（词元/s）", "en": "their input tokens (tokens/s)"},
    "report.flow_computed": {"zh": "其中要计算的（词元/s）", "en": "of those, to be computed (tokens/s)"},
    "report.flow_output": {"zh": "发出的输出词元（词元/s）", "en": "output tokens emitted (tokens/s)"},
    "report.flow_target": {
        "zh": "达标完成的请求（请求/s）",
        "en": "requests finished on target (requests/s)",
    },
    "report.flow_tokens": {"zh": "词元流量（词元/s）", "en": "token flow (tokens/s)"},
    "report.of_finished": {"zh": "窗内完成的请求", "en": "requests finished in the window"},
    "report.of_emitted": {"zh": "窗内发出的词元", "en": "tokens emitted in the window"},
    "report.of_those_accepted": {"zh": "其中接纳的", "en": "accepted ones of those"},
    "report.of_those_finished": {"zh": "其中完成的", "en": "finished ones of those"},
    "report.of_sent": {"zh": "窗内发出的请求", "en": "requests sent in the window"},
    # work
    "report.work": {"zh": "轮与工作量", "en": "Rounds and work"},
    "report.work_note": {
        "zh": "两个比都叫过“重算”，分母不同：前一个的分母是首次计算的位置，后一个是执行过的全部位置。",
        "en": "Two ratios go by the name of recomputation: the first is per position computed for the "
        "first time, the second "
        "per position executed at all.",
    },
    "report.busy_share": {"zh": "忙的时间", "en": "busy time"},
    "report.seats_mean": {"zh": "忙时平均占座（座）", "en": "busy seats while busy (seats)"},
    "report.round_tokens": {"zh": "一轮计算的位置（位置/轮）", "en": "positions a round (positions/round)"},
    "report.round_mean": {"zh": "平均轮时（ms/轮）", "en": "mean round (ms/round)"},
    "report.recompute_ratio": {"zh": "重算放大（31.6 节）", "en": "recompute ratio (section 31.6)"},
    "report.generated": {"zh": "新生成/执行（习题 31.12）", "en": "generated per executed (exercise 31.12)"},
    "report.preemptions": {"zh": "抢占（次/接纳的请求）", "en": "preemptions (per accepted request)"},
    "report.preempted": {"zh": "被抢占过的请求", "en": "requests preempted at all"},
    "report.of_window": {"zh": "整个观察窗", "en": "the whole window"},
    "report.of_rounds": {"zh": "窗内结束的轮", "en": "rounds that ended in the window"},
    "report.of_busy": {"zh": "有轮在跑的时间", "en": "time in which a round ran"},
    "report.of_accepted": {"zh": "接纳的请求", "en": "accepted requests"},
    "report.in_seconds_busy": {"zh": "{count} s 忙", "en": "{count} s busy"},
    "report.in_seat_seconds": {"zh": "{count} 座·s", "en": "{count} seat·s"},
    "report.in_positions": {"zh": "{count} 位置", "en": "{count} positions"},
    "report.in_first": {"zh": "{count} 首次计算的位置", "en": "{count} positions computed first"},
    "report.in_again": {"zh": "{count} 重算的位置", "en": "{count} positions computed again"},
    "report.in_tokens": {"zh": "{count} 词元", "en": "{count} tokens"},
    "report.in_rounds": {"zh": "{count} 轮", "en": "{count} rounds"},
    "report.in_ms": {"zh": "{count} ms", "en": "{count} ms"},
    "report.in_times": {"zh": "{count} 次", "en": "{count} times"},
    "report.in_plain": {"zh": "{count} 个请求", "en": "{count} requests"},
    # Little
    "report.little": {"zh": "Little 关系，逐项精确", "en": "Little's law, exact term by term"},
    "report.little_note": {
        "zh": "平均人数 = 离开率 × 平均时间 + 边界项，按整数纳秒相等；人数的面积与驻留时间之和也相等，"
        "不等会标出。"
        "离开率是整个系统的，平均时间是窗内离开者在该处的全部时间。队列含所有等待，抢占后的也算。",
        "en": "Mean number = departure rate × mean time + boundary, equal in whole nanoseconds, as are the "
        "area under the number "
        "and the sum of residences; where they are not it says so. The rate is that of the system, the "
        "mean time all "
        "the time in the place of those who left. The queue holds every wait, after preemptions too.",
    },
    "report.place": {"zh": "位置", "en": "Place"},
    "report.system": {"zh": "系统", "en": "system"},
    "report.queue": {"zh": "队列（全部等待）", "en": "queue (all waits)"},
    "report.queued": {"zh": "· 排队", "en": "· queued"},
    "report.prefill": {"zh": "· 预填充", "en": "· prefill"},
    "report.decode": {"zh": "· 解码", "en": "· decode"},
    "report.swapped": {"zh": "· 换出", "en": "· swapped"},
    "report.undelivered": {"zh": "· 待送达", "en": "· undelivered"},
    "report.without_rejected": {"zh": "系统，不含被拒", "en": "system without the rejected"},
    "report.mean_number": {"zh": "平均人数", "en": "Mean number"},
    "report.rate": {"zh": "离开率（请求/s）", "en": "Departures (requests/s)"},
    "report.mean_time": {"zh": "平均时间（s）", "en": "Mean time (s)"},
    "report.boundary": {"zh": "边界项", "en": "Boundary"},
    "report.peak": {"zh": "最多", "en": "Most at once"},
    "report.area": {"zh": "面积（请求·s）", "en": "Area (request·s)"},
    "report.holds": {"zh": "两边", "en": "Both sides"},
    "report.equal": {"zh": "相等", "en": "equal"},
    "report.unequal": {"zh": "不等", "en": "unequal"},
    "report.mismatch": {
        "zh": "若把被拒的算进 λ 而不算进 T，λ·T 会偏 {amount} 个请求。",
        "en": "With the rejected in λ and not in T, λ·T would be off by {amount} requests.",
    },
    # queue and output
    "report.backlogs": {"zh": "队列年龄与输出积压", "en": "Age of the queue and output backlog"},
    "report.backlogs_note": {
        "zh": "队列年龄：等得最久的请求已等的时间，每轮结束时看一次；斜率是最小二乘。"
        "年龄按固定的斜率一直长，就是过载。"
        "积压：已发出、客户端还没收到的词元。",
        "en": "Age: how long the oldest waiting request has waited, seen at the end of each round; slope "
        "by least squares. An "
        "age that keeps growing at a steady slope is overload. Backlog: tokens emitted that the client has "
        "not got.",
    },
    "report.age_mean": {"zh": "队列年龄，平均（s）", "en": "age of the queue, mean (s)"},
    "report.age_max": {"zh": "队列年龄，最大（s）", "en": "age of the queue, most (s)"},
    "report.age_slope": {"zh": "队列年龄的斜率（s/s）", "en": "slope of the age (s/s)"},
    "report.queue_peak": {"zh": "最多同时等待（请求）", "en": "most waiting at once (requests)"},
    "report.backlog_mean": {"zh": "积压，平均（词元）", "en": "backlog, mean (tokens)"},
    "report.backlog_peak": {"zh": "积压，最多（词元）", "en": "backlog, most (tokens)"},
    "report.buffer_peak": {
        "zh": "一个请求未读的词元，最多（词元）",
        "en": "unread tokens of one request, most (tokens)",
    },
    "report.lost": {"zh": "没有送达的词元（词元）", "en": "tokens never delivered (tokens)"},
    # tenants
    "report.tenants": {"zh": "租户得到的服务", "en": "What tenants got"},
    "report.tenants_note": {
        "zh": "份额和 Jain 指数 (Σx)²/(n·Σx²) 随单位而变。一轮的成本没有唯一的分法："
        "两种账单各自加起来都正好是忙的时间。",
        "en": "Shares and Jain's index (Σx)²/(n·Σx²) depend on the unit. A round's cost has no one true "
        "split: either bill sums to "
        "the busy time exactly.",
    },
    "report.tenant": {"zh": "租户", "en": "Tenant"},
    "report.jain": {"zh": "Jain 指数", "en": "Jain's index"},
    "report.jain_weighted": {"zh": "Jain 指数（除以权重后）", "en": "Jain's index (after weights)"},
    "report.total": {"zh": "合计", "en": "Total"},
    "report.others": {"zh": "其余 {count} 个租户", "en": "{count} other tenants"},
    "report.unit_requests": {"zh": "完成的请求", "en": "requests finished"},
    "report.unit_tokens": {"zh": "计算的位置", "en": "positions computed"},
    "report.unit_output": {"zh": "输出词元", "en": "output tokens"},
    "report.unit_cost_positions": {"zh": "轮时，按位置分（s）", "en": "round time, by positions (s)"},
    "report.unit_cost_seats": {"zh": "轮时，按座位分（s）", "en": "round time, by seats (s)"},
    "report.meaning_requests": {"zh": "长短都算一个", "en": "long or short, each is one"},
    "report.meaning_tokens": {
        "zh": "提示和输出的位置，重算也算，不论要读多长的上文",
        "en": "prompt and output, again or not, whatever context had to be read",
    },
    "report.meaning_output": {"zh": "每发出一个算一个", "en": "each one emitted"},
    "report.meaning_cost_positions": {
        "zh": "每轮的秒数按各请求在其中计算的位置分",
        "en": "seconds of each round, split by the positions that each request computed in it",
    },
    "report.meaning_cost_seats": {
        "zh": "每轮的秒数由其中的请求平分",
        "en": "seconds of each round, split equally by the requests in it",
    },
    # slices
    "report.slices": {"zh": "时延切片（{unit}）", "en": "Latency by slice ({unit})"},
    "report.slices_note": {
        "zh": "接纳的请求。TTFT、TPOT 在工作进程观测，每个请求算一次；ITL 均值每个间隔算一次。",
        "en": "Accepted requests. TTFT and TPOT at the worker, each request once; the ITL mean counts each "
        "gap once.",
    },
    "report.slice": {"zh": "切片", "en": "Slice"},
    "report.by_input": {"zh": "输入 {label}", "en": "input {label}"},
    "report.by_output": {"zh": "输出 {label}", "en": "output {label}"},
    "report.by_hit": {"zh": "前缀命中", "en": "prefix hit"},
    "report.by_no_hit": {"zh": "前缀未命中", "en": "no prefix hit"},
    "report.by_tenant": {"zh": "租户 {label}", "en": "tenant {label}"},
    "report.by_revision": {"zh": "模型 {label}", "en": "model {label}"},
    # figures
    "report.fig_timeline": {"zh": "每一轮，谁在座位上？", "en": "Who sits where, round by round?"},
    "report.fig_tail": {"zh": "多少请求比这更久？", "en": "How many take longer than this?"},
    "report.fig_queue": {"zh": "队列有没有越来越长？", "en": "Does the queue keep growing?"},
    "report.fig_rounds": {"zh": "一轮要多久？", "en": "How long does a round take?"},
    "report.fig_gaps": {"zh": "词元之间停多久？", "en": "How long between two tokens?"},
    "report.fig_pages": {"zh": "用了多少页？", "en": "How many pages are in use?"},
    "report.fig_shares": {"zh": "各租户分到多少？", "en": "How much does each tenant get?"},
    "report.fig_backlog": {
        "zh": "多少词元发出了还没送到？",
        "en": "How many tokens are emitted and not delivered?",
    },
    "report.axis_value": {"zh": "{name}（{unit}）", "en": "{name} ({unit})"},
    "report.axis_time": {"zh": "时间（{unit}）", "en": "Time ({unit})"},
    "report.axis_waiting": {"zh": "等待的请求", "en": "Requests waiting"},
    "report.axis_age": {"zh": "队列年龄（{unit}）", "en": "Age of the queue ({unit})"},
    "report.axis_round": {"zh": "轮时（ms）", "en": "Round time (ms)"},
    "report.axis_pages": {"zh": "页", "en": "Pages"},
    "report.axis_backlog": {"zh": "未送达的词元", "en": "Tokens undelivered"},
    "report.axis_longer": {"zh": "比这更久的份额", "en": "Share that takes longer"},
    "report.axis_share": {"zh": "份额（%）", "en": "Share (%)"},
    "report.mark_cut": {"zh": "截断处（至少这么久）", "en": "cut off (at least so long)"},
    "report.always_zero": {"zh": "一直是 0", "en": "always 0"},
    "report.mark_mean": {"zh": "均值", "en": "mean"},
    "report.mark_most": {"zh": "最大", "en": "most"},
    "report.mark_between": {"zh": "截断者使曲线可在其间", "en": "where those cut off may put it"},
    "report.alt_tail": {
        "zh": "{run} 的{figure}：{n} 个，其中截断 {cut} 个，p50 {p50}，p99 {p99}。",
        "en": "{figure} of {run}: {n}, of them {cut} cut off, p50 {p50}, p99 {p99}.",
    },
    "report.alt_line": {
        "zh": "{run} 的{figure}：平均 {mean}，最大 {most}，到 {end} 为止。",
        "en": "{figure} of {run}: mean {mean}, most {most}, until {end}.",
    },
    "report.alt_none": {"zh": "{run} 的{figure}：没有。", "en": "{figure} of {run}: none."},
    "report.alt_share": {"zh": "{run}，{unit}：{shares}。", "en": "{run}, {unit}: {shares}."},
}
