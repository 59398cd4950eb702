/** Navigation: ticks, notes, steps, the minimap, readable zooms. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { dragged, gripOf, windowOf } from "../../src/model/minimap";
import { MAX_NOTES, MAX_TEXT, notesFrom, notesWord, tidied, withNote } from "../../src/model/notes";
import { readable } from "../../src/model/readable";
import { difference, ViewHistory } from "../../src/model/history";
import { allTicks, onTicks, pixelsOf, registerTicks } from "../../src/model/ticks";
import { axisTicks, paintGap, paintGrid } from "../../src/ui/grid";

test("ticks are kept by kind, sorted, and replaced or removed as a whole", () => {
  let changes = 0;
  onTicks(() => changes++);
  registerTicks("loss", [30, 10, NaN, 20]);
  registerTicks("hit", [5]);
  assert.deepEqual(allTicks().map(([kind, times]) => [kind, [...times]]), [["hit", [5]], ["loss", [10, 20, 30]]]);
  assert.equal(changes, 2);
  // The same again, in another order, is no change.
  registerTicks("loss", [10, 20, 30]);
  registerTicks("note", []);
  assert.equal(changes, 2);
  registerTicks("hit", []);
  assert.deepEqual(allTicks().map(([kind]) => kind), ["loss"]);
  assert.equal(changes, 3);
  registerTicks("loss", []);
});

test("ticks in the same pixel are one, and those outside are omitted", () => {
  const times = Float64Array.from([0, 5, 9, 10, 11, 50, 99, 100, 120]);
  assert.deepEqual(pixelsOf(times, 0, 10, 10), [0, 1, 5, 9]);
  assert.deepEqual(pixelsOf(times, 10, 10, 4), [0]);
  assert.deepEqual(pixelsOf(times, 1000, 10, 10), []);
});

test("notes survive the address, whatever their text", () => {
  const notes = [{ at: 5, text: "a,b:c&d=e#f" }, { at: 70, text: "<script>alert(1)</script> 😀" }, { at: 80, text: "" }];
  const word = notesWord(notes);
  assert.doesNotMatch(word, /[<>"\s]/);
  assert.deepEqual(notesFrom(`#t=0..9&${word}&sel=cpu:0@1`, 100), notes);
  assert.equal(notesWord([]), "");
  assert.deepEqual(notesFrom("#t=0..9", 100), []);
});

test("invalid notes of an address are omitted, and there is a maximum", () => {
  assert.deepEqual(notesFrom("#notes=101:late,x:y,3:%E0%A4,4,-1:a,7:ok", 100), [{ at: 7, text: "ok" }]);
  const many = Array.from({ length: MAX_NOTES + 5 }, (_, at) => ({ at, text: "x" }));
  assert.equal(notesFrom(`#${notesWord(many)}`, 100).length, MAX_NOTES);
  assert.equal(tidied("a\nb\t c\ud800d"), "a b cd");
  assert.equal([...tidied("😀".repeat(MAX_TEXT + 9))].length, MAX_TEXT);
});

test("a note replaces that of the same time, and there is room for so many", () => {
  const one = withNote([{ at: 9, text: "b" }], { at: 3, text: "a" });
  assert.deepEqual(one, [{ at: 3, text: "a" }, { at: 9, text: "b" }]);
  assert.deepEqual(withNote(one, { at: 9, text: "c" })[1], { at: 9, text: "c" });
  const full = Array.from({ length: MAX_NOTES }, (_, at) => ({ at, text: "" }));
  assert.equal(withNote(full, { at: 999, text: "" }), full);
  assert.equal(withNote(full, { at: 0, text: "z" })[0]?.text, "z");
});

test("a motion is one step; something else, or a pause, is another one", () => {
  const steps = new ViewHistory();
  assert.equal(steps.next("#t=0..9", 0), "replace", "the first address is no step");
  assert.equal(steps.next("#t=1..9", 10), "push");
  assert.equal(steps.next("#t=2..9", 20), "replace");
  assert.equal(steps.next("#t=2..9", 30), null);
  assert.equal(steps.next("#t=2..9&sel=cpu:0@3", 40), "push", "a selection");
  assert.equal(steps.next("#t=3..9&sel=cpu:0@3", 50), "push", "a zoom right after it");
  assert.equal(steps.next("#t=4..9&sel=cpu:0@3", 1049), "replace");
  assert.equal(steps.next("#t=5..9&sel=cpu:0@3", 2049), "push", "after a pause");
  steps.adopt();
  assert.equal(steps.next("#t=5..9", 2050), "replace", "what the browser went to");
  assert.equal(steps.next("#t=6..9", 2060), "push", "a change right after it");
  assert.equal(difference("#t=1..2&sel=cpu:0@1", "#t=1..3&sel=cpu:0@2"), "sel");
  assert.equal(difference("#t=1..2", "#t=1..2&tracks=x"), "other");
});

test("the minimap's window can be held at its edges, and moved within the recording", () => {
  assert.deepEqual(windowOf({ from: 250, to: 500 }, 1000, 400), [100, 200]);
  const [left, right] = windowOf({ from: 999, to: 1000 }, 1000, 400);
  assert.ok(right - left === 4 && right <= 400, "it is never too narrow to be seen");
  assert.deepEqual([50, 97, 104, 150, 203, 260].map((x) => gripOf(x, [100, 200])), ["outside", "from", "from", "window", "to", "outside"]);
  assert.deepEqual([100, 104].map((x) => gripOf(x, [100, 104])), ["window", "window"], "a narrow one is only moved");
  const view = { from: 2000, to: 4000 };
  assert.deepEqual(dragged(view, "window", 500, 10_000), { from: 2500, to: 4500 });
  assert.deepEqual(dragged(view, "window", -9000, 10_000), { from: 0, to: 2000 });
  assert.deepEqual(dragged(view, "from", -9000, 10_000), { from: 0, to: 4000 });
  assert.deepEqual(dragged(view, "to", 90_000, 10_000), { from: 2000, to: 10_000 });
  const over = dragged(view, "from", 5000, 10_000);
  assert.ok(over.to > over.from && over.from >= 3900 && over.to <= 4100, "an edge does not pass the other");
});

test("an interval is shown at a zoom at which it can be seen, which stays if it is suitable", () => {
  const view = { from: 1000, to: 2000 };
  assert.equal(readable(view, { from: 1100, to: 1200 }, 1e6), view);
  assert.deepEqual(readable(view, { from: 5000, to: 5100 }, 1e6), { from: 4550, to: 5550 }, "the same zoom elsewhere");
  assert.deepEqual(readable({ from: 0, to: 1e6 }, { from: 5000, to: 5200 }, 1e6), { from: 4600, to: 5600 }, "closer");
  assert.deepEqual(readable(view, { from: 10_000, to: 20_000 }, 1e6), { from: 0, to: 50_000 }, "farther, within the recording");
});

test("gridlines are at the axis' ticks, only on what they replace", () => {
  assert.deepEqual(axisTicks({ from: 950, to: 3100 }, 5), { times: [1000, 1500, 2000, 2500, 3000], step: 500 });
  const colours = { page: 1, grid: 9, behind: [1, 2] };
  const image = Uint32Array.from([7, 1, 2, 7, 7, 5, 2, 7, 7, 1, 2, 7]);
  paintGrid(image, 4, 1, 0, 2, [0, 1, 5], colours);
  assert.deepEqual([...image], [7, 9, 9, 7, 7, 5, 9, 7, 7, 1, 2, 7]);
  paintGap(image, 4, 1, 1, 2, [2], colours);
  assert.deepEqual([...image.subarray(4, 8)], [7, 1, 1, 9]);
});
