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
    "grade.form.at": {"zh": "{place}：应为{form}", "en": "{place}: expected {form}"},
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
    "grade.verdict.ended": {
        "zh": "取 {name} 时学生进程已经结束",
        "en": "the process had ended when {name} was asked for",
    },
    "grade.verdict.forged": {
        "zh": "进程在没有被问到时作了回答，这份答卷不再取值",
        "en": "the process answered out of turn; nothing more is asked of it",
    },
    "grade.verdict.not_run": {
        "zh": "这份答卷没能运行：{reason}",
        "en": "the submission could not be run: {reason}",
    },
}
