/**
 * Five questions to recordings of others, from the bare page: why was this frame slow, which threads ran on E-cores, who preempted my
 * render thread, is SMT hurting me, what changed. Each is answered with one command of the terminal and at most three actions, and the
 * threads and times that can be seen are those that the command line prints.
 */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { assertSeen, found, lacking, ms, picture, printed, viewing } from "./questions.mjs";
import { settled, summarised } from "./support.mjs";

/** The most actions to an answer. */
const MOST = 3;

/** Machine descriptions for recordings that do not have them. */
const JUNO = "trace-dat/lisa__trace_txt_plat_info.yml";
const LISA = "trace-dat/lisa__trace_txt.txt";
const LOAD = "trace-dat/lisa__sched_load_trace.dat";
const PHONE = "systrace/catapult__android_systrace.html";
const LOG = "presentmon-csv/PresentMon__test_case_0.csv";
const PERFETTO = "perfetto/Microsoft-Performance-Tools-Linux-Android__test_trace.perfetto-trace";

const described = (machine) => (machine === undefined ? [] : ["--machine", machine]);
const summary = (page) => page.$$eval("#range .summary tbody tr", (rows) => rows.map((row) => ({ thread: Number(row.dataset.thread), cells: [...row.cells].map((cell) => cell.textContent) })));
const heads = (page) => page.$$eval("#range .summary thead th", (all) => all.map((of) => of.textContent));
const cell = (page, thread, at) => page.locator(`#range .summary tbody tr[data-thread="${thread}"] > :nth-child(${at + 1})`);
const sorted = (page, text) => page.click(`#range .summary th button:text-is('${text}')`);

/** Runs a question, and checks the number of actions and that the page reported no errors. */
async function asked(files, words, question) {
  const view = await viewing(files.map((file) => found(file) ?? file), { words });
  try {
    await question(view);
    assert.ok(view.user.actions <= MOST, `${view.user.actions} actions`);
    assert.deepEqual(view.wrong, []);
  } finally {
    await view.end();
  }
}

/** Chooses the slowest frame, and compares the causes that can be seen with rows of the command line. */
async function slowest({ page, user }, name, rows, frameNs) {
  const causes = rows.sort((a, b) => b.time_ns - a.time_ns || b.typical_ns - a.typical_ns);
  await user.click("#tab-frames");
  await page.waitForSelector("#frames[data-busy=false] table.list", { timeout: 60_000 });
  await user.click("#frames tbody tr:first-child button");
  await page.waitForSelector("#frames [data-busy=false] .causes", { timeout: 60_000 });
  await settled(page);
  await picture(page, `frame-${name}`);
  const title = page.locator("#frames h2");
  await assertSeen(title);
  assert.ok((await title.textContent()).startsWith(`${ms(frameNs)} ms`), await title.textContent());
  assert.ok((await title.textContent()).includes(causes[0].thread_name), `${await title.textContent()} names ${causes[0].thread_name}`);
  const shown = page.locator("#frames table.explained tbody tr:not(.sum)");
  // The largest cause, and all others that are listed.
  await assertSeen(shown.first());
  assert.ok((await shown.count()) >= Math.min(causes.length, 6));
  for (const [at, of] of causes.slice(0, 6).entries()) {
    const [label, time] = await shown.nth(at).locator("td").allTextContents();
    assert.equal(time, ms(of.time_ns));
    if (of.queued_behind_name) assert.ok(label.includes(of.queued_behind_name), `${label} names ${of.queued_behind_name}`);
    if (of.path_thread_name && of.path_thread !== of.thread) assert.ok(label.includes(of.path_thread_name), `${label} names ${of.path_thread_name}`);
  }
  assert.equal(await page.textContent("#frames tr.sum td:nth-child(2)"), ms(frameNs));
}

test("why was this frame slow: an Android app's frames", { skip: lacking(PHONE), timeout: 300_000 }, async () => {
  const rows = printed("table", found(PHONE), "slow_frames", "--slowest", "1");
  await asked([PHONE], [], (view) => slowest(view, "systrace", rows, rows[0].frame_ns));
});

for (const [name, file] of [["ftrace text of a big.LITTLE board", LISA], ["Perfetto trace of a phone", PERFETTO]]) {
  test(`why was this period slow: ${name}`, { skip: lacking(file), timeout: 300_000 }, async () => {
    // Without frames: the periods of the thread that ran most.
    const running = new Map(printed("table", found(file), "threads").map((of) => [of.thread, of.running_ns]));
    const rows = printed("table", found(file), "slow_intervals", "--slowest", "1").filter((of) => of.kind === "period");
    const most = Math.max(...rows.map((of) => running.get(of.thread)));
    const own = rows.filter((of) => running.get(of.thread) === most);
    await asked([file], [], (view) => slowest(view, name.split(" ")[0], own, own[0].took_ns));
  });
}

// A frame log has no threads: it says what the frame's time was, on the CPU and the GPU.
test("why was this frame slow: a frame log", { skip: lacking(LOG), timeout: 300_000 }, async () => {
  const [frame] = printed("table", found(LOG), "frames").sort((a, b) => b.frame_ns - a.frame_ns);
  await asked([LOG], [], async ({ page, user }) => {
    await user.click("#tab-frames");
    await page.waitForSelector("#frames[data-busy=false] table.list", { timeout: 60_000 });
    await user.click("#frames tbody tr:first-child button");
    await page.waitForSelector("#frames [data-busy=false] h2");
    await settled(page);
    await picture(page, "frame-log");
    const title = page.locator("#frames h2");
    await assertSeen(title);
    assert.ok((await title.textContent()).startsWith(`${ms(frame.frame_ns)} ms`));
    assert.ok((await title.textContent()).includes(frame.application));
    const fact = (name) => page.locator("#frames tr", { has: page.locator("th", { hasText: new RegExp(`^${name}$`) }) });
    await assertSeen(fact("bound"));
    assert.equal(await fact("bound").locator("td").textContent(), frame.bound);
    for (const name of ["cpu", "gpu"]) {
      await assertSeen(fact(`${name} busy`));
      const [, time, unit] = (await fact(`${name} busy`).locator("td").textContent()).match(/^([\d.]+) (µs|ms)$/);
      assert.ok(Math.abs(Number(time) * { "µs": 1e3, ms: 1e6 }[unit] - frame[`${name}_busy_ns`]) < 500, `${name}: ${time} ${unit}`);
    }
  });
});

for (const file of [LISA, LOAD, "trace-dat/trappy__trace_idle.dat"]) {
  test(`which threads ran on E-cores: ${file}`, { skip: lacking(file, JUNO), timeout: 300_000 }, async () => {
    const machine = described(found(JUNO));
    const rows = printed("table", found(file), "thread_by_core_type", ...machine).filter((of) => of.core_type === "efficient" && of.running_ns > 0);
    rows.sort((a, b) => b.running_ns - a.running_ns);
    assert.ok(rows.length > 3);
    await asked([file], machine, async ({ page, user }) => {
      await user.press("r");
      await summarised(page);
      const at = (await heads(page)).indexOf("on P / E cores (ms)");
      user.actions++;
      await sorted(page, "on P / E cores (ms)");
      await picture(page, `cores-${file.split("__")[1]}`);
      const seen = (await summary(page)).map((row) => [row.cells[0], row.cells[at].split(" / ")[1]]).filter(([, time]) => time !== undefined && time !== "0.000");
      const wanted = rows.map((of) => [`${of.thread_name} ${of.tid}`, ms(of.running_ns)]).filter(([, time]) => time !== "0.000");
      assert.deepEqual(seen.slice().sort(), wanted.slice().sort());
      assert.deepEqual(seen[0], wanted[0]);
      await assertSeen(cell(page, rows[0].thread, 0));
      await assertSeen(cell(page, rows[0].thread, at));
    });
  });
}

for (const file of [LISA, PERFETTO, "schedviz/schedviz__test.tar.gz"]) {
  test(`who preempted my render thread: ${file}`, { skip: lacking(file), timeout: 300_000 }, async () => {
    const causes = printed("table", found(file), "switch_causes").filter((of) => of.cause === "preempted" && of.ready_ns > 0);
    const running = printed("table", found(file), "threads").sort((a, b) => b.running_ns - a.running_ns);
    // The main thread: the one that ran most, of those that were preempted.
    const main = running.find((of) => causes.some((cause) => cause.thread === of.thread));
    const times = new Map();
    const name = (key) => { const of = running.find((of) => of.thread === key); return `${of.name} ${of.tid}`; };
    for (const of of causes.filter((of) => of.thread === main.thread)) times.set(name(of.preemptor), (times.get(name(of.preemptor)) ?? 0) + of.ready_ns);
    const [preemptor, time] = [...times].sort((a, b) => b[1] - a[1])[0];
    await asked([file], [], async ({ page, user }) => {
      await user.press("r");
      await summarised(page);
      await picture(page, `preempted-${file.split("__")[1]}`);
      const at = (await heads(page)).indexOf("preempted by (ms)");
      const answer = cell(page, main.thread, at);
      assert.equal(await answer.textContent(), `${preemptor}${ms(time)}`);
      assert.equal(await cell(page, main.thread, 0).textContent(), `${main.name} ${main.tid}`);
      await assertSeen(cell(page, main.thread, 0));
      await assertSeen(answer);
    });
  });
}

/** Two cores with two CPUs each: what a recording with four CPUs is described as, since it says nothing of its cores. */
const FOUR = 'arch = "x86_64"\n[[cpus]]\nids = "0-3"\ntype = "uniform"\nsiblings = ["0-1", "2-3"]\n';
const EIGHT = 'arch = "x86_64"\n[[cpus]]\nids = "0-7"\ntype = "uniform"\nsiblings = ["0-1", "2-3", "4-5", "6-7"]\n';

// No recording of others here has both switches and its SMT siblings. The guest's siblings are real; those of the others are assumed.
for (const [file, machine] of [["guests/x86smt-6.1-omp8/trace.dat", null], ["schedviz/schedviz__ebpf_trace.tar.gz", FOUR], ["ctf/tracecompass__many-threads", EIGHT]]) {
  test(`is SMT hurting me: ${file}`, { skip: lacking(file), timeout: 300_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "corewise-smt-"));
    const board = join(folder, "machine.toml");
    if (machine !== null) writeFileSync(board, machine);
    const words = described(machine === null ? found("guests/x86smt-6.1-omp8/sys.tar.gz") : board);
    const rows = printed("table", found(file), "smt_threads", ...words).filter((of) => of.sibling_busy_ns > 0).sort((a, b) => b.sibling_busy_ns - a.sibling_busy_ns);
    assert.ok(rows.length > 3);
    await asked([file], words, async ({ page, user }) => {
      await user.press("r");
      await summarised(page);
      const at = (await heads(page)).indexOf("SMT sibling busy (ms)");
      user.actions++;
      await sorted(page, "SMT sibling busy (ms)");
      await picture(page, `smt-${file.split("/")[1]}`);
      const seen = (await summary(page)).slice(0, Math.min(rows.length, 50)).map((row) => row.cells[at]);
      assert.deepEqual(seen, rows.slice(0, 50).map((of) => ms(of.sibling_busy_ns)));
      assert.equal((await summary(page))[0].cells[0], `${rows[0].thread_name} ${rows[0].tid}`);
      await assertSeen(cell(page, rows[0].thread, 0));
      await assertSeen(cell(page, rows[0].thread, at));
    });
    rmSync(folder, { recursive: true });
  });
}

for (const [a, b] of [[LISA, LOAD], [LISA, "trace-dat/trappy__trace_idle.dat"], ["schedviz/schedviz__test.tar.gz", "schedviz/schedviz__ebpf_trace.tar.gz"]]) {
  test(`what changed: ${a} and ${b}`, { skip: lacking(a, b), timeout: 300_000 }, async () => {
    const compared = printed("compare", found(a), found(b), "--across");
    await asked([a, b], [], async ({ page, user }) => {
      await page.waitForSelector("#roles:not([hidden])", { timeout: 60_000 });
      // The answer is there without an action.
      assert.ok((await page.textContent("#answer")).startsWith(compared.answer), await page.textContent("#answer"));
      await assertSeen(page.locator("#answer"));
      await user.click("#roles summary");
      await picture(page, `changed-${a.split("__")[1]}-${b.split("__")[1]}`);
      const names = await page.$$eval("#roles thead th", (all) => all.map((of) => of.textContent));
      const rows = await page.$$eval("#roles tbody tr", (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
      // All times of roles that the command line compares, as far as both list them.
      const times = compared.metrics.filter((of) => of.metric.role !== null && of.metric.unit === "ns" && of.values.every((side) => side.length === 1));
      let equal = 0;
      for (const { metric, values } of times) {
        const row = rows.find(([name]) => name === metric.role);
        const at = names.indexOf(`${metric.title} (ms)`);
        if (!row || at < 0) continue;
        assert.equal(row[at], `${ms(values[0][0])} → ${ms(values[1][0])}`, `${metric.role}: ${metric.title}`);
        equal++;
      }
      assert.ok(equal > 0, `${equal} of ${times.length} times of roles are compared`);
      // The largest change comes first, and can be seen.
      const size = (row) => { const [x, y] = row[1].split(" → ").map((of) => (of === "–" ? 0 : Number(of))); return Math.abs(y - x); };
      const own = rows.map(size);
      assert.ok(own[0] >= own[1], `${own[0]} before ${own[1]}`);
      await assertSeen(page.locator("#roles tbody tr:first-child th"));
      await assertSeen(page.locator("#roles tbody tr:first-child td").first());
    });
  });
}
