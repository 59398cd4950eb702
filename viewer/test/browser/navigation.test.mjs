/** The summary of a range, the minimap, steps, notes, the time cursor and the list of hits, in a real browser. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { hash, opened, openedFile, rows, served, settled, skip, summarised } from "./support.mjs";

let at;
before(async () => {
  if (!skip) at = await served(process.env.COREWISE_TRACE);
});
after(() => at?.end());

const words = (page, id) => page.textContent(`#${id}`);
const pair = async (page, word) => (await hash(page)).match(new RegExp(`[#&]${word}=(\\d+)\\.\\.(\\d+)`))?.slice(1).map(Number) ?? null;
const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key);
  await settled(page);
};
/** Waits until the next change is a step of its own. */
const paused = (page) => page.waitForTimeout(1050);

/** Reads CSV of RFC 4180 to objects. */
function parsed(text) {
  const [head, ...rows] = [...text.matchAll(/((?:"(?:[^"]|"")*"|[^,\r\n]*)(?:,|\r?\n))+?(?<=\n)/g)].map(([line]) =>
    [...line.replace(/\r?\n$/, "").matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].slice(0, -1).map(([, cell]) => (cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell)),
  );
  return rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at] ?? ""])));
}
const table = (name, [from, to]) => parsed(execFileSync(process.env.COREWISE, ["table", at.trace, name, "--range", `${from}ns..${to}ns`, "--format", "csv"], { encoding: "utf8" }));
const ms = (ns) => `${Math.floor(Number(ns) / 1e6)}.${String(Number(ns) % 1e6).padStart(6, "0")}`;

/** The largest sum of a column for each thread, by another column. */
function largest(all, key, column) {
  const sums = new Map();
  for (const row of all) {
    const of = sums.get(row.thread) ?? new Map();
    sums.set(row.thread, of.set(key(row), (of.get(key(row)) ?? 0) + Number(row[column])));
  }
  return new Map([...sums].map(([thread, of]) => [thread, Math.max(...of.values())]));
}

test("the summary of a range has the figures of the command line's tables, and is copied exactly", { skip, timeout: 300_000 }, async () => {
  const { page, wrong } = await opened(at);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await press(page, "w", "w", "w", "r");
  await summarised(page);
  const range = await pair(page, "range");
  await page.click("#range button:text-is('Copy CSV')");
  await page.waitForFunction(() => /^Copied \d+ rows/.test(document.querySelector("#range [role=status]").textContent));
  const copied = parsed(await page.evaluate(() => navigator.clipboard.readText()));
  const threads = table("threads", range).sort((a, b) => b.running_ns - a.running_ns);
  assert.ok(threads.length > 3);
  const byKey = new Map(threads.map((row) => [row.tid + row.running_ns + row.blocked_ns, row]));
  assert.equal(copied.length, threads.length);
  const [waits, instead] = [table("waits", range), table("ran_instead", range)];
  const [blockers, ran] = [largest(waits, (row) => row.waker, "blocked_ns"), largest(instead, (row) => `${row.queued_behind} ${row.ran_instead}`, "ready_ns")];
  const ns = (text) => Math.round(Number(text) * 1e6);
  let [blocked, ready] = [0, 0];
  for (const row of copied) {
    const of = byKey.get(row.TID + ns(row["running (ms)"]) + ns(row["blocked (ms)"]));
    assert.ok(of, JSON.stringify(row));
    assert.equal(row["running (ms)"], ms(of.running_ns));
    assert.equal(row["ready (ms)"], of.ready_ns === "" ? "" : ms(of.ready_ns));
    assert.equal(row["longest wait for a CPU (ms)"], of.max_ready_ns === "" ? "" : ms(of.max_ready_ns));
    assert.equal(row["running (% of range)"], ((100 * of.running_ns) / (range[1] - range[0])).toFixed(1));
    const [blocker, who] = [blockers.get(of.thread) ?? 0, ran.get(of.thread) ?? 0];
    assert.equal(row["blocked on it (ms)"], blocker === 0 ? "" : ms(blocker), `blocker of ${row.thread}`);
    assert.equal(row["ready meanwhile (ms)"], who === 0 ? "" : ms(who), `ran instead of ${row.thread}`);
    [blocked, ready] = [blocked + blocker, ready + who];
  }
  assert.ok(blocked > 0 && ready > 0, "the range has waits of both kinds");
  // What is shown is the same, rounded; a click on a header sorts, and one on a name selects the thread.
  const shown = await page.$$eval("#range .summary tbody tr", (all) => all.map((row) => [...row.cells].slice(0, 3).map((cell) => cell.textContent)));
  assert.deepEqual(shown.map((row) => row[1]), threads.slice(0, 200).map((row) => (row.running_ns / 1e6).toFixed(3)));
  await page.click("#range .summary th button:text-is('blocked (ms)')");
  const sorted = await page.$$eval("#range .summary tbody tr", (all) => all.map((row) => Number(row.cells[5].textContent)));
  assert.deepEqual(sorted, [...sorted].sort((a, b) => b - a));
  await page.click("#range .summary tbody tr:nth-child(2) th button");
  const chosen = (await hash(page)).match(/sel=thread:(\d+)@/)?.[1];
  assert.equal(await page.getAttribute("#range .summary tr.chosen", "data-thread"), chosen);
  // As Markdown, there are as many lines.
  await page.click("#range button:text-is('Copy Markdown')");
  await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith("| thread |"));
  const lines = (await page.evaluate(() => navigator.clipboard.readText())).trim().split("\n");
  assert.equal(lines.length, threads.length + 2);
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("the selected track stays in view when the panel of a range opens", { skip }, async () => {
  const { page } = await opened(at, { height: 600 });
  // The lowest visible track.
  const box = await page.locator("#timeline").boundingBox();
  await page.mouse.click(box.x + 500, box.y + box.height - 14);
  assert.match(await hash(page), /sel=/);
  const id = (await hash(page)).match(/sel=(\w+):(\d+)@/).slice(1);
  await page.focus("#timeline");
  await press(page, "m");
  await summarised(page);
  await settled(page);
  const lower = await page.locator("#timeline").boundingBox();
  assert.ok(lower.height < box.height - 100, "the timeline is lower");
  const seen = new Set();
  for (let n = 0; n < 4 * Math.floor((lower.height - 28) / 6); n++) {
    await page.mouse.move(lower.x + 250 + (n % 4) * 165, lower.y + 28 + 6 * Math.floor(n / 4));
    seen.add(await page.evaluate(() => (document.getElementById("tip").hidden ? "" : `${document.getElementById("tip").dataset.kind} ${document.getElementById("tip").dataset.id}`)));
  }
  assert.ok(seen.has(id.join(" ")), `${[...seen]} has ${id}`);
  await page.context().close();
});

test("the minimap's window shows and moves the visible time, with the pointer and by keyboard", { skip }, async () => {
  const { page, wrong } = await opened(at);
  const [, whole] = await pair(page, "t");
  await press(page, "w", "w", "w", "w", "w", "w");
  const [from, to] = await pair(page, "t");
  const box = await page.locator("#minimap").boundingBox();
  const left = 190;
  const x = (time) => box.x + left + (time / whole) * (box.width - left);
  const y = box.y + box.height / 2;
  const near = (a, b) => Math.abs(a - b) <= (2 * whole) / (box.width - left);
  const drag = async (x0, x1) => {
    await page.mouse.move(x0, y);
    await page.mouse.down();
    await page.mouse.move(x1, y, { steps: 4 });
    await page.mouse.up();
    await settled(page);
    return pair(page, "t");
  };
  // The window's inside, then its right edge, then a click outside.
  const moved = await drag(x((from + to) / 2), x((from + to) / 2) + 60);
  assert.ok(near(moved[0] - from, (60 / (box.width - left)) * whole) && Math.abs(moved[1] - moved[0] - (to - from)) <= 2);
  const wider = await drag(x(moved[1]), x(moved[1]) + 40);
  assert.ok(Math.abs(wider[0] - moved[0]) <= 2 && near(wider[1] - moved[1], (40 / (box.width - left)) * whole));
  await page.mouse.click(x(wider[0] / 2), y);
  const [a, b] = await pair(page, "t");
  assert.ok(near((a + b) / 2, Math.max(wider[0] / 2, (b - a) / 2)));
  await page.focus("#minimap");
  await press(page, "End");
  assert.equal((await pair(page, "t"))[1], whole);
  await press(page, "ArrowLeft", "ArrowUp");
  const stated = Math.round((await pair(page, "t"))[0] / 1e3);
  await page.waitForFunction((us) => Number(document.getElementById("minimap").ariaValueNow) === us, stated);
  await page.mouse.dblclick(x(whole / 2), y);
  assert.deepEqual(await pair(page, "t"), [0, whole]);
  // It is drawn: more than the page and the window's lines.
  const colours = await page.evaluate(() => {
    const canvas = document.getElementById("minimap");
    const { data } = canvas.getContext("2d").getImageData(190, 0, canvas.width - 190, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  assert.ok(colours > 2, `${colours} colours`);
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("Back, Forward and Backspace undo zooms, selections and ranges", { skip }, async () => {
  const { page } = await opened(at);
  const places = [await hash(page)];
  const step = async (...keys) => {
    await press(page, ...keys);
    places.push(await hash(page));
    await paused(page);
  };
  await step("w", "w", "w");
  await step("ArrowDown");
  await step("d");
  await step("m");
  assert.equal(new Set(places).size, 5, places.join(" "));
  for (const back of [3, 2]) {
    await page.keyboard.press("Backspace");
    await page.waitForFunction((hash) => location.hash === hash, places[back]);
    await settled(page);
  }
  assert.ok(await page.locator("#range").isHidden(), "the range is cleared");
  await page.goBack();
  await settled(page);
  assert.equal(await hash(page), places[1], "the selection is cleared");
  await page.goForward();
  await settled(page);
  assert.equal(await hash(page), places[2]);
  await page.keyboard.press("Shift+Backspace");
  await settled(page);
  assert.equal(await hash(page), places[3]);
  for (let n = 0; n < 3; n++) {
    await page.keyboard.press("Backspace");
    await settled(page);
  }
  assert.equal(await hash(page), places[0]);
  // Backspace does not leave the page.
  await page.keyboard.press("Backspace");
  await settled(page);
  assert.equal(await hash(page), places[0]);
  assert.match(await words(page, "status"), /nothing to undo/);
  await page.context().close();
});

test("a note is pinned on the ruler, kept in the address and in a page of one file, and removed", { skip, timeout: 180_000 }, async () => {
  const { page, wrong } = await opened(at);
  const box = await page.locator("#timeline").boundingBox();
  await page.mouse.click(box.x + 500, box.y + 10);
  const text = '<b>slow</b>, "here" & there';
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "timeline");
  const link = await hash(page);
  const note = link.match(/notes=(\d+):([^&,]*)/);
  assert.equal(decodeURIComponent(note[2]), text);
  await page.waitForFunction(() => /note:1/.test(document.getElementById("minimap").dataset.ticks));
  assert.equal(await words(page, "tab-notes"), "Notes (1)");
  // The flag is on the ruler, and a click on it edits the same note.
  await page.mouse.click(box.x + 500, box.y + 8);
  assert.equal(await page.locator("#notes input").count(), 1);
  assert.equal(await page.inputValue("#notes input"), text);
  // The same address, on the server's page and in a file that begins with it; its text is no markup.
  const { file } = at.file("noted.html", "--at", `${at.address.split("?")[0]}${link}`);
  const file2 = at.file("plain.html").file;
  for (const there of [await opened(at, { hash: link }), await openedFile(at, file), await openedFile(at, file2, { hash: link })]) {
    assert.equal(await hash(there.page), link);
    assert.equal(await there.page.inputValue("#notes input"), text);
    assert.equal(await there.page.locator("#notes b").count(), 0);
    await there.page.context().close();
  }
  // With a selection, the key pins it there.
  await page.focus("#timeline");
  await page.mouse.move(box.x + 700, box.y + 60);
  await press(page, "Shift+M");
  assert.equal((await hash(page)).match(/notes=([^&]*)/)[1].split(",").length, 2);
  for (const left of [1, 0]) {
    await page.click("#notes li:first-child button:text-is('Remove')");
    await settled(page);
    assert.equal(await page.locator("#notes li").count(), left);
  }
  assert.doesNotMatch(await hash(page), /notes/);
  assert.ok(await page.locator("#tab-notes").isHidden());
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("the time cursor follows the pointer, measures from the selection, and goes when it leaves", { skip }, async () => {
  const { page } = await opened(at);
  const box = await page.locator("#timeline").boundingBox();
  const [from, to] = await pair(page, "t");
  const time = (x) => from + ((x - 190 + 0.5) / (box.width - 190)) * (to - from);
  const label = () => page.evaluate(() => (document.querySelector(".cursor-time").hidden ? null : document.querySelector(".cursor-time").textContent));
  await page.mouse.move(box.x + 640, box.y + 200);
  assert.ok(Math.abs(parseFloat(await label()) * 1e9 - time(640)) < (2 * (to - from)) / (box.width - 190), `${await label()} is ${time(640)} ns`);
  const line = await page.locator(".cursor").boundingBox();
  assert.ok(Math.abs(line.x - box.x - 640) <= 1 && line.height > box.height - 6, "across all tracks");
  await page.mouse.click(box.x + 400, box.y + 54);
  assert.match(await hash(page), /sel=cpu/);
  await page.mouse.move(box.x + 640, box.y + 200);
  assert.match(await label(), / s {2}\+[\d.]+ (ms|s|µs)$/);
  await page.mouse.move(box.x + box.width + 60, box.y + 200);
  assert.equal(await label(), null);
  await page.mouse.move(box.x + 50, box.y + 200);
  assert.equal(await label(), null, "labels have no time");
  await page.context().close();
});

test("hits are listed with time, length and thread, Enter goes to one at a readable zoom, and the header stays as it is", { skip }, async () => {
  const { page, wrong } = await opened(at);
  const [from, to] = await pair(page, "t");
  const all = (await rows(page, "thread_state", { from, to })).filter((row) => row.state === "ready" && row.end_ns - row.start_ns > 20_000n);
  const header = () => page.$$eval("header > *", (all) => all.map((of) => JSON.stringify(of.getBoundingClientRect())));
  const before = await header();
  await press(page, "/");
  await page.keyboard.type("state:ready >20us");
  await page.waitForFunction(() => /stretches/.test(document.getElementById("found").textContent));
  assert.deepEqual(await header(), before);
  const listed = await page.$$eval("#hits tbody tr", (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.equal(listed.length, Math.min(500, all.length));
  assert.ok(Math.abs(parseFloat(listed[0][0]) * 1e9 - Number(all[0].start_ns)) < 1e3);
  assert.ok(listed[0][2].endsWith(` ${all[0].tid}`));
  assert.match(await page.getAttribute("#minimap", "data-ticks"), new RegExp(`hit:${listed.length}`));
  const readable = async (row) => {
    await page.waitForFunction((sel) => location.hash.includes(sel), `sel=thread:${row.thread}@${row.start_ns}`);
    const [a, b] = await pair(page, "t");
    const share = Number(row.end_ns - row.start_ns) / (b - a);
    assert.ok(share >= 0.04 && share <= 0.9 && a <= row.start_ns && b >= row.end_ns, `${share} of ${a}..${b}`);
  };
  await page.keyboard.press("Enter");
  await readable(all[0]);
  assert.ok(await page.locator("#hits").isVisible(), "the list stays open");
  await page.keyboard.press("Enter");
  await readable(all[1]);
  assert.equal(await page.locator("#hits tr[aria-current]").evaluate((row) => row.rowIndex), 2);
  await page.click("#hits tbody tr:first-child button");
  await readable(all[0]);
  assert.deepEqual(await header(), before);
  for (const text of ["colour:red", "name:perf", "a".repeat(200), ""]) {
    await page.fill("#search", text);
    await page.waitForTimeout(50);
    assert.deepEqual(await header(), before, text);
  }
  assert.ok(await page.locator("#tab-hits").isHidden());
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("keys work from the panels too, but not in fields", { skip }, async () => {
  const { page } = await opened(at);
  const whole = await pair(page, "t");
  await page.focus("#details");
  await press(page, "w");
  const near = await pair(page, "t");
  assert.ok(near[0] > whole[0]);
  await page.focus("#search");
  await page.keyboard.type("wasdm");
  await page.keyboard.press("Backspace");
  await settled(page);
  assert.deepEqual(await pair(page, "t"), near);
  assert.equal(await page.inputValue("#search"), "wasd");
  await page.focus("#hits");
  await press(page, "?");
  assert.ok(await page.locator("#help").isVisible());
  await press(page, "w");
  assert.deepEqual(await pair(page, "t"), near, "not while the help is open");
  await page.context().close();
});
