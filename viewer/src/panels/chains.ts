/** The chain of wakeups to a thread and the threads it woke: text for the panel, arrows for the timeline, places for the jump keys. */

import type { ThreadState, WakeChain } from "../generated/tables";
import { length, point } from "../model/time";
import type { Selected, Span } from "../model/view";
import { source } from "../source";
import { heading, link, paragraph } from "../ui/dom";

/** An arrow from a waker to the thread it woke. */
export interface Arrow {
  readonly from: number;
  readonly to: number;
  readonly at: number;
}

/** The maximum number of woken threads that are listed. */
const MAX_LISTED = 12;

/** The wakeups before a place, and those caused by it. */
export class Chain {
  readonly arrows: readonly Arrow[];
  private readonly back: readonly WakeChain[];
  private readonly woken: readonly ThreadState[];

  private constructor(thread: number, back: readonly WakeChain[], woken: readonly ThreadState[]) {
    [this.back, this.woken] = [back, woken];
    const before = back.filter((w) => w.waker > 0).map((w) => ({ from: w.waker, to: w.thread, at: w.at_ns }));
    this.arrows = [...before, ...woken.map((w) => ({ from: thread, to: w.thread, at: w.start_ns }))];
  }

  /** Requests the chain of a thread at a time; `running` is its running stretch, in which it may wake others. */
  static async of(thread: number, at: number, running: Span | null): Promise<Chain> {
    const back = await source.chain(thread, at);
    const rows = running ? await source.rows<ThreadState>("thread_state", running.from, running.to, { waker: thread }) : [];
    const woken = rows.filter((row) => running !== null && row.start_ns >= running.from && row.start_ns < running.to);
    return new Chain(thread, back, woken);
  }

  /** The place of the last wakeup on the waker's track. */
  get before(): Selected | null {
    const last = this.back[0];
    return last && last.waker > 0 ? { kind: "thread", id: last.waker, at: Math.max(0, last.at_ns - 1) } : null;
  }

  /** The first thread that it woke. */
  get after(): Selected | null {
    const first = this.woken[0];
    return first ? { kind: "thread", id: first.thread, at: first.start_ns } : null;
  }

  /** Returns text with links. */
  nodes(nameOf: (thread: number) => string, select: (to: Selected) => void): Node[] {
    const nodes: Node[] = [];
    if (this.back.length > 0) {
      const list = document.createElement("ol");
      for (const wakeup of this.back) {
        const item = document.createElement("li");
        const woken = link(nameOf(wakeup.thread), () => select({ kind: "thread", id: wakeup.thread, at: wakeup.at_ns }));
        const waker = wakeup.waker === 0 ? "an interrupt" : link(nameOf(wakeup.waker), () => select({ kind: "thread", id: wakeup.waker, at: Math.max(0, wakeup.at_ns - 1) }));
        item.append(woken, " woken by ", waker, ` at ${point(wakeup.at_ns)}, then ready for ${length(wakeup.ready_ns)}`);
        list.append(item);
      }
      nodes.push(heading("Chain of wakeups"), list);
    }
    if (this.woken.length > 0) {
      const list = document.createElement("ul");
      for (const woken of this.woken.slice(0, MAX_LISTED)) {
        const item = document.createElement("li");
        item.append(link(nameOf(woken.thread), () => select({ kind: "thread", id: woken.thread, at: woken.start_ns })), ` at ${point(woken.start_ns)}`);
        list.append(item);
      }
      nodes.push(heading("Woke these threads"), list);
      if (this.woken.length > MAX_LISTED) nodes.push(paragraph(`and ${this.woken.length - MAX_LISTED} more`));
    }
    return nodes;
  }
}
