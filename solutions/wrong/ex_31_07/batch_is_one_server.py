# expects: breaks batch-is-one-server

# %% d
breaks = {
    "A": "不违反",
    "B": "独立指数服务",
    "C": "先到先服务",
    "D": "无限等待空间",
    "E": "泊松到达",
    "F": "无放弃",
    "G": "不违反",
}
