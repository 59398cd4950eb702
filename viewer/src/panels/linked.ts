/**
 * Two traces on one page, each in its own frame. Zooming and moving in one applies to the other; they are aligned on their starts or on
 * the first mark of a name that both have.
 */

import type { Span } from "../model/view";

/** A message from a trace's page to the outer page. */
type Report = { readonly kind: "seen"; readonly span: Span } | { readonly kind: "marks"; readonly marks: readonly (readonly [string, number])[] };
/** A message from the outer page to a trace's page. */
type Show = { readonly kind: "show"; readonly span: Span };

/** The page of one of two traces: reports its visible span, and shows that of the other. */
export class Linked {
  constructor(show: (span: Span) => void) {
    addEventListener("message", (event: MessageEvent<Show>) => {
      if (event.origin === location.origin && event.source === parent && event.data.kind === "show") show(event.data.span);
    });
  }

  /** Reports the visible span. */
  seen(span: Span): void {
    parent.postMessage({ kind: "seen", span } satisfies Report, location.origin);
  }

  /** Reports the first mark of each name, for alignment. */
  marks(first: ReadonlyMap<string, number>): void {
    parent.postMessage({ kind: "marks", marks: [...first] } satisfies Report, location.origin);
  }
}

/** Shows the outer page with both traces. */
export function showBoth(body: HTMLElement): void {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
  const frames = ["first", "second"].map((of) => {
    const frame = document.createElement("iframe");
    frame.title = of === "first" ? "First trace" : "Second trace";
    frame.src = `/?of=${of}`;
    return frame;
  });
  const align = document.createElement("select");
  align.append(new Option("start of the recordings", ""));
  const label = document.createElement("label");
  label.append("Align on ", align);
  const head = document.createElement("header");
  const title = document.createElement("h1");
  title.textContent = "Comparison of two traces";
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
  addEventListener("message", (event: MessageEvent<Report>) => {
    const of = frames.findIndex((frame) => frame.contentWindow === event.source);
    if (event.origin !== location.origin || of < 0) return;
    if (event.data.kind === "seen") {
      last = { of, span: event.data.span };
      return spread();
    }
    marks[of] = new Map(event.data.marks);
    const common = [...marks[0]!.keys()].filter((name) => marks[1]!.has(name));
    align.replaceChildren(new Option("start of the recordings", ""), ...common.map((name) => new Option(`first mark ${name}`, name)));
    // This frame is ready now, perhaps after the other one reported its span.
    spread();
  });
  align.addEventListener("change", spread);
}
