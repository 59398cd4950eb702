/** A trace as one page, from a file and with the network off, compared with the server's page. */

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { after, before, test } from "node:test";
import { opened, openedFile, openTables, rows, served, settled, skip } from "./support.mjs";

let at;
before(async () => {
  if (!skip) at = await served(process.env.COREWISE_TRACE);
});
after(() => at?.end());

const words = (page, id) => page.textContent(`#${id}`);
/** A digest of the canvas's pixels. */
const picture = (page) =>
  page.evaluate(async () => {
    const canvas = document.getElementById("timeline");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return [...new Uint8Array(await crypto.subtle.digest("SHA-256", data))].join(" ");
  });
/**
 * Waits until a value is the same on both pages: the server answers its page later, under load much later than the page of one file is
 * drawn. Fails with the values if they stay different.
 */
const agree = async (its, own, read, what) => {
  const until = Date.now() + 60_000;
  for (;;) {
    const [a, b] = await Promise.all([read(its), read(own)]);
    if (a === b) return;
    if (Date.now() > until) assert.equal(a, b, what);
    await own.waitForTimeout(100);
  }
};
const go = async (page, hash) => {
  await page.evaluate((hash) => (location.hash = hash), hash);
  await settled(page);
};

test("a page of one file shows the same pictures and texts as the server's page, with the network off", { skip, timeout: 300_000 }, async () => {
  const { file, output } = at.file("whole.html");
  assert.match(output, /whole\.html: trace as one HTML page of \d+\.\d MB\n$/, "the page contains everything");
  const { page: its, wrong } = await openedFile(at, file);
  const { page: own } = await opened(at);
  assert.equal(await words(its, "summary"), await words(own, "summary"));
  assert.equal(await words(its, "limits"), "");
  assert.equal(await own.locator("#limits").isVisible(), false);
  const whole = Number((await own.evaluate(() => location.hash)).match(/\.\.(\d+)/)[1]);
  const ready = (await rows(own, "thread_state", { from: 0, to: whole })).filter((row) => row.state === "ready" && row.waker > 0n);
  const woken = ready[Math.floor(ready.length / 2)];
  const start = Number(woken.start_ns);
  // The whole trace, then zoomed in by 7 each time about a wakeup, down to single stretches; then by keys.
  const places = [];
  for (let len = whole; len > 500; len = Math.floor(len / 7)) places.push(`#t=${Math.max(0, start - Math.floor(len / 2))}..${start + Math.ceil(len / 2)}`);
  assert.ok(places.length > 5);
  for (const hash of places) {
    await Promise.all([go(its, hash), go(own, hash)]);
    await agree(its, own, picture, `the same picture at ${hash}`);
  }
  for (const page of [its, own]) {
    await page.focus("#timeline");
    for (const key of ["0", "w", "w", "d", "t", "PageDown"]) await page.keyboard.press(key);
    await settled(page);
  }
  await agree(its, own, picture, "the same picture after keys");
  // The selection and its chain of wakeups.
  const chosen = `${places[2]}&sel=thread:${woken.thread}@${start}`;
  for (const page of [its, own]) {
    await go(page, chosen);
    await page.waitForSelector("#details :text('Chain of wakeups')");
  }
  await own.waitForFunction((details) => document.getElementById("details").textContent === details, await words(its, "details"));
  await agree(its, own, (page) => page.getAttribute("#timeline", "data-arrows"), "arrows");
  // A search for stretches.
  for (const page of [its, own]) {
    await page.fill("#search", "state:ready >20us");
    await page.waitForFunction(() => /stretches/.test(document.getElementById("found").textContent));
    await page.keyboard.press("Enter");
    await settled(page);
  }
  await agree(its, own, (page) => words(page, "found"), "hits");
  await agree(its, own, (page) => page.evaluate(() => location.hash), "the address");
  // Findings, and the tables of the whole recording, sorted by two columns.
  for (const page of [its, own]) {
    await page.waitForSelector("#findings summary", { state: "attached", timeout: 60_000 });
    await go(page, `#t=0..${whole}&range=0..${whole}`);
  }
  await agree(its, own, (page) => words(page, "findings"), "findings");
  for (const page of [its, own]) await openTables(page);
  await agree(its, own, (page) => page.textContent("#range .summary"), "the summary");
  for (const table of ["threads", "cpus", "ran_instead"]) {
    for (const page of [its, own]) {
      await page.selectOption("#range select", table);
      await openTables(page);
    }
    await agree(its, own, (page) => words(page, "range h2"), table);
    await agree(its, own, (page) => page.textContent("#range .tables .rows"), table);
  }
  for (const page of [its, own]) {
    await page.click("#range .tables th button:text-is('ready (ms)')");
    await page.waitForSelector("#range .tables th[aria-sort=ascending]");
    await openTables(page);
  }
  await agree(its, own, (page) => page.textContent("#range .tables .rows"), "sorted rows");
  for (const page of [its, own]) {
    await page.focus("#timeline");
    await page.keyboard.press("c");
    await page.waitForFunction(() => Number(document.getElementById("timeline").dataset.path) > 0, null, { timeout: 60_000 });
  }
  await agree(its, own, (page) => page.getAttribute("#timeline", "data-path"), "the critical path");
  // For a part, the page says what to do.
  await its.selectOption("#range select", "concurrency");
  await go(its, `#t=0..${whole}&range=0..${Math.floor(whole / 2)}`);
  await openTables(its);
  assert.match(await its.textContent("#range .tables [role=status]"), /for others, open the recording with `corewise view`/);
  assert.deepEqual(wrong, []);
  await its.context().close();
  await own.context().close();
});

test("a page sends no requests: it contains no address, and its policy allows none", { skip }, () => {
  const { file } = at.file("quiet.html");
  const text = readFileSync(file, "utf8");
  const policy = text.match(/http-equiv="Content-Security-Policy" content="([^"]*)"/)?.[1];
  assert.match(policy, /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'$/);
  assert.equal(/<[^>]*(src|href)=/.test(text.replace(/<script type="module">.*<\/script>/s, "")), false);
});

test("with a small limit, the page states its finest detail, and draws and describes what it has", { skip }, async () => {
  const { file, output } = at.file("small.html", "--html-limit", "0.08");
  const finest = Number(output.match(/; finest detail of every track: (\d+(?:\.\d+)?) us: use a larger --html-limit/)[1]);
  assert.ok(finest > 1);
  // The elements around the blocks of data are not part of the limit.
  assert.ok(statSync(file).size < 80_000 + statSync(new URL("../../dist/alone.html", import.meta.url)).size + 2000);
  const { page, wrong } = await openedFile(at, file);
  assert.match(await words(page, "limits"), /^Finest detail in this page: [\d.]+ (µs|ms)\. For full detail, open the recording with `corewise view`\.$/);
  // Tracks are drawn: there are more colours than those of the page and its lines.
  const colours = await page.evaluate(() => {
    const canvas = document.getElementById("timeline");
    const { data } = canvas.getContext("2d").getImageData(190, 24, canvas.width - 190, canvas.height - 24);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  assert.ok(colours > 8, `${colours} colours`);
  // A single stretch is described as drawn; its rows are not in the page.
  await page.focus("#timeline");
  for (const key of ["ArrowDown", "f", "f", "f", "f"]) await page.keyboard.press(key);
  for (let n = 0; n < 60 && !/State/.test(await words(page, "details")); n++) {
    await page.keyboard.press("ArrowRight");
    await settled(page);
  }
  await page.waitForSelector("#details :text('Unavailable')");
  assert.match(await words(page, "details"), /^CPU .*State(busy|idle).*Length.*does not contain the rows of all stretches: open the recording/);
  assert.deepEqual(wrong, []);
  await page.context().close();
});
