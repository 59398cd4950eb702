/** A server for a fixture of the importer, and a browser; or the reason why there is none. */

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createInterface } from "node:readline";
import { tableFromIPC } from "apache-arrow";
import { chromium } from "playwright-core";

const FIXTURE = new URL("../../../crates/import/fixtures/perf_data/sched-pipe.data", import.meta.url).pathname;
const BROWSERS = [process.env.COREWISE_BROWSER, "/usr/bin/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

const binary = process.env.COREWISE;
/** The browser; undefined if there is none. */
export const executablePath = BROWSERS.find((path) => path && existsSync(path));

/** Why the tests are skipped, or false. */
export const skip =
  (!executablePath && "skipped: no Chromium: install it, or name one with COREWISE_BROWSER") ||
  (!(binary && existsSync(binary)) && "skipped: name the built binary with COREWISE") ||
  false;

// `make test` passes what this machine has (cargo xtask needs): with Chromium, these tests must run.
if (skip && process.env.COREWISE_NEEDS_MET?.split("\n").includes("chromium")) throw new Error(skip);
if (skip) console.log(skip);

/** Serves a trace. `trace` is a folder; by default the fixture, whose server all tests of a process share. */
export async function served(trace) {
  const made = () => {
    const folder = mkdtempSync(join(tmpdir(), "corewise-viewer-"));
    return serving(folder, [trace ?? imported(folder, "fixture", FIXTURE)]);
  };
  const at = await (trace === undefined ? fixture.get(made) : made());
  return trace === undefined ? { ...at, end: () => fixture.leave(({ end }) => end()) } : at;
}

/** A shared resource: made for the first user, ended by the last. */
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

/** Serves another file of the importer's fixtures. */
export async function servedFile(file) {
  const folder = mkdtempSync(join(tmpdir(), "corewise-viewer-"));
  return serving(folder, [imported(folder, "file", new URL(`../../../crates/import/fixtures/${file}`, import.meta.url).pathname)]);
}

/** Serves ftrace output. */
export async function servedText(text) {
  const folder = mkdtempSync(join(tmpdir(), "corewise-viewer-"));
  const file = join(folder, "text.txt");
  writeFileSync(file, text);
  return serving(folder, [imported(folder, "text", file)]);
}

/** Serves two traces for comparison; the texts are ftrace output, by name. */
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
    /** Writes the trace as one page. */
    file: (name, ...options) => {
      const file = join(folder, name);
      const output = execFileSync(binary, ["view", paths[0], "--html", file, ...options], { encoding: "utf8" });
      return { file, output };
    },
    /** Ends the server; its pages stay open. */
    stop: () => server.kill(),
    end: async () => {
      await browsers.leave((browser) => browser.close());
      server.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Opens a page that shows the trace; its errors and its requests to other hosts are collected. */
export function opened(at, how = {}) {
  const { origin } = new URL(at.address);
  return openedAt(at, at.address, (url) => url.startsWith(origin), how);
}

/** Opens a page of one file with the network off; it may send no requests. */
export function openedFile(at, file, how = {}) {
  const url = pathToFileURL(file).href;
  return openedAt(at, url, (requested) => requested.split("#")[0] === url, { ...how, offline: true });
}

async function openedAt(at, url, may, { width = 1280, height = 800, theme = "light", hash = "", offline = false, touch = false }) {
  const context = await at.browser.newContext({ viewport: { width, height }, colorScheme: theme, offline, hasTouch: touch });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("request", (request) => may(request.url()) || wrong.push(request.url()));
  await page.goto(url + hash);
  await settled(page);
  return { page, wrong };
}

/** Waits until all visible tiles have arrived. */
export async function settled(page) {
  await page.waitForTimeout(50);
  await page.waitForSelector("#timeline[data-busy=false]");
  await pictures(page);
  await page.waitForSelector("#timeline[data-busy=false]");
}

/** Waits for some frames: data is drawn with the next frame, and the address is written 40 ms after the last frame of a motion. */
export const pictures = (page) =>
  page.evaluate(
    () =>
      new Promise((done) => {
        let left = 4;
        const next = () => (left-- ? requestAnimationFrame(next) : setTimeout(done, 45));
        next();
      }),
  );

/** Waits for the summary of a time range. */
export const summarised = (page) => page.waitForSelector("#range .summary[data-busy=false]", { timeout: 60_000 });

/** Opens all tables of a time range, and waits for the chosen one. */
export async function openTables(page) {
  await summarised(page);
  if (!(await page.evaluate(() => document.querySelector("#range .tables").open))) await page.click("#range .tables > summary");
  await page.waitForSelector("#range .tables .rows[data-busy=false]", { state: "attached", timeout: 60_000 });
}

/** Returns the fragment of the page's address. */
export async function hash(page) {
  await pictures(page);
  return page.evaluate(() => location.hash);
}

/** Requests rows of a table in the same way as the page. */
export async function rows(page, name, query, route = `/api/table/${name}`) {
  return (await request(page, route, query)).toArray().map((row) => row.toJSON());
}

/** Requests the first rows of a table for a time range, and the names of its columns. */
export async function part(page, name, query) {
  const table = await request(page, `/api/part/${name}`, query);
  return { columns: table.schema.fields.map((field) => field.name), rows: table.toArray().map((row) => row.toJSON()) };
}

async function request(page, route, query) {
  const answer = await page.request.get(`${new URL(page.url()).origin}${route}?${new URLSearchParams(query)}`);
  if (!answer.ok()) throw new Error(await answer.text());
  return tableFromIPC(new Uint8Array(await answer.body()));
}

/** Returns a reproducible random number generator (a linear congruence of Numerical Recipes), from 0 up to `below`. */
export function dice(seed = 1) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
