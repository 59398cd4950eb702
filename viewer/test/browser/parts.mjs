/**
 * Runs the browser tests in parts, at the same time, because most of them wait for the browser most of the time. The tests of a part run in one process, so that
 * they share a browser and the server of the fixture. Each file also runs on its own.
 */

import { readdirSync } from "node:fs";

const PARTS = 3;

/** Runs part `n`, counted from 0. */
export async function part(n) {
  const files = readdirSync(new URL(".", import.meta.url)).filter((name) => name.endsWith(".test.mjs")).sort();
  for (const file of files.filter((_, at) => at % PARTS === n)) await import(`./${file}`);
}
