/** The findings of `corewise diagnose`; evidence links to its place on the timeline. */

import { registerTicks } from "../model/ticks";
import { placeOf, worstOf, type Evidence, type Goal, type Interval } from "../model/findings";
import { ms } from "../model/frames";
import { length, point } from "../model/time";
import { toHash } from "../model/view";
import { source } from "../source";
import { anchor, facts, heading, paragraph } from "../ui/dom";
import type { Jumps } from "../ui/jumps";

/** The output of `corewise diagnose --format json` (docs/diagnose.md), as far as it is shown. */
export interface Diagnosis {
  /** What the program is judged by; null for a frame log. */
  readonly objective: { readonly sentence: string } | null;
  /** Where its time went: the largest parts. */
  readonly account: readonly Statement[];
  readonly findings: readonly Finding[];
  readonly checked: readonly string[];
  readonly not_checked: readonly { readonly rule: string; readonly why: string }[];
  readonly rules: readonly { readonly rule: string; readonly about: string }[];
}

interface Span {
  readonly start: number;
  readonly end: number;
}

interface Statement {
  readonly text: string;
  readonly threads: readonly number[];
  /** The windows that have most of it; none: the whole range. */
  readonly windows: readonly Span[];
  /** The number of the finding about it, from 1. */
  readonly finding: number | null;
}

interface Finding {
  readonly rule: string;
  readonly subject: "program" | "outside" | "recording" | "conditions";
  readonly severity: "low" | "medium" | "high";
  readonly title: string;
  /** What is shown of it, as in a report. */
  readonly lines: readonly { readonly of: string; readonly head: string; readonly words: string }[];
  readonly threads: readonly { readonly thread: number; readonly tid: number; readonly name: string; readonly recoverable_ns: number }[];
  readonly spans: readonly { readonly start: number; readonly end: number }[];
  readonly worst: readonly Interval[];
  readonly evidence: readonly Evidence[];
  readonly also_resolved: readonly Finding[];
}

/** The time between two requests for the diagnosis, in ms. */
const POLL_MS = 400;
/** The maximum length of a list. */
const MAX_LISTED = 12;
const OUTSIDE = "Outside of the objective, which gains nothing from these:";
/** The lines that are lists of links here. */
const LINKED = new Set(["threads", "when", "worst", "also"]);

export class Findings {
  private readonly panel: HTMLElement;
  private readonly tab: HTMLElement;
  private readonly whole: number;
  private readonly jumps: Jumps;

  constructor(panel: HTMLElement, tab: HTMLElement, whole: number, jumps: Jumps) {
    [this.panel, this.tab, this.whole, this.jumps] = [panel, tab, whole, jumps];
  }

  /** Polls for the findings and shows them. */
  async load(): Promise<void> {
    this.panel.replaceChildren(paragraph("Diagnosing the recording…"));
    try {
      for (;;) {
        const diagnosis = await source.findings<Diagnosis>();
        if (diagnosis) return this.show(diagnosis);
        await new Promise((done) => setTimeout(done, POLL_MS));
      }
    } catch (why) {
      this.panel.replaceChildren(paragraph(`The diagnosis failed: ${(why as Error).message}`));
    }
  }

  private show(diagnosis: Diagnosis): void {
    const about = new Map(diagnosis.rules.map((rule) => [rule.rule, rule.about]));
    this.tab.textContent = `Findings (${diagnosis.findings.length})`;
    registerTicks("finding", diagnosis.findings.flatMap((finding) => finding.worst.map((of) => of.start_ns)));
    const lists = this.lists(diagnosis.findings);
    const nothing = paragraph(`No problems found (${diagnosis.checked.length} rules checked).`);
    this.panel.replaceChildren(
      heading("Findings"),
      ...(diagnosis.objective ? [paragraph(`Objective: ${diagnosis.objective.sentence}.`)] : []),
      ...diagnosis.account.map((statement) => this.statement(statement)),
      ...(lists.length > 0 ? lists : [nothing]),
      folded(`Rules checked (${diagnosis.checked.length})`, diagnosis.checked.map((rule) => [rule, about.get(rule) ?? ""])),
      folded(`Rules not checked (${diagnosis.not_checked.length})`, diagnosis.not_checked.map(({ rule, why }) => [rule, why])),
    );
  }

  /** The findings, with their numbers; those outside of the objective have a heading. */
  private lists(findings: readonly Finding[]): HTMLElement[] {
    const all: HTMLElement[] = [];
    let before: boolean | null = null;
    for (const [at, finding] of findings.entries()) {
      const outside = finding.subject === "outside";
      if (outside !== before) {
        if (outside) all.push(paragraph(OUTSIDE));
        const list = document.createElement("ol");
        list.start = at + 1;
        all.push(list);
      }
      before = outside;
      all.at(-1)?.append(this.finding(finding));
    }
    return all;
  }

  /** A statement, with links to where it is seen and to its finding. */
  private statement(of: Statement): HTMLElement {
    const all = paragraph(`${of.text}.`);
    const [thread] = of.threads;
    const spans = of.windows.length > 0 || thread === undefined ? of.windows : [{ start: 0, end: this.whole }];
    for (const [at, span] of spans.entries()) {
      const words = of.windows.length > 0 ? `${at === 0 ? "Longest at " : ""}${point(span.start, 1e3)}` : "Its threads";
      const track = thread === undefined ? null : ({ kind: "thread", id: thread } as const);
      all.append(at === 0 ? " " : ", ", this.link(words, { from: span.start, to: Math.max(span.start + 1, span.end), track, threads: of.threads.slice(0, 4), words: "" }));
    }
    if (of.finding !== null) {
      const number = of.finding;
      const made = anchor(`Finding ${number}`, "#");
      made.addEventListener("click", (event) => {
        event.preventDefault();
        this.panel.querySelectorAll(":scope > ol > li")[number - 1]?.scrollIntoView();
      });
      all.append(spans.length > 0 ? ", " : " ", made);
    }
    return all;
  }

  private finding(finding: Finding): HTMLElement {
    const item = document.createElement("li");
    item.className = "finding";
    const title = heading("", 3);
    const severity = document.createElement("span");
    severity.className = `severity ${finding.severity}`;
    severity.textContent = finding.severity;
    title.append(severity, ` ${finding.title}`);
    const lines = finding.lines.filter(({ of }) => !LINKED.has(of));
    const cells: [string, Node | string][] = [["Rule", finding.rule], ...lines.map(({ head, words }): [string, string] => [head, words])];
    cells.push(["When", this.list(finding.spans.map((span) => this.place(span, finding)))]);
    cells.push(["Threads", this.list(finding.threads.map((t) => this.thread(t, finding)))]);
    cells.push(["Evidence", this.list(finding.evidence.map((of) => this.evidence(of, finding)))]);
    item.append(title);
    const worst = worstOf(finding, this.whole);
    if (worst.length > 0) item.append(paragraph("Worst intervals:"), this.worst(worst));
    item.append(facts(cells));
    if (finding.also_resolved.length > 0) {
      const also = document.createElement("ul");
      for (const lesser of finding.also_resolved) also.append(this.finding(lesser));
      item.append(paragraph("Also resolved:"), also);
    }
    return item;
  }

  private list(nodes: readonly Node[]): Node {
    if (nodes.length === 0) return document.createTextNode("not recorded");
    const all = document.createElement("ul");
    const more = nodes.length > MAX_LISTED ? [`and ${nodes.length - MAX_LISTED} more`] : [];
    for (const node of [...nodes.slice(0, MAX_LISTED), ...more]) {
      const item = document.createElement("li");
      item.append(node);
      all.append(item);
    }
    return all;
  }

  /** The worst intervals, with their lengths. */
  private worst(goals: readonly Goal[]): Node {
    const all = document.createElement("ol");
    all.className = "worst";
    for (const goal of goals) {
      const item = document.createElement("li");
      const words = goal.words === "" ? "" : `: ${goal.words}`;
      item.append(this.link(`${ms(goal.to - goal.from)} ms at ${point(goal.from, 1e3)}${words}`, goal));
      all.append(item);
    }
    return all;
  }

  /** A link to an interval: a click goes there and leaves the panel open; its address can be copied or opened in another tab. */
  private link(label: string, goal: Goal): HTMLAnchorElement {
    const made = anchor(label, toHash(this.jumps.view(goal), this.jumps.selected(goal)));
    made.addEventListener("click", (event) => {
      if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      for (const other of this.panel.querySelectorAll("a[aria-current]")) other.removeAttribute("aria-current");
      made.setAttribute("aria-current", "true");
      this.jumps.to(goal);
    });
    return made;
  }

  private place(span: { start: number; end: number }, finding: Finding): Node {
    return this.link(`${point(span.start, 1e3)} to ${point(span.end, 1e3)}`, this.goalOf(span, finding.threads[0]?.thread ?? null, finding));
  }

  private goalOf(span: { start: number; end: number }, thread: number | null, finding: Finding): Goal {
    const track = thread === null ? null : ({ kind: "thread", id: thread } as const);
    const threads = [...new Set([...(thread === null ? [] : [thread]), ...finding.threads.map((t) => t.thread)])].slice(0, 4);
    return { from: span.start, to: Math.max(span.start + 1, span.end), track, threads, words: "" };
  }

  private thread(of: Finding["threads"][number], finding: Finding): Node {
    const span = finding.spans[0] ?? { start: 0, end: this.whole };
    return this.link(`${of.name} ${of.tid}: ${length(of.recoverable_ns)}`, this.goalOf(span, of.thread, finding));
  }

  /** A row links to its own time if it has one, else to the finding's. */
  private evidence(of: Evidence, finding: Finding): Node {
    const words = (cells: Evidence["cells"]) => Object.entries(cells).map(([name, value]) => `${name}=${of.threads[name] ?? value ?? "unknown"}`);
    return this.link(`${of.table}[${words(of.key).join(", ")}] ${words(of.cells).join(" ")}`, placeOf(of, finding, this.whole));
  }
}

/** A collapsed list. */
function folded(title: string, rows: readonly [string, string][]): HTMLElement {
  const all = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = title;
  all.append(summary, facts(rows));
  return all;
}
