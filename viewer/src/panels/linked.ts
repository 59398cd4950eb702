/**
 * Two traces on one page, each a frame with a page of its own. What is zoomed or moved in one is shown in the other, on their
 * beginnings or on the first stretch of a mark that both have.
 */

import type { Span } from "../model/view";

/** What the page of a trace tells the page of both. */
type Told = { readonly kind: "seen"; readonly span: Span } | { readonly kind: "marks"; readonly marks: readonly (readonly [string, number])[] };
/** What it is told. */
type Show = { readonly kind: "show"; readonly span: Span };

/** A page of one of two traces: tells what is seen there, and shows what is seen in the other. */
export class Linked {
  constructor(show: (span: Span) => void) {
    addEventListener("message", (event: MessageEvent<Show>) => {
      if (event.origin === location.origin && event.source === parent && event.data.kind === "show") show(event.data.span);
    });
  }

  /** That the user moved. */
  seen(span: Span): void {
    parent.postMessage({ kind: "seen", span } satisfies Told, location.origin);
  }

  /** On what it can be aligned. */
  marks(first: ReadonlyMap<string, number>): void {
    parent.postMessage({ kind: "marks", marks: [...first] } satisfies Told, location.origin);
  }
}

/** The page of both. */
export function showBoth(body: HTMLElement): void {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
  const frames = ["first", "beside"].map((of) => {
    const frame = document.createElement("iframe");
    frame.title = of === "first" ? "The first trace" : "The second trace";
    frame.src = `/?of=${of}`;
    return frame;
  });
  const align = document.createElement("select");
  align.append(new Option("their beginnings", ""));
  const label = document.createElement("label");
  label.append("Aligned on ", align);
  const head = document.createElement("header");
  const title = document.createElement("h1");
  title.textContent = "Two traces, one zoom";
  head.append(title, label);
  const main = document.createElement("main");
  main.className = "both";
  main.append(...frames);
  body.replaceChildren(head, main);

  const marks: Map<string, number>[] = [new Map(), new Map()];
  let last: { of: number; span: Span } | null = null;
  const spread = () => {
    if (!last) return;
    const [own, other] = [last.of, 1 - last.of];
    const at = (of: number) => marks[of]?.get(align.value) ?? 0;
    const by = at(other) - at(own);
    const span = { from: last.span.from + by, to: last.span.to + by };
    frames[other]?.contentWindow?.postMessage({ kind: "show", span } satisfies Show, location.origin);
  };
  addEventListener("message", (event: MessageEvent<Told>) => {
    const of = frames.findIndex((frame) => frame.contentWindow === event.source);
    if (event.origin !== location.origin || of < 0) return;
    if (event.data.kind === "seen") {
      last = { of, span: event.data.span };
      return spread();
    }
    marks[of] = new Map(event.data.marks);
    const common = [...marks[0]!.keys()].filter((name) => marks[1]!.has(name));
    align.replaceChildren(new Option("their beginnings", ""), ...common.map((name) => new Option(`the first ${name}`, name)));
    // It listens now, perhaps later than the other was seen.
    spread();
  });
  align.addEventListener("change", spread);
}
