/** Elements for panels: text that can be copied, and buttons that look like links. */

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

/** Returns a table of names and values. */
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

export function button(label: string, action: () => void): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = label;
  made.addEventListener("click", action);
  return made;
}

/** Returns a button within text. */
export function link(label: string, action: () => void): HTMLButtonElement {
  const made = button(label, action);
  made.className = "link";
  return made;
}

/** Returns a link to an address within the page; it can be copied, and opened in another tab. */
export function anchor(label: string, hash: string): HTMLAnchorElement {
  const made = document.createElement("a");
  made.href = hash;
  made.textContent = label;
  return made;
}

/** Returns the element of the page with an id. */
export function element<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found as T;
}
