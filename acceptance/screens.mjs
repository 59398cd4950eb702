// Pictures of the viewer to look at, and what can be asserted of them: node acceptance/screens.mjs OUT [NAME=TRACE.cw…] [--only TEXT] [--shared DIR]
//
// Opens each recording at four widths, light and dark, then at two widths with the panels of frames, findings and a time range open, and
// writes a PNG of each. Asserts in the page: no cut text without a title or label, no horizontal scrolling, no parts of the header that
// overlap, no errors, and one height of the header per width. Prints what is wrong, and exits 1. Without NAME=TRACE.cw, six recordings
// are made in OUT/recordings, once: `corewise demo`, a hybrid guest, 64 CPUs and 5,000 threads (view_load.py), a systrace of a phone,
// a frame log, and an empty one. `--only TEXT`: only pictures whose name contains it, such as demo or demo-findings. `--shared DIR`: the
// folder with other people's recordings in traces/, of which the guest, the systrace and the frame log are made (default: ../shared, next to
// the repository). Without it, these three are left out, with a message.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const root = new URL("..", import.meta.url).pathname;
const { chromium } = createRequire(join(root, "viewer/package.json"))("playwright-core");
const corewise = process.env.COREWISE ?? join(root, "target/release/corewise");
const executablePath = process.env.COREWISE_BROWSER ?? "/usr/bin/chromium";

const SIZES = [[390, 844], [1280, 800], [1920, 1080], [2560, 1440]];
const THEMES = ["light", "dark"];
/** The sizes at which panels are opened, and the theme of each. */
const PANELS = [[390, 844, "light"], [1280, 800, "dark"]];
/** The cut texts that are printed at most of one picture. */
const PRINTED = 8;

const words = process.argv.slice(2);
// Takes an option and its value out of the words.
function option(name) {
  const at = words.indexOf(name);
  return at < 0 ? undefined : (words.splice(at, 2)[1] ?? "");
}
const only = option("--only") ?? "";
const given = option("--shared");
const [folder, ...named] = words;
if (!folder || given === "") {
  console.error("usage: node acceptance/screens.mjs OUT [NAME=TRACE.cw…] [--only TEXT] [--shared DIR]");
  process.exit(2);
}
const out = resolve(folder);
const traces = join(given === undefined ? join(root, "../shared") : resolve(given), "traces");
const isWanted = (name) => name.includes(only) || only.startsWith(name);

const run = (...args) => execFileSync(corewise, args, { stdio: ["ignore", "ignore", "inherit"] });

const text = (name, made) => {
  const file = join(out, "recordings", `${name}.txt`);
  made(file);
  return file;
};
const [machine, game] = ["sys.tar.gz", "trace.dat"].map((file) => join(traces, "guests/arm431-6.1-game", file));
const systrace = join(traces, "systrace/catapult__android_systrace.html");
const frames = join(traces, "presentmon-csv/CapFrameX__OCAT-MetroExodus.exe-2019-02-20T101522.csv");

/** The name of each recording, the files of others that it is made of, and how it is made in a path. */
const SIX = [
  ["demo", [], (path) => run("demo", "-o", path, "--duration", "4")],
  ["hybrid", [machine, game], (path) => run("--machine", machine, "import", game, "-o", path)],
  ["large", [], (path) => {
    const file = text("large", (file) => execFileSync("python3", [join(root, "acceptance/view_load.py"), file, "--slices", "600000"]));
    run("--machine", `${file}.toml`, "import", file, "-o", path);
  }],
  ["phone", [systrace], (path) => run("import", systrace, "-o", path)],
  ["frames", [frames], (path) => run("import", frames, "-o", path)],
  ["empty", [], (path) => run("import", text("empty", (file) => writeFileSync(file, "# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0   #P:2\n")), "-o", path)],
];

// Makes those of the six that are wanted, each once, without those whose files are missing.
function six() {
  const wanted = SIX.filter(([name]) => isWanted(name)).map(([name, files, make]) => ({ name, path: join(out, "recordings", `${name}.cw`), files, make }));
  const isLacking = ({ path, files }) => !existsSync(path) && !files.every((file) => existsSync(file));
  const lacking = wanted.filter(isLacking);
  if (lacking.length > 0) {
    const ends = given !== undefined || lacking.length === wanted.length;
    const missing = lacking.flatMap(({ files }) => files.filter((file) => !existsSync(file)));
    const names = lacking.map(({ name }) => name).join(", ");
    console.error(`screens: ${ends ? "cannot make" : "left out:"} ${names}, without ${missing.join(", ")}: --shared DIR names the folder with other people's recordings in traces/`);
    if (ends) process.exit(2);
  }
  const there = wanted.filter((of) => !isLacking(of));
  mkdirSync(join(out, "recordings"), { recursive: true });
  for (const { path, make } of there) if (!existsSync(path)) make(path);
  return there.map(({ name, path }) => [name, path]);
}

// In the page: what is wrong with it, and the height of its header.
function judged() {
  const wrong = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) wrong.push(`the page scrolls horizontally: ${root.scrollWidth} px`);
  const said = (of) => of.closest("[title]:not([title='']), [aria-label]:not([role=tabpanel]):not(section):not(aside):not(footer):not(canvas)") !== null;
  const seen = (of) => of.checkVisibility({ visibilityProperty: true }) && of.getClientRects().length > 0;
  for (const of of document.querySelectorAll("body *")) {
    const text = [...of.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "");
    if (text.length === 0 || of.closest("svg, select, script, .hidden") || !seen(of)) continue;
    // Cut by itself, or by a part around it that does not scroll.
    const box = document.createRange();
    box.selectNodeContents(of);
    const { right } = box.getBoundingClientRect();
    for (let around = of; around && around !== document.body; around = around.parentElement) {
      const { overflowX, display } = getComputedStyle(around);
      if (/auto|scroll/.test(overflowX)) break;
      if (display === "inline" || overflowX === "visible") continue;
      const cut = around === of ? around.scrollWidth > around.clientWidth + 1 : right > around.getBoundingClientRect().right + 1;
      if (cut && !said(of)) wrong.push(`cut without a title: <${of.localName}${of.id && ` id=${of.id}`} class="${of.className}"> ${of.textContent.trim().slice(0, 60)}`);
      if (cut) break;
    }
    if (overflows(of) && !said(of)) wrong.push(`text leaves its box: <${of.localName} class="${of.className}"> ${of.textContent.trim().slice(0, 60)}`);
  }
  const pen = document.createElement("canvas").getContext("2d");
  for (const of of document.querySelectorAll("input[placeholder]")) {
    const { font, paddingLeft, paddingRight } = getComputedStyle(of);
    pen.font = font;
    const room = of.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
    // A search field has room for the sign that empties it, once it has text.
    if (seen(of) && pen.measureText(of.placeholder).width > room) wrong.push(`placeholder cut: ${of.placeholder} in ${room} px`);
  }
  // A button whose text is wider than it.
  function overflows(of) {
    return of.localName === "button" && of.clientWidth > 0 && of.scrollWidth > of.clientWidth + 1 && getComputedStyle(of).overflowX === "visible";
  }
  const header = document.querySelector("header");
  const parts = [...(header?.children ?? [])].filter((of) => seen(of) && of.id !== "error").map((of) => [of, of.getBoundingClientRect()]);
  for (const [i, [a, x]] of parts.entries()) {
    for (const [b, y] of parts.slice(i + 1)) {
      if (x.left < y.right - 1 && y.left < x.right - 1 && x.top < y.bottom - 1 && y.top < x.bottom - 1) wrong.push(`overlap in the header: ${a.id || a.textContent} and ${b.id || b.textContent}`);
    }
  }
  return { wrong, header: header?.offsetHeight ?? 0 };
}

async function settled(page) {
  await page.waitForTimeout(100);
  await page.waitForSelector("#timeline[data-busy=false]", { timeout: 60_000 });
  await page.waitForTimeout(100);
}

// Waits for the findings, which come last.
const found = (page) => page.waitForFunction(() => document.querySelector("#findings")?.textContent !== "", null, { timeout: 120_000 });

// Waits until a panel is complete.
const calculated = (page, panel) =>
  page.waitForFunction((panel) => document.querySelector(panel).dataset.busy !== "true" && !/Calculating|Looking for/.test(document.querySelector(panel).textContent), panel, { timeout: 120_000 });

/** How each panel is opened. */
const OPEN = {
  findings: (page) => page.click("#tab-findings"),
  frames: async (page) => {
    await page.click("#tab-frames");
    await calculated(page, "#frames");
    const first = page.locator("#frames[data-busy=false] table.list tbody tr:first-child button");
    if (await first.count()) {
      await first.click();
      await page.waitForSelector("#frames > [data-busy=false]", { timeout: 60_000 });
      await calculated(page, "#range");
    }
  },
  range: async (page) => {
    await page.focus("#timeline");
    await page.keyboard.press("r");
    await page.waitForFunction(() => document.querySelector("#range").hidden || document.querySelector("#range .summary[data-busy=false]"), null, { timeout: 60_000 });
    await calculated(page, "#range");
  },
};

let failed = 0;
let pictures = 0;
/** The heights of the header, by width. */
const heights = new Map();

async function taken(browser, address, name, width, height, theme, panel) {
  const file = [name, panel, width, theme].filter((part) => part !== null).join("-");
  if (!file.includes(only)) return;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, hasTouch: width < 600 });
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => message.type() === "error" && wrong.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
  try {
    await page.goto(address);
    await settled(page);
    await found(page);
    if (panel !== null) await OPEN[panel](page);
    await page.mouse.move(0, 0);
    await settled(page);
    await page.screenshot({ path: join(out, `${file}.png`) });
    const of = await page.evaluate(judged);
    wrong.push(...of.wrong);
    const before = heights.get(width);
    if (before && before.height !== of.header) wrong.push(`the header has ${of.header} px, but ${before.height} px in ${before.file}`);
    heights.set(width, before ?? { height: of.header, file });
  } catch (why) {
    wrong.push(`not taken: ${why.message.split("\n")[0]}`);
  }
  pictures++;
  if (wrong.length > 0) failed++;
  for (const line of [...new Set(wrong)].slice(0, PRINTED)) console.log(`${file}: ${line}`);
  if (wrong.length > PRINTED) console.log(`${file}: and ${wrong.length - PRINTED} more`);
  await context.close();
}

const all = named.length > 0 ? named.map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)]) : six();
mkdirSync(out, { recursive: true });
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
try {
  for (const [name, trace] of all) {
    if (!isWanted(name)) continue;
    const server = spawn(corewise, ["view", trace, "--no-open", "--idle", "600"], { stdio: ["ignore", "pipe", "ignore"] });
    try {
      const address = await new Promise((ready, wrong) => {
        createInterface(server.stdout).once("line", ready);
        server.once("exit", (code) => wrong(new Error(`corewise view ${trace} ended with ${code}`)));
      });
      for (const theme of THEMES) for (const [width, height] of SIZES) await taken(browser, address, name, width, height, theme, null);
      for (const panel of Object.keys(OPEN)) for (const [width, height, theme] of PANELS) await taken(browser, address, name, width, height, theme, panel);
    } finally {
      server.kill();
    }
  }
} finally {
  await browser.close();
}
console.log(`${pictures} pictures in ${out}, ${failed} with something wrong`);
process.exitCode = failed > 0 || pictures === 0 ? 1 : 0;
