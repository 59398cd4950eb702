"""https://github.com/jnctech/homeassistant-mikrotik_router/issues/45: at start the tracker pings every host in turn, three pings each.

Fixed: all hosts at the same time (asyncio.gather). The hosts are a child process that answers each datagram after 12 ms.
"""
import asyncio
import os
import socket
import sys
import threading
import time

HOSTS, PINGS = 40, 3


def hosts(sock):
    """The network: answers after 12 ms."""
    loop = asyncio.new_event_loop()

    def take():
        data, sender = sock.recvfrom(64)
        loop.call_later(0.012, sock.sendto, data, sender)

    sock.setblocking(False)
    loop.add_reader(sock, take)
    loop.run_forever()


def metrics():
    while True:
        time.sleep(0.1)
        with open("/proc/self/stat") as f:
            f.read()


async def arp_ping(loop, address):
    for _ in range(PINGS):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.setblocking(False)
            await loop.sock_connect(s, address)
            await loop.sock_sendall(s, b"ping")
            await loop.sock_recv(s, 64)
    add_entities()


def add_entities():
    """Makes the host's entities: some milliseconds of work."""
    x = 1
    for _ in range(60_000):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF


async def first_refresh(address, together):
    loop = asyncio.get_running_loop()
    if together:
        await asyncio.gather(*(arp_ping(loop, address) for _ in range(HOSTS)))
    else:
        for _ in range(HOSTS):
            await arp_ping(loop, address)


def name_process(name):
    with open("/proc/self/comm", "w") as f:
        f.write(name)


def main():
    network = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    network.bind(("127.0.0.1", 0))
    network.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    child = os.fork()
    if child == 0:
        name_process("hosts")
        hosts(network)
    name_process("homeassistant")
    threading.Thread(target=metrics, daemon=True).start()
    began = time.monotonic()
    asyncio.run(first_refresh(network.getsockname(), "fixed" in sys.argv))
    print(f"work_ms={(time.monotonic() - began) * 1e3:.1f}", flush=True)
    os.kill(child, 9)
    os.waitpid(child, 0)


main()
