/** Bars of several parts. */

export interface Part {
  /** The length, 0 to 1 of the bar. */
  readonly share: number;
  readonly colour: string;
  /** Hatched: next to a busy sibling. */
  readonly shared?: boolean;
}

/** Returns an empty bar; its figures are in text next to it. */
export function bar(): HTMLElement {
  const made = document.createElement("div");
  made.className = "bar";
  made.setAttribute("aria-hidden", "true");
  return made;
}

/** Sets the parts of a bar. */
export function fill(of: HTMLElement, parts: readonly Part[]): HTMLElement {
  while (of.childElementCount > parts.length) of.lastElementChild!.remove();
  while (of.childElementCount < parts.length) of.append(document.createElement("i"));
  parts.forEach(({ share, colour, shared }, at) => {
    const part = of.children[at] as HTMLElement;
    part.style.width = `${(100 * Math.min(1, share)).toFixed(2)}%`;
    part.style.backgroundColor = colour;
    part.className = shared ? "shared" : "";
  });
  return of;
}
