# expects: stages parts-overlap

# %% b
stages = [
    {"name": "等待", "seconds": wait},
    {"name": "首词元时延", "seconds": ttft},
    {"name": "解码间隔之和", "seconds": last - first},
]
ttft_plus_wait_is_first_token = False
