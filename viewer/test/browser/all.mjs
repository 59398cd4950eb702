/** Runs all browser tests in one process, so that they share a browser and the server of the fixture. Each also runs on its own. */

import { readdirSync } from "node:fs";

for (const file of readdirSync(new URL(".", import.meta.url)).filter((name) => name.endsWith(".test.mjs")).sort()) await import(`./${file}`);
