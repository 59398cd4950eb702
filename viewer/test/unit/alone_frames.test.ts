import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldFrames } from "../../src/alone_frames";
import type { FrameList } from "../../src/model/frames";

const frame = (rank: number, took: number, budget: number) => ({ rank, start_ns: 0, end_ns: took, frame_ns: took, over_ns: took - budget, thread: null, name: "frame", number: null });

/** A page with the lists of two sources. */
function held(count: number) {
  const list: FrameList = { frames: [frame(1, 30, 10), frame(2, 12, 10)], budget: 10, median: 10, count, over: 2, bars: [], bar: 1 };
  const tables = new Map<string, FrameList | string>([["frames-1", list], ["causes-1-1", "causes"]]);
  return new HeldFrames<FrameList | string>({
    text: async (name) => (name === "frame-sources" ? JSON.stringify([{ of: "mark:a" }, { of: "mark:frame" }]) : null),
    table: async (name) => tables.get(name) ?? null,
    listOf: (table) => table as FrameList,
    more: "ask the server",
  });
}

test("another budget counts again if all frames are in the page, and is refused if not", async () => {
  const list = await held(2).list("mark:frame", 20);
  assert.deepEqual([list.over, list.budget, list.frames.map((of) => of.over_ns)], [1, 20, [10, -8]]);
  await assert.rejects(held(3).list("mark:frame", 20), /only the 2 slowest of 3 frames: for another budget, ask the server/);
  assert.equal((await held(3).list("mark:frame", null)).over, 2);
});

test("causes are those of the page's budget, and of the frames that it has", async () => {
  assert.equal(await held(2).causes("mark:frame", 10, 1), "causes");
  await assert.rejects(held(2).causes("mark:frame", 11, 1), /its own budget/);
  await assert.rejects(held(2).causes("mark:frame", null, 2), /only of the slowest/);
  await assert.rejects(held(2).list("mark:a", null), /does not contain these frames/);
  await assert.rejects(held(2).sources(true), /no periods/);
});
