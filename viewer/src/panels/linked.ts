/** The page of one of two traces: what it reports to the outer page (both.ts), and what it is shown by it. */

import type { Span } from "../model/view";
import type { Choice } from "./changed";

/** A message from a trace's page to the outer page. */
export type Report =
  /** The page can be shown something. */
  | { readonly kind: "ready" }
  | { readonly kind: "seen"; readonly span: Span }
  | { readonly kind: "marks"; readonly marks: readonly (readonly [string, number])[] }
  /** A thread was selected, or none. */
  | { readonly kind: "chosen"; readonly thread: number | null }
  /** A thread of the other trace is to be selected. */
  | { readonly kind: "open"; readonly thread: number }
  /** The next colouring is to be chosen. */
  | { readonly kind: "recolour" }
  /** This page has no step to take back or forward: the other one may have. */
  | { readonly kind: "back"; readonly by: -1 | 1 };

/** A message from the outer page to a trace's page. */
export type Show =
  | { readonly kind: "show"; readonly span: Span }
  | { readonly kind: "changed"; readonly choice: Choice }
  /** These threads have the role that is selected in the other trace. */
  | { readonly kind: "marked"; readonly threads: readonly number[] }
  | { readonly kind: "open"; readonly thread: number }
  | { readonly kind: "back"; readonly by: -1 | 1 };

/** The page's functions that the outer page uses. */
export interface PageActions {
  readonly show: (span: Span) => void;
  readonly changed: (choice: Choice) => void;
  readonly marked: (threads: readonly number[]) => void;
  readonly open: (thread: number) => void;
  readonly back: (by: -1 | 1) => void;
}

/** Reports what the user does, and shows what the user does with the other trace. */
export class Linked {
  constructor(to: PageActions) {
    addEventListener("message", (event: MessageEvent<Show>) => {
      if (event.origin !== location.origin || event.source !== parent) return;
      const { data } = event;
      if (data.kind === "show") to.show(data.span);
      if (data.kind === "changed") to.changed(data.choice);
      if (data.kind === "marked") to.marked(data.threads);
      if (data.kind === "open") to.open(data.thread);
      if (data.kind === "back") to.back(data.by);
    });
  }

  /** Reports that the page is complete. */
  ready(): void {
    report({ kind: "ready" });
  }

  /** Reports the visible span. */
  seen(span: Span): void {
    report({ kind: "seen", span });
  }

  /** Reports the first mark of each name, for alignment. */
  marks(first: ReadonlyMap<string, number>): void {
    report({ kind: "marks", marks: [...first] });
  }

  /** Reports the selected thread. */
  chosen(thread: number | null): void {
    report({ kind: "chosen", thread });
  }

  /** Selects a thread in the other trace. */
  open(thread: number): void {
    report({ kind: "open", thread });
  }

  /** Asks for a step of the other trace's page. */
  back(by: -1 | 1): void {
    report({ kind: "back", by });
  }

  /** Asks for the next colouring. */
  recolour(): void {
    report({ kind: "recolour" });
  }
}

function report(of: Report): void {
  parent.postMessage(of, location.origin);
}
