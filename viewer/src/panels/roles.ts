/** What changed between two traces, as a table: each role with its values in both, the largest change first. */

import { matched, order, type Changes, type Role } from "../model/changes";
import { link } from "../ui/dom";

/** The number of roles shown. */
const SHOWN = 200;

export class Roles {
  /** Folded at first: the traces need the room. */
  readonly element = document.createElement("details");
  private readonly title = document.createElement("summary");
  private readonly rows = document.createElement("div");
  private readonly open: (side: number, thread: number) => void;
  private metric = 0;

  /** `open` selects a thread in the first (0) or the second (1) trace. */
  constructor(open: (side: number, thread: number) => void) {
    this.open = open;
    this.element.id = "roles";
    this.element.hidden = true;
    this.rows.className = "rows";
    this.rows.tabIndex = 0;
    this.rows.setAttribute("role", "region");
    this.rows.setAttribute("aria-label", "What changed, by role");
    this.element.append(this.title, this.rows);
  }

  /** Lists the roles. */
  show(changes: Changes): void {
    this.element.hidden = changes.roles.length === 0;
    this.title.textContent = `What changed, by role (${changes.roles.length})`;
    this.fill(changes);
  }

  private fill(changes: Changes): void {
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    head.append(Object.assign(document.createElement("th"), { scope: "col", textContent: "role", title: "Threads with one function in both traces" }));
    changes.metrics.forEach((of, metric) => {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.title = `First → second, sums over the threads of the role; sorts by the largest change of ${of.title}`;
      if (metric === this.metric) cell.ariaSort = "descending";
      const label = `${of.title}${of.is_time ? " (ms)" : ""}`;
      cell.append(link(label, () => {
        this.metric = metric;
        this.fill(changes);
        [...this.rows.querySelectorAll<HTMLElement>("th button")].find((other) => other.textContent === label)?.focus();
      }));
      head.append(cell);
    });
    const body = table.createTBody();
    const places = order(changes, this.metric);
    const sorted = [...changes.roles].sort((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0));
    for (const role of sorted.slice(0, SHOWN)) {
      const row = body.insertRow();
      const name = document.createElement("th");
      name.scope = "row";
      name.append(this.nameOf(role));
      row.append(name);
      changes.metrics.forEach(({ is_time }, metric) => {
        const cell = row.insertCell();
        cell.className = "number";
        const [a, b] = role.values[metric]?.values ?? [null, null];
        cell.textContent = `${amount(a, is_time)} → ${amount(b, is_time)}`;
      });
    }
    const more = document.createElement("p");
    more.textContent = `The first ${SHOWN} of ${sorted.length} roles are listed.`;
    this.rows.replaceChildren(table, ...(sorted.length > SHOWN ? [more] : []));
  }

  /** The name of a role, which selects its first thread: in the second trace, unless only the first has it. */
  private nameOf(role: Role): Node {
    const side = role.threads[1].length > 0 ? 1 : 0;
    const thread = role.threads[side]?.[0];
    const made = thread === undefined ? document.createElement("span") : link(role.name, () => this.open(side, thread));
    made.textContent = role.name;
    made.title = `${role.name}: ${matched(role, role.threads[1].length > 0 ? 1 : 0)}`;
    return made;
  }
}

/** Writes a time in ms, or a count; – if it is not recorded, or there is no such thread. */
function amount(value: number | null, isTime: boolean): string {
  if (value === null) return "–";
  return isTime ? (value / 1e6).toFixed(3) : String(value);
}
