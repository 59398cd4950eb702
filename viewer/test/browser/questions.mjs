/** Asks a recording of others a question on its page: counts what a user does, and checks that the answer can be seen. */

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { served, settled, skip } from "./support.mjs";

/** Where recordings of others are, as in crates/testkit/src/corpus.rs. */
const FOLDERS = ["testdata/traces", "corpus", "../shared/traces"].map((folder) => new URL(`../../../${folder}/`, import.meta.url).pathname);
const MAX_BYTES = 1 << 28;

/** The recordings that scripts/corpus fetches. */
const corpus = () => readFileSync(new URL("../../../testdata/corpus.tsv", import.meta.url), "utf8").split("\n").map((line) => line.split("\t")[0]);

/** Returns the path of a recording; null if it is not here. */
export const found = (name) => FOLDERS.map((folder) => folder + name).find((path) => existsSync(path)) ?? null;

/** Why a test that needs these recordings is skipped, or false. */
export function lacking(...names) {
  const missing = names.find((name) => found(name) === null);
  if (skip || missing === undefined) return skip;
  if (!corpus().includes(missing)) return `skipped: needs ../shared: ${missing}`;
  // With the corpus, the tests that need it must run.
  if (process.env.COREWISE_NEEDS_MET?.split("\n").includes("corpus")) throw new Error(`${missing}: is in none of ${FOLDERS}`);
  return `skipped: needs corpus: ${missing} (run scripts/corpus)`;
}

/** Runs corewise and returns what it prints as JSON. */
export function printed(...words) {
  return JSON.parse(execFileSync(process.env.COREWISE, [...words, "--format", "json"], { encoding: "utf8", maxBuffer: MAX_BYTES, stdio: ["ignore", "pipe", "ignore"] }));
}

/** The time in ms, as the page writes it. */
export const ms = (ns) => (ns / 1e6).toFixed(3);

/** What a user does: each click, each key chord and each search is one action; a choice in a list is two, to open it and to choose. */
export class User {
  actions = 0;

  constructor(page) {
    this.page = page;
  }

  async click(selector) {
    this.actions++;
    await this.page.click(selector);
  }

  async press(chord) {
    this.actions++;
    await this.page.keyboard.press(chord);
  }

  async search(text) {
    this.actions++;
    await this.page.fill("#search", text);
    await this.page.press("#search", "Enter");
  }

  async choose(selector, label) {
    this.actions += 2;
    await this.page.selectOption(selector, { label });
  }
}

const framesOf = (page) =>
  Promise.all(["First trace", "Second trace"].map(async (title) => (await page.waitForSelector(`iframe[title="${title}"]`)).contentFrame()));

const settledIn = (frame) => frame.waitForSelector("#timeline[data-busy=false]", { timeout: 60_000 });

/** Views recordings with one command of the terminal, and opens the bare page: its address has no state. */
export async function viewing(files, { width = 1280, height = 800, theme = "light", words = [] } = {}) {
  const at = await served();
  const folder = mkdtempSync(join(tmpdir(), "corewise-questions-"));
  const env = { ...process.env, XDG_CACHE_HOME: join(folder, "cache") };
  const server = spawn(process.env.COREWISE, ["view", ...files, "--no-open", "--idle", "600", ...words], { stdio: ["ignore", "pipe", "inherit"], env });
  const context = await at.browser.newContext({ viewport: { width, height }, colorScheme: theme });
  context.setDefaultTimeout(60_000);
  const end = async () => {
    await context.close();
    server.kill();
    await at.end();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const address = await new Promise((done, failed) => {
      createInterface(server.stdout).once("line", done);
      server.once("exit", (code) => failed(new Error(`corewise view ended with ${code}`)));
    });
    assert.equal(new URL(address).hash, "", "the address has no state");
    const page = await context.newPage();
    const wrong = [];
    page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
    page.on("pageerror", (error) => wrong.push(error.message));
    await page.goto(address);
    if (files.length === 1) await settled(page);
    // A key is for what has the focus when the page is complete.
    else await Promise.all((await framesOf(page)).map(settledIn));
    return { page, wrong, user: new User(page), end };
  } catch (why) {
    await end();
    throw why;
  }
}

/** Checks that an element can be seen without scrolling: its middle is in the window and nothing is on top of it; text that is cut has a title. */
export async function assertSeen(locator) {
  const { x, y, text, seen, cut } = await locator.evaluate((of) => {
    const box = of.getBoundingClientRect();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const top = document.elementFromPoint(x, y);
    return { x, y, text: of.textContent, seen: top !== null && (of.contains(top) || top.contains(of)), cut: of.scrollWidth > of.clientWidth + 1 && of.title === "" && !of.querySelector("[title]") };
  });
  assert.ok(seen, `${text} at ${Math.round(x)},${Math.round(y)} is hidden`);
  assert.ok(!cut, `${text} is cut and has no title`);
}

/** Saves a picture of the page for people who look at it, if a folder for pictures is named. */
export async function picture(page, name) {
  if (process.env.COREWISE_PICTURES) await page.screenshot({ path: join(process.env.COREWISE_PICTURES, `${name}.png`) });
}
