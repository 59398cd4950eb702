/** The panels, the time range, chains and the search, in a real browser. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import axe from "axe-core";
import { hash, opened, openTables, part, rows, served, settled, skip, summarised } from "./support.mjs";

let at;
before(async () => {
  if (!skip) at = await served(process.env.COREWISE_TRACE);
});
after(() => at?.end());

const words = (page, id) => page.textContent(`#${id}`);
const pair = async (page, word) => (await hash(page)).match(new RegExp(`[#&]${word}=(\\d+)\\.\\.(\\d+)`))?.slice(1).map(Number) ?? null;
const diagnosed = (page) => page.waitForSelector("#findings summary", { state: "attached", timeout: 60_000 });
const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key);
  await settled(page);
};
/** The cells and columns of the shown table. */
const grid = (page) => page.$$eval("#range .tables tbody tr", (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
const columns = (page) => page.$$eval("#range .tables thead th", (all) => all.map((head) => head.textContent));

test("findings are those of the server, and their evidence links to its time and thread", { skip }, async () => {
  const { page, wrong } = await opened(at);
  await diagnosed(page);
  const diagnosis = await (await page.request.get(`${new URL(page.url()).origin}/api/findings`)).json();
  await page.click("#tab-findings");
  assert.equal(await words(page, "tab-findings"), `Findings (${diagnosis.findings.length})`);
  const all = await words(page, "findings");
  for (const rule of diagnosis.checked) assert.ok(all.includes(rule), `${rule} was checked`);
  for (const { why } of diagnosis.not_checked) assert.ok(all.includes(why));
  if (diagnosis.findings.length === 0) assert.match(all, /No problems found \(\d+ rules checked\)/);
  for (const finding of diagnosis.findings) {
    for (const word of [finding.title, finding.rule, finding.confidence, finding.action.what, finding.action.linux]) assert.ok(all.includes(word), word);
  }
  for (const link of (await page.$$("#findings a")).slice(0, 8)) {
    const href = await link.getAttribute("href");
    await page.click("#tab-findings");
    await link.click();
    await settled(page);
    assert.ok((await hash(page)).startsWith(href.match(/^#t=\d+/)[0]), `${href} links there`);
    assert.equal((await hash(page)).match(/sel=[^&]*/)?.[0], href.match(/sel=[^&]*/)?.[0]);
  }
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("a time range has the tables of the report, sortable by any column, and rows link to their thread", { skip }, async () => {
  const { page, wrong } = await opened(at);
  const box = await page.locator("#timeline").boundingBox();
  const ms = (ns) => (Number(ns) / 1e6).toFixed(6);
  // On the ruler; then with Shift, anywhere.
  for (const y of [10, 120]) {
    if (y > 24) await page.keyboard.down("Shift");
    await page.mouse.move(box.x + 300, box.y + y);
    await page.mouse.down();
    await page.mouse.move(box.x + 400 + y, box.y + y, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await settled(page);
    await summarised(page);
    await openTables(page);
    const [from, to] = await pair(page, "range");
    assert.ok(from < to);
    const asked = await part(page, "threads", { from, to, most: 200, by: "running_ns", down: true });
    const cols = await columns(page);
    // Words with units, and neither keys nor their column.
    assert.equal(cols.length, asked.columns.length - 1);
    for (const col of cols) assert.doesNotMatch(col, /_|^thread$/);
    const shown = await grid(page);
    assert.deepEqual(shown.map((row) => row[cols.indexOf("running (ms)")]), asked.rows.map((row) => ms(row.running_ns)));
    assert.deepEqual(shown.map((row) => row[cols.indexOf("TID")]), asked.rows.map((row) => String(row.tid)));
    assert.match(await page.textContent("#range .tables [role=status]"), new RegExp(`^${asked.rows.length} rows, sorted by running \\(ms\\)$`));
  }
  // A second click on the column's head sorts ascending. Then another table.
  await page.click("#range .tables th button:text-is('running (ms)')");
  await page.waitForSelector("#range .tables th[aria-sort=ascending]");
  const at_ = (await columns(page)).indexOf("running (ms)");
  const up = (await grid(page)).map((row) => Number(row[at_]));
  assert.deepEqual(up, [...up].sort((a, b) => a - b));
  await page.selectOption("#range select", "cpus");
  await page.waitForFunction(() => document.querySelector("#range .tables thead").textContent.includes("busy (ms)"));
  await page.click("#range .tables tbody tr:first-child button");
  assert.match(await hash(page), /sel=cpu:\d+@/);
  // Keys of threads are shown by their names.
  await page.selectOption("#range select", "wakers");
  await page.waitForFunction(() => document.querySelector("#range .tables thead").textContent.includes("wakings"));
  await openTables(page);
  const heads = await columns(page);
  assert.ok(heads.includes("waker") && heads.includes("thread") && !heads.some((head) => head.includes("name")), heads.join(", "));
  await page.click("#range .tables tbody tr:first-child button");
  assert.match(await hash(page), /sel=thread:\d+@/);
  // Rows can be copied.
  await page.evaluate(() => getSelection().selectAllChildren(document.querySelector("#range .tables tbody tr")));
  const copied = await page.evaluate(() => getSelection().toString());
  assert.match(copied, /\d+\t\d+/);
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("keys set a time range, move its end, zoom to it, show its critical path, and clear it", { skip }, async () => {
  const { page } = await opened(at);
  await press(page, "w", "w", "r");
  await summarised(page);
  const [from, to] = await pair(page, "range");
  assert.deepEqual([from, to], await pair(page, "t"), "without a selection, the visible time");
  await press(page, "Shift+ArrowLeft");
  const shorter = await pair(page, "range");
  assert.ok(shorter[0] === from && shorter[1] < to);
  await press(page, "0", "z");
  assert.deepEqual(await pair(page, "t"), shorter);
  await press(page, "c");
  await page.waitForFunction(() => Number(document.getElementById("timeline").dataset.path) > 0, null, { timeout: 60_000 });
  const path = await part(page, "critical_path", { from: shorter[0], to: shorter[1], most: 10000 });
  assert.equal(await page.getAttribute("#timeline", "data-path"), String(path.rows.length));
  // An address with a time range shows it again.
  const again = await opened(at, { hash: await hash(page) });
  await summarised(again.page);
  assert.deepEqual(await pair(again.page, "range"), shorter);
  await again.page.context().close();
  await press(page, "c", "Escape");
  assert.equal(await page.getAttribute("#timeline", "data-path"), "0");
  assert.equal(await pair(page, "range"), null);
  assert.ok(await page.locator("#range").isHidden());
  await page.context().close();
});

test("a woken thread shows its chain of wakeups, with arrows and keys to its ends", { skip }, async () => {
  const { page } = await opened(at);
  const [from, to] = await pair(page, "t");
  const all = await rows(page, "thread_state", { from, to });
  const woken = all.find((row) => row.state === "ready" && row.waker > 0n && all.some((w) => w.thread === row.waker && w.state === "running" && w.start_ns < row.start_ns && w.end_ns > row.start_ns));
  const start = Number(woken.start_ns);
  const around = `#t=${Math.max(0, start - 20_000)}..${start + 20_000}`;
  const { page: there } = await opened(at, { hash: `${around}&sel=thread:${woken.thread}@${start}` });
  await there.waitForSelector("#details :text('Chain of wakeups')");
  const chain = await rows(there, null, { thread: woken.thread, at: start }, "/api/chain");
  assert.equal(chain[0].waker, woken.waker);
  assert.equal(chain[0].at_ns, woken.start_ns);
  assert.ok(Number(await there.getAttribute("#timeline", "data-arrows")) >= 1);
  await there.focus("#timeline");
  await press(there, ",");
  assert.ok((await hash(there)).includes(`sel=thread:${woken.waker}@${start - 1}`), "to its waker");
  await there.waitForSelector("#details :text('Woke these threads')");
  const first = all.filter((row) => row.waker === woken.waker && row.state === "ready").find((row) => {
    const running = all.find((w) => w.thread === woken.waker && w.state === "running" && w.start_ns < woken.start_ns && w.end_ns > woken.start_ns);
    return row.start_ns >= running.start_ns && row.start_ns < running.end_ns;
  });
  await press(there, ".");
  assert.ok((await hash(there)).includes(`sel=thread:${first.thread}@${first.start_ns}`), "to the first woken thread");
  await page.context().close();
  await there.context().close();
});

test("a ready slice has a band in the colour of the thread that ran instead", { skip }, async () => {
  const { page } = await opened(at);
  const [from, to] = await pair(page, "t");
  const ready = (await rows(page, "thread_state", { from, to })).filter((row) => row.state === "ready" && row.cpu !== null);
  const longest = ready.reduce((a, b) => (b.end_ns - b.start_ns > a.end_ns - a.start_ns ? b : a));
  const [start, end] = [Number(longest.start_ns), Number(longest.end_ns)];
  const { page: there } = await opened(at, { hash: `#t=${start}..${end}&sel=thread:${longest.thread}@${start}` });
  await settled(there);
  const cpu = await rows(there, "cpu_state", { from: start, to: end, cpu: longest.cpu });
  const middle = (start + end) / 2;
  const instead = cpu.find((row) => Number(row.start_ns) <= middle && Number(row.end_ns) > middle);
  const box = await there.locator("#timeline").boundingBox();
  // The tips of the ready slice and of the CPU's own track, at the same time.
  const x = 190 + (box.width - 190) / 2;
  const tipAt = async (y) => {
    await there.mouse.move(box.x + x, box.y + y);
    return there.evaluate(() => (document.getElementById("tip").hidden ? null : { ...document.getElementById("tip").dataset }));
  };
  let [band, own] = [null, null];
  for (let y = 26; y < box.height && !(band && own); y += 4) {
    const tip = await tipAt(y);
    if (tip?.kind === "thread" && tip.id === String(longest.thread)) band = tip;
    if (tip?.kind === "cpu" && tip.id === String(longest.cpu)) own = tip;
  }
  assert.equal(band?.state, "1", "it is ready there");
  if (instead.state === "busy") assert.equal(own?.what, String(instead.thread));
  const pixel = (y) => there.evaluate(([x, y]) => [...document.getElementById("timeline").getContext("2d").getImageData(x, y, 1, 1).data].slice(0, 3), [Math.floor(x), y]);
  const hex = (part) => `#${part.map((p) => p.toString(16).padStart(2, "0")).join("")}`;
  assert.equal(hex(await pixel(Number(band.base) - 7)), own.colour, "the band");
  assert.equal(hex(await pixel(Number(band.base))), band.colour, "the state below it");
  await page.context().close();
  await there.context().close();
});

test("a search for stretches finds the rows of the table, forwards and backwards", { skip }, async () => {
  const { page } = await opened(at);
  const [from, to] = await pair(page, "t");
  const all = (await rows(page, "thread_state", { from, to })).filter((row) => row.state === "ready" && row.end_ns - row.start_ns > 20_000n);
  assert.ok(all.length >= 2, "the trace has such stretches");
  await press(page, "/");
  await page.keyboard.type("state:ready >20us");
  await page.waitForFunction(() => /\d+( or more)? stretches/.test(document.getElementById("found").textContent));
  if (all.length < 500) assert.equal(await words(page, "found"), `${all.length} stretches`);
  await page.keyboard.press("Enter");
  const place = (row) => `sel=thread:${row.thread}@${row.start_ns}`;
  const goes = (row) => page.waitForFunction((sel) => location.hash.includes(sel), place(row));
  await goes(all[0]);
  await press(page, "Escape", "n");
  await goes(all[1]);
  await press(page, "p");
  await goes(all[0]);
  assert.match(await words(page, "found"), /^1 of \d+/);
  for (const [text, answer] of [["state:asleep", /unknown state asleep/], ["cpu:x", /needs a number/], ["name:no-such-name state:ready", /^0 stretches/]]) {
    await page.fill("#search", text);
    await page.waitForFunction(([source]) => new RegExp(source).test(document.getElementById("found").textContent), [answer.source]);
  }
  await page.context().close();
});

test("the panels can be reached by keyboard, focus is visible, and axe finds no serious violation, light and dark", { skip, timeout: 300_000 }, async () => {
  for (const theme of ["light", "dark"]) {
    const { page } = await opened(at, { theme });
    await diagnosed(page);
    await press(page, "ArrowDown", "r");
    await summarised(page);
    const reached = new Set();
    for (let n = 0; n < 80 && !reached.has("range"); n++) {
      await page.keyboard.press("Tab");
      const focus = await page.evaluate(() => {
        const of = document.activeElement;
        const style = getComputedStyle(of);
        return { at: of.id || of.closest("[id]")?.id, seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 };
      });
      reached.add(focus.at);
      assert.ok(focus.seen, `focus on ${focus.at} is visible`);
      // Arrows move between tabs.
      if (focus.at === "tab-details") await page.keyboard.press("ArrowRight");
    }
    for (const id of ["tab-details", "findings", "range"]) assert.ok(reached.has(id), `${[...reached].join(" ")} has ${id}`);
    await page.evaluate(axe.source);
    // The whole page with one panel; then the other panel and the help.
    for (const [button, part] of [["#tab-details", null], ["#tab-findings", "aside"], ["#help-open", "#help"]]) {
      await page.click(button);
      const found = await page.evaluate((part) => globalThis.axe.run(part ?? document), part);
      const serious = found.violations.filter((v) => v.impact === "serious" || v.impact === "critical");
      assert.deepEqual(serious.map((v) => `${v.id}: ${v.nodes.map((node) => node.target).join(" ")}`), [], `${theme} ${button}`);
    }
    await page.context().close();
  }
});
