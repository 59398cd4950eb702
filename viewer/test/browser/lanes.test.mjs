/** Tracks: folded, pinned, hidden, moved, filtered, sorted and coloured, by mouse and keyboard. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { hash, opened, served, settled, skip } from "./support.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A game of three threads on two CPUs: while a runs, b is ready half of the time; a kernel thread runs at the end. */
function text() {
  const lines = ["cpus=2"];
  const at = (ms) => (1 + ms / 1000).toFixed(6);
  for (let ms = 0; ms < 40; ms += 4) {
    lines.push(`<idle>-0 (-----) [000] ${at(ms)}: sched_switch: swapper/0:0 [120] R ==> a:10 [98]`);
    lines.push(`a-10 (10) [000] ${at(ms + 1)}: sched_wakeup: b-with-a-long-name-of-a-thread:11 [120] CPU:000`);
    lines.push(`a-10 (10) [000] ${at(ms + 3)}: sched_switch: a:10 [98] S ==> b-with-a-long-name-of-a-thread:11 [120]`);
    lines.push(`b-with-a-long-name-of-a-thread-11 (10) [000] ${at(ms + 4 - 0.01)}: sched_switch: b-with-a-long-name-of-a-thread:11 [120] S ==> swapper/0:0 [120]`);
  }
  lines.push(`<idle>-0 (-----) [001] ${at(10)}: sched_switch: swapper/1:0 [120] R ==> c:12 [120]`);
  lines.push(`c-12 (12) [001] ${at(30)}: sched_switch: c:12 [120] S ==> kworker/1:1:13 [120]`);
  lines.push(`kworker/1:1-13 (13) [001] ${at(40)}: sched_switch: kworker/1:1:13 [120] S ==> swapper/1:0 [120]`);
  lines.sort((a, b) => (Number(/\] ([\d.]+):/.exec(a)?.[1] ?? 0) - Number(/\] ([\d.]+):/.exec(b)?.[1] ?? 0)));
  return `${lines.join("\n")}\n`;
}

let at;
let folder;
before(async () => {
  if (skip) return;
  folder = mkdtempSync(join(tmpdir(), "corewise-lanes-"));
  const [file, trace] = ["lanes.txt", "lanes.cw"].map((name) => join(folder, name));
  writeFileSync(file, text());
  execFileSync(process.env.COREWISE, ["import", file, "-o", trace], { stdio: "ignore" });
  at = await served(trace);
});
after(async () => {
  await at?.end();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/** What is under the pointer, down the labels: the first line of the tip at each line, once. */
async function labels(page) {
  const box = await page.locator("#timeline").boundingBox();
  const found = [];
  for (let y = 30; y < Math.min(box.height - 2, 420); y += 5) {
    await page.mouse.move(box.x + 60, box.y + y);
    const words = await page.evaluate(() => {
      const tip = document.getElementById("tip");
      return tip.hidden ? null : tip.textContent;
    });
    if (words !== null && found.at(-1)?.words !== words) found.push({ words, y, label: words.split("\n")[0] });
  }
  await page.mouse.move(box.x + box.width - 10, box.y + 2);
  return found;
}

const yOf = async (page, label) => {
  const found = (await labels(page)).find((line) => line.label.startsWith(label));
  assert.ok(found, `there is a line ${label}`);
  return found.y + 4;
};
const names = async (page) => (await labels(page)).map((line) => line.label);
const tracks = async (page) => /tracks=([^&]*)/.exec(await hash(page))?.[1] ?? "";

test("a click folds a group to a picture of what runs and what is ready; kernel threads are folded at first", { skip, timeout: 180_000 }, async () => {
  const { page, wrong } = await opened(at);
  const box = await page.locator("#timeline").boundingBox();
  const first = await labels(page);
  assert.ok(first.some((line) => line.words.startsWith("a · process 10\n1.0 CPUs busy, 0.5 threads ready\nClick: fold")), JSON.stringify(first));
  assert.ok(first.some((line) => /^Kernel threads\n.*Click: open$/s.test(line.words)) && !first.some((line) => line.label.startsWith("kworker")));
  const y = await yOf(page, "a · process 10");
  await page.mouse.click(box.x + 60, box.y + y);
  await settled(page);
  assert.equal(await tracks(page), "fold.process:10");
  assert.ok(!(await names(page)).some((label) => label.startsWith("b-with")));
  // At 1.5 of 4 ms, a runs and b is ready: two thirds of the height are running, and above it is ready. At 0.5 ms, b is blocked.
  const column = (ms) =>
    page.evaluate(([x, y]) => {
      const { data } = document.getElementById("timeline").getContext("2d").getImageData(x, y - 12, 1, 22);
      return [...Array(22).keys()].map((n) => `#${[...data.slice(4 * n, 4 * n + 3)].map((part) => part.toString(16).padStart(2, "0")).join("")}`);
    }, [Math.round(190 + (ms / 40) * (box.width - 190)), y]);
  const [both, one] = [await column(21.8), await column(20.5)];
  assert.ok(both.includes("#009e73") && both.includes("#e69f00"), both.join(" "));
  assert.ok(one.includes("#009e73") && !one.includes("#e69f00"), one.join(" "));
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("keys fold, pin, hide and move the selected track; the address and the browser keep it", { skip, timeout: 180_000 }, async () => {
  const { page } = await opened(at);
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
    await settled(page);
  };
  await press("ArrowDown", "ArrowDown", "k");
  assert.equal(await tracks(page), "pin.cpu:1");
  assert.deepEqual((await names(page)).slice(0, 4), ["Pinned", "CPU 1", "CPUs", "CPU 0"]);
  await press("k", "h");
  assert.equal(await tracks(page), "hide.cpu:1");
  assert.ok(!(await names(page)).includes("CPU 1"));
  // The next track has the selection; it moves down in its group, and its group folds.
  await press("Shift+ArrowDown");
  assert.match(await tracks(page), /^hide\.cpu:1;move\.(\S+:\d+)-/);
  await press("g");
  assert.match(await tracks(page), /fold\./);
  await press("Shift+G");
  const word = await tracks(page);
  const again = await page.context().newPage();
  // The address without the choices, at the same server: the browser has them.
  await again.goto(new URL(page.url()).origin);
  await settled(again);
  assert.equal(await tracks(again), word);
  // An address that has choices comes first.
  await again.goto(`${new URL(page.url()).origin}/#tracks=sort.name`);
  await again.reload();
  await settled(again);
  assert.equal(await tracks(again), "sort.name");
  await again.selectOption("#colour", "type");
  await again.reload();
  await settled(again);
  assert.equal(await again.inputValue("#colour"), "type");
  assert.match(await again.textContent("#legend"), /Running and busy:one core type/);
  await page.context().close();
});

test("a label that is dragged moves its track, and the buttons at a label pin and hide", { skip, timeout: 180_000 }, async () => {
  const { page } = await opened(at);
  const box = await page.locator("#timeline").boundingBox();
  const [from, to] = [await yOf(page, "b-with"), await yOf(page, "a 10")];
  await page.mouse.move(box.x + 60, box.y + from);
  await page.mouse.down();
  await page.mouse.move(box.x + 60, box.y + to - 4, { steps: 4 });
  assert.ok(await page.locator("#drop-edge").isVisible());
  await page.mouse.up();
  await settled(page);
  assert.match(await tracks(page), /^move\.thread:\d+-thread:\d+$/);
  const order = await names(page);
  assert.ok(order.findIndex((label) => label.startsWith("b-with")) < order.findIndex((label) => label.startsWith("a 10")));
  await page.mouse.move(box.x + 60, box.y + (await yOf(page, "c 12")));
  await page.click("#label-tools button:text('pin')");
  await settled(page);
  assert.equal((await names(page))[1], "c 12");
  // Scrolled to the end, it still is on top.
  await page.focus("#timeline");
  for (let n = 0; n < 5; n++) await page.keyboard.press("PageDown");
  await settled(page);
  assert.equal((await names(page))[1], "c 12");
  await page.context().close();
});

test("the filter shows what matches, and the panel of tracks does all by keyboard", { skip, timeout: 180_000 }, async () => {
  const { page, wrong } = await opened(at);
  await page.keyboard.press("l");
  await page.keyboard.type("kworker");
  await settled(page);
  assert.deepEqual((await names(page)).slice(0, 2), ["Kernel threads", "kworker/1:1 13"]);
  assert.equal(await tracks(page), "only.kworker");
  await page.fill("#filter", "");
  await page.focus("#tab-details");
  await page.keyboard.press("ArrowLeft");
  assert.ok(await page.locator("#tracks").isVisible());
  const focused = () => page.evaluate(() => document.activeElement.dataset.key ?? document.activeElement.id);
  const tabTo = async (key) => {
    for (let n = 0; n < 80 && (await focused()) !== key; n++) await page.keyboard.press("Tab");
    assert.equal(await focused(), key);
  };
  await tabTo("sort");
  await page.keyboard.press("ArrowDown");
  assert.equal(await tracks(page), "sort.running");
  await page.keyboard.press("ArrowUp");
  await tabTo("name process:10");
  await page.keyboard.press("Alt+ArrowUp");
  assert.match(await tracks(page), /^move\.process:10-/);
  assert.equal(await focused(), "name process:10", "the focus stays");
  await page.keyboard.press("Enter");
  assert.match(await tracks(page), /fold\.process:10/);
  assert.equal(await page.getAttribute("[data-key='name process:10']", "aria-expanded"), "false");
  await tabTo("hide process:10");
  await page.keyboard.press("Enter");
  assert.match(await tracks(page), /hide\.process:10/);
  await tabTo("show process:10");
  await page.keyboard.press("Enter");
  assert.doesNotMatch(await tracks(page), /hide/);
  await page.click("#tracks button:text('Reset')");
  assert.equal(await tracks(page), "");
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("the tip goes when the pointer leaves, and the status line is visible", { skip }, async () => {
  const { page } = await opened(at);
  const box = await page.locator("#timeline").boundingBox();
  await page.mouse.move(box.x + 600, box.y + 54);
  assert.ok(await page.locator("#tip").isVisible());
  await page.mouse.move(box.x + box.width + 100, box.y + 54);
  assert.ok(await page.locator("#tip").isHidden());
  await page.keyboard.press("ArrowDown");
  await settled(page);
  const status = await page.locator("#status").boundingBox();
  assert.ok(status.height >= 20 && status.width > 1000);
  assert.match(await page.textContent("#status"), /^CPU 0/);
  assert.equal(await page.getAttribute("#status", "title"), await page.textContent("#status"));
  await page.context().close();
});

test("priorities are read when they are wanted, and the legend names what is shown", { skip, timeout: 180_000 }, async () => {
  const { page, wrong } = await opened(at);
  const box = await page.locator("#timeline").boundingBox();
  await page.selectOption("#colour", "priority");
  await page.waitForFunction(() => /Priorities of \d threads/.test(document.getElementById("status").textContent));
  await settled(page);
  // a has a real-time priority, and runs at 2 of 40 ms on CPU 0.
  const swatches = await page.$$eval("#legend .swatch", (all) => all.map((of) => [of.nextSibling.textContent, of.dataset.colour]));
  await page.mouse.move(box.x + 190 + ((box.width - 190) * 18) / 40, box.y + 54);
  assert.equal(await page.getAttribute("#tip", "data-colour"), swatches.find(([word]) => word === "real time")[1]);
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("names, contrasts and roles meet WCAG with pinned, hidden and folded tracks", { skip, timeout: 180_000 }, async () => {
  for (const theme of ["light", "dark"]) {
    const { page } = await opened(at, { theme, hash: "#tracks=pin.cpu:0;hide.cpu:1;fold.process:10" });
    await page.click("#tab-tracks");
    await page.evaluate(AXE);
    const found = await page.evaluate(() => window.axe.run(document).then(({ violations }) => violations.map((of) => `${of.id}: ${of.nodes.map((node) => node.html).join(" ")}`)));
    assert.deepEqual(found, []);
    await page.context().close();
  }
});
