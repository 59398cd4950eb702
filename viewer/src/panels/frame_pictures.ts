/** Pictures of frames: a histogram with the budget, and the causes of one as a bar whose pieces sum to its time. */

import { ms, type FrameList, type Piece } from "../model/frames";
import { link } from "../ui/dom";

/** The number of causes that are listed at first. */
const LISTED = 6;
const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [300, 64];

function svg(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

/** Draws the numbers of frames by frame time, those over the budget in another colour, and a line at the budget. */
export function histogram(list: FrameList): HTMLElement {
  const figure = document.createElement("figure");
  figure.className = "histogram";
  const most = Math.max(1, ...list.bars);
  const step = WIDTH / list.bars.length;
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
  const label = `Histogram of ${list.count} frame times from 0 to ${ms(list.bar * list.bars.length)} ms: ${list.over} over the budget of ${ms(list.budget)} ms`;
  picture.setAttribute("aria-label", label);
  list.bars.forEach((count, at) => {
    const [from, last] = [at * list.bar, at === list.bars.length - 1];
    // A single frame is visible among thousands.
    const height = count === 0 ? 0 : Math.max(2, (count / most) * (HEIGHT - 4));
    const bar = svg("rect", { x: at * step, y: HEIGHT - height, width: Math.max(1, step - 1), height, class: from >= list.budget ? "over" : "within" });
    const title = svg("title", {});
    title.textContent = `${ms(from)}${last ? " ms or more" : ` to ${ms(from + list.bar)} ms`}: ${count}`;
    // The whole column has the title.
    const column = svg("rect", { x: at * step, y: 0, width: step, height: HEIGHT, class: "column" });
    column.append(title);
    picture.append(bar, column);
  });
  const x = list.budget / list.bar;
  if (x <= list.bars.length) picture.append(svg("line", { x1: x * step, x2: x * step, y1: 0, y2: HEIGHT, class: "budget" }));
  const caption = document.createElement("figcaption");
  const end = (text: string) => Object.assign(document.createElement("span"), { textContent: text });
  caption.append(end("0 ms"), end(`line: budget, ${ms(list.budget)} ms`), end(`${ms(list.bar * list.bars.length)} ms`));
  figure.append(picture, caption);
  return figure;
}

/** Draws the causes of a frame. */
export function causeBar(pieces: readonly Piece[], whole: number): HTMLElement {
  const bar = document.createElement("div");
  bar.className = "causes";
  bar.setAttribute("role", "img");
  const some = pieces.filter((piece) => piece.ns > 0);
  bar.setAttribute("aria-label", `Causes: ${some.map((piece) => `${piece.label} ${ms(piece.ns)} ms`).join("; ")}`);
  for (const piece of some) {
    const part = document.createElement("span");
    part.className = `cause ${piece.cause}`;
    part.title = `${piece.label}: ${ms(piece.ns)} ms`;
    part.dataset["ns"] = String(piece.ns);
    // Set by script, since the page's security policy forbids style attributes.
    part.style.flexGrow = String(piece.ns / Math.max(1, whole));
    if (piece.ns > whole / 6) part.textContent = piece.label;
    bar.append(part);
  }
  return bar;
}

/** Lists the causes of a frame with their times, those of a typical frame, and the sums. */
export function causeTable(pieces: readonly Piece[]): HTMLTableElement {
  const table = document.createElement("table");
  table.className = "list explained";
  const head = table.createTHead().insertRow();
  for (const [text, title] of [["cause", "State on the critical path to the end of the frame"], ["ms", "Time in this frame"], ["typical", "Mean time in a typical frame, ms"], ["extra", "Time in this frame minus that in a typical one, ms"]]) {
    head.append(Object.assign(document.createElement("th"), { scope: "col", textContent: text, title }));
  }
  const body = table.createTBody();
  const line = (label: Node | string, cells: readonly number[]) => {
    const row = body.insertRow();
    row.insertCell().append(label);
    for (const ns of cells) {
      const cell = row.insertCell();
      cell.className = "time";
      cell.textContent = ms(ns);
    }
    return row;
  };
  const few = pieces.length <= LISTED + 1 ? pieces : pieces.slice(0, LISTED);
  const cause = (piece: Piece) => {
    const label = document.createElement("span");
    const swatch = document.createElement("span");
    swatch.className = `swatch cause ${piece.cause}`;
    label.append(swatch, piece.label);
    return line(label, [piece.ns, piece.typical, piece.excess]);
  };
  const sums = (of: readonly Piece[]) => (["ns", "typical", "excess"] as const).map((name) => of.reduce((sum, piece) => sum + piece[name], 0));
  few.forEach(cause);
  const others = pieces.slice(few.length);
  if (others.length > 0) {
    const more = line(link(`${others.length} more`, () => more.replaceWith(...others.map(cause))), sums(others));
  }
  line("sum", sums(pieces)).className = "sum";
  return table;
}
