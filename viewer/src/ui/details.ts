/** Details of the selection: rows of the tables, as text that can be copied. */

import type { CpuState, ThreadState } from "../generated/tables";
import type { Slice } from "../model/slices";
import { length, point } from "../model/time";
import type { KindInfo, Lock } from "../model/layout";
import type { Selected, Span } from "../model/view";
import { Chain } from "../panels/chains";
import { lockCells, waitersOf } from "../panels/locks";
import { isMostlyThrottled, throttledCell, throttledIn } from "../panels/throttled";
import { waitCells, waitOf, type Wait } from "../panels/waited";
import { source } from "../source";
import { breakEven, endWords, type IdleEnd } from "../tracks/idle_ends";
import type { KindOfTrack } from "../tracks/kind";
import { extraFacts, rangeOf } from "./extra";
import { facts, heading, link, paragraph } from "./dom";

/** The maximum number of rows for what ran meanwhile. */
const MAX_ROWS = 12;

/** The page's functions that the panel uses. */
export interface PageActions {
  readonly nameOf: (thread: number) => string;
  readonly select: (to: Selected) => void;
  /** Describes what changed for a thread between two traces; empty if that is not shown. */
  readonly changeOf: (thread: number) => Node[];
  /** What is shown while nothing is selected. */
  readonly idle: () => Node[];
  /** Returns the track of the lock of a wait; null if it has none. `pid` is the process of its word. */
  readonly lockOf: (wait: { readonly kind: string; readonly object: string | null }, pid: number | null) => number | null;
  /** Shows the track of a lock at a time. */
  readonly toLock: (track: number, at: number) => void;
  readonly pidOf: (thread: number) => number | null;
  /** Whether any thread is known to have been throttled. */
  readonly hasThrottled: boolean;
  /** Draws the arrows of a chain, or clears them. */
  readonly chain: (of: Chain | null) => void;
}

export class Details {
  private readonly panel: HTMLElement;
  private readonly page: PageActions;
  /** Counts selections, so that answers for an earlier one are not shown. */
  private turn = 0;

  constructor(panel: HTMLElement, page: PageActions) {
    this.panel = panel;
    this.page = page;
  }

  clear(): void {
    this.nextTurn();
    this.panel.replaceChildren(...this.page.idle());
  }

  /** Shows a stretch of a thread. */
  async thread(key: number, at: number): Promise<void> {
    const turn = this.nextTurn();
    const rows = await this.request(turn, () => source.rows<ThreadState>("thread_state", at, at + 1, { thread: key }));
    const stretch = rows?.[0];
    if (!stretch) return rows ? this.none(turn) : undefined;
    const cells: [string, Node | string][] = [
      ["Thread", `${this.page.nameOf(key)} (TID ${stretch.tid})`],
      ["State", stretch.state + (stretch.reason ? ` (${reason(stretch)})` : "")],
      ["From", point(stretch.start_ns)],
      ["To", point(stretch.end_ns)],
      ["Length", length(stretch.end_ns - stretch.start_ns)],
    ];
    const where = stretch.state === "running" ? "On CPU" : stretch.state === "ready" ? "Queued on CPU" : "Last on CPU";
    if (stretch.cpu !== null) cells.push([where, this.link(String(stretch.cpu), { kind: "cpu", id: stretch.cpu, at })]);
    if (stretch.core_type !== null) cells.push(["Core type", stretch.core_type]);
    if (stretch.prio !== null) cells.push(["Dynamic priority", String(stretch.prio)]);
    if (stretch.exec_ns !== null) cells.push(["Run time charged by the kernel", length(stretch.exec_ns)]);
    if (stretch.state === "ready") cells.push(["Woken by", this.waker(stretch)]);
    const parts: Node[] = [heading(`${this.page.nameOf(key)}: ${stretch.reason === "throttled" ? stretch.reason : stretch.state}`), facts(cells)];
    const change = this.page.changeOf(key);
    this.panel.replaceChildren(...parts, ...change);
    const wait = stretch.state === "blocked" ? await this.request(turn, () => waitOf(key, stretch)) : null;
    const throttled = stretch.state === "ready" && this.page.hasThrottled ? await this.request(turn, () => throttledIn(key, stretch)) : 0;
    if (turn !== this.turn) return;
    if (throttled) parts.push(facts([throttledCell(throttled, stretch)]));
    if (wait) parts.push(facts(waitCells(wait, this.threadLink, this.lockLink(key, wait, at))));
    const neighbours = await this.request(turn, () => this.neighbours(key, stretch));
    if (neighbours) this.panel.replaceChildren(...parts, facts(neighbours), ...change);
    if (!neighbours) return;
    parts.push(facts(neighbours), ...change);
    const running: Span | null = stretch.state === "running" ? { from: stretch.start_ns, to: stretch.end_ns } : null;
    // Of a wait, what ended it.
    const woken = stretch.state === "blocked" ? stretch.end_ns : stretch.start_ns;
    const chain = await this.request(turn, () => Chain.of(key, woken, running));
    if (!chain) return;
    this.page.chain(chain);
    // A thread that is throttled does not wait for the CPU on whose queue it was.
    const cpu = stretch.state === "ready" && !isMostlyThrottled(throttled ?? 0, stretch) ? stretch.cpu : null;
    if (cpu !== null) {
      const meanwhile = await this.request(turn, () => source.rows<CpuState>("cpu_state", stretch.start_ns, stretch.end_ns, { cpu }));
      if (!meanwhile) return;
      parts.push(...this.ranInstead(cpu, stretch, meanwhile));
    }
    this.panel.replaceChildren(...parts, ...chain.nodes(this.page.nameOf, this.page.select));
  }

  /** Shows a stretch of a CPU. */
  async cpu(cpu: number, at: number): Promise<void> {
    const turn = this.nextTurn();
    const rows = await this.request(turn, () => source.rows<CpuState>("cpu_state", at, at + 1, { cpu }));
    const stretch = rows?.[0];
    if (!stretch) return rows ? this.none(turn) : undefined;
    const cells: [string, Node | string][] = [
      ["CPU", String(cpu)],
      ["State", stretch.state],
      ["From", point(stretch.start_ns)],
      ["To", point(stretch.end_ns)],
      ["Length", length(stretch.end_ns - stretch.start_ns)],
    ];
    if (stretch.state === "busy" && stretch.thread !== null) {
      cells.push(["Thread", this.link(this.page.nameOf(stretch.thread), { kind: "thread", id: stretch.thread, at })]);
    }
    const jump = (label: string, to: number): [string, Node | string] => [label, this.link(point(to), { kind: "cpu", id: cpu, at: to })];
    if (stretch.start_ns > 0) cells.push(jump("Previous", stretch.start_ns - 1));
    cells.push(jump("Next", stretch.end_ns));
    this.panel.replaceChildren(heading(`CPU ${cpu}: ${stretch.state}`), facts(cells));
  }

  /** Shows a slice of an additional track. */
  extra(title: string, track: number, info: KindInfo | undefined, kind: KindOfTrack, slice: Slice, counted: [string, string][] | null, end: IdleEnd | null): void {
    this.nextTurn();
    const note = info === undefined ? [] : [paragraph(info.title)];
    const cells: [string, Node | string][] = counted ? [...counted, ["From", point(slice.start)], ["To", point(slice.end)]] : extraFacts(kind, info, slice);
    const lane = info?.lanes.find((of) => of.track === track);
    const thread = lane?.thread ?? null;
    if (thread !== null) cells.push(["Thread", this.link(this.page.nameOf(thread), { kind: "thread", id: thread, at: slice.start })]);
    const linked = (of: number): Node => this.link(this.page.nameOf(of), { kind: "thread", id: of, at: slice.end });
    const even = end === null ? "" : breakEven(end);
    if (even !== "") cells.push(["Break-even", even]);
    if (end) cells.push(["Ended by", endWords(end)]);
    if (end && end.what.waker !== null) cells.push(["Woken by", linked(end.what.waker)]);
    if (end && end.what.thread !== null) cells.push(["Then ran", linked(end.what.thread)]);
    const range = rangeOf(lane, slice);
    if (range !== null) cells.push(["For commands", `--range '${range}'`]);
    this.panel.replaceChildren(heading(title), ...note, facts(cells));
  }

  /** Shows a lock, a slice of its track, and which threads waited at a time of it. */
  async lock(title: string, lock: Lock, slice: Slice | null, waiting: Slice | null, at: number): Promise<void> {
    const turn = this.nextTurn();
    const only = paragraph("A lock is shown while threads wait for it; who holds it otherwise is not recorded.");
    const parts = [heading(title), facts(lockCells(lock, slice, waiting, this.threadLink)), only];
    this.panel.replaceChildren(...parts);
    const waiters = slice && (await this.request(turn, () => waitersOf(lock, Math.floor(at), this.page.pidOf)));
    if (!waiters || waiters.length === 0) return;
    const table = document.createElement("table");
    for (const of of waiters.slice(0, MAX_ROWS)) {
      const line = table.insertRow();
      line.insertCell().append(this.threadLink(of.thread, of.since));
      const time = line.insertCell();
      time.className = "time";
      time.append(length(of.lasted));
    }
    const more = waiters.length > MAX_ROWS ? [paragraph(`and ${waiters.length - MAX_ROWS} more threads`)] : [];
    this.panel.replaceChildren(...parts.slice(0, -1), heading(`Waiting at ${point(Math.floor(at))}, so far`), table, ...more, only);
  }

  /** Shows what is drawn of a stretch, until its rows arrive. */
  drawn(title: string, slice: Slice, [state, what]: readonly [string, string]): void {
    this.nextTurn();
    const cells: [string, string][] = [
      ["State", what === "" ? state : `${state}, ${what}`],
      ["From", point(slice.start)],
      ["To", point(slice.end)],
      ["Length", length(slice.end - slice.start)],
    ];
    this.panel.replaceChildren(heading(title), facts(cells));
  }

  /** Shows short stretches that are drawn as one slice. */
  merged(title: string, slice: Slice, state: string, what: string, change: readonly Node[]): void {
    this.nextTurn();
    this.panel.replaceChildren(
      heading(title),
      paragraph(`${slice.stretches} short stretches, drawn as one slice. Zoom in to see them separately.`),
      facts([
        ["From", point(slice.start)],
        ["To", point(slice.end)],
        ["Length", length(slice.end - slice.start)],
        [`Time in state ${state}`, length(slice.stateNs)],
        [what, length(slice.whatNs)],
      ]),
      ...change,
    );
  }

  /** Starts a new selection and returns its number. */
  private nextTurn(): number {
    this.page.chain(null);
    return ++this.turn;
  }

  /** Returns an answer, or null if the selection changed meanwhile or the request failed; an error is shown. */
  private async request<T>(turn: number, ask: () => Promise<T>): Promise<T | null> {
    try {
      const answer = await ask();
      return turn === this.turn ? answer : null;
    } catch (why) {
      if (turn === this.turn) this.panel.append(paragraph(`Unavailable: ${(why as Error).message}`));
      return null;
    }
  }

  private none(turn: number): void {
    if (turn === this.turn) this.panel.replaceChildren(paragraph("Nothing was recorded at this time."));
  }

  /** Returns the previous and the next stretch of the thread. */
  private async neighbours(key: number, stretch: ThreadState): Promise<[string, Node | string][]> {
    const of = { thread: key };
    const before = stretch.start_ns > 0 ? await source.rows<ThreadState>("thread_state", stretch.start_ns - 1, stretch.start_ns, of) : [];
    const after = await source.rows<ThreadState>("thread_state", stretch.end_ns, stretch.end_ns + 1, of);
    const cell = (label: string, s: ThreadState | undefined): [string, Node | string] => {
      if (!s) return [label, "nothing recorded"];
      const text = `${s.state}, ${length(s.end_ns - s.start_ns)}`;
      return [label, this.link(text, { kind: "thread", id: key, at: s.start_ns })];
    };
    return [cell("Previous", before[0]), cell("Next", after[0])];
  }

  private waker(stretch: ThreadState): Node | string {
    if (stretch.waker === null) return "not recorded";
    if (stretch.waker === 0) return "an interrupt";
    return this.link(this.page.nameOf(stretch.waker), { kind: "thread", id: stretch.waker, at: Math.max(0, stretch.start_ns - 1) });
  }

  /** Lists what ran on a CPU while a thread was queued on it: rows of cpu_state, cut to that time. */
  private ranInstead(cpu: number, ready: ThreadState, rows: readonly CpuState[]): Node[] {
    const table = document.createElement("table");
    for (const row of rows.slice(0, MAX_ROWS)) {
      const [from, to] = [Math.max(row.start_ns, ready.start_ns), Math.min(row.end_ns, ready.end_ns)];
      const content = row.state === "busy" && row.thread !== null ? this.link(this.page.nameOf(row.thread), { kind: "thread", id: row.thread, at: from }) : row.state;
      const line = table.insertRow();
      line.insertCell().append(content);
      const time = line.insertCell();
      time.className = "time";
      time.append(length(to - from));
    }
    const more = rows.length > MAX_ROWS ? [paragraph(`and ${rows.length - MAX_ROWS} more stretches`)] : [];
    return [heading(`CPU ${cpu} meanwhile`), table, ...more];
  }

  private readonly threadLink = (thread: number, at: number): Node => this.link(this.page.nameOf(thread), { kind: "thread", id: thread, at });

  /** Returns a link to the track of the lock for which a thread waits at a time; null if it has none. */
  private lockLink(thread: number, wait: Wait, at: number): ((label: string) => Node) | null {
    const track = this.page.lockOf(wait, wait.pid ?? this.page.pidOf(thread));
    return track === null ? null : (label) => link(label, () => this.page.toLock(track, Math.max(wait.start_ns, Math.min(at, wait.end_ns - 1))));
  }

  private link(label: string, to: Selected): HTMLButtonElement {
    return link(label, () => this.page.select(to));
  }
}

function reason(stretch: ThreadState): string {
  const text = stretch.reason ?? "";
  if (text === "left_runnable") return "switched out while runnable: preempted or yielded, not recorded which";
  return text.length === 1 ? `kernel state ${text}` : text.replaceAll("_", " ");
}
