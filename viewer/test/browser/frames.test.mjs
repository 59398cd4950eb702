/** Frames and findings lead to their places: what is shown is what the command line's tables have, in a real browser. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import axe from "axe-core";
import { hash, opened, pictures, served, servedFile, servedText, settled, skip } from "./support.mjs";

/** Five frames of a phone's app, of which one waits 3 ms for `<b>other`, and an instant and a step that are no frames. `late` begins near the end. */
const PHONE = `# tracer: nop
   swapper-0     [000] ...1 1.000000: sched_switch: prev_comm=swapper prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=app next_pid=7 next_prio=120
       app-7     [000] ...1 1.000500: tracing_mark_write: I|7|vsync
       app-7     [000] ...1 1.001000: tracing_mark_write: B|7|Choreographer#doFrame 11
       app-7     [000] ...1 1.002000: tracing_mark_write: B|7|notifyFramePending
       app-7     [000] ...1 1.002500: tracing_mark_write: E
       app-7     [000] ...1 1.005000: tracing_mark_write: E
       app-7     [000] ...1 1.006000: tracing_mark_write: B|7|Choreographer#doFrame 12
       app-7     [000] ...1 1.008000: sched_switch: prev_comm=app prev_pid=7 prev_prio=120 prev_state=R ==> next_comm=<b>other next_pid=8 next_prio=110
     other-8     [000] ...1 1.011000: sched_switch: prev_comm=<b>other prev_pid=8 prev_prio=110 prev_state=S ==> next_comm=app next_pid=7 next_prio=120
       app-7     [000] ...1 1.015000: tracing_mark_write: E
       app-7     [000] ...1 1.016000: tracing_mark_write: B|7|Choreographer#doFrame 13
       app-7     [000] ...1 1.020000: tracing_mark_write: E
       app-7     [000] ...1 1.021000: tracing_mark_write: B|7|Choreographer#doFrame 14
       app-7     [000] ...1 1.026000: tracing_mark_write: E
       app-7     [000] ...1 1.030000: tracing_mark_write: B|7|Choreographer#doFrame 15
       app-7     [000] ...1 1.034500: tracing_mark_write: E
       app-7     [000] ...1 1.034800: sched_wakeup_new: comm=late pid=9 prio=120 success=1 target_cpu=000
       app-7     [000] ...1 1.035000: sched_switch: prev_comm=app prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=late next_pid=9 next_prio=120
      late-9     [000] ...1 1.040000: sched_switch: prev_comm=late prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=swapper next_pid=0 next_prio=120
`;

/** Returns a table as the command line prints it. */
function table(trace, name, ...options) {
  const text = execFileSync(process.env.COREWISE, ["table", trace, name, "--format", "csv", ...options], { encoding: "utf8" });
  const [head, ...lines] = text.trim().split(/\r?\n/).map((line) => line.split(","));
  return lines.map((cells) => Object.fromEntries(cells.map((cell, at) => [head[at], /^-?\d+$/.test(cell) ? Number(cell) : cell])));
}

const ms = (ns) => (ns / 1e6).toFixed(3);
const lists = (page) => page.waitForSelector("#frames[data-busy=false] table.list", { state: "attached" });
const column = (page, at) => page.$$eval("#frames table.list:not(.explained) tbody tr", (rows, at) => rows.map((row) => row.cells[at].textContent), at);
const range = async (page) => (await hash(page)).match(/range=(\d+)\.\.(\d+)/)?.slice(1).map(Number) ?? null;
const explained = async (page) => {
  await page.waitForSelector("#frames [data-busy=false] .causes");
  await settled(page);
};

let phone;
before(async () => {
  if (!skip) phone = await servedText(PHONE);
});
after(() => phone?.end());

test("frames are found without being asked; a click shows why one was slow, as the table of the command line", { skip }, async () => {
  const { page, wrong } = await opened(phone);
  await page.waitForFunction(() => document.getElementById("tab-frames").textContent === "Frames (5)");
  await page.click("#tab-frames");
  await lists(page);
  const slow = table(phone.trace, "slow_frames", "--frames-of", "Choreographer#doFrame *", "--slowest", "100");
  const frames = slow.filter((row, at) => slow.findIndex((other) => other.rank === row.rank) === at);
  assert.deepEqual((await column(page, 0)).slice(0, frames.length), frames.map((row) => ms(row.frame_ns)));
  assert.deepEqual((await column(page, 1)).slice(0, frames.length), frames.map((row) => ms(row.over_ns)));
  assert.match(await page.textContent("#frames [role=status]"), new RegExp(`^${frames.length} of 5 over the budget of ${ms(frames[0].budget_ns)} ms \\(the median\\)`));
  // The numbers of the histogram are those of all frames.
  const counts = await page.$$eval("#frames .column title", (all) => all.map((title) => Number(title.textContent.match(/: (\d+)$/)[1])));
  assert.equal(counts.reduce((sum, count) => sum + count, 0), 5);
  await page.click("#frames tbody tr:first-child button");
  await explained(page);
  const causes = slow.filter((row) => row.rank === 1);
  assert.equal(frames[0].start_ns, 6_000_000);
  assert.deepEqual(await range(page), [frames[0].start_ns, frames[0].end_ns], "its time is marked");
  const [from, to] = (await hash(page)).match(/t=(\d+)\.\.(\d+)/).slice(1).map(Number);
  assert.ok(from < frames[0].start_ns && to > frames[0].end_ns && to - from < 4 * frames[0].frame_ns, "and can be seen");
  assert.equal(await page.getAttribute("#tab-frames", "aria-selected"), "true", "the panel stays");
  // The bar's pieces sum to the frame time, and are the causes of the table.
  const pieces = await page.$$eval("#frames .causes .cause", (all) => all.map((piece) => [piece.className.split(" ")[1], Number(piece.dataset.ns), piece.getBoundingClientRect().width]));
  const wanted = causes.filter((row) => row.time_ns > 0).sort((a, b) => b.time_ns - a.time_ns);
  assert.deepEqual(pieces.map(([cause, ns]) => [cause, ns]), wanted.map((row) => [row.cause, row.time_ns]));
  assert.equal(pieces.reduce((sum, [, ns]) => sum + ns, 0), frames[0].frame_ns);
  const width = pieces.reduce((sum, [, , width]) => sum + width, 0);
  for (const [cause, ns, own] of pieces) assert.ok(Math.abs(own / width - ns / frames[0].frame_ns) < 0.02, `${cause} takes its share`);
  const words = await page.textContent("#frames table.explained");
  const ready = causes.find((row) => row.cause === "ready");
  assert.equal(ready.queued_behind_name, "<b>other");
  for (const word of [`ready, queued behind ${ready.queued_behind_name}`, ms(ready.time_ns), ms(ready.excess_ns)]) assert.ok(words.includes(word), `${words} has ${word}`);
  assert.equal(await page.textContent("#frames tr.sum td:nth-child(2)"), ms(frames[0].frame_ns));
  // The critical path to the end of the app's thread is drawn, and the thread is on top.
  const path = table(phone.trace, "critical_path", "--thread", "7", "--range", `${frames[0].start_ns}ns..${frames[0].end_ns}ns`);
  await page.waitForFunction((count) => document.getElementById("timeline").dataset.path === String(count), path.length);
  assert.match(await hash(page), new RegExp(`pin\\W+thread:${causes[0].thread}`));
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("the previous and next frame are reached with buttons and keys, by length or time, and a budget can be set", { skip }, async () => {
  const { page, wrong } = await opened(phone);
  await page.waitForFunction(() => document.getElementById("tab-frames").textContent === "Frames (5)");
  const starts = () => column(page, 2);
  await page.focus("#timeline");
  await page.keyboard.press("]");
  await explained(page);
  assert.equal(await page.getAttribute("#tab-frames", "aria-selected"), "true", "the key opens the panel");
  assert.deepEqual(await range(page), [6_000_000, 15_000_000], "the first key goes to the slowest");
  await page.keyboard.press("]");
  await page.waitForFunction(() => location.hash.includes("range=21000000..26000000"));
  await page.click("#frames button:text-is('Next')");
  await page.waitForFunction(() => location.hash.includes("range=30000000..34500000"));
  await page.keyboard.press("[");
  await page.waitForFunction(() => location.hash.includes("range=21000000..26000000"));
  await page.click("#frames button:text-is('Previous')");
  await page.waitForFunction(() => location.hash.includes("range=6000000..15000000"));
  assert.ok(await page.isDisabled("#frames button:text-is('Previous')"), "there is no slower one");
  await page.click("#frames th button:text-is('start')");
  assert.deepEqual(await starts(), ["0.001000 s", "0.006000 s", "0.016000 s", "0.021000 s", "0.030000 s"]);
  await page.focus("#timeline");
  await page.keyboard.press("[");
  await page.waitForFunction(() => location.hash.includes("range=1000000..5000000"));
  // Budgets: those of the table, and none that is not a time.
  await page.fill("#frames input", "200Hz");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("#frames [role=status]").textContent.startsWith("1 of 5 over the budget of 5.000 ms"));
  assert.equal(new Set(table(phone.trace, "slow_frames", "--frames-of", "Choreographer#doFrame *", "--budget", "5ms").map((row) => row.rank)).size, 1);
  await page.fill("#frames input", "fast");
  await page.keyboard.press("Enter");
  assert.match(await page.textContent("#frames [role=status]"), /^fast is not a time/);
  // Other marks can be listed instead.
  await page.fill("#frames input", "");
  await page.selectOption("#frames select", "mark:notifyFramePending");
  await page.waitForFunction(() => document.querySelector("#frames [role=status]").textContent.startsWith("0 of 1 over"));
  assert.deepEqual(await column(page, 0), ["0.500"]);
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("axe finds no serious violation in the panel of frames, light and dark", { skip }, async () => {
  for (const theme of ["light", "dark"]) {
    const { page } = await opened(phone, { theme });
    await page.waitForFunction(() => document.getElementById("tab-frames").textContent === "Frames (5)");
    await page.focus("#timeline");
    await page.keyboard.press("]");
    await explained(page);
    await page.evaluate(axe.source);
    const found = await page.evaluate(() => globalThis.axe.run("aside"));
    const serious = found.violations.filter((v) => v.impact === "serious" || v.impact === "critical");
    assert.deepEqual(serious.map((v) => `${v.id}: ${v.nodes.map((node) => node.html).join(" ")}`), [], theme);
    await page.context().close();
  }
});

test("a frame log is listed with its frames' own facts, as in the table of the command line", { skip }, async () => {
  const log = await servedFile("present_mon/v2.csv");
  try {
    const { page, wrong } = await opened(log);
    const frames = table(log.trace, "frames").filter((row) => row.frame_ns > 0);
    await page.waitForFunction((count) => document.getElementById("tab-frames").textContent === `Frames (${count})`, frames.length);
    await page.click("#tab-frames");
    await lists(page);
    const sorted = frames.map((row) => row.frame_ns).sort((a, b) => b - a);
    assert.deepEqual(await column(page, 0), sorted.slice(0, 100).map(ms));
    const slowest = frames.find((row) => row.frame_ns === sorted[0]);
    await page.click("#frames tbody tr:first-child button");
    await page.waitForSelector("#frames [data-busy=false]");
    assert.deepEqual(await range(page), [slowest.start_ns, slowest.start_ns + slowest.frame_ns]);
    const words = await page.textContent("#frames");
    assert.ok(words.includes("The frame log has no threads") && words.includes(slowest.bound), words);
    assert.deepEqual(wrong, []);
    await page.context().close();
  } finally {
    await log.end();
  }
});

test("a finding lists its three worst intervals; a click goes to one, on top, highlighted, and the panel stays", { skip }, async () => {
  const at = await served();
  try {
    const diagnosis = JSON.parse(execFileSync(process.env.COREWISE, ["diagnose", at.trace, "--format", "json"], { encoding: "utf8" }));
    const timed = diagnosis.findings.filter((finding) => finding.worst.length > 0);
    assert.ok(timed.length > 0, "the fixture has findings with intervals");
    const { page, wrong } = await opened(at);
    await page.waitForSelector("#findings summary", { state: "attached", timeout: 60_000 });
    await page.click("#tab-findings");
    assert.equal(await page.locator("#findings > ol > .finding > ol.worst").count(), diagnosis.findings.length, "each finding has places");
    for (const [at, finding] of diagnosis.findings.entries()) {
      const links = await page.$$(`#findings > ol > .finding:nth-child(${at + 1}) > ol.worst a`);
      assert.ok(links.length > 0 && links.length <= 3);
      if (finding.worst.length === 0) continue;
      assert.equal(links.length, finding.worst.length);
      for (const [at, of] of [...finding.worst].sort((a, b) => b.end_ns - b.start_ns - (a.end_ns - a.start_ns)).entries()) {
        const label = await links[at].textContent();
        for (const word of [`${ms(of.end_ns - of.start_ns)} ms`, `${of.name} ${of.tid}`, of.state, of.cause]) assert.ok(label.includes(word), `${label} has ${word}`);
        await links[at].click();
        await settled(page);
        const [from, to] = (await hash(page)).match(/t=(\d+)\.\.(\d+)/).slice(1).map(Number);
        assert.ok(from <= of.start_ns && to >= of.end_ns, "it is in the view");
        assert.ok(of.end_ns - of.start_ns >= (to - from) / 5 || to - from < 1000, "at a zoom at which it can be seen");
        assert.equal(await page.getAttribute("#timeline", "data-evidence"), `${of.thread}@${of.start_ns}..${of.end_ns}`);
        assert.match(await hash(page), new RegExp(`sel=thread:${of.thread}@${of.start_ns}`));
        assert.equal(await page.getAttribute("#tab-findings", "aria-selected"), "true", "the panel stays");
        // The thread's track is the first one under the axis, after the line of the pinned tracks.
        const box = await page.locator("#timeline").boundingBox();
        const ratio = (((of.start_ns + of.end_ns) / 2 - from) / (to - from));
        await page.mouse.move(box.x + 190 + ratio * (box.width - 190), box.y + 24 + 20 + 9);
        await pictures(page);
        const tip = await page.evaluate(() => ({ ...document.getElementById("tip").dataset }));
        assert.deepEqual([tip.kind, tip.id], ["thread", String(of.thread)]);
        // The tracks below the pinned ones are painted too.
        await page.mouse.move(0, 0);
        const painted = await page.evaluate(async ([x, from, to]) => {
          const [canvas, tip] = ["timeline", "tip"].map((id) => document.getElementById(id));
          for (let y = from; y < to; y += 4) {
            const { left, top } = canvas.getBoundingClientRect();
            canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: left + x, clientY: top + y, bubbles: true }));
            const { kind, colour, base } = tip.dataset;
            if (tip.hidden || kind !== "cpu") continue;
            const pixel = [...canvas.getContext("2d").getImageData(Math.floor(x), Number(base), 1, 1).data].slice(0, 3);
            return [colour, `#${pixel.map((part) => part.toString(16).padStart(2, "0")).join("")}`];
          }
          return null;
        }, [190 + ratio * (box.width - 190), 100, box.height]);
        assert.ok(painted, "a CPU's track is in view");
        assert.equal(painted[1], painted[0]);
      }
    }
    // Escape removes the highlight and the selection.
    await page.focus("#timeline");
    await page.keyboard.press("Escape");
    assert.equal(await page.getAttribute("#timeline", "data-evidence"), "");
    assert.deepEqual(wrong, []);
    await page.context().close();
  } finally {
    await at.end();
  }
});

test("a frame that is selected on its track leads to its causes", { skip }, async () => {
  const { page } = await opened(phone);
  await page.waitForFunction(() => document.getElementById("tab-frames").textContent === "Frames (5)");
  const about = await (await page.request.get(`${new URL(page.url()).origin}/api/about`)).json();
  const lane = about.kinds.find((of) => of.kind === "marks").lanes.find((of) => of.label.startsWith("Choreographer#doFrame 12"));
  const { page: there } = await opened(phone, { hash: `#t=0..40000000&sel=marks:${lane.track}@7000000` });
  await there.waitForFunction(() => document.getElementById("tab-frames").textContent === "Frames (5)");
  await there.focus("#timeline");
  await there.keyboard.press("ArrowRight");
  await there.keyboard.press("ArrowLeft");
  await there.click("#details button:text-is('Show why it took 9.000 ms')");
  await explained(there);
  assert.deepEqual(await range(there), [6_000_000, 15_000_000]);
  await page.context().close();
  await there.context().close();
});

test("nothing is selected before its thread exists", { skip }, async () => {
  const late = table(phone.trace, "threads").find((row) => row.name === "late");
  assert.equal(late.begin_ns, 34_800_000);
  const { page } = await opened(phone, { hash: `#t=0..40000000&sel=thread:${late.thread}@1000` });
  assert.match(await hash(page), new RegExp(`sel=thread:${late.thread}@34800000`));
  await page.context().close();
});
