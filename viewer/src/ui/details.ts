/** What is told of what is chosen: rows of the tables, as text that can be copied. */

import type { CpuState, ThreadState } from "../generated/tables";
import type { Slice } from "../model/slices";
import { length, point } from "../model/time";
import type { Shown } from "../model/layout";
import type { Selected, Span } from "../model/view";
import { Chain } from "../panels/chains";
import { source } from "../source";
import type { KindOfTrack } from "../tracks/kind";
import { besideInWords } from "./beside";
import { facts, heading, link, paragraph } from "./dom";

/** Most rows of what ran meanwhile. */
const MOST = 12;

/** What the panel needs of the page. */
export interface Around {
  readonly nameOf: (thread: number) => string;
  readonly select: (to: Selected) => void;
  /** Draws the arrows of a chain, or none. */
  readonly chain: (of: Chain | null) => void;
}

export class Details {
  private readonly panel: HTMLElement;
  private readonly around: Around;
  /** Counts what was chosen, so that answers to an earlier choice are not shown. */
  private turn = 0;

  constructor(panel: HTMLElement, around: Around) {
    this.panel = panel;
    this.around = around;
  }

  clear(): void {
    this.other();
    this.panel.replaceChildren(paragraph("Click a slice, or move with the arrow keys, to see what it is."));
  }

  /** Tells of a stretch of a thread. */
  async thread(key: number, at: number): Promise<void> {
    const turn = this.other();
    const told = await this.asked(turn, () => source.rows<ThreadState>("thread_state", at, at + 1, { thread: key }));
    const stretch = told?.[0];
    if (!stretch) return told ? this.none(turn) : undefined;
    const cells: [string, Node | string][] = [
      ["Thread", `${this.around.nameOf(key)}, number ${stretch.tid}`],
      ["State", stretch.state + (stretch.reason ? ` (${reason(stretch)})` : "")],
      ["From", point(stretch.start_ns)],
      ["To", point(stretch.end_ns)],
      ["Length", length(stretch.end_ns - stretch.start_ns)],
    ];
    const where = stretch.state === "running" ? "On CPU" : stretch.state === "ready" ? "On the queue of CPU" : "Last on CPU";
    if (stretch.cpu !== null) cells.push([where, this.link(String(stretch.cpu), { kind: "cpu", id: stretch.cpu, at })]);
    if (stretch.core_type !== null) cells.push(["Core type", stretch.core_type]);
    if (stretch.prio !== null) cells.push(["Dynamic priority", String(stretch.prio)]);
    if (stretch.exec_ns !== null) cells.push(["Charged by the kernel", length(stretch.exec_ns)]);
    if (stretch.state === "ready") cells.push(["Woken by", this.waker(stretch)]);
    const parts: Node[] = [heading(`${this.around.nameOf(key)}: ${stretch.state}`), facts(cells)];
    this.panel.replaceChildren(...parts);
    const beside = await this.asked(turn, () => this.besideThread(key, stretch));
    if (beside) this.panel.replaceChildren(...parts, facts(beside));
    if (!beside) return;
    parts.push(facts(beside));
    const running: Span | null = stretch.state === "running" ? { from: stretch.start_ns, to: stretch.end_ns } : null;
    const chain = await this.asked(turn, () => Chain.of(key, stretch.start_ns, running));
    if (!chain) return;
    this.around.chain(chain);
    const cpu = stretch.state === "ready" ? stretch.cpu : null;
    if (cpu !== null) {
      const meanwhile = await this.asked(turn, () => source.rows<CpuState>("cpu_state", stretch.start_ns, stretch.end_ns, { cpu }));
      if (!meanwhile) return;
      parts.push(...this.behind(cpu, stretch, meanwhile));
    }
    this.panel.replaceChildren(...parts, ...chain.told(this.around.nameOf, this.around.select));
  }

  /** Tells of a stretch of a CPU. */
  async cpu(cpu: number, at: number): Promise<void> {
    const turn = this.other();
    const told = await this.asked(turn, () => source.rows<CpuState>("cpu_state", at, at + 1, { cpu }));
    const stretch = told?.[0];
    if (!stretch) return told ? this.none(turn) : undefined;
    const cells: [string, Node | string][] = [
      ["CPU", String(cpu)],
      ["State", stretch.state],
      ["From", point(stretch.start_ns)],
      ["To", point(stretch.end_ns)],
      ["Length", length(stretch.end_ns - stretch.start_ns)],
    ];
    if (stretch.state === "busy" && stretch.thread !== null) {
      cells.push(["Thread", this.link(this.around.nameOf(stretch.thread), { kind: "thread", id: stretch.thread, at })]);
    }
    const jump = (label: string, to: number): [string, Node | string] => [label, this.link(point(to), { kind: "cpu", id: cpu, at: to })];
    if (stretch.start_ns > 0) cells.push(jump("Before", stretch.start_ns - 1));
    cells.push(jump("After", stretch.end_ns));
    this.panel.replaceChildren(heading(`CPU ${cpu}: ${stretch.state}`), facts(cells));
  }

  /** Tells of a slice of another kind of track. */
  beside(title: string, shown: Shown | undefined, kind: KindOfTrack, slice: Slice): void {
    this.other();
    const note = shown === undefined ? [] : [paragraph(shown.title)];
    this.panel.replaceChildren(heading(title), ...note, facts(besideInWords(kind, shown, slice)));
  }

  /** Tells of a stretch what is drawn of it, until its rows are told. */
  drawn(title: string, slice: Slice, [state, what]: readonly [string, string]): void {
    this.other();
    const cells: [string, string][] = [
      ["State", what === "" ? state : `${state}, ${what}`],
      ["From", point(slice.start)],
      ["To", point(slice.end)],
      ["Length", length(slice.end - slice.start)],
    ];
    this.panel.replaceChildren(heading(title), facts(cells));
  }

  /** Tells of short stretches that are drawn as one. */
  together(title: string, slice: Slice, state: string, what: string): void {
    this.other();
    this.panel.replaceChildren(
      heading(title),
      paragraph(`${slice.stretches} short stretches, drawn together: zoom in to tell them apart.`),
      facts([
        ["From", point(slice.start)],
        ["To", point(slice.end)],
        ["Length", length(slice.end - slice.start)],
        [`Most of it ${state}`, length(slice.stateNs)],
        [what, length(slice.whatNs)],
      ]),
    );
  }

  /** Something else is chosen: whose turn it is. */
  private other(): number {
    this.around.chain(null);
    return ++this.turn;
  }

  /** An answer, unless something else was chosen meanwhile; what fails is told. */
  private async asked<T>(turn: number, ask: () => Promise<T>): Promise<T | null> {
    try {
      const answer = await ask();
      return turn === this.turn ? answer : null;
    } catch (why) {
      if (turn === this.turn) this.panel.append(paragraph(`This cannot be told: ${(why as Error).message}`));
      return null;
    }
  }

  private none(turn: number): void {
    if (turn === this.turn) this.panel.replaceChildren(paragraph("Nothing was recorded here."));
  }

  /** The stretches of the thread before and after. */
  private async besideThread(key: number, stretch: ThreadState): Promise<[string, Node | string][]> {
    const of = { thread: key };
    const before = stretch.start_ns > 0 ? await source.rows<ThreadState>("thread_state", stretch.start_ns - 1, stretch.start_ns, of) : [];
    const after = await source.rows<ThreadState>("thread_state", stretch.end_ns, stretch.end_ns + 1, of);
    const cell = (label: string, s: ThreadState | undefined): [string, Node | string] => {
      if (!s) return [label, "nothing recorded"];
      const words = `${s.state}, ${length(s.end_ns - s.start_ns)}`;
      return [label, this.link(words, { kind: "thread", id: key, at: s.start_ns })];
    };
    return [cell("Before", before[0]), cell("After", after[0])];
  }

  private waker(stretch: ThreadState): Node | string {
    if (stretch.waker === null) return "not told";
    if (stretch.waker === 0) return "an interrupt";
    return this.link(this.around.nameOf(stretch.waker), { kind: "thread", id: stretch.waker, at: Math.max(0, stretch.start_ns - 1) });
  }

  /** What ran on a CPU while a thread was ready on its queue: rows of cpu_state, cut to that time. */
  private behind(cpu: number, ready: ThreadState, rows: readonly CpuState[]): Node[] {
    const table = document.createElement("table");
    for (const row of rows.slice(0, MOST)) {
      const [from, to] = [Math.max(row.start_ns, ready.start_ns), Math.min(row.end_ns, ready.end_ns)];
      const who = row.state === "busy" && row.thread !== null ? this.link(this.around.nameOf(row.thread), { kind: "thread", id: row.thread, at: from }) : row.state;
      const line = table.insertRow();
      line.insertCell().append(who);
      const time = line.insertCell();
      time.className = "time";
      time.append(length(to - from));
    }
    const more = rows.length > MOST ? [paragraph(`and ${rows.length - MOST} more stretches`)] : [];
    return [heading(`Meanwhile CPU ${cpu} ran`), table, ...more];
  }

  private link(label: string, to: Selected): HTMLButtonElement {
    return link(label, () => this.around.select(to));
  }
}

function reason(stretch: ThreadState): string {
  const text = stretch.reason ?? "";
  if (text === "left_runnable") return "left while it could run: preempted or yielded, not recorded which";
  return text.length === 1 ? `the kernel's state ${text}` : text.replaceAll("_", " ");
}
