/** Flame graphs of samples: a tree of functions, each as wide as its share of the samples, above the function that called it. */

/** The samples of a callchain: a row of the table `folded_stacks`. */
export interface FoldedStack {
  readonly coreType: string;
  readonly thread: string;
  /** The functions, outermost first, with semicolons in between. */
  readonly chain: string;
  readonly samples: number;
}

export type FrameKind = "root" | "core" | "thread" | "program" | "kernel" | "unnamed";

export interface FlameFrame {
  readonly label: string;
  readonly kind: FrameKind;
  /** The number of frames below it. */
  readonly depth: number;
  /** Where it begins and its share of the samples, 0 to 1. */
  readonly x: number;
  readonly width: number;
  readonly samples: number;
  /** The change of its share against the baseline, in points; null without one. */
  readonly points: number | null;
}

/** Frames with a smaller share of the shown samples are left out. */
export const MIN_SHARE = 0.001;
/** The maximum number of frames above each other. */
const MAX_DEPTH = 256;
/** The changes of a share, in points, from which a frame gets the next colour; as in the report. */
const STEPS = [0.5, 2, 5];

interface Node {
  readonly label: string;
  readonly kind: FrameKind;
  readonly depth: number;
  /** The samples, and those of the baseline. */
  readonly counts: [number, number];
  readonly callees: Map<string, Node>;
}

function node(label: string, kind: FrameKind, depth: number): Node {
  return { label, kind, depth, counts: [0, 0], callees: new Map() };
}

function kindOf(name: string): FrameKind {
  return name.endsWith("_[k]") ? "kernel" : name.startsWith("[") ? "unnamed" : "program";
}

/**
 * Of several outermost frames without names, only the first stays: why the chain is truncated, or the file. They would hide which functions
 * the others called.
 */
function fromFirstNamed(names: string[]): string[] {
  const first = names.findIndex((name) => kindOf(name) !== "unnamed");
  return names.filter((_, at) => at === 0 || at >= first);
}

/** The name that is shown of a frame of a folded callchain: its ending says where the function is. */
function labelOf(name: string): string {
  if (name.endsWith("_[i]")) return `${name.slice(0, -4)} (inlined)`;
  return name.endsWith("_[k]") ? name.slice(0, -4) : name;
}

function add(root: Node, stacks: readonly FoldedStack[], which: 0 | 1, byCore: boolean): void {
  for (const { coreType, thread, chain, samples } of stacks) {
    const above: [string, FrameKind][] = [[thread, "thread"], ...fromFirstNamed(chain.split(";")).map((name): [string, FrameKind] => [name, kindOf(name)])];
    if (byCore && coreType !== "uniform") above.unshift([coreType, "core"]);
    let at = root;
    at.counts[which] += samples;
    for (const [name, kind] of above.slice(0, MAX_DEPTH)) {
      let next = at.callees.get(name);
      if (!next) {
        next = node(labelOf(name), kind, at.depth + 1);
        at.callees.set(name, next);
      }
      at = next;
      at.counts[which] += samples;
    }
  }
}

/** Returns the frames, callers first; the first one is the root. The baseline only colours them. */
export function flame(stacks: readonly FoldedStack[], baseline: readonly FoldedStack[] | null, byCore: boolean): FlameFrame[] {
  const root = node("all", "root", 0);
  add(root, stacks, 0, byCore);
  add(root, baseline ?? [], 1, byCore);
  const [all, before] = root.counts.map((samples) => Math.max(1, samples)) as [number, number];
  const frames: FlameFrame[] = [];
  const pending: [Node, number][] = [[root, 0]];
  for (let item = pending.pop(); item; item = pending.pop()) {
    const [of, from] = item;
    const width = of.counts[0] / all;
    const points = baseline ? 100 * (width - of.counts[1] / before) : null;
    frames.push({ label: of.label, kind: of.kind, depth: of.depth, x: from / all, width, samples: of.counts[0], points });
    let begin = from;
    for (const callee of [...of.callees.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, next]) => next)) {
      if (callee.counts[0] > 0 && callee.counts[0] / all >= MIN_SHARE) pending.push([callee, begin]);
      begin += callee.counts[0];
    }
  }
  return frames;
}

/** Returns the step of a change, -3 (much smaller) to 3 (much larger). */
export function step(points: number): number {
  return Math.sign(points) * STEPS.filter((least) => Math.abs(points) >= least).length;
}

/** Returns where a frame is drawn while another one fills the width; null if it is neither within it nor one of its callers. */
export function zoomed(frame: FlameFrame, to: FlameFrame): { x: number; width: number } | null {
  const slack = 1e-9;
  const within = frame.x >= to.x - slack && frame.x + frame.width <= to.x + to.width + slack;
  if (within && frame.depth >= to.depth) return { x: (frame.x - to.x) / to.width, width: frame.width / to.width };
  const around = frame.x <= to.x + slack && frame.x + frame.width >= to.x + to.width - slack;
  return around && frame.depth < to.depth ? { x: 0, width: 1 } : null;
}

/** Returns the frames whose names contain the words, and their share of the samples. A function that called itself counts once. */
export function found(frames: readonly FlameFrame[], words: string): { hits: FlameFrame[]; share: number } {
  const lower = words.toLowerCase();
  const hits = lower === "" ? [] : frames.filter((frame) => frame.label.toLowerCase().includes(lower));
  let [share, end] = [0, 0];
  for (const { x, width } of [...hits].sort((a, b) => a.x - b.x || b.width - a.width)) {
    share += Math.max(0, x + width - Math.max(x, end));
    end = Math.max(end, x + width);
  }
  return { hits, share };
}
