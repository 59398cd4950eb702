/** The page while the trace is being prepared: what is being done, until the server can answer. */

/** The time between two requests, in ms. */
const POLL_MS = 250;

/** The server's answer to `/api/progress`. */
export interface Progress {
  readonly ready: boolean;
  /** What is being done. */
  readonly doing?: string;
  /** How much of it is done, 0 to 1; null if unknown. */
  readonly share?: number | null;
  /** For how long, in seconds. */
  readonly seconds?: number;
  /** Why the trace cannot be shown. */
  readonly failed?: string;
}

/** Returns the text for a progress. */
export function textOf(of: Progress): string {
  const seconds = Math.floor(of.seconds ?? 0);
  return `${of.doing ?? "Preparing the trace"}${seconds < 1 ? "" : `, ${seconds} s`}`;
}

/** Waits until the trace is ready; meanwhile shows in an element what is being done. Fails if it cannot be prepared. */
export async function prepared(place: HTMLElement, ask: () => Promise<Progress>): Promise<void> {
  let box: HTMLElement | null = null;
  try {
    for (;;) {
      const now = await ask();
      if (now.ready) return;
      if (now.failed !== undefined) throw new Error(now.failed);
      box ??= shownIn(place);
      box.querySelector("p")!.textContent = textOf(now);
      const bar = box.querySelector("progress")!;
      if (typeof now.share === "number") bar.value = now.share;
      else bar.removeAttribute("value");
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  } finally {
    box?.remove();
  }
}

function shownIn(place: HTMLElement): HTMLElement {
  const box = document.createElement("div");
  box.id = "preparing";
  const [text, bar] = [document.createElement("p"), document.createElement("progress")];
  text.setAttribute("role", "status");
  bar.setAttribute("aria-label", "Preparing the trace");
  box.append(text, bar);
  place.append(box);
  return box;
}
