/** How a thread came to run, and whom it woke then: words for the panel, arrows for the timeline, places for the jump keys. */

import type { ThreadState, WakeChain } from "../generated/tables";
import { length, point } from "../model/time";
import type { Selected, Span } from "../model/view";
import { source } from "../source";
import { heading, link, paragraph } from "../ui/dom";

/** Of one thread waking another. */
export interface Arrow {
  readonly from: number;
  readonly to: number;
  readonly at: number;
}

/** Those woken that are told. */
const MOST = 12;

/** What led to a place, and what came of it. */
export class Chain {
  readonly arrows: readonly Arrow[];
  private readonly back: readonly WakeChain[];
  private readonly woken: readonly ThreadState[];

  private constructor(thread: number, back: readonly WakeChain[], woken: readonly ThreadState[]) {
    [this.back, this.woken] = [back, woken];
    const before = back.filter((w) => w.waker > 0).map((w) => ({ from: w.waker, to: w.thread, at: w.at_ns }));
    this.arrows = [...before, ...woken.map((w) => ({ from: thread, to: w.thread, at: w.start_ns }))];
  }

  /** Of a thread at a time; `running` is the stretch in which it wakes others, where it runs. */
  static async of(thread: number, at: number, running: Span | null): Promise<Chain> {
    const back = await source.chain(thread, at);
    const rows = running ? await source.rows<ThreadState>("thread_state", running.from, running.to, { waker: thread }) : [];
    const woken = rows.filter((row) => running !== null && row.start_ns >= running.from && row.start_ns < running.to);
    return new Chain(thread, back, woken);
  }

  /** Who woke it last, then: the place of the waking on the waker's track. */
  get before(): Selected | null {
    const last = this.back[0];
    return last && last.waker > 0 ? { kind: "thread", id: last.waker, at: Math.max(0, last.at_ns - 1) } : null;
  }

  /** Whom it woke first. */
  get after(): Selected | null {
    const first = this.woken[0];
    return first ? { kind: "thread", id: first.thread, at: first.start_ns } : null;
  }

  /** As text with links. */
  told(nameOf: (thread: number) => string, select: (to: Selected) => void): Node[] {
    const nodes: Node[] = [];
    if (this.back.length > 0) {
      const list = document.createElement("ol");
      for (const waking of this.back) {
        const item = document.createElement("li");
        const woken = link(nameOf(waking.thread), () => select({ kind: "thread", id: waking.thread, at: waking.at_ns }));
        const waker = waking.waker === 0 ? "an interrupt" : link(nameOf(waking.waker), () => select({ kind: "thread", id: waking.waker, at: Math.max(0, waking.at_ns - 1) }));
        item.append(woken, " woken by ", waker, ` at ${point(waking.at_ns)}, then ready for ${length(waking.ready_ns)}`);
        list.append(item);
      }
      nodes.push(heading("Woken through"), list);
    }
    if (this.woken.length > 0) {
      const list = document.createElement("ul");
      for (const woken of this.woken.slice(0, MOST)) {
        const item = document.createElement("li");
        item.append(link(nameOf(woken.thread), () => select({ kind: "thread", id: woken.thread, at: woken.start_ns })), ` at ${point(woken.start_ns)}`);
        list.append(item);
      }
      nodes.push(heading("Woke meanwhile"), list);
      if (this.woken.length > MOST) nodes.push(paragraph(`and ${this.woken.length - MOST} more`));
    }
    return nodes;
  }
}
