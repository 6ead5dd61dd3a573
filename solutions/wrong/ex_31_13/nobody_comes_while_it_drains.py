# expects: waiting_room arrivals-stop

# %% c-room
waiting_room = {
    "backlog": (arrivals - served_now) * delay,
    "drain": (arrivals - served_now) * delay / served_later,
    "refused": (arrivals - served_now) * delay - room,
    "drain_with_room": room / served_later,
}
