# expects: levers memory-is-capacity

# %% b-levers
levers = {
    "持续超载": ["限制准入", "增加 KV 显存"],
    "长提示阻塞解码": ["分块预填充", "设阶段预算并保留预填充份额"],
    "慢客户端": ["让背压传到入口", "传播取消并释放资源"],
}
