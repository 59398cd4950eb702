/** A trace as one page, from a file and with the network off, held against the server's page. */

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { after, before, test } from "node:test";
import { opened, openedFile, rows, served, settled, skip } from "./support.mjs";

let at;
before(async () => {
  if (!skip) at = await served(process.env.COREWISE_TRACE);
});
after(() => at?.end());

const words = (page, id) => page.textContent(`#${id}`);
/** What the canvas shows, as a digest of its pixels. */
const picture = (page) =>
  page.evaluate(async () => {
    const canvas = document.getElementById("timeline");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return [...new Uint8Array(await crypto.subtle.digest("SHA-256", data))].join(" ");
  });
const go = async (page, hash) => {
  await page.evaluate((hash) => (location.hash = hash), hash);
  await settled(page);
};

test("a page of one file shows the server's pictures and tells what it tells, with the network off", { skip, timeout: 120_000 }, async () => {
  const { file, said } = at.file("whole.html");
  assert.match(said, /whole\.html: the trace as one page of \d+\.\d MB, for any browser\n$/, "all of it is there");
  const { page: its, wrong } = await openedFile(at, file);
  const { page: own } = await opened(at);
  assert.equal(await words(its, "summary"), await words(own, "summary"));
  assert.equal(await words(its, "lacking"), "");
  assert.equal(await own.locator("#lacking").isVisible(), false);
  const whole = Number((await own.evaluate(() => location.hash)).match(/\.\.(\d+)/)[1]);
  const ready = (await rows(own, "thread_state", { from: 0, to: whole })).filter((row) => row.state === "ready" && row.waker > 0n);
  const woken = ready[Math.floor(ready.length / 2)];
  const start = Number(woken.start_ns);
  // All of it, and nearer by 7 each time about a waking, down to single stretches; by keys too.
  const places = [];
  for (let len = whole; len > 500; len = Math.floor(len / 7)) places.push(`#t=${Math.max(0, start - Math.floor(len / 2))}..${start + Math.ceil(len / 2)}`);
  assert.ok(places.length > 5);
  for (const hash of places) {
    await Promise.all([go(its, hash), go(own, hash)]);
    assert.equal(await picture(its), await picture(own), `the same picture at ${hash}`);
  }
  for (const page of [its, own]) {
    await page.focus("#timeline");
    for (const key of ["0", "w", "w", "d", "t", "PageDown"]) await page.keyboard.press(key);
    await settled(page);
  }
  assert.equal(await picture(its), await picture(own));
  // Who is chosen, and how it came there.
  const chosen = `${places[2]}&sel=thread:${woken.thread}@${start}`;
  for (const page of [its, own]) {
    await go(page, chosen);
    await page.waitForSelector("#details :text('Woken through')");
  }
  await own.waitForFunction((told) => document.getElementById("details").textContent === told, await words(its, "details"));
  assert.equal(await its.getAttribute("#timeline", "data-arrows"), await own.getAttribute("#timeline", "data-arrows"));
  // Stretches that are searched for.
  for (const page of [its, own]) {
    await page.fill("#search", "state:ready >20us");
    await page.waitForFunction(() => /stretches/.test(document.getElementById("found").textContent));
    await page.keyboard.press("Enter");
    await settled(page);
  }
  assert.equal(await words(its, "found"), await words(own, "found"));
  assert.equal(await its.evaluate(() => location.hash), await own.evaluate(() => location.hash));
  // Findings, and the tables of all of the recording, by two columns.
  for (const page of [its, own]) {
    await page.waitForSelector("#findings summary", { state: "attached", timeout: 60_000 });
    await go(page, `#t=0..${whole}&range=0..${whole}`);
  }
  assert.equal(await words(its, "findings"), await words(own, "findings"));
  const told = (page) => page.waitForSelector("#range .rows[data-busy=false]", { timeout: 60_000 });
  for (const table of ["threads", "cpus", "ready_by_thief"]) {
    for (const page of [its, own]) {
      await page.selectOption("#range select", table);
      await told(page);
    }
    assert.equal(await words(its, "range h2"), await words(own, "range h2"));
    assert.equal(await its.textContent("#range .rows"), await own.textContent("#range .rows"), table);
  }
  for (const page of [its, own]) {
    await page.click("#range th button:text-is('ready_ns')");
    await page.waitForSelector("#range th[aria-sort=ascending]");
    await told(page);
  }
  assert.equal(await its.textContent("#range .rows"), await own.textContent("#range .rows"));
  for (const page of [its, own]) {
    await page.focus("#timeline");
    await page.keyboard.press("c");
    await page.waitForFunction(() => Number(document.getElementById("timeline").dataset.path) > 0, null, { timeout: 60_000 });
  }
  assert.equal(await its.getAttribute("#timeline", "data-path"), await own.getAttribute("#timeline", "data-path"));
  // Of a part it says what to do.
  await go(its, `#t=0..${whole}&range=0..${Math.floor(whole / 2)}`);
  await told(its);
  assert.match(await its.textContent("#range [role=status]"), /for a part, open the recording itself, with `corewise view`/);
  assert.deepEqual(wrong, []);
  await its.context().close();
  await own.context().close();
});

test("a page asks for nothing: no address in it, and a policy that lets nothing in", { skip }, () => {
  const { file } = at.file("quiet.html");
  const text = readFileSync(file, "utf8");
  const policy = text.match(/http-equiv="Content-Security-Policy" content="([^"]*)"/)?.[1];
  assert.match(policy, /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'$/);
  assert.equal(/<[^>]*(src|href)=/.test(text.replace(/<script type="module">.*<\/script>/s, "")), false);
});

test("where the limit leaves no room for all, the page says what its finest detail is, draws that and tells what it has", { skip }, async () => {
  const { file, said } = at.file("small.html", "--html-limit", "0.08");
  const finest = Number(said.match(/; finest detail of every track: (\d+(?:\.\d+)?) us: `corewise view` shows all/)[1]);
  assert.ok(finest > 1);
  // The elements around the blocks of data, one of each kind of track and some more, are not part of the limit.
  assert.ok(statSync(file).size < 80_000 + statSync(new URL("../../dist/alone.html", import.meta.url)).size + 2000);
  const { page, wrong } = await openedFile(at, file);
  assert.match(await words(page, "lacking"), /^finest detail of every track here: [\d.]+ (µs|ms); for all of it, open the recording itself, with `corewise view`$/);
  // Something is drawn: more colours than the page and its lines have.
  const colours = await page.evaluate(() => {
    const canvas = document.getElementById("timeline");
    const { data } = canvas.getContext("2d").getImageData(190, 24, canvas.width - 190, canvas.height - 24);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  assert.ok(colours > 8, `${colours} colours`);
  // A stretch that is there for itself is told as it is drawn; its rows are not there.
  await page.focus("#timeline");
  for (const key of ["ArrowDown", "f", "f", "f", "f"]) await page.keyboard.press(key);
  for (let n = 0; n < 60 && !/State/.test(await words(page, "details")); n++) {
    await page.keyboard.press("ArrowRight");
    await settled(page);
  }
  await page.waitForSelector("#details :text('This cannot be told')");
  assert.match(await words(page, "details"), /^CPU .*State(busy|idle).*Length.*no room for the rows of every stretch: open the recording itself/);
  assert.deepEqual(wrong, []);
  await page.context().close();
});
