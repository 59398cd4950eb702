/** A recording of another tool, whose preparation the page shows; and the shared address. */

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { served, settled, skip } from "./support.mjs";

const FIXTURE = new URL("../../../crates/import/fixtures/perf_data/sched-pipe.data", import.meta.url).pathname;

let at, folder;
const servers = [];
before(async () => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), "corewise-viewer-"));
  // For its browser.
  at = await served();
});
after(async () => {
  for (const server of servers) server.kill();
  if (folder) rmSync(folder, { recursive: true, force: true });
  await at?.end();
});

/** Views a file; returns the server and the first addresses that it prints. */
async function viewing(file, addresses, ...options) {
  const env = { ...process.env, XDG_CACHE_HOME: join(folder, "cache") };
  const server = spawn(process.env.COREWISE, ["view", file, "--no-open", "--idle", "600", ...options], { stdio: ["ignore", "pipe", "pipe"], env });
  servers.push(server);
  const lines = [];
  await new Promise((found, failed) => {
    createInterface(server.stdout).on("line", (line) => lines.push(line) === addresses && found());
    server.once("exit", (code) => failed(new Error(`corewise view ended with ${code}`)));
  });
  return { server, lines };
}

async function page(address) {
  const context = await at.browser.newContext({ viewport: { width: 1280, height: 800 } });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  await page.goto(address);
  return page;
}

test("the page opens before the recording is read, shows the progress, and then the recording", { skip, timeout: 180_000 }, async () => {
  const pipe = join(folder, "run.data");
  execFileSync("mkfifo", [pipe]);
  const { lines } = await viewing(pipe, 1);
  const own = await page(lines[0]);
  await own.waitForSelector("#preparing progress");
  assert.equal(await own.getAttribute("#preparing progress", "value"), null, "how much is done is unknown before the file is read");
  assert.match(await own.textContent("#preparing"), /^Opening the recording(, \d+ s)?$/);
  await own.waitForFunction(() => /, [1-9]\d* s$/.test(document.getElementById("preparing").textContent));
  writeFileSync(pipe, readFileSync(FIXTURE));
  await settled(own);
  assert.equal(await own.locator("#preparing").count(), 0);
  assert.equal(await own.textContent("#name"), "run.data");
  assert.match(await own.textContent("#summary"), /threads, \d+ switches/);
  await own.context().close();
});

test("a file that is no recording: the page says why, and the command ends with an error", { skip, timeout: 180_000 }, async () => {
  const pipe = join(folder, "notes.data");
  execFileSync("mkfifo", [pipe]);
  const { server, lines } = await viewing(pipe, 1);
  const ended = new Promise((done) => server.once("exit", done));
  const own = await page(lines[0]);
  await own.waitForSelector("#preparing");
  writeFileSync(pipe, "not a recording".repeat(1000));
  await own.waitForFunction(() => /^The trace cannot be shown: .*notes\.data/.test(document.getElementById("details").textContent));
  assert.equal(await ended, 1);
  await own.context().close();
});

test("the shared address shows the recording until it expires; the owner's stays valid", { skip, timeout: 180_000 }, async () => {
  const { lines } = await viewing(FIXTURE, 2, "--share", "20s");
  const began = Date.now();
  const [owner, guest] = [await page(lines[0]), await page(lines[1])];
  await Promise.all([settled(owner), settled(guest)]);
  assert.equal(await guest.textContent("#summary"), await owner.textContent("#summary"));
  assert.equal(await guest.textContent("#name"), "sched-pipe.data");
  assert.equal(await guest.evaluate(() => document.cookie), "", "scripts cannot read the token");
  await guest.waitForTimeout(Math.max(0, 20_500 - (Date.now() - began)));
  const answer = await guest.reload();
  assert.equal(answer.status(), 403);
  assert.match(await guest.textContent("body"), /^this shared address has expired: ask for a new one from the person who shared it\n$/);
  const again = await guest.goto(lines[1]);
  assert.equal(again.status(), 403);
  assert.equal((await owner.reload()).status(), 200);
  await settled(owner);
  await owner.context().close();
  await guest.context().close();
});
