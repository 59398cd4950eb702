// Pictures of watch's page over a real `corewise watch --listen`: node acceptance/watch_page.mjs OUT [--machine FILE]
//
// The page stays open while a load runs (perf bench sched messaging), at two widths, light and dark. Asserts: figures that change, no
// horizontal scrolling, no errors of scripts, and that the page says so when the watcher is killed and goes on when it is back. Needs root.

import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const root = new URL("..", import.meta.url).pathname;
const { chromium } = createRequire(join(root, "viewer/package.json"))("playwright-core");
const corewise = process.env.COREWISE ?? join(root, "target/release/corewise");
const executablePath = process.env.COREWISE_BROWSER ?? "/usr/bin/chromium";

const words = process.argv.slice(2);
const at = words.indexOf("--machine");
const machine = at < 0 ? [] : words.splice(at, 2);
if (!words[0]) {
  console.error("usage: node acceptance/watch_page.mjs OUT [--machine FILE]");
  process.exit(2);
}
const out = resolve(words[0]);
mkdirSync(out, { recursive: true });
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Starts watching; returns its process and its address. */
async function watching(listen) {
  const child = spawn(corewise, ["watch", "--listen", listen, ...machine], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout })) return [child, line.trim().split(" ")[0]];
  throw new Error("corewise watch did not start");
}

const wrong = [];
let [watcher, address] = await watching("127.0.0.1:0");
const load = spawn("sh", ["-c", "while :; do perf bench sched messaging -g 1 -l 300 > /dev/null; sleep 0.3; done"], { stdio: "ignore", detached: true });
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  for (const [width, height] of [[390, 844], [1280, 800]]) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await browser.newPage({ viewport: { width, height }, colorScheme });
      const name = `watch-${width}-${colorScheme}`;
      page.on("pageerror", (error) => wrong.push(`${name}: ${error}`));
      await page.goto(address);
      await pause(4000);
      const before = await page.innerText("body");
      await pause(4000);
      const after = await page.innerText("body");
      if (before === after) wrong.push(`${name}: no figure changed in 4 s`);
      if (await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth)) wrong.push(`${name}: scrolls sideways`);
      await page.screenshot({ path: join(out, `${name}.png`), fullPage: true });
      if (width === 1280 && colorScheme === "dark") {
        watcher.kill("SIGKILL");
        await pause(5000);
        const gone = await page.innerText("body");
        await page.screenshot({ path: join(out, `${name}-gone.png`), fullPage: true });
        [watcher] = await watching(new URL(address).host);
        await pause(5000);
        const back = await page.innerText("body");
        await page.screenshot({ path: join(out, `${name}-back.png`), fullPage: true });
        if (!/not|no answer|cannot|fail/i.test(gone)) wrong.push(`${name}: does not say that the watcher is gone`);
        if (gone === back) wrong.push(`${name}: did not go on with the new watcher`);
      }
      await page.close();
    }
  }
} finally {
  await browser.close();
  watcher.kill("SIGKILL");
  process.kill(-load.pid, "SIGKILL");
}
wrong.forEach((line) => console.log(line));
console.log(`4 pages, ${wrong.length} wrong; pictures in ${out}`);
process.exit(wrong.length ? 1 : 0);
