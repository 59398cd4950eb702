/** Two traces on one page. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pictures, servedBoth, skip } from "./support.mjs";

/** A thread that runs for `all` ms on one CPU, and marks a frame of 10 ms that begins `ms` after the first event. */
function text(ms, all) {
  const line = (at, what) => `             app-10      [000] d..2.   ${(100 + at / 1000).toFixed(6)}: ${what}`;
  const task = (name, pid, which) => `${which}_comm=${name} ${which}_pid=${pid} ${which}_prio=120`;
  const change = (from, to) => `sched_switch: ${from} ==> ${to}`;
  return [
    "# tracer: nop",
    "#",
    line(0, change(`${task("swapper/0", 0, "prev")} prev_state=R`, task("app", 10, "next"))),
    line(ms, "tracing_mark_write: B|10|frame"),
    line(ms + 10, "tracing_mark_write: E|10"),
    line(all, change(`${task("app", 10, "prev")} prev_state=S`, task("swapper/0", 0, "next"))),
    "",
  ].join("\n");
}

let at;
before(async () => {
  if (!skip) at = await servedBoth({ before: text(10, 100), after: text(30, 200) });
});
after(() => at?.end());

test("two traces share a zoom, aligned on their starts or on a mark that both have", { skip, timeout: 180_000 }, async () => {
  const page = await at.browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(60_000);
  const wrong = [];
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(error.message));
  await page.goto(at.address);
  const [first, second] = await Promise.all(
    ["First trace", "Second trace"].map(async (title) => (await page.waitForSelector(`iframe[title="${title}"]`)).contentFrame()),
  );
  for (const [frame, name] of [[first, "before.cw"], [second, "after.cw"]]) {
    await frame.waitForSelector("#timeline[data-busy=false]");
    assert.equal(await frame.textContent("#name"), name);
  }
  const span = (frame) => frame.evaluate(() => location.hash.match(/t=(\d+)\.\.(\d+)/).slice(1).map(Number));
  const shows = (frame, [from, to]) => frame.waitForFunction((t) => location.hash.startsWith(t), `#t=${from}..${to}`);
  // The second recording is longer; the same time span is visible in both.
  assert.deepEqual(await span(first), [0, 100_000_000]);
  await shows(second, [0, 100_000_000]);
  await first.focus("#timeline");
  for (const key of ["w", "w", "w", "w", "w", "w", "w", "a", "a", "a"]) await page.keyboard.press(key);
  await first.waitForFunction(() => !location.hash.startsWith("#t=0.."));
  await pictures(first);
  const near = await span(first);
  await shows(second, near);
  // The frame begins at 10 ms in the first and at 30 ms in the second, so the second view is 20 ms later.
  await page.waitForSelector("header option[value=frame]", { state: "attached" });
  await page.selectOption("header select", "frame");
  await shows(second, near.map((time) => time + 20_000_000));
  // And from the second to the first.
  await second.focus("#timeline");
  await page.keyboard.press("d");
  await second.waitForFunction((was) => !location.hash.startsWith(was), `#t=${near[0] + 20_000_000}..`);
  await pictures(second);
  const later = await span(second);
  await shows(first, later.map((time) => time - 20_000_000));
  assert.deepEqual(wrong, []);
  await page.close();
});

test("Backspace takes back the last zoom, selection and range of either trace, in both", { skip, timeout: 300_000 }, async () => {
  const page = await at.browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(60_000);
  await page.goto(at.address);
  const [first, second] = await Promise.all(
    ["First trace", "Second trace"].map(async (title) => (await page.waitForSelector(`iframe[title="${title}"]`)).contentFrame()),
  );
  for (const frame of [first, second]) await frame.waitForSelector("#timeline[data-busy=false]");
  const shows = (frame, [from, to]) => frame.waitForFunction((t) => location.hash.startsWith(t), `#t=${from}..${to}`);
  const pause = () => page.waitForTimeout(1100); // A step begins a second after the last motion.
  await shows(second, [0, 100_000_000]);
  await pause();
  await first.focus("#timeline");
  await page.keyboard.press("w");
  await first.waitForFunction(() => !location.hash.startsWith("#t=0..100000000"));
  await pictures(first);
  const near = await first.evaluate(() => location.hash.match(/t=(\d+)\.\.(\d+)/).slice(1).map(Number));
  await shows(second, near);
  await pause();
  // A range in the first is not one in the second.
  await page.keyboard.press("r");
  await first.waitForSelector("#range:not([hidden])");
  assert.equal(await second.isVisible("#range"), false);
  await pause();
  await page.keyboard.press("Backspace");
  await first.waitForSelector("#range", { state: "hidden" });
  await shows(first, near);
  await page.keyboard.press("Backspace");
  await shows(first, [0, 100_000_000]);
  await shows(second, [0, 100_000_000]);
  await page.keyboard.press("Shift+Backspace");
  await shows(first, near);
  await shows(second, near);
  // From the other one, which has no step of its own.
  await second.focus("#timeline");
  await page.keyboard.press("Backspace");
  await shows(first, [0, 100_000_000]);
  await shows(second, [0, 100_000_000]);
  await page.keyboard.press("Backspace");
  await first.waitForFunction(() => /nothing to undo/.test(document.getElementById("status").textContent));
  assert.equal(await page.textContent("h1"), "Comparison of two traces", "the outer page is still there");
  await page.close();
});

test("after the server has ended, the page shows this and what to do", { skip, timeout: 180_000 }, async () => {
  const page = await at.browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(60_000);
  await page.goto(at.address);
  const frame = await (await page.waitForSelector('iframe[title="First trace"]')).contentFrame();
  await frame.waitForSelector("#timeline[data-busy=false]");
  assert.equal(await frame.textContent("#error"), "");
  at.stop();
  await frame.focus("#timeline");
  for (let n = 0; n < 20; n++) await frame.press("#timeline", "w");
  await frame.waitForFunction(() => /is not running or cannot be reached: start it again/.test(document.getElementById("error").textContent));
  await page.close();
});
