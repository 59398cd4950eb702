/** What the page of one of two traces shows of the other one. */

import type { Page } from "../main";
import type { Track } from "../model/layout";
import { applyTheme } from "../ui/theme";
import type { Changed } from "./changed";

/** Shows what changed between two traces, as chosen on the outer page. */
export function showChanges(page: Page, changes: Changed): void {
  page.changes = changes;
  const { scene } = page;
  const top = scene.selected && page.lineOf(scene.selected)?.top;
  const ordered = changes.order();
  page.lanes.ordered(ordered);
  scene.changed = changes.colours();
  const now = scene.selected && page.lineOf(scene.selected);
  const first = scene.lines.find((line) => line.kind === "group" && line.label === ordered?.label);
  // A new order is shown from its begin, unless a thread is selected.
  if (now && now.top !== top) page.bring(now);
  else if (first && first.label !== page.canvas.dataset["order"]) scene.scroll = first.top;
  page.canvas.dataset["order"] = ordered?.label ?? "";
  page.actions.scroll(0);
  applyTheme(page);
}

/** Frames the threads that have the role selected in the other trace, and scrolls to the first one if none is visible. */
export function markThreads(page: Page, threads: readonly number[]): void {
  const { scene, timeline } = page;
  if (threads.length === 0 && scene.marked.size === 0) return;
  scene.marked = new Set(threads);
  page.canvas.dataset["marked"] = String(threads.length);
  const lines = scene.lines.filter((line): line is Track => line.kind === "thread" && scene.marked.has(line.id));
  const seen = (line: Track) => line.top >= scene.scroll && line.top + line.height <= scene.scroll + timeline.height;
  if (lines[0] && !lines.some(seen)) page.bring(lines[0]);
  page.changed();
}
