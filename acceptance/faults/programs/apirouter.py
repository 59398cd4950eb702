# https://github.com/fastapi/fastapi/issues/1806: a request that computes for long runs in the server's event loop; others wait for it.
# Fixed: the computation is run in another process (run_in_executor with a ProcessPoolExecutor).
import asyncio
import concurrent.futures
import ctypes
import multiprocessing
import os
import socket
import sys
import threading
import time

FIXED = sys.argv[1:] == ["fixed"]
PERIOD, HEALTH, EVERY = 0.01, 380, 0.4


def name(text):  # the calling thread
    ctypes.CDLL(None).prctl(15, text.encode(), 0, 0, 0)


def fib(n):
    return 1 if n < 2 else fib(n - 1) + fib(n - 2)


def metrics():
    name("metrics")
    while True:
        with open("/proc/self/stat") as f:
            f.read()
        time.sleep(0.1)


def request(port, path):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        answer = connection.makefile("rb").read()
    assert answer.endswith(b"}"), answer


def cpu_client(port):
    name("cpu-client")
    while True:
        time.sleep(EVERY)
        request(port, "/cpu/fibonacci")


def health_client(port, late):
    name("health-client")
    due = time.monotonic()
    took = []
    for _ in range(HEALTH):
        due += PERIOD
        time.sleep(max(0, due - time.monotonic()))
        request(port, "/health")
        took.append((time.monotonic() - due) * 1e3)
    took.sort()
    late.send((took[len(took) * 99 // 100], sum(ms > 25 for ms in took)))


async def serve(listening, pool):
    async def handle(reader, writer):
        path = (await reader.readline()).split()[1]
        if path == b"/cpu/fibonacci":  # get_response_after_high_cpu_usage
            loop = asyncio.get_running_loop()
            value = await loop.run_in_executor(pool, fib, 29) if pool else fib(29)
        else:
            value = 1
        writer.write(b'HTTP/1.0 200 OK\r\n\r\n{"value": %d}' % value)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    listening(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def main():
    pool = concurrent.futures.ProcessPoolExecutor(1, initializer=name, initargs=("worker",)) if FIXED else None
    if pool:
        pool.submit(fib, 5).result()
    name("uvicorn")
    late, result = multiprocessing.Pipe()
    clients = []

    def listening(port):
        for run, args in ((cpu_client, (port,)), (health_client, (port, result))):
            clients.append(multiprocessing.get_context("fork").Process(target=run, args=args, daemon=True))
            clients[-1].start()
        threading.Thread(target=metrics, daemon=True).start()
        threading.Thread(target=finish, daemon=True).start()

    def finish():
        p99, missed = late.recv()
        print(f"p99_ms={p99:.2f} missed={missed}", flush=True)
        clients[0].terminate()
        for p in multiprocessing.active_children():
            p.terminate()
        os._exit(0)

    asyncio.run(serve(listening, pool))


main()
