/** What a blocked thread waits for. The fixture is drawn in crates/export/tests/it/waits.rs. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { hash, opened, openedFile, rows, served, settled, skip } from "./support.mjs";

const FIXTURE = new URL("waits.pftrace", import.meta.url).pathname;

let at;
let folder;
before(async () => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), "corewise-waits-"));
  const trace = join(folder, "waits.cw");
  execFileSync(process.env.COREWISE, ["import", FIXTURE, "-o", trace], { stdio: "ignore" });
  at = await served(trace);
});
after(async () => {
  await at?.end();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/** Selects a place and waits until its details say this. */
async function details(page, to, what) {
  await page.evaluate((to) => (location.hash = to), to);
  await page.waitForFunction((what) => new RegExp(what).test(document.getElementById("details").textContent), what.source);
}

test("a blocked stretch shows what it waits for, who held it and what ended it, and the comma key goes there", { skip }, async () => {
  const { page, wrong } = await opened(at);
  const waits = (await rows(page, "object_waits", { from: 0, to: 24e6 })).filter((row) => row.kind !== "unknown");
  const whole = (await hash(page)).match(/t=\d+\.\.\d+/)[0];
  const of = (kind) => waits.find((row) => row.kind === kind);
  const place = (kind) => `${whole}&sel=thread:${of(kind).thread}@${Number(of(kind).start_ns) + 1}`;
  await details(page, place("mutex"), /Waits formutex 0x1000Held byB.*Ended byB/);
  await details(page, place("socket"), /Waits forsocket 10\.0\.0\.1:80Ended byB/);
  await details(page, place("kernel_mutex"), /Waits forkernel mutex 3Held byB/);
  await details(page, place("pipe"), /Waits forpipe 7Ended byB.*Chain of wakeups/);
  await details(page, place("epoll"), /Waits forepollBecame readysocket 10\.0\.0\.1:81Ended byB/);
  await details(page, place("pipe"), /Waits forpipe 7Ended byB.*Chain of wakeups/);
  await page.focus("#timeline");
  await page.keyboard.press(",");
  await settled(page);
  assert.match(await hash(page), new RegExp(`sel=thread:${of("pipe").released_by}@${Number(of("pipe").end_ns) - 1}`), "to the thread that ended it");
  assert.deepEqual(wrong, []);
  const alone = await openedFile(at, at.file("alone.html").file);
  await details(alone.page, place("socket"), /Waits forsocket 10\.0\.0\.1:80Ended byB/);
  await page.context().close();
  await alone.page.context().close();
});
