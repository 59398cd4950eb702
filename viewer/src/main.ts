/** The page: its state, and the actions of keyboard and mouse. */

import { firstView, limitsOf } from "./alone";
import { OF, type About } from "./api";
import type { ThreadTracks } from "./generated/tables";
import { threadsOnPath } from "./model/frames";
import { factsOf, type By } from "./model/facts";
import { isTrack, topOf, type Track } from "./model/layout";
import { LIGHT } from "./model/palette";
import type { Slice } from "./model/slices";
import { Tiles } from "./model/tiles";
import { readable } from "./model/readable";
import { clamped, fromHash, moved, toHash, type Selected, type Span } from "./model/view";
import type { Chain } from "./panels/chains";
import { Findings } from "./panels/findings";
import { Frames } from "./panels/frames";
import { showBoth } from "./panels/both";
import { Changed } from "./panels/changed";
import { markThreads, showChanges } from "./panels/compared";
import { Linked } from "./panels/linked";
import type { Hit } from "./panels/hits";
import { overview, summaryOf } from "./panels/overview";
import { prepared } from "./panels/preparing";
import { Range } from "./panels/range";
import { Search } from "./panels/search";
import { Tabs } from "./panels/tabs";
import { TracksPanel } from "./panels/tracks";
import { criticalPath, firstMarks, source } from "./source";
import { ENDS } from "./tracks/idle_ends";
import { extraStyle } from "./tracks/list";
import { laneOf, LOCKS, mostWaiting } from "./tracks/locks";
import { THROTTLING } from "./tracks/throttled";
import { actionsOf, goBack } from "./ui/actions";
import { Details } from "./ui/details";
import { element } from "./ui/dom";
import { Address } from "./ui/address";
import { Handles } from "./ui/handles";
import { fillHelp } from "./ui/help";
import { control } from "./ui/input";
import { Jumps } from "./ui/jumps";
import { Navigation } from "./ui/navigation";
import { idOf, Lanes } from "./ui/lanes";
import { keep } from "./ui/settings";
import { applyTheme, colourBy } from "./ui/theme";
import { Timeline, type Scene } from "./ui/timeline";
import { Tip } from "./ui/tip";
import { DrawnNow } from "./ui/drawn";
import { Words } from "./ui/words";

const canvas = element<HTMLCanvasElement>("timeline");
const status = element("status");
/** Where the other of two traces shows a time that this one does not have. */
const OUTSIDE = "This time is outside this recording.";

/** The page of one trace: its state, and what its panels do to each other. */
export class Page {
  readonly canvas = canvas;
  readonly actions = actionsOf(this);
  readonly about: About;
  private readonly names: Map<number, string>;
  readonly threads: ReadonlyMap<number, ThreadTracks>;
  readonly tiles: Tiles;
  readonly timeline: Timeline;
  private readonly details: Details;
  readonly scene: Scene;
  readonly range: Range;
  readonly searched: Search;
  readonly navigation: Navigation;
  readonly tabs = new Tabs(element("tabs"));
  readonly lanes: Lanes;
  readonly words: Words;
  readonly tip: Tip;
  readonly handles: Handles;
  private readonly tracks: TracksPanel;
  readonly jumps: Jumps;
  readonly frames: Frames;
  /** The frame that is the time range, and the thread with which its critical path ends. */
  private framed: { span: Span; thread: number } | null = null;
  /** The page of the other trace, if two traces are shown. */
  readonly other: Linked | null;
  /** What changed between two traces, once it is known. */
  changes: Changed | null = null;
  readonly address = new Address();
  private drawing = false;
  /** The height of the tracks' part before the last change, in CSS pixels. */
  private tall = 0;
  private diagnosed = false;
  chain: Chain | null = null;
  /** Counts requested paths, so that an outdated answer is not shown. */
  private paths = 0;
  /** Whether priorities were asked for. */
  prioritised = false;
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
      idle: () => overview(about, threads, (to) => this.select({ ...to, at: Math.max(to.at, this.scene.span.from) }, true)),
      chain: (of) => this.chained(of),
      lockOf: (wait, pid) => laneOf(about.kinds, wait, pid)?.track ?? null,
      toLock: (track, at) => this.toLock(track, at),
      hasThrottled: about.kinds.some((info) => info.kind === THROTTLING),
      pidOf: (thread) => this.threads.get(thread)?.pid ?? null,
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
      ipc: about.kinds.some((info) => info.kind === "ipc"),
    });
    this.other = about.two ? new Linked({
      show: (span) => this.follow(span),
      changed: (choice) => showChanges(this, new Changed(choice)),
      marked: (of) => markThreads(this, of),
      open: (thread) => this.select({ kind: "thread", id: thread, at: this.centre() }, true),
      back: (by) => goBack(this, by),
    }) : null;
    const cpus = new Map(about.cpus.map((cpu) => [cpu.cpu, cpu]));
    this.searched = new Search({ status: element("found"), panel: element("hits"), tab: element("tab-hits") }, about.span_ns, {
      tracks: () => this.lanes.arrangement.all(),
      cpu: (id) => cpus.get(id),
      thread: (key) => this.threads.get(key),
      lock: (line) => this.words.laneOf(line),
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
      hasIdleEnds: about.kinds.some((info) => info.kind === ENDS),
      hasThrottled: about.kinds.some((info) => info.kind === THROTTLING),
      waiters: mostWaiting(about.kinds),
      nameOf: (key) => this.nameOf(key),
    };
    this.words = new Words(about, (key) => this.nameOf(key), new DrawnNow(this.timeline, this.scene, this.threads));
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
    colourBy(this, element<HTMLSelectElement>("colour").value as By);
    this.about.cpus.length === 0 && threads.length === 0 && this.say(about.kinds.length === 0 ? "This recording is empty: the panel says what to do." : "This recording contains no CPUs and no threads.");
    applyTheme(this);
    this.navigation.restore(location.hash, false);
    this.details.clear();
    if (address.selected) this.select(address.selected, true);
    if (address.range) this.mark(address.range);
    this.changed();
    this.other?.ready();
    // A trace without marks is aligned on its start.
    if (OF === "first") this.other?.seen(this.scene.span);
    if (this.other) firstMarks(about.span_ns).then((marks) => this.other?.marks(marks), () => this.other?.marks(new Map()));
  }

  private nameOf(key: number): string {
    return this.names.get(key) ?? `thread with key ${key}`;
  }

  centre(): number {
    return (this.scene.span.from + this.scene.span.to) / 2;
  }

  show(span: Span): void {
    this.scene.span = clamped(span, this.about.span_ns);
    this.other?.seen(this.scene.span);
    this.changed();
  }

  /** Shows the time span of the other trace, even outside this recording, so that the two stay aligned. */
  private follow(span: Span): void {
    this.scene.span = span;
    const isOutside = span.from >= this.about.span_ns || span.to <= 0;
    if (isOutside || status.textContent === OUTSIDE) this.say(isOutside ? OUTSIDE : "");
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
  mark(range: Span | null): void {
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

  say(message: string): void {
    status.textContent = message;
    status.title = message;
  }

  lineOf(of: { kind: string; id: number }): Track | undefined {
    return this.scene.lines.find((line): line is Track => isTrack(line) && line.kind === of.kind && line.id === of.id);
  }

  chosen(): { line: Track; slice: Slice | null } | null {
    const selected = this.scene.selected;
    const line = selected && this.lineOf(selected);
    return line ? { line, slice: this.timeline.sliceAt(this.scene, line, selected.at) } : null;
  }

  deselect(): void {
    [this.scene.selected, this.pending] = [null, null];
    this.other?.chosen(null);
    this.range.chosen(null);
    this.details.clear();
    this.changed();
  }

  /** Selects a place; `bring` scrolls it into view. */
  select(to: Selected, bring: boolean, again = true): void {
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
    const summary = slice && this.words.describe(line, slice, to.at);
    this.say([summary ? `${line.label}: ${summary}` : line.label, this.changeOf(line)].filter((part) => part !== "").join("; "));
    const style = extraStyle(line.kind);
    const lock = this.words.laneOf(line)?.lock;
    if (style && lock && (slice || !again)) {
      void this.details.lock(line.label, lock, slice, this.words.waiting(line, to.at), to.at);
    } else if (style && slice) {
      this.details.extra(line.label, line.track, this.words.infoOf(line), style, slice, this.words.counted(line, slice) ?? this.words.layered(line, to.at), this.words.endAt(line, slice, to.at));
      const frame = slice.stretches === 1 ? this.frames.linkTo(slice) : null;
      if (frame) element("details").append(frame);
    } else if (style) {
      this.details.clear();
      if (again) this.pending = to;
    } else if (slice && slice.stretches > 1) {
      const [state, what] = this.words.parts(line, slice, to.at);
      const change = line.kind === "thread" ? (this.changes?.nodes(line.id, (to) => this.other?.open(to)) ?? []) : [];
      this.details.merged(line.label, slice, state, what, change);
    } else {
      if (slice) this.details.drawn(line.label, slice, this.words.parts(line, slice, to.at));
      if (line.kind === "cpu") void this.details.cpu(line.id, Math.floor(to.at));
      else void this.details.thread(line.id, Math.floor(to.at));
    }
    this.changed();
  }

  /** Goes to a lock: pins its track, and selects it at a time. */
  private toLock(track: number, at: number): void {
    const of = { kind: LOCKS.kind, id: track };
    if (!this.lanes.choices.pinned.includes(idOf(of))) this.lanes.pin(idOf(of));
    this.select({ ...of, at }, true);
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
  highlight(of: Scene["overlay"]["evidence"]): void {
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
  bring(line: Track): void {
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

  private changeOf(line: Track): string {
    return line.kind === "thread" ? (this.changes?.line(line.id) ?? "") : "";
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
  element("summary").textContent = element("summary").title = summaryOf(about, threads.length);
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
  colour.addEventListener("change", () => colourBy(page, colour.value as By));
  theme.addEventListener("change", () => applyTheme(page));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => applyTheme(page));
  new ResizeObserver(() => page.resized()).observe(canvas);
  addEventListener("popstate", () => page.visited());
  canvas.focus();
}

start().catch((why: unknown) => {
  element("details").textContent = `The trace cannot be shown: ${(why as Error).message}`;
});
