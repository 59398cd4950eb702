/** The timeline, keyboard and mouse, in a real browser. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { dice, hash, opened, rows, served, settled, skip } from "./support.mjs";

let at;
before(async () => {
  if (!skip) at = await served(process.env.COREWISE_TRACE);
});
after(() => at?.end());

const span = async (page) => (await hash(page)).match(/t=(\d+)\.\.(\d+)/).slice(1).map(Number);
const words = (page, id) => page.textContent(`#${id}`);
const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key);
  await settled(page);
};

test("the page makes no outside requests, removes the token from its address, and reports no errors", { skip }, async () => {
  const { page, wrong } = await opened(at);
  assert.match(page.url(), /\/#t=0\.\.\d+$/);
  assert.match(await words(page, "summary"), /\d+ CPUs, \d+ threads/);
  assert.match(await words(page, "legend"), /running.*ready.*blocked/);
  assert.deepEqual(wrong, []);
  await page.context().close();
});

/** Sums the time in each state, and for each CPU or thread within a state, from the rows of the table. */
function sumsOf(of, from, to, what) {
  const sums = new Map();
  for (const row of of) {
    const ns = Math.min(to, Number(row.end_ns)) - Math.max(from, Number(row.start_ns));
    const key = `${row.state} ${row[what] ?? -1}`;
    sums.set(row.state, (sums.get(row.state) ?? 0) + ns);
    sums.set(key, (sums.get(key) ?? 0) + ns);
  }
  return sums;
}

test("200 drawn pixels match what is stored, at many zooms", { skip, timeout: 300_000 }, async () => {
  // Narrow, so that a pixel is a long time and short stretches are merged.
  const { page, wrong } = await opened(at, { width: 700 });
  const box = await page.locator("#timeline").boundingBox();
  const [STATES, CPUS] = [["running", "ready", "blocked", "unknown", "exited"], ["busy", "idle", "unknown"]];
  const roll = dice();
  let [checked, merged, view] = [0, 0, ""];
  for (let tries = 0; checked < 200; tries++) {
    assert.ok(tries < 3000, `only ${checked} of 200 pixels showed a slice`);
    if (tries % 60 === 0) {
      // Another place at another zoom: close every second time.
      await press(page, "0");
      for (let n = roll(tries % 120 === 0 ? 3 : 26); n > 0; n--) await page.keyboard.press("w");
      for (let n = roll(12); n > 0; n--) await page.keyboard.press(roll(2) ? "a" : "d");
      await settled(page);
      view = await hash(page);
    }
    // Zoomed out, on CPUs, which are busiest; zoomed in, anywhere.
    const [x, y] = [192 + roll(box.width - 194), 30 + roll(tries % 120 < 60 ? 60 : box.height - 40)];
    await page.mouse.move(box.x + x, box.y + y);
    // The tip, and the pixel's colour in the lowest line of the bar, which every slice fills.
    const tip = await page.evaluate((x) => {
      const tip = document.getElementById("tip");
      if (tip.hidden) return null;
      const { data } = document.getElementById("timeline").getContext("2d").getImageData(x, Number(tip.dataset.base), 1, 1);
      return { ...tip.dataset, pixel: `#${[...data.slice(0, 3)].map((part) => part.toString(16).padStart(2, "0")).join("")}` };
    }, x);
    // Additional tracks have their own tests.
    if (!tip || tip.base >= box.height || !["cpu", "thread"].includes(tip.kind)) continue;
    checked++;
    assert.equal(tip.pixel, tip.colour, `at ${x}, ${tip.base} of ${view}`);
    // Compare with the table.
    const cpu = tip.kind === "cpu";
    const [from, to] = [Number(tip.start), Number(tip.end)];
    assert.ok(from <= tip.time && tip.time < to);
    const of = cpu ? { cpu: tip.id } : { thread: tip.id };
    const stored = await rows(page, cpu ? "cpu_state" : "thread_state", { from, to, ...of });
    const [state, what] = [(cpu ? CPUS : STATES)[tip.state], cpu ? "thread" : "cpu"];
    assert.equal(stored.length, Number(tip.stretches));
    const sums = sumsOf(stored, from, to, what);
    assert.equal(sums.get(state), Number(tip.stateNs), `${state} of ${JSON.stringify(tip)}`);
    assert.equal(sums.get(`${state} ${tip.what}`), Number(tip.whatNs));
    for (const [key, ns] of sums) {
      if (!key.includes(" ")) assert.ok(ns <= Number(tip.stateNs), `${key} took more than ${state}`);
      else if (key.startsWith(`${state} `)) assert.ok(ns <= Number(tip.whatNs));
    }
    if (stored.length > 1) merged++;
  }
  assert.ok(merged > 10 && merged < 190, `${merged} of 200 were merged short stretches`);
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("keys zoom, move, select, search and open the help", { skip }, async () => {
  const { page } = await opened(at);
  const whole = await span(page);
  await press(page, "w", "w");
  const near = await span(page);
  assert.ok(near[0] > whole[0] && near[1] < whole[1]);
  await press(page, "d");
  assert.ok((await span(page))[0] > near[0]);
  await press(page, "a", "s", "s", "0");
  assert.deepEqual(await span(page), whole);
  // The first track is a CPU; the arrow selects the next slice.
  await press(page, "ArrowDown", "f", "f", "f");
  for (let n = 0; n < 40 && !(await words(page, "details")).includes("State"); n++) await press(page, "w", "ArrowRight");
  const first = await words(page, "status");
  await press(page, "ArrowRight");
  await page.waitForFunction((was) => document.getElementById("status").textContent !== was, first);
  assert.match(await words(page, "status"), /^CPU \d+.*(busy|idle)/);
  await press(page, "Escape");
  assert.doesNotMatch(await hash(page), /sel=/);
  await press(page, "?");
  assert.ok(await page.locator("#help").isVisible());
  assert.match(await words(page, "help"), /zoom in, zoom out/);
  await press(page, "Escape", "/");
  await page.keyboard.type("type:uniform");
  assert.match(await words(page, "found"), /^[1-9]\d* tracks$/);
  await page.fill("#search", "colour:red");
  assert.match(await words(page, "found"), /unknown filter colour/);
  await page.fill("#search", "name:perf");
  await page.keyboard.press("Enter");
  await settled(page);
  assert.match(await hash(page), /sel=thread:\d+@/);
  await press(page, "Escape", "t");
  assert.equal(await page.inputValue("#colour"), "process");
  await page.context().close();
});

test("the mouse zooms, moves, selects a time range and a slice", { skip }, async () => {
  const { page } = await opened(at);
  const box = await page.locator("#timeline").boundingBox();
  const whole = await span(page);
  await page.mouse.move(box.x + 600, box.y + 60);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await page.keyboard.up("Control");
  await settled(page);
  const near = await span(page);
  assert.ok(near[1] - near[0] < (whole[1] - whole[0]) * 0.6);
  await page.mouse.down();
  await page.mouse.move(box.x + 500, box.y + 60, { steps: 4 });
  await page.mouse.up();
  await settled(page);
  const moved = await span(page);
  assert.ok(moved[0] > near[0] && Math.abs(moved[1] - moved[0] - (near[1] - near[0])) <= 1, "a drag to the left moves to a later time");
  await page.keyboard.down("Shift");
  await page.mouse.move(box.x + 400, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 500, box.y + 60, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await settled(page);
  assert.deepEqual(await span(page), moved, "setting a time range does not move the view");
  const marked = (await hash(page)).match(/range=(\d+)\.\.(\d+)/).slice(1).map(Number);
  assert.ok(marked[0] > moved[0] && marked[1] < moved[1]);
  await page.mouse.click(box.x + 600, box.y + 54);
  assert.match(await hash(page), /sel=cpu:\d+@/);
  await page.context().close();
});

test("an address restores the view, and a ready thread shows its waker and what ran meanwhile", { skip }, async () => {
  const { page } = await opened(at);
  const [from, to] = await span(page);
  const ready = (await rows(page, "thread_state", { from, to })).find((row) => row.state === "ready" && row.waker > 0n && row.cpu !== null);
  const start = Number(ready.start_ns);
  const link = `#t=${Math.max(0, start - 50_000)}..${start + 50_000}&sel=thread:${ready.thread}@${start}`;
  const again = await opened(at, { hash: link });
  assert.equal(await hash(again.page), link);
  await again.page.waitForSelector("#details :text('meanwhile')");
  const details = await words(again.page, "details");
  assert.match(details, /: ready/);
  assert.match(details, /Woken by/);
  const waker = (await rows(page, "threads", { from: 0, to })).find((row) => row.thread === ready.waker);
  assert.ok(details.includes(waker.name), `${details} names ${waker.name}`);
  await page.context().close();
  await again.page.context().close();
});

test("the legend's colours follow the theme, on a wide screen", { skip }, async () => {
  const { page, wrong } = await opened(at, { width: 2560, height: 1440, theme: "dark" });
  assert.equal(await page.getAttribute("html", "data-theme"), "dark");
  const dark = await page.getAttribute("#legend .swatch", "data-colour");
  await page.selectOption("#theme", "light");
  assert.notEqual(await page.getAttribute("#legend .swatch", "data-colour"), dark);
  assert.deepEqual(wrong, []);
  await page.context().close();
});
