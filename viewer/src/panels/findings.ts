/** What is wrong with the recording, as `corewise diagnose` tells it: each finding's evidence leads to its place on the timeline. */

import { length, point } from "../model/time";
import { toHash, type Selected } from "../model/view";
import { source } from "../source";
import { anchor, facts, heading, paragraph } from "../ui/dom";

/** What `corewise diagnose --format json` prints (docs/diagnose.md), as far as it is shown. */
export interface Diagnosis {
  readonly findings: readonly Finding[];
  readonly checked: readonly string[];
  readonly not_checked: readonly { readonly rule: string; readonly why: string }[];
  readonly rules: readonly { readonly rule: string; readonly about: string }[];
}

interface Finding {
  readonly rule: string;
  readonly severity: "low" | "medium" | "high";
  readonly title: string;
  readonly recoverable_ns: number;
  readonly range_ns: readonly [number, number];
  readonly cpu_ns: number | null;
  readonly confidence: string;
  readonly threads: readonly { readonly thread: number; readonly tid: number; readonly name: string; readonly recoverable_ns: number }[];
  readonly spans: readonly { readonly start: number; readonly end: number }[];
  readonly evidence: readonly Evidence[];
  readonly action: { readonly what: string; readonly linux: string; readonly windows: string };
  readonly assumptions: readonly string[];
  readonly also: readonly Finding[];
}

type Cells = Readonly<Record<string, string | number | boolean | null>>;

interface Evidence {
  readonly table: string;
  readonly key: Cells;
  readonly cells: Cells;
}

/** Between two questions whether the diagnosis is made. */
const AGAIN = 400;
/** Shown of what may be many. */
const MOST = 12;

export class Findings {
  private readonly panel: HTMLElement;
  private readonly tab: HTMLElement;
  private readonly whole: number;

  constructor(panel: HTMLElement, tab: HTMLElement, whole: number) {
    [this.panel, this.tab, this.whole] = [panel, tab, whole];
  }

  /** Asks until it is told. */
  async load(): Promise<void> {
    this.panel.replaceChildren(paragraph("The recording is being diagnosed…"));
    try {
      for (;;) {
        const told = await source.findings<Diagnosis>();
        if (told) return this.show(told);
        await new Promise((done) => setTimeout(done, AGAIN));
      }
    } catch (why) {
      this.panel.replaceChildren(paragraph(`This recording cannot be diagnosed: ${(why as Error).message}`));
    }
  }

  private show(told: Diagnosis): void {
    const about = new Map(told.rules.map((rule) => [rule.rule, rule.about]));
    this.tab.textContent = `Findings (${told.findings.length})`;
    const list = document.createElement("ol");
    for (const finding of told.findings) list.append(this.finding(finding));
    const nothing = paragraph(`Nothing found: of ${told.checked.length} kinds of fault that were looked for, none is here.`);
    this.panel.replaceChildren(
      heading("What is wrong"),
      told.findings.length > 0 ? list : nothing,
      folded(`Looked for (${told.checked.length})`, told.checked.map((rule) => [rule, about.get(rule) ?? ""])),
      folded(`Could not be looked for (${told.not_checked.length})`, told.not_checked.map(({ rule, why }) => [rule, why])),
    );
  }

  private finding(finding: Finding): HTMLElement {
    const item = document.createElement("li");
    item.className = "finding";
    const title = heading("", 3);
    const severity = document.createElement("span");
    severity.className = `severity ${finding.severity}`;
    severity.textContent = finding.severity;
    title.append(severity, ` ${finding.title}`);
    const [least, most] = finding.range_ns;
    const spared: [string, string][] = finding.cpu_ns === null ? [] : [["CPU time", `${length(finding.cpu_ns)} of all CPUs together`]];
    const cells: [string, Node | string][] = [
      ["Rule", finding.rule],
      ["Recoverable", finding.recoverable_ns > 0 || most > 0 ? `${length(finding.recoverable_ns)} (${length(least)} to ${length(most)})` : "none: it is about the recording itself"],
      ...spared,
      ["Confidence", finding.confidence],
      ["Do", finding.action.what],
      ["On Linux", finding.action.linux],
      ["On Windows", finding.action.windows],
    ];
    if (finding.assumptions.length > 0) cells.push(["Assumed", finding.assumptions.join("; ")]);
    cells.push(["When", this.list(finding.spans.map((span) => this.place(span, finding)))]);
    cells.push(["Threads", this.list(finding.threads.map((t) => this.thread(t, finding)))]);
    cells.push(["Evidence", this.list(finding.evidence.map((of) => this.evidence(of, finding)))]);
    item.append(title, facts(cells));
    if (finding.also.length > 0) {
      const also = document.createElement("ul");
      for (const lesser of finding.also) also.append(this.finding(lesser));
      item.append(paragraph("Falls away with it:"), also);
    }
    return item;
  }

  private list(nodes: readonly Node[]): Node {
    if (nodes.length === 0) return document.createTextNode("not told");
    const all = document.createElement("ul");
    const more = nodes.length > MOST ? [`and ${nodes.length - MOST} more`] : [];
    for (const node of [...nodes.slice(0, MOST), ...more]) {
      const item = document.createElement("li");
      item.append(node);
      all.append(item);
    }
    return all;
  }

  /** The address of a time, and who is chosen there. */
  private hash(from: number, to: number, selected: Selected | null): string {
    const margin = (to - from) / 10;
    return toHash({ from: Math.max(0, from - margin), to: Math.min(this.whole, to + margin) }, selected);
  }

  private place(span: { start: number; end: number }, finding: Finding): Node {
    const who = finding.threads[0];
    const selected = who ? ({ kind: "thread", id: who.thread, at: span.start } as const) : null;
    return anchor(`${point(span.start, 1e3)} to ${point(span.end, 1e3)}`, this.hash(span.start, span.end, selected));
  }

  private thread(of: Finding["threads"][number], finding: Finding): Node {
    const span = finding.spans[0] ?? { start: 0, end: this.whole };
    const label = `${of.name} ${of.tid}: ${length(of.recoverable_ns)}`;
    return anchor(label, this.hash(span.start, span.end, { kind: "thread", id: of.thread, at: span.start }));
  }

  /** A row leads to its own time where it has one, else to the finding's. */
  private evidence(of: Evidence, finding: Finding): Node {
    const cell = (name: string) => {
      const value = of.key[name] ?? of.cells[name];
      return typeof value === "number" ? value : null;
    };
    const whole = finding.spans[0] ?? { start: 0, end: this.whole };
    const from = cell("start_ns") ?? whole.start;
    const to = Math.max(from + 1, cell("end_ns") ?? whole.end);
    const thread = cell("thread") ?? finding.threads[0]?.thread ?? null;
    const cpu = cell("cpu");
    const selected: Selected | null = thread !== null ? { kind: "thread", id: thread, at: from } : cpu !== null ? { kind: "cpu", id: cpu, at: from } : null;
    const words = (cells: Cells) => Object.entries(cells).map(([name, value]) => `${name}=${value ?? "not known"}`);
    return anchor(`${of.table}[${words(of.key).join(", ")}] ${words(of.cells).join(" ")}`, this.hash(from, to, selected));
  }
}

/** What is seldom read. */
function folded(title: string, rows: readonly [string, string][]): HTMLElement {
  const all = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = title;
  all.append(summary, facts(rows));
  return all;
}
