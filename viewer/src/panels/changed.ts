/** What changed, on the page of one of two traces: colours, words, and the order of the threads. */

import { about, byThread, classOf, matched, order, short, words, type Changes, type Role } from "../model/changes";
import type { Order } from "../model/layout";
import type { ChangeColours } from "../ui/colours";
import { facts, heading, link, paragraph } from "../ui/dom";

/** What the outer page chose: the changes, the trace of this page, and what is shown of them. */
export interface Choice {
  readonly changes: Changes;
  /** 0: the first trace, 1: the second one. */
  readonly side: number;
  /** The number of the metric by which threads are coloured; null: by state. */
  readonly metric: number | null;
  /** Whether the threads with the largest change are first. */
  readonly sorted: boolean;
}

/** The thread state that a metric is about, by its id; counts of switches and migrations are about running. */
const STATES: Readonly<Record<string, number>> = { ready_ns: 1, blocked_ns: 2 };

export class Changed {
  private readonly choice: Choice;
  private readonly roles: ReadonlyMap<number, Role>;

  constructor(choice: Choice) {
    this.choice = choice;
    this.roles = byThread(choice.changes, choice.side);
  }

  /** The colours; null if threads are coloured by state. */
  colours(): ChangeColours | null {
    const { changes, metric, side } = this.choice;
    if (metric === null) return null;
    const classes = new Map([...this.roles].map(([thread, role]) => [thread, classOf(role, metric)]));
    const unknown = classOf(undefined, metric);
    return {
      state: STATES[changes.metrics[metric]?.id ?? ""] ?? 0,
      classOf: (thread) => classes.get(thread) ?? unknown,
      short: (thread) => short(this.roles.get(thread), metric, side),
    };
  }

  /** The order of the threads; null if by process. */
  order(): Order | null {
    const { changes, metric, sorted } = this.choice;
    if (metric === null || !sorted) return null;
    const places = order(changes, metric);
    const of = (thread: number) => places.get(this.roles.get(thread)!) ?? places.size;
    return { label: `Threads · largest change of ${changes.metrics[metric]?.title ?? ""} first, of the recorded program, then of others`, of };
  }

  /** The title of the legend; null if threads are coloured by state. */
  legend(): string | null {
    const { changes, metric } = this.choice;
    return metric === null ? null : about(changes, metric);
  }

  /** The change of a thread's role by the chosen metric, for tooltips; empty if threads are coloured by state. */
  line(thread: number): string {
    const { changes, metric, side } = this.choice;
    const role = this.roles.get(thread);
    if (metric === null || !role) return "";
    return `${role.name}: ${changes.metrics[metric]?.title ?? ""} ${words(changes, role, metric)}; ${matched(role, side)}`;
  }

  /** The change of a thread's role by all metrics. `open` selects a thread of the other trace. */
  nodes(thread: number, open: (thread: number) => void): Node[] {
    const { changes, side } = this.choice;
    const role = this.roles.get(thread);
    if (!role) return [];
    const [own, other] = [role.threads[side] ?? [], role.threads[1 - side] ?? []];
    const count = (of: readonly number[]) => `${of.length} ${of.length === 1 ? "thread" : "threads"}`;
    const cells: [string, string][] = changes.metrics.map((of, metric) => [of.title, words(changes, role, metric)]);
    const to = other[own.indexOf(thread)] ?? other[0];
    return [
      heading("Change of the role"),
      facts([["Role", role.name], ["Match", matched(role, side)], ["First → second", `${count(role.threads[0])} → ${count(role.threads[1])}`], ...cells]),
      ...(to === undefined ? [] : [link("Select this role in the other trace", () => open(to))]),
      paragraph("These are the sums of two recordings, not a test: `corewise compare` with several runs a side shows what is more than chance."),
    ];
  }
}
