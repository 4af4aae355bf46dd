"""What the stock runtime installed here lets us see, why it is not more, and whether the hook can go along.

Nothing here imports ttnn, opens a device or starts one: libraries are read as files, interpreters are asked questions.
"""
