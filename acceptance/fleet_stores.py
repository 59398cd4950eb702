#!/usr/bin/env python3
"""Recordings in object stores of others: are they copied, indexed, read and pruned as in a folder, and is a store that fails said?

The stores are servers of other projects, each used if it is there:
  s3s-fs       S3, checks signatures     cargo install s3s-fs@0.14.1 --features binary     --s3s PATH
  moto         S3                        pip install 'moto[server,s3]'                     in this Python
  azurite      Azure                     npm install azurite                               --azurite PATH/azurite-blob
  wsgidav      WebDAV                    pip install wsgidav cheroot                       in this Python

For each: eight recordings and a file of 30 MB are copied into the store and back, equal byte by byte; the catalogue that is made of the store, in the
store, is compared cell by cell with that of the folder; a table read by its URL is compared; five recordings are pruned. A store of S3 is then asked
through a server in between: it fails twice for each object, always, not at all but after a second, or never answers.
"""

import argparse
import base64
import datetime
import email.utils
import hashlib
import hmac
import http.client
import http.server
import importlib.util
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

import pyarrow.dataset

ROOT = pathlib.Path(__file__).resolve().parent.parent
COREWISE = os.environ.get("COREWISE", str(ROOT / "target/release/corewise"))
RECORDINGS = ROOT / "testdata/notebooks"
TABLES = ["recordings", "findings", "rules", "sums", "ready", "labels"]
# The well-known account of the emulator.
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
wrong = 0


def check(holds, what):
    global wrong
    wrong += not holds
    print(f"  {'yes' if holds else 'NO '}  {what}")


def free_port():
    with socket.socket() as of:
        of.bind(("127.0.0.1", 0))
        return of.getsockname()[1]


def wait_for(port):
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"the server at port {port} did not start")


def corewise(environment, *words, limit=600):
    """Runs corewise; returns its exit code, output, messages and seconds."""
    began = time.monotonic()
    done = subprocess.run([COREWISE, *map(str, words)], env={**os.environ, **environment}, capture_output=True, text=True, timeout=limit)
    return done.returncode, done.stdout, done.stderr, time.monotonic() - began


def good(environment, *words):
    code, out, err, _ = corewise(environment, *words)
    if code != 0:
        print(f"  corewise {' '.join(map(str, words))}: {err}")
    return out if code == 0 else ""


def rows(catalogue, table, root):
    """The rows of a table of a catalogue, without what differs between places."""
    if not (catalogue / table).is_dir():
        return []
    data = pyarrow.dataset.dataset(str(catalogue / table), partitioning="hive").to_table().to_pylist()
    for row in data:
        row["path"] = row["path"].removeprefix(root).lstrip("/")
        row.pop("modified_ns", None)
    return sorted(data, key=lambda row: json.dumps(row, sort_keys=True, default=str))


def same_files(one, other):
    names = {path.relative_to(one) for path in one.rglob("*") if path.is_file() and "levels" not in path.parts}
    is_same = lambda name: (other / name).is_file() and (one / name).read_bytes() == (other / name).read_bytes()
    return all(map(is_same, names)) and len(names)


def put_azure(port, path):
    """Makes a container, which no command of corewise does."""
    date = email.utils.formatdate(usegmt=True)
    headers = {"x-ms-date": date, "x-ms-version": "2021-08-06", "Content-Length": "0"}
    canonical = f"x-ms-date:{date}\nx-ms-version:2021-08-06\n/devstoreaccount1{path}\nrestype:container"
    text = "PUT" + "\n" * 12 + canonical
    signature = base64.b64encode(hmac.new(base64.b64decode(AZURE_KEY), text.encode(), hashlib.sha256).digest()).decode()
    headers["Authorization"] = f"SharedKey devstoreaccount1:{signature}"
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("PUT", f"{path}?restype=container", headers=headers)
    answer = connection.getresponse()
    if answer.status not in (200, 201):
        sys.exit(f"azurite: {answer.status} {answer.read()}")


def s3(port):
    return {
        "AWS_ACCESS_KEY_ID": "AKIA",
        "AWS_SECRET_ACCESS_KEY": "sesame",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
    }


def stores(args, scratch):
    """The stores that are there: name, command, environment, URL, and what makes the bucket."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if args.s3s:
        port, data = free_port(), scratch / "s3s"
        (data / "team").mkdir(parents=True)
        command = [args.s3s, "--access-key", "AKIA", "--secret-key", "sesame", "--port", str(port), str(data)]
        yield "s3s-fs", subprocess.Popen(command, **quiet), port, s3(port), "s3://team/runs", lambda: None
    if importlib.util.find_spec("moto"):
        port = free_port()
        process = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", str(port)], **quiet)

        def bucket():
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("PUT", "/team", headers={"Authorization": "AWS4-HMAC-SHA256 Credential=AKIA/20261127/us-east-1/s3/aws4_request"})
            connection.getresponse().read()

        yield "moto", process, port, s3(port), "s3://team/runs", bucket
    if args.azurite:
        port = free_port()
        process = subprocess.Popen([args.azurite, "--location", str(scratch / "azurite"), "--blobPort", str(port), "--skipApiVersionCheck"], **quiet)
        environment = {
            "AZURE_STORAGE_ACCOUNT_NAME": "devstoreaccount1",
            "AZURE_STORAGE_ACCOUNT_KEY": AZURE_KEY,
            "AZURE_STORAGE_ENDPOINT": f"http://127.0.0.1:{port}/devstoreaccount1",
            "AZURE_ALLOW_HTTP": "true",
        }
        yield "azurite", process, port, environment, "az://team/runs", lambda: put_azure(port, "/devstoreaccount1/team")
    if importlib.util.find_spec("wsgidav"):
        port, data = free_port(), scratch / "dav"
        data.mkdir()
        command = [sys.executable, "-m", "wsgidav.server.server_cli", "--host", "127.0.0.1", "--port", str(port), "--root", str(data), "--auth", "anonymous"]
        yield "wsgidav", subprocess.Popen(command, **quiet), port, {}, f"http://127.0.0.1:{port}/runs", lambda: None


def holds(name, environment, url, scratch):
    print(f"{name}: {url}")
    runs, local, here = scratch / "runs", scratch / "catalogue", scratch / name
    done = json.loads(good(environment, "fleet", "copy", runs, url, "--json") or '{"copied": [], "failed": [], "same": 0}')
    check(len(done["copied"]) == 8 and not done["failed"], f"copied: {len(done['copied'])} recordings, failed: {done['failed']}")
    done = json.loads(good(environment, "fleet", "copy", runs, url, "--json") or '{"same": 0}')
    check(done["same"] == 8, f"copied again: {done['same']} are there already")
    good(environment, "fleet", "copy", url, here)
    check(files := same_files(runs, here), f"fetched: {files} files equal byte by byte")
    good(environment, "fleet", "copy", scratch / "big.data", url)
    good(environment, "fleet", "copy", f"{url}/big.data", here)
    check((here / "big.data").exists() and (here / "big.data").read_bytes() == (scratch / "big.data").read_bytes(), "a file of 30 MB is equal")
    done = json.loads(good(environment, "fleet", "index", url, "--json") or "{}")
    check((done.get("new"), done.get("other_files"), done.get("errors")) == (8, 1, []), f"indexed: {done}")
    done = json.loads(good(environment, "fleet", "index", url, "--json") or "{}")
    check((done.get("unchanged"), done.get("new"), done.get("changed")) == (8, 0, 0), f"indexed again: {done}")
    into = scratch / f"{name}-catalogue"
    good(environment, "fleet", "index", url, "--into", into)
    cells = 0
    for table in TABLES:
        one, other = rows(local, table, str(runs)), rows(into, table, url)
        check(one == other and len(one) > 0, f"{table}: {len(one)} rows equal to those of the folder")
        cells += sum(len(row) for row in one)
    report = [json.loads(good(environment, "fleet", "report", of, "--format", "json") or "{}") for of in (local, f"{url}/catalogue")]
    check(report[0].get("rules") == report[1].get("rules") and report[0].get("rules"), f"report of the catalogue in the store: equal; {cells} cells before")
    check(good(environment, "table", f"{url}/after-1.cw", "threads") == good({}, "table", runs / "after-1.cw", "threads"), "table threads by its URL: equal")
    done = json.loads(good(environment, "fleet", "prune", url, "--keep-last", "1", "--yes", "--json") or '{"plan": {"remove": []}}')
    left = json.loads(good(environment, "fleet", "index", url, "--json") or "{}")
    check(len(done["plan"]["remove"]) == 5 and left.get("unchanged") == 3, f"pruned 5; left: {left}")


class Between(http.server.BaseHTTPRequestHandler):
    """Passes requests on to a store, or fails as the test wants."""

    protocol_version = "HTTP/1.1"
    port, how, seen = 0, "", {}

    def log_message(self, *_):
        pass

    def mode(self):
        """How this request fails."""
        return Between.how

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        key, how = f"{self.command} {self.path}", self.mode()
        self.seen[key] = self.seen.get(key, 0) + 1
        if how == "silent":
            time.sleep(3600)
        if how == "slow":
            time.sleep(1)
        if how in ("always", "refused") or how == "twice" and self.seen[key] <= 2:
            self.send_response(403 if how == "refused" else 503)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "date", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", answer.getheader("Content-Length") or str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = answer


def faults(port, scratch):
    Between.port = port
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Between)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = s3(server.server_port)
    print("s3s-fs through a server that fails")
    url = "s3://team/faults"
    good(s3(port), "fleet", "copy", scratch / "runs", url)
    for how in ("twice", "slow"):
        Between.how, Between.seen = how, {}
        code, out, err, took = corewise(environment, "fleet", "index", url, "--into", scratch / f"faults-{how}", "--json")
        done = json.loads(out) if code == 0 else {"errors": err}
        check(done.get("new") == 8 and done["errors"] == [], f"{how}: {took:.1f} s, {done}")
    for how in ("always", "silent"):
        Between.how, Between.seen = how, {}
        code, out, err, took = corewise(environment, "fleet", "index", url, "--into", scratch / f"faults-{how}", limit=900)
        check(code == 1 and url in err and took < 240, f"{how}: ended after {took:.1f} s: {err.strip()}")
    # The store fails when all is listed.
    Between.how, Between.seen = "", {}
    listed = scratch / "faults-later"
    good(environment, "fleet", "index", url, "--into", listed)
    Between.how = "always"
    code, out, err, took = corewise(environment, "fleet", "report", listed)
    check(code == 0 and "does not answer" in out, f"report of a catalogue whose store is down: {took:.1f} s, and it says so")
    code, out, err, took = corewise({**s3(port), "AWS_SECRET_ACCESS_KEY": "other"}, "fleet", "index", url, "--into", scratch / "faults-rights")
    check(code == 1 and "refuses access" in err, f"wrong key: {took:.1f} s: {err.strip()[:150]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--s3s", metavar="PATH", help="the binary s3s-fs")
    parser.add_argument("--azurite", metavar="PATH", help="the program azurite-blob")
    parser.add_argument("--only", metavar="NAME", help="ask only this store")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fleet-stores-") as folder:
        scratch = pathlib.Path(folder)
        os.environ["XDG_CONFIG_HOME"] = str(scratch / "config")
        shutil.copytree(RECORDINGS, scratch / "runs", ignore=shutil.ignore_patterns("levels", "*.md"))
        for number, manifest in enumerate(sorted((scratch / "runs").glob("*/manifest.json"))):
            of = json.loads(manifest.read_text())
            about = {"hostname": f"web-{number % 3}", "started": f"2026-11-2{number % 4} 12:00:00 UTC", "label.release": f"{number % 2}.0"}
            of["facts"]["about"] = list(about.items())
            manifest.write_text(json.dumps(of))
        (scratch / "big.data").write_bytes(random.Random(1).randbytes(30_000_000))
        good({}, "fleet", "index", scratch / "runs", "--into", scratch / "catalogue")
        asked = 0
        for name, process, port, environment, url, prepare in stores(args, scratch):
            try:
                if args.only not in (None, name):
                    continue
                wait_for(port)
                prepare()
                holds(name, environment, url, scratch)
                if name == "s3s-fs":
                    faults(port, scratch)
            finally:
                process.kill()
                process.wait()
            asked += 1
    print(f"{asked} stores asked, {wrong} wrong ({datetime.date.today()})")
    if asked == 0:
        sys.exit("no store is there: see --help")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
