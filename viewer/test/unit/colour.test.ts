/** The palette, and what colours are chosen by. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { BY, classOfPriority, factsOf, prioritiesOf } from "../../src/model/facts";
import { DARK, hashOf, LIGHT, ofHash, pixel } from "../../src/model/palette";
import { emptyRow, hatchUnknown } from "../../src/model/raster";
import { colourOf, Looks, type Colouring } from "../../src/ui/colours";
import { difference, lab, type Lab } from "./ciede2000";

/** Table 1 of Sharma, Wu and Dalal (2005): two colours and their difference. */
const PUBLISHED: readonly [Lab, Lab, number][] = [
  [[50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425],
  [[50, 3.1571, -77.2803], [50, 0, -82.7485], 2.8615],
  [[50, 2.8361, -74.02], [50, 0, -82.7485], 3.4412],
  [[50, -1.3802, -84.2814], [50, 0, -82.7485], 1],
  [[50, -1.1848, -84.8006], [50, 0, -82.7485], 1],
  [[50, -0.9009, -85.5211], [50, 0, -82.7485], 1],
  [[50, 0, 0], [50, -1, 2], 2.3669],
  [[50, -1, 2], [50, 0, 0], 2.3669],
  [[50, 2.49, -0.001], [50, -2.49, 0.0009], 7.1792],
  [[50, 2.49, -0.001], [50, -2.49, 0.001], 7.1792],
  [[50, 2.49, -0.001], [50, -2.49, 0.0011], 7.2195],
  [[50, 2.49, -0.001], [50, -2.49, 0.0012], 7.2195],
  [[50, -0.001, 2.49], [50, 0.0009, -2.49], 4.8045],
  [[50, -0.001, 2.49], [50, 0.001, -2.49], 4.8045],
  [[50, -0.001, 2.49], [50, 0.0011, -2.49], 4.7461],
  [[50, 2.5, 0], [50, 0, -2.5], 4.3065],
  [[50, 2.5, 0], [73, 25, -18], 27.1492],
  [[50, 2.5, 0], [61, -5, 29], 22.8977],
  [[50, 2.5, 0], [56, -27, -3], 31.903],
  [[50, 2.5, 0], [58, 24, 15], 19.4535],
  [[50, 2.5, 0], [50, 3.1736, 0.5854], 1],
  [[50, 2.5, 0], [50, 3.2972, 0], 1],
  [[50, 2.5, 0], [50, 1.8634, 0.5757], 1],
  [[50, 2.5, 0], [50, 3.2592, 0.335], 1],
  [[60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644],
  [[63.0109, -31.0961, -5.8663], [62.8187, -29.7946, -4.0864], 1.263],
  [[61.2901, 3.7196, -5.3901], [61.4292, 2.248, -4.962], 1.8731],
  [[35.0831, -44.1164, 3.7933], [35.0232, -40.0716, 1.5901], 1.8645],
  [[22.7233, 20.0904, -46.694], [23.0331, 14.973, -42.5619], 2.0373],
  [[36.4612, 47.858, 18.3852], [36.2715, 50.5065, 21.2231], 1.4146],
  [[90.8027, -2.0831, 1.441], [91.1528, -1.6435, 0.0447], 1.4441],
  [[90.9257, -0.5406, -0.9208], [88.6381, -0.8985, -0.7239], 1.5381],
  [[6.7747, -0.2908, -2.4247], [5.8714, -0.0985, -2.2286], 0.6377],
  [[2.0776, 0.0795, -1.135], [0.9033, -0.0636, -0.5514], 0.9082],
];

test("CIEDE2000 gives the published differences, in both directions", () => {
  for (const [a, b, published] of PUBLISHED) {
    assert.equal(difference(a, b).toFixed(4), published.toFixed(4), `${a.join(" ")} and ${b.join(" ")}`);
    assert.equal(difference(b, a).toFixed(4), published.toFixed(4));
  }
  const white = lab("#ffffff");
  assert.ok(Math.abs(white[0] - 100) < 0.01 && Math.hypot(white[1], white[2]) < 0.02, white.join(" "));
  // Red in CIELAB with D65.
  assert.deepEqual(lab("#ff0000").map((part) => Number(part.toFixed(1))), [53.2, 80.1, 67.2]);
});

test("colours of threads differ from those of every state by 15, and from each other by 10", () => {
  for (const [name, palette] of [["light", LIGHT], ["dark", DARK]] as const) {
    assert.ok(palette.threads.length >= 12);
    const threads = palette.threads.map(lab);
    for (const [at, thread] of threads.entries()) {
      for (const state of [...palette.thread, palette.throttled, ...palette.cpu]) {
        const by = difference(thread, lab(state));
        assert.ok(by >= 15, `${name}: ${palette.threads[at]} and the state's ${state} differ by ${by}`);
      }
      for (const other of threads.slice(at + 1)) assert.ok(difference(thread, other) >= 10, `${name}: ${palette.threads[at]}`);
    }
    for (const state of palette.thread) assert.ok(difference(lab(state), lab(palette.throttled)) >= 15, `${name}: throttled and ${state}`);
    // Core types and priorities have colours of this palette, so the same holds for them.
    for (const colour of [...palette.types, ...palette.priorities]) assert.ok(palette.threads.includes(colour));
    assert.equal(new Set(palette.types).size, palette.types.length);
    assert.equal(new Set(palette.priorities).size, palette.priorities.length);
  }
});

const thread = (key: number, tid: number, pid: number | null, name: string) => ({
  track: key, thread: key, tid, pid, name, running_ns: 1, ready_ns: null, begin_ns: 0, is_kernel: false, efficient_ns: null, group: null,
});
const cpu = (number: number, core_type: string) => ({ cpu: number, package: null, die: null, cluster: null, core: null, siblings: [], core_class: 0, core_type, vendor_type: null });

test("the same thread has the same colour in both of two recordings, whatever its number", () => {
  const first = factsOf([thread(3, 20, 20, "game"), thread(4, 21, 20, "Render")], []);
  const second = factsOf([thread(1, 905, 900, "Render"), thread(9, 900, 900, "game"), thread(10, 950, 950, "shell"), thread(11, 951, 950, "Render")], []);
  assert.equal(ofHash(LIGHT, first.thread(4)), ofHash(LIGHT, second.thread(1)));
  assert.equal(first.process(4), second.process(1));
  assert.equal(first.process(3), first.process(4));
  // Of another process, it is another thread.
  assert.notEqual(second.thread(1), second.thread(11));
  // The names are apart: "ab" of "c" is not "b" of "ca".
  assert.notEqual(hashOf("c", "ab"), hashOf("ca", "b"));
  // FNV-1a of "a", with its upper half mixed in.
  assert.equal(hashOf("a"), (0xe40c292c ^ (0xe40c292c >>> 15)) >>> 0);
});

test("names that count up use most of the palette", () => {
  const used = new Set(Array.from({ length: 60 }, (_, at) => ofHash(LIGHT, hashOf("game", `Worker${at}`))));
  assert.ok(used.size >= 12, `${used.size} colours`);
});

test("busy and running slices are coloured by thread, process, core type, priority or state", () => {
  const rows = [{ thread: 3, prio: 98, running: 10 }, { thread: 3, prio: 120, running: 30 }, { thread: 4, prio: 130, running: 5 }, { thread: 5, prio: null, running: 9 }];
  const facts = factsOf([thread(3, 20, 20, "game"), thread(4, 21, 20, "Render")], [cpu(0, "performance"), cpu(1, "efficient"), cpu(2, "uniform")], prioritiesOf(rows));
  const [RUNS, READY] = [0, 1];
  const colouring = (by: Colouring["by"]): Colouring => ({ palette: LIGHT, by, facts, changed: null });
  const onCpu = (by: Colouring["by"], what: number, id = 0) => colourOf(colouring(by), { kind: "cpu", state: RUNS, what, id });
  const ofThread = (by: Colouring["by"], id: number, on: number, state = RUNS) => colourOf(colouring(by), { kind: "thread", state, what: on, id });
  assert.equal(onCpu("state", 3), LIGHT.cpu[0]);
  assert.equal(onCpu("process", 3), onCpu("process", 4));
  assert.notEqual(onCpu("thread", 3), onCpu("thread", 4));
  assert.deepEqual([onCpu("type", 3, 0), onCpu("type", 3, 1), onCpu("type", 3, 2)], [LIGHT.types[0], LIGHT.types[2], LIGHT.types[4]]);
  assert.deepEqual([ofThread("type", 3, 0), ofThread("type", 3, 1)], [LIGHT.types[0], LIGHT.types[2]]);
  assert.deepEqual([onCpu("priority", 3), onCpu("priority", 4), onCpu("priority", 5)], [LIGHT.priorities[2], LIGHT.priorities[3], LIGHT.priorities[4]]);
  assert.equal(ofThread("priority", 4, 0), LIGHT.priorities[3]);
  // Other states, and threads by thread, keep the colours of states.
  for (const by of BY) assert.equal(ofThread(by, 3, 0, READY), LIGHT.thread[READY]);
  assert.equal(ofThread("thread", 3, 0), LIGHT.thread[RUNS]);
  // Pixels are the same.
  const looks = new Looks();
  for (const by of BY) {
    for (const what of [3, 4, 5]) for (const id of [0, 1]) assert.equal(looks.get(colouring(by), "cpu", id).pixel(RUNS, what), pixel(onCpu(by, what, id)), `${by} ${what} on ${id}`);
    for (const id of [3, 4]) assert.equal(looks.get(colouring(by), "thread", id).pixel(RUNS, 1), pixel(ofThread(by, id, 1)), `${by} ${id}`);
  }
  assert.deepEqual([0, 99, 100, 119, 120, 121, 139].map(classOfPriority), [0, 0, 1, 1, 2, 3, 3]);
});

test("unknown time is hatched, but for the lowest line", () => {
  const [width, height, unknown, page] = [12, 4, 7, 1];
  const image = new Uint32Array(width * height).fill(unknown);
  image.fill(9, 2, 4);
  const row = emptyRow(10);
  row.colour.fill(unknown);
  row.colour[9] = 5;
  hatchUnknown(image, width, 2, row, { top: -1, height: 4, tick: 0 }, unknown, page);
  const line = (y: number) => [...image.subarray(y * width, (y + 1) * width)].join("");
  // The bar has lines 0 to 2; its last column has another colour, and what is not unknown stays.
  assert.deepEqual([0, 1, 2, 3].map(line), ["779977711777", "771777117777", "7".repeat(12), "7".repeat(12)]);
});
