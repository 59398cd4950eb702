/** The page of `corewise watch`, with readings of a drawn machine in place of a server that needs rights. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { executablePath } from "./support.mjs";

const skip = executablePath ? false : "skipped: no Chromium: install it, or name one with COREWISE_BROWSER";
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const READINGS = JSON.parse(readFileSync(new URL("../watch_now.json", import.meta.url), "utf8"));
const DIST = new URL("../../dist-watch/", import.meta.url);
const KINDS = { html: "text/html; charset=utf-8", js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8", svg: "image/svg+xml" };
/** As the server sends it: crates/web/src/checks.rs. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

let browser;
before(async () => {
  if (!skip) browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
});
after(() => browser?.close());

/** Opens the page; `answer` gives the status and body of each request for data. */
async function opened({ width = 1280, height = 800, scheme = "light", answer } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const wrong = [];
  page.on("pageerror", (why) => wrong.push(String(why)));
  page.on("console", (said) => said.type() === "error" && !said.text().includes("status of") && wrong.push(said.text()));
  let count = 0;
  await page.route("**/*", (route) => {
    const { pathname } = new URL(route.request().url());
    if (pathname === "/api/now") {
      const { status = 200, body } = answer?.(count, route.request()) ?? { body: READINGS[Math.min(count, READINGS.length - 1)] };
      count++;
      return route.fulfill({ status, contentType: "application/json", body: typeof body === "string" ? body : JSON.stringify(body) });
    }
    const file = pathname === "/" ? "index.html" : pathname.slice(1);
    return route.fulfill({ body: readFileSync(new URL(file, DIST)), contentType: KINDS[file.split(".").at(-1)], headers: { "content-security-policy": POLICY } });
  });
  await page.goto("http://127.0.0.1:9464/");
  return { page, wrong, end: () => context.close() };
}

test("the page shows cores, what runs, waits and what ran instead", { skip }, async () => {
  for (const [width, height] of [[1280, 800], [390, 844]]) {
    for (const scheme of ["light", "dark"]) {
      const { page, wrong, end } = await opened({ width, height, scheme });
      await page.waitForSelector("#groups tbody tr");
      const text = async (of) => (await page.locator(of).allTextContents()).map((one) => one.trim());
      assert.deepEqual(await text(".core > p"), ["performance", "performance", "efficient", "efficient"]);
      assert.deepEqual(await text(".cpu .numbers"), ["CPU 0100 %", "CPU 1100 %", "CPU 250 %", "CPU 30 %", "CPU 420 %", "CPU 50 %"]);
      assert.equal((await text(".cpu .runs"))[0], 'game "render"\\1');
      assert.deepEqual(await text("#groups .name"), ["Whole machine", "/app.slice/game", "/system.slice/db.service", "All others"]);
      assert.match((await text("#tiles")).join(), /CPUs busy2\.70 of 6 \(45 %\).*Cores free57 %.*Cores with several threads busy25 %.*Sumsconsistent/);
      assert.match((await text("#legend")).join(), /performance.*efficient.*next to a busy sibling.*same group.*kernel threads/);
      const wide = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(wide[0] <= wide[1], `${width}: nothing is wider than the window: ${wide}`);
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), scheme);
      await page.evaluate(AXE);
      const violations = await page.evaluate(() => globalThis.axe.run(document).then((found) => found.violations.map((of) => `${of.id}: ${of.nodes.map((node) => node.html).join(" ")}`)));
      assert.deepEqual(violations, [], `${width} ${scheme}`);
      assert.deepEqual(wrong, []);
      await end();
    }
  }
});

test("a token is requested, kept for the tab, and sent", { skip }, async () => {
  const sent = [];
  const answer = (count, request) => {
    const header = request.headers().authorization;
    sent.push(header);
    return header === "Bearer 0123456789abcdef" ? { body: READINGS[Math.min(count, 3)] } : { status: 401, body: "unauthorised" };
  };
  const { page, wrong, end } = await opened({ answer });
  await page.waitForSelector("#token-form:not([hidden])");
  assert.equal(await page.locator("#error").textContent(), "The figures need a token.");
  await page.fill("#token", "wrong");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.getElementById("error").textContent === "This token is not right.");
  await page.fill("#token", " 0123456789abcdef ");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#tiles div");
  assert.ok(await page.locator("#token-form").isHidden());
  assert.deepEqual([sent[0], sent.includes("Bearer wrong")], [undefined, true]);
  assert.equal(await page.evaluate(() => location.href), "http://127.0.0.1:9464/", "the token is not in the address");
  assert.deepEqual(wrong, []);
  await end();
});

test("it says when the server does not answer or identities are violated, goes on, and can pause", { skip }, async () => {
  let fails = true;
  let requests = 0;
  const violated = (of) => ({ ...of, identities: [{ name: "cpu_time", meaning: "", holds: false }] });
  const answer = (count) => {
    requests++;
    return fails ? { status: 500, body: "the sums are gone\n" } : { body: violated(READINGS[Math.min(count, 3)]) };
  };
  const { page, wrong, end } = await opened({ answer });
  await page.waitForFunction(() => document.getElementById("error").textContent === "The sums are gone.");
  fails = false;
  await page.waitForSelector("#tiles .wrong");
  assert.match(await page.locator("#tiles .wrong").textContent(), /contradict cpu_time/);
  await page.click("#pause");
  const before = requests;
  // A request that was under way may still come; without the pause, there is one each second.
  await page.waitForTimeout(5000);
  assert.ok(requests <= before + 1, `${requests - before} requests`);
  assert.deepEqual(wrong, []);
  await end();
});
