/** Accessibility: keyboard, touch, addresses, and text that can be copied. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { hash, opened, openTables, served, settled, skip, summarised } from "./support.mjs";

let at;
before(async () => {
  if (!skip) at = await served(process.env.COREWISE_TRACE);
});
after(() => at?.end());

const span = async (page) => (await hash(page)).match(/t=(\d+)\.\.(\d+)/).slice(1).map(Number);
const diagnosed = (page) => page.waitForSelector("#findings summary", { state: "attached", timeout: 60_000 });

test("touch moves, zooms and selects", { skip }, async () => {
  const { page } = await opened(at, { touch: true });
  const box = await page.locator("#timeline").boundingBox();
  const fingers = await page.context().newCDPSession(page);
  const touch = async (type, ...points) => {
    await fingers.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y], id) => ({ x: box.x + x, y: box.y + y, id })) });
    await page.waitForTimeout(30);
  };
  const whole = await span(page);
  // Two fingers move from 100 to 300 pixels apart: a third stays visible, about the place between them.
  await touch("touchStart", [450, 100], [550, 100]);
  for (const by of [25, 50, 75, 100]) await touch("touchMove", [450 - by, 100], [550 + by, 100]);
  await touch("touchEnd");
  await settled(page);
  const near = await span(page);
  const part = (near[1] - near[0]) / (whole[1] - whole[0]);
  assert.ok(part > 0.25 && part < 0.42, `${part} of it is visible`);
  // One finger moves to a later time without zooming.
  await touch("touchStart", [600, 100]);
  for (const x of [560, 520, 480]) await touch("touchMove", [x, 100]);
  await touch("touchEnd");
  await settled(page);
  const moved = await span(page);
  assert.ok(moved[0] > near[0] && Math.abs(moved[1] - moved[0] - (near[1] - near[0])) <= 1);
  // A tap selects a slice.
  await page.touchscreen.tap(box.x + 600, box.y + 54);
  await settled(page);
  assert.match(await hash(page), /sel=cpu:\d+@/);
  assert.deepEqual(await span(page), moved);
  await page.context().close();
});

test("all controls can be reached and changed by keyboard", { skip, timeout: 300_000 }, async () => {
  const { page } = await opened(at);
  await diagnosed(page);
  for (const key of ["ArrowDown", "r"]) await page.keyboard.press(key);
  await summarised(page);
  for (const panel of ["details", "findings"]) {
    await page.focus(`#tab-${panel === "details" ? "findings" : "details"}`);
    await page.keyboard.press("ArrowRight");
    // All visible controls; one of the tabs is reached by Tab, the others by arrows.
    const all = await page.evaluate(() => {
      const seen = [...document.querySelectorAll("a[href], button, input, select, summary, canvas, [tabindex]")].filter((of) => of.checkVisibility() && of.tabIndex >= 0);
      seen.forEach((of, number) => (of.dataset.number = number));
      return seen.length;
    });
    const reached = new Set();
    for (let n = 0; n < 2 * all + 10 && reached.size < all; n++) {
      await page.keyboard.press("Tab");
      const number = await page.evaluate(() => document.activeElement.dataset.number);
      if (number !== undefined) reached.add(number);
    }
    assert.equal(reached.size, all, `${panel}: all of ${all} are reached by Tab`);
  }
  await page.focus("#colour");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.inputValue("#colour"), "process");
  await page.focus("#theme");
  for (const key of ["End"]) await page.keyboard.press(key);
  assert.equal(await page.getAttribute("html", "data-theme"), "dark");
  await page.focus("#range summary");
  await page.keyboard.press("Enter");
  await openTables(page);
  await page.focus("#range select");
  await page.keyboard.press("End");
  await openTables(page);
  assert.equal(await page.locator("#range .tables tbody").count(), 1);
  await page.focus("#range input[type=checkbox]");
  await page.keyboard.press("Space");
  await page.waitForFunction(() => Number(document.getElementById("timeline").dataset.path) > 0, null, { timeout: 60_000 });
  await page.context().close();
});

test("the text of every panel can be copied as shown", { skip, timeout: 180_000 }, async () => {
  const { page } = await opened(at);
  await diagnosed(page);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  for (const key of ["ArrowDown", "w", "w", "r"]) await page.keyboard.press(key);
  await summarised(page);
  const copied = async (id) => {
    const shown = await page.evaluate((id) => {
      getSelection().selectAllChildren(document.getElementById(id));
      return document.getElementById(id).innerText;
    }, id);
    await page.keyboard.press("Control+c");
    return [shown, await page.evaluate(() => navigator.clipboard.readText())];
  };
  const plain = (text) => text.replace(/\s+/g, " ").trim();
  for (const id of ["name", "summary", "details", "findings", "range", "legend", "help"]) {
    if (id === "findings") await page.click("#tab-findings");
    if (id === "help") await page.click("#help-open");
    const [shown, text] = await copied(id);
    assert.ok(plain(shown).length > 5, `${id} has text`);
    // Controls are not copied, so the copied text is a part of the shown text, and most of it.
    const words = plain(text).split(" ");
    const missing = words.filter((word) => !shown.includes(word));
    assert.deepEqual(missing, [], `${id} contains the copied text`);
    assert.ok(plain(text).length > 0.5 * plain(shown).length, `${id}: ${text}`);
  }
  await page.context().close();
});

test("a changed address is followed, and invalid parts are ignored", { skip }, async () => {
  const { page, wrong } = await opened(at);
  const [, to] = await span(page);
  const go = async (words) => {
    await page.evaluate((words) => (location.hash = words), words);
    await settled(page);
    return hash(page);
  };
  const half = Math.floor(to / 2);
  const link = `#t=1000..${half}&sel=cpu:0@2000&range=3000..4000`;
  assert.equal(await go(link), link);
  await summarised(page);
  await page.waitForSelector("#details :text('CPU 0')");
  // Invalid times, tracks and numbers change nothing.
  for (const invalid of ["#t=9..1", "#t=a..b", "#sel=thread:x@1", "#sel=weather:1@1", "#range=5", "#%00<b>"]) assert.equal(await go(invalid), link, invalid);
  // A time outside the recording is moved into it.
  await go(`#t=${to}..${2 * to}`);
  assert.ok((await span(page))[1] <= to);
  assert.deepEqual(wrong, []);
  await page.context().close();
});
