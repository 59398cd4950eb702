"""https://github.com/python/cpython/issues/90204: a thread that serves small requests waits, after each receive, until a computing thread
gives up the interpreter lock: 5 ms. Fixed: a switch interval of 0.2 ms."""
import os
import socket
import sys
import threading
import time

REQUESTS = 400


def name_thread(name):
    with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as f:
        f.write(name)


def cpu_bound():
    name_thread("cpu-bound")
    x = 1
    while True:
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF


def io_bound(sock):
    name_thread("io-bound")
    while True:
        data, sender = sock.recvfrom(64)
        sock.sendto(data, sender)


def metrics():
    while True:
        time.sleep(0.1)
        with open("/proc/self/stat") as f:
            f.read()


def client(address):
    """Another process: one request after another, with 1 ms of its own work."""
    name_thread("client")
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(address)
    began = time.monotonic()
    for _ in range(REQUESTS):
        s.send(b"get")
        s.recv(64)
        until = 25_000
        while until:
            until -= 1
    print(f"work_ms={(time.monotonic() - began) * 1e3:.1f}", flush=True)


def main():
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    child = os.fork()
    if child == 0:
        time.sleep(0.05)
        client(sock.getsockname())
        os._exit(0)
    if "fixed" in sys.argv:
        sys.setswitchinterval(0.0002)
    for run in (metrics, cpu_bound):
        threading.Thread(target=run, daemon=True).start()
    threading.Thread(target=io_bound, args=(sock,), daemon=True).start()
    os.waitpid(child, 0)
    os._exit(0)


main()
