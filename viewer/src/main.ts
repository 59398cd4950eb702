/** The page: its state, and the actions of keyboard and mouse. */

import { firstView, limitsOf } from "./alone";
import { OF, type About } from "./api";
import { CPU_STATES, THREAD_STATES, type ThreadTracks } from "./generated/tables";
import { threadsOnPath } from "./model/frames";
import { BY, factsOf, prioritiesOf, type By } from "./model/facts";
import { isTrack, topOf, type Track } from "./model/layout";
import { DARK, LIGHT } from "./model/palette";
import type { Slice } from "./model/slices";
import { Tiles } from "./model/tiles";
import { length } from "./model/time";
import { readable } from "./model/readable";
import { clamped, fromHash, moved, ranged, toHash, zoomed, type Selected, type Span } from "./model/view";
import type { Chain } from "./panels/chains";
import { Findings } from "./panels/findings";
import { Frames } from "./panels/frames";
import { showBoth } from "./panels/both";
import { Changed } from "./panels/changed";
import { Linked } from "./panels/linked";
import type { Hit } from "./panels/hits";
import { prepared } from "./panels/preparing";
import { Range } from "./panels/range";
import { Search } from "./panels/search";
import { Tabs } from "./panels/tabs";
import { TracksPanel } from "./panels/tracks";
import { criticalPath, firstMarks, priorities, source } from "./source";
import { extraStyle } from "./tracks/list";
import { Details } from "./ui/details";
import { Address } from "./ui/address";
import { Handles } from "./ui/handles";
import { fillHelp } from "./ui/help";
import { control, type Actions } from "./ui/input";
import { Jumps } from "./ui/jumps";
import { Navigation } from "./ui/navigation";
import { idOf, Lanes } from "./ui/lanes";
import { fillChanges, fillLegend } from "./ui/legend";
import { keep } from "./ui/settings";
import { LABELS, Timeline, type Scene } from "./ui/timeline";
import { Tip } from "./ui/tip";
import { Words } from "./ui/words";

function element<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found as T;
}

const canvas = element<HTMLCanvasElement>("timeline");
const status = element("status");

class Page {
  private readonly about: About;
  private readonly names: Map<number, string>;
  private readonly threads: ReadonlyMap<number, ThreadTracks>;
  private readonly tiles: Tiles;
  private readonly timeline: Timeline;
  private readonly details: Details;
  private readonly scene: Scene;
  private readonly range: Range;
  private readonly searched: Search;
  private readonly navigation: Navigation;
  private readonly tabs = new Tabs(element("tabs"));
  readonly lanes: Lanes;
  private readonly words: Words;
  private readonly tip: Tip;
  private readonly handles: Handles;
  private readonly tracks: TracksPanel;
  private readonly jumps: Jumps;
  private readonly frames: Frames;
  /** The frame that is the time range, and the thread with which its critical path ends. */
  private framed: { span: Span; thread: number } | null = null;
  /** The page of the other trace, if two traces are shown. */
  private readonly other: Linked | null;
  /** What changed between two traces, once it is known. */
  private changes: Changed | null = null;
  private readonly address = new Address();
  private drawing = false;
  /** The height of the tracks' part before the last change, in CSS pixels. */
  private tall = 0;
  private diagnosed = false;
  private chain: Chain | null = null;
  /** Counts requested paths, so that an outdated answer is not shown. */
  private paths = 0;
  /** Whether priorities were asked for. */
  private prioritised = false;
  /** A selection whose slice has not arrived yet. */
  private pending: Selected | null = null;

  constructor(about: About, threads: ThreadTracks[]) {
    this.about = about;
    this.threads = new Map(threads.map((t) => [t.thread, t]));
    this.names = new Map(threads.map((t) => [t.thread, t.name ?? `thread ${t.tid}`]));
    this.names.set(0, "idle");
    this.tiles = new Tiles(
      (place) => source.slices(place),
      () => this.changed(),
      (why) => (element("error").textContent = why?.message ?? ""),
    );
    this.timeline = new Timeline(canvas, this.tiles);
    this.details = new Details(element("details"), {
      nameOf: (key) => this.nameOf(key),
      select: (to) => this.select(to, true),
      chain: (of) => this.chained(of),
      changeOf: (thread) => this.changes?.nodes(thread, (to) => this.other?.open(to)) ?? [],
    });
    this.range = new Range(element("range"), {
      select: (to) => this.select(to, true),
      nameOf: (key) => `${this.nameOf(key)} ${this.threads.get(key)?.tid ?? ""}`.trim(),
      say: (text) => this.say(text),
      show: (span) => this.show(span),
      path: (of) => void this.path(of),
      close: () => this.mark(null),
      smt: about.cpus.some((cpu) => cpu.siblings.length > 1),
    });
    this.other = about.two ? new Linked({
      show: (span) => this.follow(span),
      changed: (choice) => this.compared(new Changed(choice)),
      marked: (of) => this.marked(of),
      open: (thread) => this.select({ kind: "thread", id: thread, at: this.centre() }, true),
    }) : null;
    const cpus = new Map(about.cpus.map((cpu) => [cpu.cpu, cpu]));
    this.searched = new Search({ status: element("found"), panel: element("hits"), tab: element("tab-hits") }, about.span_ns, {
      tracks: () => this.lanes.arrangement.all(),
      cpu: (id) => cpus.get(id),
      thread: (key) => this.threads.get(key),
      found: (tracks) => {
        this.scene.found = new Set(tracks);
        this.changed();
      },
      goTo: (hit) => this.goTo(hit),
      list: (shown) => this.tabs.show(shown ? "hits" : this.tabs.shown === "hits" ? "details" : this.tabs.shown),
    });
    this.navigation = new Navigation(
      { canvas, minimap: element("minimap"), stage: element("stage"), notes: element("notes"), notesTab: element("tab-notes") },
      about,
      {
        show: (span) => this.show(span),
        scene: () => this.scene,
        changed: () => this.changed(),
        timeAt: (x) => this.timeline.timeAt(this.scene, x),
        left: () => this.timeline.left,
        selected: () => this.chosen()?.slice?.start ?? null,
        showPanel: (panel) => this.tabs.show(panel),
        say: (text) => this.say(text),
      },
    );
    const of = { cpus: about.cpus, threads, kinds: about.kinds, span_ns: about.span_ns, focus: about.focus };
    this.lanes = new Lanes(of, about.stamp, location.hash, {
      before: () => this.placeOfSelected(),
      after: (was) => this.arranged(was),
    });
    const address = fromHash(location.hash, about.span_ns, about.kinds.map((info) => info.kind));
    this.scene = {
      span: address.span ?? clamped({ from: 0, to: about.span_ns }, about.span_ns),
      scroll: 0,
      lines: this.lanes.lines,
      height: this.lanes.height,
      fixed: 0,
      palette: LIGHT,
      by: "thread",
      facts: factsOf(threads, about.cpus),
      changed: null,
      marked: new Set(),
      selected: null,
      found: new Set(),
      overlay: { range: null, arrows: [], path: [], evidence: null, axis: (pen, at) => this.navigation.axis(pen, at) },
      nameOf: (key) => this.nameOf(key),
    };
    this.words = new Words(about, (key) => this.nameOf(key));
    this.handles = new Handles(element("stage"), this.lanes, this.scene);
    this.tip = new Tip(element("tip"), canvas, this.timeline, this.scene, this.words, this.handles, (line) => this.changeOf(line));
    const hasTypes = threads.some((thread) => thread.efficient_ns !== null);
    this.tracks = new TracksPanel(element("tracks"), this.lanes, hasTypes, { select: (line) => this.select({ ...line, at: this.scene.selected?.at ?? this.centre() }, true) });
    this.jumps = new Jumps(
      {
        show: (span) => this.show(span),
        select: (to) => this.selectKept(to),
        highlight: (of) => this.highlight(of),
        changed: () => this.changed(),
      },
      this.lanes,
      this.threads,
      about.span_ns,
    );
    this.frames = new Frames(element("frames"), element("tab-frames"), {
      nameOf: (key) => this.nameOf(key),
      thread: (key) => this.threads.get(key),
      to: (span, thread) => this.toFrame(span, thread),
      open: () => this.tabs.show("frames"),
      say: (text) => this.say(text),
    });
    element("tab-tracks").addEventListener("click", () => this.tracks.shown());
    this.colour(element<HTMLSelectElement>("colour").value as By);
    this.about.cpus.length === 0 && threads.length === 0 && this.say("This recording contains no CPUs and no threads.");
    this.themed();
    this.navigation.restore(location.hash, false);
    if (address.selected) this.select(address.selected, true);
    if (address.range) this.mark(address.range);
    this.changed();
    this.other?.ready();
    // A trace without marks is aligned on its start.
    if (OF === "first") this.other?.seen(this.scene.span);
    if (this.other) firstMarks(about.span_ns).then((marks) => this.other?.marks(marks), () => this.other?.marks(new Map()));
  }

  readonly actions: Actions = {
    zoom: (by, x) => this.show(zoomed(this.scene.span, x === null ? this.centre() : this.timeline.timeAt(this.scene, x), by, this.about.span_ns)),
    pan: (part) => this.show(moved(this.scene.span, part * (this.scene.span.to - this.scene.span.from), this.about.span_ns)),
    drag: (dx, dy) => {
      this.actions.pan(-dx / this.timeline.width);
      this.actions.scroll(-dy);
    },
    scroll: (by) => {
      this.scene.scroll = Math.min(Math.max(0, this.scene.scroll + by), Math.max(0, this.scene.height - this.timeline.height));
      this.changed();
    },
    page: (by) => this.actions.scroll(by * 0.9 * this.timeline.height),
    whole: () => this.show({ from: 0, to: this.about.span_ns }),
    mark: (x0, x1) => {
      const [a, b] = [this.timeline.timeAt(this.scene, x0), this.timeline.timeAt(this.scene, x1)];
      this.mark(ranged(a, b, this.about.span_ns));
    },
    range: () => {
      const slice = this.chosen()?.slice;
      const { from, to } = slice ? { from: slice.start, to: slice.end } : this.scene.span;
      this.mark(ranged(from, to, this.about.span_ns));
    },
    stretch: (by) => {
      const range = this.scene.overlay.range ?? this.scene.span;
      const to = range.to + (by * (this.scene.span.to - this.scene.span.from)) / 50;
      if (to > range.from) this.mark(ranged(range.from, to, this.about.span_ns));
    },
    zoomRange: () => this.scene.overlay.range && this.show(this.scene.overlay.range),
    path: () => {
      if (!this.scene.overlay.range) this.actions.range();
      this.range.togglePath();
    },
    jump: (by) => {
      const to = by < 0 ? this.chain?.before : this.chain?.after;
      if (to) this.select(to, true);
      else this.say(by < 0 ? "Waker not recorded." : "No wakeups by this thread.");
    },
    frame: (by) => this.frames.step(by),
    hit: (by) => void this.searched.go(by),
    isRuler: (x, y) => this.timeline.isRuler(x, y),
    choose: (x, y) => {
      if (this.timeline.isRuler(x, y)) return this.navigation.pin(x);
      const line = this.timeline.lineAt(this.scene, y);
      if (line && !isTrack(line)) return this.lanes.toggle(line.id);
      if (line && x < LABELS) return this.select({ kind: line.kind, id: line.id, at: this.scene.selected?.at ?? this.centre() }, false);
      if (!line || !this.timeline.isTime(x, y)) return this.actions.clear();
      this.select({ kind: line.kind, id: line.id, at: this.timeline.timeAt(this.scene, x) }, false);
    },
    clear: () => {
      if (!this.scene.selected && !this.scene.overlay.evidence) this.mark(null);
      this.highlight(null);
      this.deselect();
    },
    step: (by) => this.step(by),
    track: (by) => this.track(by),
    focus: () => {
      const slice = this.chosen()?.slice;
      if (!slice) return;
      const margin = (slice.end - slice.start) / 2;
      this.show({ from: slice.start - margin, to: slice.end + margin });
    },
    colour: () => this.colour(BY[(BY.indexOf(this.scene.by) + 1) % BY.length]!),
    fold: () => {
      const home = this.scene.selected && this.lanes.arrangement.home(idOf(this.scene.selected));
      if (home) this.lanes.toggle(home);
    },
    foldAll: () => this.lanes.toggleAll(),
    pin: () => this.scene.selected && this.lanes.pin(idOf(this.scene.selected)),
    hide: () => {
      const { selected } = this.scene;
      if (!selected) return;
      this.track(1);
      this.lanes.hide(idOf(selected));
    },
    shift: (by) => this.scene.selected && this.lanes.shift(idOf(this.scene.selected), by),
    grab: (x, y) => x < LABELS && this.handles.grab(this.timeline.lineAt(this.scene, y)),
    carry: (y) => this.handles.carry(this.timeline.lineAt(this.scene, y), y),
    drop: () => this.handles.drop(),
    leave: () => this.tip.hide(),
    recolour: () => this.other?.recolour(),
    hover: (x, y) => {
      this.navigation.hover(x);
      this.tip.hover(x, y);
    },
    note: () => this.navigation.pin(null),
    back: (by) => this.address.go(by) || this.say("This is the first view: nothing to undo."),
  };

  private nameOf(key: number): string {
    return this.names.get(key) ?? `thread with key ${key}`;
  }

  private centre(): number {
    return (this.scene.span.from + this.scene.span.to) / 2;
  }

  private show(span: Span): void {
    this.scene.span = clamped(span, this.about.span_ns);
    this.other?.seen(this.scene.span);
    this.changed();
  }

  /** Shows the time span of the other trace, even outside this recording, so that the two stay aligned. */
  private follow(span: Span): void {
    this.scene.span = span;
    this.address.follow();
    this.changed();
  }

  /** Redraws before the next animation frame. */
  changed(): void {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      this.scene.fixed = this.lanes.fixedIn(this.timeline.height);
      this.timeline.draw(this.scene);
      const { word } = this.navigation;
      this.address.set(toHash(this.scene.span, this.scene.selected, this.scene.overlay.range) + this.lanes.hash + (word === "" ? "" : `&${word}`));
      this.navigation.drawn(!this.tiles.busy);
      const busy = String(this.tiles.busy);
      if (canvas.dataset["busy"] !== busy) canvas.dataset["busy"] = busy;
      // After the first complete picture: rules read the whole recording, and the picture would wait for them.
      if (!this.tiles.busy && !this.diagnosed) {
        this.diagnosed = true;
        // Frames first: finding them takes less.
        const findings = new Findings(element("findings"), element("tab-findings"), this.about.span_ns, this.jumps);
        void this.frames.find().then(() => findings.load());
      }
      const pending = this.tiles.busy ? null : this.pending;
      if (pending) {
        this.pending = null;
        this.select(pending, false, false);
      }
    });
  }

  /** Sets the time range whose tables are shown, or clears it. */
  private mark(range: Span | null): void {
    this.scene.overlay.range = range;
    this.range.show(range);
    this.changed();
  }

  private chained(of: Chain | null): void {
    this.chain = of;
    this.scene.overlay.arrows = of?.arrows ?? [];
    canvas.dataset["arrows"] = String(this.scene.overlay.arrows.length);
    this.changed();
  }

  /** Shows the critical path of a time range, or clears it. */
  private async path(of: Span | null): Promise<void> {
    const turn = ++this.paths;
    this.scene.overlay.path = [];
    this.changed();
    canvas.dataset["path"] = "0";
    if (!of) return;
    try {
      const end = this.framed?.span.from === of.from && this.framed.span.to === of.to ? this.framed.thread : null;
      const { path, all } = await criticalPath(of, end);
      if (turn !== this.paths) return;
      this.scene.overlay.path = path;
      if (end !== null) this.jumps.pin(threadsOnPath(path, end));
      canvas.dataset["path"] = String(path.length);
      this.say(all > path.length ? `Showing the first ${path.length} of ${all} pieces of the critical path.` : `The critical path has ${all} pieces.`);
      this.changed();
    } catch (why) {
      if (turn === this.paths) this.say(`Critical path unavailable: ${(why as Error).message}`);
    }
  }

  private say(message: string): void {
    status.textContent = message;
    status.title = message;
  }

  private lineOf(of: { kind: string; id: number }): Track | undefined {
    return this.scene.lines.find((line): line is Track => isTrack(line) && line.kind === of.kind && line.id === of.id);
  }

  private chosen(): { line: Track; slice: Slice | null } | null {
    const selected = this.scene.selected;
    const line = selected && this.lineOf(selected);
    return line ? { line, slice: this.timeline.sliceAt(this.scene, line, selected.at) } : null;
  }

  private deselect(): void {
    [this.scene.selected, this.pending] = [null, null];
    this.other?.chosen(null);
    this.range.chosen(null);
    this.details.clear();
    this.changed();
  }

  /** Selects a place; `bring` scrolls it into view. */
  private select(to: Selected, bring: boolean, again = true): void {
    const line = this.lineOf(to) ?? (this.lanes.reveal(idOf(to)) ? this.lineOf(to) : undefined);
    if (!line) return;
    // No thread is selected before it began.
    if (to.kind === "thread") to = { ...to, at: Math.max(to.at, this.jumps.beginOf(to.id)) };
    this.scene.selected = { kind: to.kind, id: to.id, at: to.at };
    this.other?.chosen(to.kind === "thread" ? to.id : null);
    this.range.chosen(to.kind === "thread" ? to.id : null);
    this.tabs.show("details");
    if (bring) {
      const { from, to: end } = this.scene.span;
      if (to.at < from || to.at >= end) this.show(moved(this.scene.span, to.at - this.centre(), this.about.span_ns));
      this.bring(line);
    }
    const slice = this.timeline.sliceAt(this.scene, line, to.at);
    const summary = slice && this.words.describe(line, slice);
    this.say([summary ? `${line.label}: ${summary}` : line.label, this.changeOf(line)].filter((part) => part !== "").join("; "));
    const style = extraStyle(line.kind);
    if (style && slice) {
      this.details.extra(line.label, line.track, this.words.infoOf(line), style, slice);
      const frame = slice.stretches === 1 ? this.frames.linkTo(slice) : null;
      if (frame) element("details").append(frame);
    } else if (style) {
      this.details.clear();
      if (again) this.pending = to;
    } else if (slice && slice.stretches > 1) {
      const [state, what] = this.words.parts(line, slice);
      const change = line.kind === "thread" ? (this.changes?.nodes(line.id, (to) => this.other?.open(to)) ?? []) : [];
      this.details.merged(line.label, slice, state, what, change);
    } else {
      if (slice) this.details.drawn(line.label, slice, this.words.parts(line, slice));
      if (line.kind === "cpu") void this.details.cpu(line.id, Math.floor(to.at));
      else void this.details.thread(line.id, Math.floor(to.at));
    }
    this.changed();
  }

  /** Goes to a hit at a zoom at which it can be seen; the list of hits stays open. */
  private goTo(hit: Hit): void {
    const { shown } = this.tabs;
    const at = hit.at < 0 ? (this.scene.selected?.at ?? this.centre()) : hit.at;
    if (hit.at >= 0) this.show(readable(this.scene.span, { from: at, to: at + hit.length }, this.about.span_ns));
    this.select({ kind: hit.kind, id: hit.id, at }, true);
    if (shown === "hits") this.tabs.show(shown);
  }

  /** Keeps the selected track in view when the timeline gets lower, as when the panel of a range opens. */
  resized(): void {
    const line = this.scene.selected && this.lineOf(this.scene.selected);
    if (line && topOf(line, this.scene) + line.height > 0 && topOf(line, this.scene) < this.tall) this.bring(line);
    element("filter").style.width = `${this.timeline.left - 6}px`;
    this.tall = this.timeline.height;
    this.changed();
  }

  /** Selects a place, or nothing; the panel stays. */
  private selectKept(to: Selected | null): void {
    const { shown } = this.tabs;
    this.scene.selected = null;
    if (to) this.select(to, true);
    else this.details.clear();
    this.tabs.show(shown);
  }

  /** Frames an interval on its track. A time range elsewhere ends, since it would dim the interval. */
  private highlight(of: Scene["overlay"]["evidence"]): void {
    this.scene.overlay.evidence = of;
    const { range } = this.scene.overlay;
    if (of && range && (range.from >= of.to || range.to <= of.from)) this.mark(null);
    canvas.dataset["evidence"] = of ? `${of.thread}@${of.from}..${of.to}` : "";
    this.changed();
  }

  /** Goes to a frame: pins its thread, marks its time, and shows the critical path to the end of its thread, if that is known. */
  private toFrame(span: Span, thread: number | null): void {
    this.framed = thread === null ? null : { span, thread };
    const track = thread === null ? null : ({ kind: "thread", id: thread } as const);
    this.jumps.to({ ...span, track, threads: thread === null ? [] : [thread], words: "" });
    this.highlight(null);
    const { range } = this.scene.overlay;
    this.mark(span);
    if (thread !== null) this.range.showPath(range?.from === span.from && range.to === span.to);
  }

  /** Scrolls a track into view. */
  private bring(line: Track): void {
    const { scene, timeline } = this;
    if (line.fixed && scene.fixed > 0) return;
    const above = topOf(line, scene) < scene.fixed;
    if (above || topOf(line, scene) + line.height > timeline.height) {
      scene.scroll = Math.max(0, above ? line.top - 20 - scene.fixed : line.top + line.height - timeline.height);
    }
  }

  /** Returns the place of the selected track, if it can be seen and scrolls. */
  private placeOfSelected(): number | null {
    const { scene } = this;
    const line = scene.selected && this.lineOf(scene.selected);
    return line && !line.fixed && topOf(line, scene) >= scene.fixed && topOf(line, scene) < this.timeline.height ? line.top : null;
  }

  /** Shows the tracks as they are arranged now; the selected track stays where it was on the screen. */
  private arranged(was: number | null): void {
    const { scene, timeline } = this;
    Object.assign(scene, { lines: this.lanes.lines, height: this.lanes.height, fixed: this.lanes.fixedIn(timeline.height) });
    const anchor = scene.selected && this.lineOf(scene.selected);
    if (anchor && was !== null && !anchor.fixed) scene.scroll += anchor.top - was;
    this.tracks.shown();
    this.tip.hide();
    this.handles.leave();
    this.actions.scroll(0);
  }

  /** Shows what changed between two traces, as chosen on the outer page. */
  private compared(changes: Changed): void {
    this.changes = changes;
    const { scene } = this;
    const top = scene.selected && this.lineOf(scene.selected)?.top;
    const ordered = changes.order();
    this.lanes.ordered(ordered);
    scene.changed = changes.colours();
    const now = scene.selected && this.lineOf(scene.selected);
    const first = scene.lines.find((line) => line.kind === "group" && line.label === ordered?.label);
    // A new order is shown from its begin, unless a thread is selected.
    if (now && now.top !== top) this.bring(now);
    else if (first && first.label !== canvas.dataset["order"]) scene.scroll = first.top;
    canvas.dataset["order"] = ordered?.label ?? "";
    this.actions.scroll(0);
    this.themed();
  }

  /** Frames the threads that have the role selected in the other trace, and scrolls to the first one if none is visible. */
  private marked(threads: readonly number[]): void {
    const { scene, timeline } = this;
    if (threads.length === 0 && scene.marked.size === 0) return;
    scene.marked = new Set(threads);
    canvas.dataset["marked"] = String(threads.length);
    const lines = scene.lines.filter((line): line is Track => line.kind === "thread" && scene.marked.has(line.id));
    const seen = (line: Track) => line.top >= scene.scroll && line.top + line.height <= scene.scroll + timeline.height;
    if (lines[0] && !lines.some(seen)) this.bring(lines[0]);
    this.changed();
  }

  private changeOf(line: Track): string {
    return line.kind === "thread" ? (this.changes?.line(line.id) ?? "") : "";
  }

  /** Selects the previous or next slice. */
  private step(by: number): void {
    const now = this.chosen();
    if (!now) return this.track(1);
    const { line, slice } = now;
    if (!slice) return;
    const at = by < 0 ? slice.start - 1 : slice.end;
    if (at >= 0 && at < this.about.span_ns) this.select({ kind: line.kind, id: line.id, at }, true);
  }

  /** Selects the track above or below. */
  private track(by: number): void {
    const tracks = this.scene.lines.filter(isTrack);
    const selected = this.scene.selected;
    const now = selected ? tracks.findIndex((t) => t.kind === selected.kind && t.id === selected.id) : -1;
    const to = tracks[Math.min(tracks.length - 1, Math.max(0, now + by))];
    if (to) this.select({ kind: to.kind, id: to.id, at: selected?.at ?? this.centre() }, true);
  }

  /** Chooses what busy slices are coloured by. */
  colour(by: By): void {
    this.scene.by = by;
    const select = element<HTMLSelectElement>("colour");
    if (select.value !== by) {
      select.value = by;
      select.dispatchEvent(new Event("change"));
    }
    if (by === "priority" && !this.prioritised) void this.prioritise();
    this.themed();
  }

  /** Reads the priorities of the threads: an analysis of the whole recording, so only if they are wanted. */
  private async prioritise(): Promise<void> {
    this.prioritised = true;
    this.say("Reading the priorities of threads…");
    try {
      const of = prioritiesOf(await priorities(this.about.span_ns));
      this.scene.facts = factsOf([...this.threads.values()], this.about.cpus, of);
      this.say(of.size === 0 ? "This recording has no priorities of threads." : `Priorities of ${of.size} threads.`);
      this.changed();
    } catch (why) {
      this.say(`Priorities unavailable: ${(why as Error).message}`);
    }
  }

  /** Applies the selected theme. */
  themed(): void {
    const theme = element<HTMLSelectElement>("theme").value;
    const dark = theme === "dark" || (theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset["theme"] = dark ? "dark" : "light";
    this.scene.palette = dark ? DARK : LIGHT;
    const { palette, by } = this.scene;
    const title = this.changes?.legend() ?? null;
    if (title === null) fillLegend(element("legend"), palette, by, { thread: THREAD_STATES, cpu: CPU_STATES }, new Set(this.about.cpus.map((cpu) => cpu.core_type)));
    else fillChanges(element("legend"), palette, by, title);
    this.changed();
  }

  /** Starts a search. */
  search(text: string): void {
    this.searched.search(text);
  }

  /** Follows a change of the address. */
  visited(): void {
    // A step of this page is restored as it was: what its address does not have is cleared.
    const exact = this.address.visited();
    this.navigation.restore(location.hash, exact);
    const address = fromHash(location.hash, this.about.span_ns, this.about.kinds.map((info) => info.kind));
    this.lanes.visited(location.hash, exact);
    if (address.span) this.show(address.span);
    if (address.selected) this.select(address.selected, true);
    else if (exact) this.deselect();
    if (address.range || exact) this.mark(address.range);
    // Invalid parts are removed from the address.
    this.changed();
  }
}

async function start(): Promise<void> {
  await prepared(element("stage"), () => source.progress());
  const [about, threads] = await Promise.all([source.about(), source.threads()]);
  if (about.two && OF === null) return showBoth(document.body);
  document.title = `${about.name ?? "trace"} · corewise`;
  element("name").textContent = element("name").title = about.name ?? "corewise";
  const shown = threads.length < about.threads ? ` (showing the busiest ${threads.length})` : "";
  const lost = about.lost_events > 0 ? `, ${about.lost_events} events lost` : "";
  element("summary").textContent = element("summary").title = `${length(about.span_ns)}, ${about.cpus.length} CPUs, ${about.threads} threads${shown}, ${about.switches} switches${lost}`;
  element("limits").textContent = element("limits").title = limitsOf(about.alone);
  const first = location.hash === "" ? await firstView() : "";
  if (first !== "") history.replaceState(null, "", first);
  const [colour, theme] = [element<HTMLSelectElement>("colour"), element<HTMLSelectElement>("theme")];
  keep(colour, "corewise colour");
  keep(theme, "corewise theme");
  const page = new Page(about, threads);
  const help = element<HTMLDialogElement>("help");
  fillHelp(help);
  const search = element<HTMLInputElement>("search");
  control(canvas, page.actions, { help: () => help.showModal(), search: () => search.focus(), filter: () => filter.focus() });
  element("help-open").addEventListener("click", () => help.showModal());
  search.addEventListener("input", () => page.search(search.value));
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") page.actions.hit(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") canvas.focus();
  });
  const filter = element<HTMLInputElement>("filter");
  filter.value = page.lanes.choices.filter;
  filter.addEventListener("input", () => page.lanes.set({ filter: filter.value }));
  filter.addEventListener("keydown", (event) => event.key === "Escape" && canvas.focus());
  colour.addEventListener("change", () => page.colour(colour.value as By));
  theme.addEventListener("change", () => page.themed());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.themed());
  new ResizeObserver(() => page.resized()).observe(canvas);
  addEventListener("popstate", () => page.visited());
  canvas.focus();
}

start().catch((why: unknown) => {
  element("details").textContent = `The trace cannot be shown: ${(why as Error).message}`;
});
