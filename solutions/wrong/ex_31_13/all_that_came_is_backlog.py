# expects: waiting_room all-arrivals

# %% c-room
waiting_room = {
    "backlog": arrivals * delay,
    "drain": arrivals * delay / (served_later - arrivals),
    "refused": arrivals * delay - room,
    "drain_with_room": room / (served_later - arrivals),
}
