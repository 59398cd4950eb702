/** A server over a recording of the importer's fixtures, and a browser; or the reason why there is none. */

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createInterface } from "node:readline";
import { tableFromIPC } from "apache-arrow";
import { chromium } from "playwright-core";

const FIXTURE = new URL("../../../crates/import/fixtures/perf_data/sched-pipe.data", import.meta.url).pathname;
const BROWSERS = [process.env.COREWISE_BROWSER, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

const binary = process.env.COREWISE;
const executablePath = BROWSERS.find((path) => path && existsSync(path));

/** Why nothing can be tested here, or false. */
export const skip =
  (!executablePath && "skipped: no Chromium: install it, or name one with COREWISE_BROWSER") ||
  (!(binary && existsSync(binary)) && "skipped: name the built binary with COREWISE") ||
  false;

// `make test` says what this machine has (cargo xtask needs): where Chromium is, these tests run.
if (skip && process.env.COREWISE_NEEDS_MET?.split("\n").includes("chromium")) throw new Error(skip);
if (skip) console.log(skip);

/** A trace that is served. `trace` is a folder, or nothing for the fixture, whose server all tests of a process share. */
export async function served(trace) {
  const made = () => {
    const folder = mkdtempSync(join(tmpdir(), "corewise-viewer-"));
    return serving(folder, [trace ?? imported(folder, "fixture", FIXTURE)]);
  };
  const at = await (trace === undefined ? fixture.get(made) : made());
  return trace === undefined ? { ...at, end: () => fixture.leave(({ end }) => end()) } : at;
}

/** Something that many use: made for the first of them, ended by the last. */
class Shared {
  users = 0;
  made = null;

  get(make) {
    this.users++;
    return (this.made ??= make());
  }

  async leave(end) {
    if (--this.users > 0) return;
    const made = this.made;
    this.made = null;
    await end(await made);
  }
}

const fixture = new Shared();
const browsers = new Shared();

/** Two traces that are served beside each other, by their names, of what ftrace would print. */
export async function servedBoth(texts) {
  const folder = mkdtempSync(join(tmpdir(), "corewise-viewer-"));
  const paths = Object.entries(texts).map(([name, text]) => {
    const file = join(folder, `${name}.txt`);
    writeFileSync(file, text);
    return imported(folder, name, file);
  });
  return serving(folder, paths);
}

function imported(folder, name, file) {
  const path = join(folder, `${name}.cw`);
  execFileSync(binary, ["import", file, "-o", path], { stdio: "ignore" });
  return path;
}

async function serving(folder, paths) {
  const server = spawn(binary, ["view", ...paths, "--no-open", "--idle", "600"], { stdio: ["ignore", "pipe", "inherit"] });
  const address = await new Promise((found, failed) => {
    createInterface(server.stdout).once("line", found);
    server.once("exit", (code) => failed(new Error(`corewise view ended with ${code}`)));
  });
  const browser = await browsers.get(() => chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] }));
  return {
    address,
    browser,
    trace: paths[0],
    /** A trace as one page, in a file. */
    file: (name, ...options) => {
      const file = join(folder, name);
      const said = execFileSync(binary, ["view", paths[0], "--html", file, ...options], { encoding: "utf8" });
      return { file, said };
    },
    /** The server ends, and its pages stay. */
    stop: () => server.kill(),
    end: async () => {
      await browsers.leave((browser) => browser.close());
      server.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A page that shows the trace; whatever it complains of, and whatever it asks of others, is kept. */
export function opened(at, how = {}) {
  const { origin } = new URL(at.address);
  return openedAt(at, at.address, (url) => url.startsWith(origin), how);
}

/** The same of a page of one file, with the network off: it may ask for nothing. */
export function openedFile(at, file, how = {}) {
  const url = pathToFileURL(file).href;
  return openedAt(at, url, (asked) => asked.split("#")[0] === url, { ...how, offline: true });
}

async function openedAt(at, url, may, { width = 1280, height = 800, theme = "light", hash = "", offline = false, touch = false }) {
  const context = await at.browser.newContext({ viewport: { width, height }, colorScheme: theme, offline, hasTouch: touch });
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("request", (request) => may(request.url()) || wrong.push(request.url()));
  await page.goto(url + hash);
  await settled(page);
  return { page, wrong };
}

/** Until all that is seen has arrived. */
export async function settled(page) {
  await page.waitForTimeout(50);
  await page.waitForSelector("#timeline[data-busy=false]");
  await pictures(page);
  await page.waitForSelector("#timeline[data-busy=false]");
}

/** Some pictures later: what came last is drawn with the next one, and the address is written 40 ms after the last one of a motion. */
export const pictures = (page) =>
  page.evaluate(
    () =>
      new Promise((done) => {
        let left = 4;
        const next = () => (left-- ? requestAnimationFrame(next) : setTimeout(done, 45));
        next();
      }),
  );

/** What the address says of the page. */
export async function hash(page) {
  await pictures(page);
  return page.evaluate(() => location.hash);
}

/** Rows of a table, asked for as the page asks. */
export async function rows(page, name, query, route = `/api/table/${name}`) {
  return (await asked(page, route, query)).toArray().map((row) => row.toJSON());
}

/** The first rows of a table of a part, and the names of its columns. */
export async function part(page, name, query) {
  const table = await asked(page, `/api/part/${name}`, query);
  return { columns: table.schema.fields.map((field) => field.name), rows: table.toArray().map((row) => row.toJSON()) };
}

async function asked(page, route, query) {
  const answer = await page.request.get(`${new URL(page.url()).origin}${route}?${new URLSearchParams(query)}`);
  if (!answer.ok()) throw new Error(await answer.text());
  return tableFromIPC(new Uint8Array(await answer.body()));
}

/** Numbers that are drawn the same each time (a linear congruence of Numerical Recipes), from 0 up to `below`. */
export function dice(seed = 1) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
