"""What a student reads from public checks and in feedback, in Chinese and English."""

GRADE: dict[str, dict[str, str]] = {
    "grade.form.number": {"zh": "一个有限的数{unit}", "en": "a finite number{unit}"},
    "grade.form.unit": {"zh": "，单位{unit}", "en": " in {unit}"},
    "grade.form.whole": {"zh": "一个整数", "en": "an integer"},
    "grade.form.truth": {"zh": "True 或 False", "en": "True or False"},
    "grade.form.choice": {"zh": "以下之一：{options}", "en": "one of {options}"},
    "grade.form.maybe": {"zh": "{form}，没有定义时为 None", "en": "{form}, or None where it is undefined"},
    "grade.form.listing": {"zh": "一个列表，每项是{form}", "en": "a list, each item {form}"},
    "grade.form.length": {
        "zh": "一个有 {length} 项的列表，每项是{form}",
        "en": "a list of {length}, each {form}",
    },
    "grade.form.record": {"zh": "一个字典，恰有这些键：{keys}", "en": "a dict with exactly the keys {keys}"},
    "grade.form.table": {"zh": "一个字典，每个值是{form}", "en": "a dict, each value {form}"},
    "grade.form.expression": {
        "zh": "一个 sympy 表达式，只含这些符号：{symbols}",
        "en": "a sympy expression in the symbols {symbols} alone",
    },
    "grade.form.function": {"zh": "一个函数，返回{form}", "en": "a function that returns {form}"},
    "grade.form.whole_answer": {"zh": "应为{form}", "en": "expected {form}"},
    "grade.form.item": {"zh": "第 {number} 项", "en": "item {number}"},
    "grade.form.key": {"zh": "键 {name}", "en": "key {name}"},
    "grade.public.missing": {"zh": "{name}：还没有定义", "en": "{name}: not defined yet"},
    "grade.public.todo": {"zh": "{name}：还没有作答", "en": "{name}: not answered yet"},
    "grade.public.form": {"zh": "{name}：形式不对，{problem}", "en": "{name}: wrong form, {problem}"},
    "grade.public.raised": {
        "zh": "{name}：用示例参数调用时出错，{error}",
        "en": "{name}: fails with the example's arguments, {error}",
    },
    "grade.public.hint": {"zh": "提示（{section} 节）：{text}", "en": "Hint (section {section}): {text}"},
    "grade.public.good": {
        "zh": "第 {part} 部分形式正确，没有发现常见误解。对错由评分器判定。",
        "en": "Part {part}: the form is right and no common misconception was found. The grader decides.",
    },
    "grade.public.unknown": {
        "zh": "习题 {exercise} 没有第 {part} 部分，可以检查的是 {parts}",
        "en": "exercise {exercise} has no part {part}; parts that can be checked: {parts}",
    },
    "grade.verdict.right": {"zh": "正确", "en": "right"},
    "grade.verdict.general": {
        "zh": "答案不对，没有认出是哪一种误解。请重读 {section} 节。",
        "en": "wrong, and no known misconception was recognised. Read section {section} again.",
    },
    "grade.verdict.misconception": {
        "zh": "{text}请重读 {section} 节。",
        "en": "{text} Read section {section} again.",
    },
    "grade.verdict.missing": {"zh": "名字 {name} 没有定义", "en": "the name {name} is not defined"},
    "grade.verdict.todo": {"zh": "没有作答", "en": "not answered"},
    "grade.verdict.form": {"zh": "形式不对：{problem}", "en": "wrong form: {problem}"},
    "grade.verdict.refused": {
        "zh": "交回的值不是可以评分的类型",
        "en": "the value handed back is of no type that can be graded",
    },
    "grade.verdict.raised": {
        "zh": "评分器调用 {name} 时它抛出了异常",
        "en": "{name} raised an exception when the grader called it",
    },
    "grade.verdict.slow": {
        "zh": "{name} 没有在 {seconds} 秒内交回结果",
        "en": "{name} did not answer in {seconds} s",
    },
    "grade.verdict.late": {
        "zh": "整份答卷用完了 {seconds} 秒，没有再取 {name}",
        "en": "the whole notebook used up its {seconds} s, {name} was not asked for",
    },
    "grade.verdict.ended": {
        "zh": "取 {name} 时学生进程已经结束",
        "en": "the process had ended when {name} was asked for",
    },
    "grade.verdict.forged": {
        "zh": "进程在没有被问到时作了回答，这份答卷不再取值",
        "en": "the process answered out of turn; nothing more is asked of it",
    },
    "grade.verdict.fault": {
        "zh": "评分器的检查没有料到这样的答案（{error}），请告诉教师",
        "en": "the grader's check did not expect such an answer ({error}): tell your instructor",
    },
    "grade.verdict.not_run": {
        "zh": "这份答卷没能运行：{reason}",
        "en": "the submission could not be run: {reason}",
    },
    # pages of the report
    "grade.page.student": {"zh": "{student} 的作业反馈", "en": "Feedback for {student}"},
    "grade.page.class": {"zh": "全班作业报告", "en": "Class report"},
    "grade.page.exercise": {"zh": "习题 {id}　{title}", "en": "Exercise {id}  {title}"},
    "grade.page.exercise_short": {"zh": "习题", "en": "Exercise"},
    "grade.page.points": {
        "zh": "自动评分 {earned}/{possible} 分；另有 {manual} 分由教师评阅文字。",
        "en": "Marked by machine: {earned}/{possible}; {manual} more points are given by a person for the text.",
    },
    "grade.page.part": {"zh": "部分", "en": "Part"},
    "grade.page.answer": {"zh": "答案", "en": "Answer"},
    "grade.page.mark": {"zh": "得分", "en": "Mark"},
    "grade.page.feedback": {"zh": "反馈", "en": "Feedback"},
    "grade.page.cells": {"zh": "没有运行完的代码单元：", "en": "Code cells that did not run to their end:"},
    "grade.page.cell": {"zh": "第 {number} 个代码单元：", "en": "Code cell {number}:"},
    "grade.page.aside": {
        "zh": "文件名不合规定，或同一道题交了几个文件：",
        "en": "Renamed, or more than one file for this exercise:",
    },
    "grade.page.missing": {"zh": "没有交：", "en": "Not handed in:"},
    "grade.page.strangers": {
        "zh": "认不出属于哪道题、没有评分的文件：",
        "en": "Files that belong to no exercise and were not graded:",
    },
    "grade.page.histogram": {"zh": "哪些误解最常见？", "en": "Which misconceptions are most common?"},
    "grade.page.misconception": {"zh": "误解", "en": "Misconception"},
    "grade.page.students": {"zh": "学生", "en": "Students"},
    "grade.page.part_marks": {"zh": "各部分得分", "en": "Marks by part"},
    "grade.page.mean": {"zh": "平均得分率", "en": "Mean share"},
    "grade.page.full": {"zh": "满分人数/交的人数", "en": "Full marks/handed in"},
    "grade.page.by_hand": {"zh": "人工评分", "en": "Marked by hand"},
    "grade.page.rubric": {"zh": "看什么", "en": "What to look for"},
    "grade.page.not_run": {"zh": "没能运行的答卷", "en": "Submissions that could not be run"},
    "grade.page.none": {"zh": "没有。", "en": "None."},
    "grade.page.name": {"zh": "姓名", "en": "Name"},
    "grade.page.sum": {"zh": "合计", "en": "Sum"},
    "grade.page.legend": {
        "zh": "– 没有交；! 没能运行。分数不含教师评阅的部分。",
        "en": "– not handed in; ! could not be run. Marks given by a person are not included.",
    },
    "grade.cell.slow": {"zh": "超过时限，被中止", "en": "took longer than it may and was ended"},
    "grade.cell.ended": {"zh": "使进程结束", "en": "ended the process"},
    "grade.box.bwrap": {
        "zh": "评分环境：bubblewrap 沙箱（无网络，只读文件系统，独立进程树，资源受限）。",
        "en": "Graded in a bubblewrap sandbox: no network, read-only files, own process tree, bounded resources.",
    },
    "grade.box.uid": {
        "zh": "评分环境：独立用户与独立根目录（无网络，不可写文件，资源受限），没有命名空间。",
        "en": "Graded under a separate user in a root folder of its own: no network, nothing writable, "
        "bounded resources; without namespaces.",
    },
    "grade.box.none": {
        "zh": "评分环境：没有沙箱（--unsandboxed）。答卷能读写教师能读写的一切，分数不可信。",
        "en": "Graded without a sandbox (--unsandboxed): submissions could read and write whatever the instructor "
        "can, so these marks cannot be trusted.",
    },
    # why a file could not be run
    "grade.file.encoding": {"zh": "不是 UTF-8 文本", "en": "not UTF-8 text"},
    "grade.file.cells": {"zh": "单元超过 {most} 个", "en": "more than {most} cells"},
    "grade.file.no_cells": {
        "zh": "没有单元列表，不是笔记本",
        "en": "without a list of cells, so no notebook",
    },
    "grade.file.json": {"zh": "不是 JSON，不是笔记本", "en": "not JSON, so no notebook"},
    "grade.file.empty": {"zh": "空文件", "en": "empty"},
    "grade.file.cell": {"zh": "第 {number} 个单元没有文本", "en": "cell {number} has no text"},
    "grade.file.large": {"zh": "大于 {most} MiB", "en": "larger than {most} MiB"},
    "grade.file.plain": {"zh": "不是普通文件", "en": "not a plain file"},
    "grade.file.link": {"zh": "是链接，应为普通文件", "en": "a link, expected a plain file"},
    "grade.file.open": {"zh": "打不开（{reason}）", "en": "cannot be opened ({reason})"},
    "grade.file.nothing": {"zh": "没有交", "en": "nothing was handed in"},
    "grade.file.own_fault": {
        "zh": "评分程序自己的进程两次中断，重新运行会再评",
        "en": "the grader's own process ended twice on it; the next run grades it again",
    },
    # checking a file without a browser
    "grade.check.cell": {"zh": "第 {number} 个代码单元：{error}", "en": "code cell {number}: {error}"},
}
