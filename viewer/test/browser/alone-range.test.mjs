/** A page of one file answers time ranges from its own data, with the figures of the server. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { build } from "esbuild";
import { opened, openedFile, part, served, settled, skip } from "./support.mjs";

let at;
before(async () => {
  if (!skip) at = await served(process.env.COREWISE_TRACE);
});
after(() => at?.end());

const go = async (page, hash) => {
  await page.evaluate((hash) => (location.hash = hash), hash);
  await settled(page);
};

/** Runs the page's own code (src/alone.ts) on the blocks of a page; returns a function that asks it for a table of a range. */
async function asking(file) {
  const outfile = new URL("../../build/alone-range.mjs", import.meta.url).pathname;
  await build({ entryPoints: [new URL("../../src/alone.ts", import.meta.url).pathname], bundle: true, platform: "node", format: "esm", outfile, logLevel: "warning" });
  const text = readFileSync(file, "utf8");
  const blocks = new Map([...text.matchAll(/<script type="text\/plain" id="data-([^"]+)">([^<]*)<\/script>/g)].map(([, name, content]) => [`data-${name}`, { textContent: content }]));
  globalThis.document = { getElementById: (id) => blocks.get(id) ?? null };
  globalThis.location ??= { search: "" };
  const { alone } = await import(outfile);
  const source = alone();
  return async (name, from, to) => {
    try {
      const { columns, ...rest } = await source.part(name, { from, to }, { most: 10_000 });
      return { ...rest, columns: columns.map((column) => column.name) };
    } catch (why) {
      return why.message;
    }
  };
}

/** Sums the rows of the server by the columns that the page has, apart from the one that is summed. */
function summed(table, columns, sum) {
  const sums = new Map();
  for (const row of table.rows) {
    const key = JSON.stringify(columns.filter((name) => !sum.includes(name)).map((name) => (typeof row[name] === "bigint" ? Number(row[name]) : (row[name] ?? null))));
    const before = sums.get(key) ?? sum.map(() => 0);
    sums.set(key, before.map((old, i) => old + Number(row[sum[i]] ?? 0)));
  }
  return [...sums].map(([key, values]) => `${key} ${values}`).sort();
}

test("tables for a part are those of the server", { skip, timeout: 300_000 }, async () => {
  const { file } = at.file("ranges.html");
  const its = await asking(file);
  const { page: own } = await opened(at);
  const whole = Number((await own.evaluate(() => location.hash)).match(/\.\.(\d+)/)[1]);
  const tables = {
    threads: ["running_ns", "ready_ns", "blocked_ns", "blocked_or_ready_ns", "unknown_ns", "exited_ns", "max_ready_ns"],
    thread_by_core_type: ["running_ns"],
    cpus: ["busy_ns", "idle_ns", "unknown_ns"],
    waits: ["waits", "blocked_ns"],
    ran_instead: ["ready_ns"],
  };
  let compared = 0;
  for (const [from, to] of [[0, 0.5], [0.25, 0.75], [0.6, 1], [0.5, 0.51], [0.001, 0.999]].map((of) => of.map((share) => Math.round(share * whole)))) {
    for (const [name, sum] of Object.entries(tables)) {
      const got = await its(name, from, to);
      assert.equal(typeof got, "object", `${name}: ${got}`);
      const columns = got.columns.filter((column) => column !== "share");
      const objects = got.rows.map((row) => Object.fromEntries(got.columns.map((column, i) => [column, row[i]])));
      const server = await part(own, name, { from, to, most: 10_000 });
      for (const column of got.columns) assert.ok(server.columns.includes(column), `${name} of the server has ${column}`);
      const of = (columns) => [summed({ rows: objects }, columns, sum), summed(server, columns, sum)];
      const [page, exact] = of(columns);
      compared += objects.length;
      if (name !== "ran_instead") {
        assert.deepEqual(page, exact, `${name} of ${from}..${to}`);
        continue;
      }
      // The page does not have the moves of ready threads to other CPUs, and says so: a thread was moved here. Sums are those of the server.
      assert.match(got.caution, /moves of ready threads to other CPUs are not in this page/);
      assert.deepEqual(...of(["thread", "tid", "ready_ns"]));
      const threads = new Set(exact.filter((row) => !page.includes(row)).map((row) => JSON.parse(row.slice(0, row.lastIndexOf("]") + 1))[0]));
      const all = new Set(exact.map((row) => JSON.parse(row.slice(0, row.lastIndexOf("]") + 1))[0]));
      assert.ok(threads.size <= Math.max(1, all.size / 5), `${threads.size} of ${all.size} threads differ at ${from}..${to}`);
    }
  }
  assert.ok(compared > 100, `${compared} rows`);
  // What the page has no data for, it says.
  assert.match(await its("concurrency", 0, whole / 2), /only for the whole recording .*for others, open the recording with `corewise view`/);
  assert.match((await its("threads", 0, whole / 2)).lacks, /^Charged time, switches and migrations are not in this page\.$/);
  await own.context().close();
});

test("a dragged range shows what the threads did, and a page of merged stretches says that its times are minima", { skip, timeout: 300_000 }, async () => {
  const { file } = at.file("merged.html", "--html-limit", "0.08");
  const { page, wrong } = await openedFile(at, file);
  const whole = Number((await page.evaluate(() => location.hash)).match(/\.\.(\d+)/)[1]);
  await go(page, `#t=0..${whole}`);
  const canvas = await page.locator("#timeline").boundingBox();
  // A drag on the time axis.
  await page.mouse.move(canvas.x + 400, canvas.y + 10);
  await page.mouse.down();
  await page.mouse.move(canvas.x + 600, canvas.y + 10, { steps: 4 });
  await page.mouse.up();
  await page.waitForSelector("#range .rows table", { timeout: 60_000 });
  await page.waitForFunction(() => /merged in this page: times are at least these/.test(document.getElementById("range").textContent), null, { timeout: 60_000 });
  const its = await asking(file);
  const got = await its("threads", whole / 4, whole / 2);
  const { page: own } = await opened(at);
  const server = await part(own, "threads", { from: Math.floor(whole / 4), to: Math.ceil(whole / 2), most: 10_000 });
  const exact = new Map(server.rows.map((row) => [Number(row.thread), row]));
  const [thread, running, ready] = ["thread", "running_ns", "ready_ns"].map((name) => got.columns.indexOf(name));
  let known = 0, all = 0;
  for (const row of got.rows) {
    const of = exact.get(row[thread]);
    assert.ok(row[running] <= Number(of.running_ns) + 1 && row[ready] <= Number(of.ready_ns) + 1, `never more than there was: ${row}`);
    known += row[running];
    all += Number(of.running_ns);
  }
  assert.ok(known > 0.8 * all, `${known} of ${all} ns of running time are known`);
  assert.match(await its("waits", whole / 4, whole / 2), /no data about wakeups and causes of waits for a part of the recording: open the recording/);
  assert.deepEqual(wrong, []);
  await page.context().close();
  await own.context().close();
});
