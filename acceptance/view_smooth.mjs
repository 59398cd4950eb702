// Measures the smoothness of the viewer, for view.py: node acceptance/view_smooth.mjs ADDRESS [SECONDS]
//
// Prints one line of JSON: when the first whole picture was drawn after navigation; the gaps between animation frames
// (95th percentile, ms) while the same wheel events pan and zoom the viewer, and an empty canvas before and after; how
// many different pictures a line of the canvas showed; and the tab's memory in MB, the larger of after the first
// picture and after the motion. The browser draws in software. Run it under taskset.

import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";

const { chromium } = createRequire(new URL("../viewer/package.json", import.meta.url))("playwright-core");
const [address, seconds = "10"] = process.argv.slice(2);
const executablePath = process.env.COREWISE_BROWSER ?? "/usr/bin/chromium";
const view = { width: 1280, height: 800 };

// In the page: one wheel event per frame, panning for two seconds, zooming in for one, out for one, scrolling in
// between.
function turned(ms) {
  return new Promise((done) => {
    const canvas = document.getElementById("timeline") ?? document.querySelector("canvas");
    const box = canvas.getBoundingClientRect();
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    const gaps = [];
    const pictures = new Set();
    let [began, last, shot] = [0, 0, 0];
    const turn = (keys, deltaX, deltaY) =>
      canvas.dispatchEvent(new WheelEvent("wheel", { deltaX, deltaY, clientX: box.left + box.width * 0.6, clientY: box.top + 200, cancelable: true, bubbles: true, ...keys }));
    const frame = (now) => {
      if (began === 0) began = now;
      else gaps.push(now - last);
      last = now;
      const at = now - began;
      if (at > ms) return done({ gaps, pictures: pictures.size });
      const part = (at / 1000) % 4;
      if (part < 2) turn({ shiftKey: true }, 0, part < 1 ? 14 : -9);
      else turn({ ctrlKey: true }, 0, part < 3 ? -14 : 13);
      if (Math.floor(at / 1000) % 3 === 0) turn({}, 0, 6);
      if (now - shot > 500) {
        shot = now;
        pictures.add(pen.getImageData(200, 60, Math.max(1, canvas.width - 210), 1).data.reduce((sum, v, i) => (sum * 31 + v * (i + 1)) >>> 0, 0));
      }
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
}

const percentile = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.95)];

// The memory of the largest renderer that this script's browser started: private pages and its share of shared ones.
// The environment of a renderer is overwritten at its start, so its parents are checked instead.
function rendererMegabytes() {
  const read = (pid, file) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, "utf8");
    } catch {
      return ""; // It ended meanwhile.
    }
  };
  const parent = (pid) => /^PPid:\s+(\d+)/m.exec(read(pid, "status"))?.[1] ?? "0";
  const mine = (pid) => pid !== "0" && (pid === String(process.pid) || mine(parent(pid)));
  const renderers = readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && read(pid, "cmdline").includes("--type=renderer") && mine(pid));
  return Math.max(0, ...renderers.map((pid) => Number(/^Pss:\s+(\d+)/m.exec(read(pid, "smaps_rollup"))?.[1] ?? 0) / 1024));
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const opened = async () => (await browser.newContext({ viewport: view })).newPage();

async function empty() {
  const page = await opened();
  await page.setContent("<canvas width=1280 height=800></canvas>");
  const { gaps } = await page.evaluate(turned, Number(seconds) * 1000);
  await page.context().close();
  return percentile(gaps);
}

const before = await empty();
const page = await opened();
await page.addInitScript(() => {
  new MutationObserver((_, seen) => {
    if (document.getElementById("timeline")?.dataset.busy !== "false") return;
    seen.disconnect();
    globalThis.firstPicture = performance.now();
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-busy"] });
});
await page.goto(address);
await page.waitForFunction(() => globalThis.firstPicture !== undefined);
const first = await page.evaluate(() => globalThis.firstPicture);
const drawn = rendererMegabytes();
const { gaps, pictures } = await page.evaluate(turned, Number(seconds) * 1000);
const megabytes = Math.max(drawn, rendererMegabytes());
await page.context().close();
const after = await empty();
await browser.close();
console.log(JSON.stringify({ first_ms: first, gap_ms: percentile(gaps), frames: gaps.length, pictures, empty_before_ms: before, empty_after_ms: after, tab_mb: megabytes }));
