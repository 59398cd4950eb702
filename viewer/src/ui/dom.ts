/** The parts that panels are made of: text that can be copied, and buttons that look like links. */

export function heading(text: string, level: 2 | 3 = 2): HTMLElement {
  const h = document.createElement(`h${level}`);
  h.textContent = text;
  return h;
}

export function paragraph(text: string): HTMLElement {
  const p = document.createElement("p");
  p.textContent = text;
  return p;
}

/** Names with what they are. */
export function facts(cells: readonly [string, Node | string][]): HTMLTableElement {
  const table = document.createElement("table");
  for (const [name, value] of cells) {
    const row = table.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = name;
    row.append(head);
    row.insertCell().append(value);
  }
  return table;
}

export function button(label: string, does: () => void): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = label;
  made.addEventListener("click", does);
  return made;
}

/** A button within text. */
export function link(label: string, does: () => void): HTMLButtonElement {
  const made = button(label, does);
  made.className = "link";
  return made;
}

/** An address within the page: it can be copied, and opens in another tab too. */
export function anchor(label: string, hash: string): HTMLAnchorElement {
  const made = document.createElement("a");
  made.href = hash;
  made.textContent = label;
  return made;
}
