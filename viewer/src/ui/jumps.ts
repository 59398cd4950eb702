/** Goes to an interval: zooms so that it can be seen, pins its threads on top, highlights it, and keeps the panel open. */

import type { ThreadTracks } from "../generated/tables";
import { selectable, viewOf, type Goal } from "../model/findings";
import type { Selected, Span } from "../model/view";
import { idOf, type Lanes } from "./lanes";
import type { Piece } from "./overlay";

/** The page's functions. */
export interface JumpActions {
  readonly show: (span: Span) => void;
  /** Selects a place without changing the panel; null clears the selection. */
  readonly select: (to: Selected | null) => void;
  readonly highlight: (of: Piece | null) => void;
  readonly changed: () => void;
}

export class Jumps {
  private readonly page: JumpActions;
  private readonly lanes: Lanes;
  private readonly threads: ReadonlyMap<number, ThreadTracks>;
  private readonly whole: number;
  /** What the last jump pinned. */
  private pinned: readonly string[] = [];

  constructor(page: JumpActions, lanes: Lanes, threads: ReadonlyMap<number, ThreadTracks>, whole: number) {
    [this.page, this.lanes, this.threads, this.whole] = [page, lanes, threads, whole];
  }

  /** Returns the place that is selected with an interval; null if its thread did not exist, or there is none. */
  selected(goal: Goal): Selected | null {
    if (!goal.track) return null;
    const at = goal.track.kind === "cpu" ? goal.from : selectable(goal, this.beginOf(goal.track.id));
    return at === null ? null : { ...goal.track, at };
  }

  /** Returns the view of an interval. */
  view(goal: Span): Span {
    return viewOf(goal, this.whole);
  }

  to(goal: Goal): void {
    this.pin(goal.threads);
    this.page.show(this.view(goal));
    this.page.select(this.selected(goal));
    this.page.highlight(goal.track?.kind === "thread" ? { from: goal.from, to: goal.to, thread: goal.track.id } : null);
    this.page.changed();
  }

  /** When a thread began, ns from the start of the recording; 0 if unknown. */
  beginOf(thread: number): number {
    return this.threads.get(thread)?.begin_ns ?? 0;
  }

  /** Pins threads on top, instead of those that the last jump pinned. What the user pinned stays. */
  pin(threads: readonly number[]): void {
    const ids = threads.map((id) => idOf({ kind: "thread", id })).filter((id) => this.lanes.arrangement.home(id) !== null);
    const now = this.lanes.choices.pinned;
    const own = now.filter((id) => !this.pinned.includes(id));
    const all = [...own.filter((id) => !ids.includes(id)), ...ids];
    this.pinned = ids.filter((id) => !own.includes(id));
    if (all.join() !== now.join()) this.lanes.set({ pinned: all });
  }
}
