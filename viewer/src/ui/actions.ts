/** The actions of keyboard and mouse on the page. */

import type { Page } from "../main";
import { BY } from "../model/facts";
import { isTrack } from "../model/layout";
import { moved, ranged, zoomed } from "../model/view";
import type { Actions } from "./input";
import { idOf } from "./lanes";
import { colourBy } from "./theme";
import { LABELS } from "./timeline";

/** Returns the actions of a page. */
export function actionsOf(page: Page): Actions {
  const actions: Actions = {
    zoom: (by, x) => page.show(zoomed(page.scene.span, x === null ? page.centre() : page.timeline.timeAt(page.scene, x), by, page.about.span_ns)),
    pan: (part) => page.show(moved(page.scene.span, part * (page.scene.span.to - page.scene.span.from), page.about.span_ns)),
    drag: (dx, dy) => {
      actions.pan(-dx / page.timeline.width);
      actions.scroll(-dy);
    },
    scroll: (by) => {
      page.scene.scroll = Math.min(Math.max(0, page.scene.scroll + by), Math.max(0, page.scene.height - page.timeline.height));
      page.changed();
    },
    page: (by) => actions.scroll(by * 0.9 * page.timeline.height),
    whole: () => page.show({ from: 0, to: page.about.span_ns }),
    mark: (x0, x1) => {
      const [a, b] = [page.timeline.timeAt(page.scene, x0), page.timeline.timeAt(page.scene, x1)];
      page.mark(ranged(a, b, page.about.span_ns));
    },
    range: () => {
      const slice = page.chosen()?.slice;
      const { from, to } = slice ? { from: slice.start, to: slice.end } : page.scene.span;
      page.mark(ranged(from, to, page.about.span_ns));
    },
    stretch: (by) => {
      const range = page.scene.overlay.range ?? page.scene.span;
      const to = range.to + (by * (page.scene.span.to - page.scene.span.from)) / 50;
      if (to > range.from) page.mark(ranged(range.from, to, page.about.span_ns));
    },
    zoomRange: () => page.scene.overlay.range && page.show(page.scene.overlay.range),
    path: () => {
      if (!page.scene.overlay.range) actions.range();
      page.range.togglePath();
    },
    jump: (by) => {
      const to = by < 0 ? page.chain?.before : page.chain?.after;
      if (to) page.select(to, true);
      else page.say(by < 0 ? "Waker not recorded." : "No wakeups by this thread.");
    },
    frame: (by) => page.frames.step(by),
    hit: (by) => void page.searched.go(by),
    isRuler: (x, y) => page.timeline.isRuler(x, y),
    choose: (x, y) => {
      if (page.timeline.isRuler(x, y)) return page.navigation.pin(x);
      const line = page.timeline.lineAt(page.scene, y);
      if (line && !isTrack(line)) return page.lanes.toggle(line.id);
      if (line && x < LABELS) return page.select({ kind: line.kind, id: line.id, at: page.scene.selected?.at ?? page.centre() }, false);
      if (!line || !page.timeline.isTime(x, y)) return actions.clear();
      page.select({ kind: line.kind, id: line.id, at: page.timeline.timeAt(page.scene, x) }, false);
    },
    clear: () => {
      if (!page.scene.selected && !page.scene.overlay.evidence) page.mark(null);
      page.highlight(null);
      page.deselect();
    },
    step: (by) => step(page, by),
    track: (by) => track(page, by),
    focus: () => {
      const slice = page.chosen()?.slice;
      if (!slice) return;
      const margin = (slice.end - slice.start) / 2;
      page.show({ from: slice.start - margin, to: slice.end + margin });
    },
    colour: () => colourBy(page, BY[(BY.indexOf(page.scene.by) + 1) % BY.length]!),
    fold: () => {
      const home = page.scene.selected && page.lanes.arrangement.home(idOf(page.scene.selected));
      if (home) page.lanes.toggle(home);
    },
    foldAll: () => page.lanes.toggleAll(),
    pin: () => page.scene.selected && page.lanes.pin(idOf(page.scene.selected)),
    hide: () => {
      const { selected } = page.scene;
      if (!selected) return;
      track(page, 1);
      page.lanes.hide(idOf(selected));
    },
    shift: (by) => page.scene.selected && page.lanes.shift(idOf(page.scene.selected), by),
    grab: (x, y) => x < LABELS && page.handles.grab(page.timeline.lineAt(page.scene, y)),
    carry: (y) => page.handles.carry(page.timeline.lineAt(page.scene, y), y),
    drop: () => page.handles.drop(),
    leave: () => page.tip.hide(),
    recolour: () => page.other?.recolour(),
    hover: (x, y) => {
      page.navigation.hover(x);
      page.tip.hover(x, y);
    },
    note: () => page.navigation.pin(null),
    back: (by) => {
      if (page.other && !page.address.canGo(by)) page.other.back(by);
      else goBack(page, by);
    },
  };
  return actions;
}

/** Goes one step back or forward in the history. */
export function goBack(page: Page, by: -1 | 1): void {
  if (!page.address.go(by)) page.say("This is the first view: nothing to undo.");
}

/** Selects the previous or next slice. */
function step(page: Page, by: number): void {
  const now = page.chosen();
  if (!now) return track(page, 1);
  const { line, slice } = now;
  if (!slice) return;
  const at = by < 0 ? slice.start - 1 : slice.end;
  if (at >= 0 && at < page.about.span_ns) page.select({ kind: line.kind, id: line.id, at }, true);
}

/** Selects the track above or below. */
function track(page: Page, by: number): void {
  const tracks = page.scene.lines.filter(isTrack);
  const selected = page.scene.selected;
  const now = selected ? tracks.findIndex((t) => t.kind === selected.kind && t.id === selected.id) : -1;
  const to = tracks[Math.min(tracks.length - 1, Math.max(0, now + by))];
  if (to) page.select({ kind: to.kind, id: to.id, at: selected?.at ?? page.centre() }, true);
}
