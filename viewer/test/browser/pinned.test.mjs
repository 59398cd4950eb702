/** Pinned tracks leave the picture of the others as it is. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { opened, served, settled, skip } from "./support.mjs";

let at;
before(async () => {
  if (!skip) at = await served(process.env.COREWISE_TRACE);
});
after(() => at?.end());

test("the tracks under pinned ones are painted", { skip }, async () => {
  const { page, wrong } = await opened(at, { hash: "#tracks=pin.cpu:0" });
  // The colours in the lower part of the picture, where no pinned track is: those of the page and its lines, and of what ran.
  const colours = () =>
    page.evaluate(() => {
      const canvas = document.getElementById("timeline");
      const { data } = canvas.getContext("2d").getImageData(200, 120, canvas.width - 200, 300);
      return new Set(new Uint32Array(data.buffer)).size;
    });
  assert.ok((await colours()) > 6, `${await colours()} colours`);
  await page.focus("#timeline");
  for (const key of ["PageDown", "w"]) {
    await page.keyboard.press(key);
    await settled(page);
    assert.ok((await colours()) > 3, `${await colours()} colours after ${key}`);
  }
  assert.deepEqual(wrong, []);
  await page.context().close();
});
