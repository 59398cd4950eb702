"""A small program with a scheduling problem: two processes hand over 4,000 items, `CHUNK` at a time.

    python3 hand_over.py CHUNK

Each hand-over wakes the other process and waits for it. With 1 item at a time, most of the time is waking and waiting; with 100, it is work.
"""
import os
import sys

chunk = int(sys.argv[1])
ITEMS = 4000
to_worker, answers = os.pipe(), os.pipe()

if os.fork() == 0:
    os.close(to_worker[1])
    while part := os.read(to_worker[0], chunk):
        sum(range(200 * len(part)))
        os.write(answers[1], b".")
    os._exit(0)

for _ in range(ITEMS // chunk):
    os.write(to_worker[1], b"i" * chunk)
    os.read(answers[0], 1)
os.close(to_worker[1])
os.wait()
