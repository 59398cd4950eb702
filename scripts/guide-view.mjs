// A picture of the viewer for docs/guide, for scripts/guide-pictures:
//   node scripts/guide-view.mjs COREWISE TRACE OUT.png FROM TO WHAT
// FROM and TO are the begin and end of a frame in ns (0 0: the whole recording). WHAT is shown: `frame` (the slowest one in the panel of frames), `ready` (the longest time
// for which its thread was ready, selected), `page` (the same, larger, with the tracks below), `summary` (the summary of the range).
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(new URL("../viewer/package.json", import.meta.url));
const { chromium } = require("playwright-core");
const { tableFromIPC } = require("apache-arrow");
const [corewise, trace, out, begin, end, what] = process.argv.slice(2);
const executablePath = process.env.COREWISE_BROWSER ?? "/usr/bin/chromium";

const server = spawn(corewise, ["view", trace, "--no-open", "--idle", "120"], { stdio: ["ignore", "pipe", "ignore"] });
const address = await new Promise((found) => createInterface(server.stdout).once("line", found));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const page = await browser.newPage({ viewport: { width: what === "page" ? 1280 : 1160, height: { summary: 640, frame: 760, page: 800 }[what] ?? 560 } });
  const settled = async () => {
    await page.waitForTimeout(300);
    await page.waitForSelector("#timeline[data-busy=false]");
    await page.waitForTimeout(300);
  };
  await page.goto(address);
  await settled();
  const { origin } = new URL(page.url());
  const about = await (await page.request.get(`${origin}/api/about`)).json();
  const [from, to] = end === "0" ? [0, about.span_ns] : [Number(begin), Number(end)];
  const margin = Math.round((to - from) / 8);
  const span = (by) => `t=${Math.max(0, from - by)}..${Math.min(about.span_ns, to + by)}`;
  let hash = `#${span(margin)}&range=${from}..${to}`;
  const waits = what === "ready" || what === "page";
  if (waits) {
    // The longest wait for a CPU of the thread with the most of it, in the frame.
    const answer = await page.request.get(`${origin}/api/table/thread_state?from=${from}&to=${to}`);
    const rows = tableFromIPC(new Uint8Array(await answer.body())).toArray().map((row) => row.toJSON());
    const main = rows.filter((row) => row.state === "ready" && row.thread === 1n);
    const length = (row) => Number(row.end_ns - row.start_ns);
    const longest = main.reduce((a, b) => (length(b) > length(a) ? b : a));
    hash = `#${span(0)}&sel=thread:${longest.thread}@${Number(longest.start_ns) + Math.floor(length(longest) / 2)}`;
  }
  if (what !== "frame") await page.evaluate((hash) => (location.hash = hash), hash);
  await settled();
  if (what === "frame") {
    await page.click("#tab-frames");
    await page.click("#frames[data-busy=false] table.list tbody tr:first-child button");
    await page.waitForSelector("#frames [data-busy=false] .causes");
    await page.waitForFunction(() => Number(document.getElementById("timeline").dataset.path) > 0);
  }
  if (!waits) await page.waitForFunction(() => !/Calculating/.test(document.getElementById("range").textContent));
  await page.mouse.move(0, 0);
  await settled();
  await page.screenshot({ path: out });
} finally {
  await browser.close();
  server.kill();
}
