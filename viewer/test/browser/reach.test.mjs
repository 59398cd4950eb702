/** That everything can be reached: by keys alone, by touch, by an address, and as text that is copied. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { hash, opened, served, settled, skip } from "./support.mjs";

let at;
before(async () => {
  if (!skip) at = await served(process.env.COREWISE_TRACE);
});
after(() => at?.end());

const span = async (page) => (await hash(page)).match(/t=(\d+)\.\.(\d+)/).slice(1).map(Number);
const diagnosed = (page) => page.waitForSelector("#findings summary", { state: "attached", timeout: 60_000 });
const told = (page) => page.waitForSelector("#range .rows[data-busy=false]", { timeout: 60_000 });

test("fingers move, pinch and choose", { skip }, async () => {
  const { page } = await opened(at, { touch: true });
  const box = await page.locator("#timeline").boundingBox();
  const fingers = await page.context().newCDPSession(page);
  const touch = async (type, ...points) => {
    await fingers.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y], id) => ({ x: box.x + x, y: box.y + y, id })) });
    await page.waitForTimeout(30);
  };
  const whole = await span(page);
  // Two fingers 100 pixels apart go 300 apart: a third is seen, about the place between them.
  await touch("touchStart", [450, 100], [550, 100]);
  for (const by of [25, 50, 75, 100]) await touch("touchMove", [450 - by, 100], [550 + by, 100]);
  await touch("touchEnd");
  await settled(page);
  const near = await span(page);
  const part = (near[1] - near[0]) / (whole[1] - whole[0]);
  assert.ok(part > 0.25 && part < 0.42, `${part} of it is seen`);
  // One finger to the left goes on in time, without another zoom.
  await touch("touchStart", [600, 100]);
  for (const x of [560, 520, 480]) await touch("touchMove", [x, 100]);
  await touch("touchEnd");
  await settled(page);
  const moved = await span(page);
  assert.ok(moved[0] > near[0] && Math.abs(moved[1] - moved[0] - (near[1] - near[0])) <= 1);
  // A tap chooses what is there.
  await page.touchscreen.tap(box.x + 600, box.y + 54);
  await settled(page);
  assert.match(await hash(page), /sel=cpu:\d+@/);
  assert.deepEqual(await span(page), moved);
  await page.context().close();
});

test("keys alone reach all that can be clicked, and change it", { skip, timeout: 120_000 }, async () => {
  const { page } = await opened(at);
  await diagnosed(page);
  for (const key of ["ArrowDown", "r"]) await page.keyboard.press(key);
  await told(page);
  for (const panel of ["details", "findings"]) {
    await page.focus(`#tab-${panel === "details" ? "findings" : "details"}`);
    await page.keyboard.press("ArrowRight");
    // All that is seen and can be clicked; of tabs one is reached by Tab, the others by arrows.
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
  assert.equal(await page.inputValue("#colour"), "state");
  await page.focus("#theme");
  for (const key of ["End"]) await page.keyboard.press(key);
  assert.equal(await page.getAttribute("html", "data-theme"), "dark");
  await page.focus("#range select");
  await page.keyboard.press("End");
  await told(page);
  assert.equal(await page.locator("#range tbody").count(), 1);
  await page.focus("#range input[type=checkbox]");
  await page.keyboard.press("Space");
  await page.waitForFunction(() => Number(document.getElementById("timeline").dataset.path) > 0, null, { timeout: 60_000 });
  await page.context().close();
});

test("the text of every panel is copied as it is read", { skip, timeout: 60_000 }, async () => {
  const { page } = await opened(at);
  await diagnosed(page);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  for (const key of ["ArrowDown", "w", "w", "r"]) await page.keyboard.press(key);
  await told(page);
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
    assert.ok(plain(shown).length > 5, `${id} says something`);
    // Controls are no text: what is copied of a panel with some is in it, and most of it.
    const words = plain(text).split(" ");
    const missing = words.filter((word) => !shown.includes(word));
    assert.deepEqual(missing, [], `${id} shows what is copied`);
    assert.ok(plain(text).length > 0.5 * plain(shown).length, `${id}: ${text}`);
  }
  await page.context().close();
});

test("an address is followed when it changes, as far as it makes sense", { skip }, async () => {
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
  await told(page);
  await page.waitForSelector("#details :text('CPU 0')");
  // Words that are no time, no track and no number change nothing.
  for (const nonsense of ["#t=9..1", "#t=a..b", "#sel=thread:x@1", "#sel=weather:1@1", "#range=5", "#%00<b>"]) assert.equal(await go(nonsense), link, nonsense);
  // A time beyond the recording is one within it.
  await go(`#t=${to}..${2 * to}`);
  assert.ok((await span(page))[1] <= to);
  assert.deepEqual(wrong, []);
  await page.context().close();
});
