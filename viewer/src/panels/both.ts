/**
 * Two traces on one page, each in its own frame. Zooming and moving in one applies to the other; they are aligned on their starts or on
 * the first mark of a name that both have. Threads of both can be coloured by what changed.
 */

import { changes as askChanges } from "../api";
import type { Changes } from "../model/changes";
import type { Span } from "../model/view";
import type { Report, Show } from "./linked";
import { Roles } from "./roles";

/** The time between two requests for what changed, in ms. */
const POLL_MS = 400;

function labelled(label: string, control: HTMLElement): HTMLElement {
  const made = document.createElement("label");
  made.append(`${label} `, control);
  return made;
}

/** The controls of the outer page. */
class Controls {
  readonly align = document.createElement("select");
  readonly colour = document.createElement("select");
  readonly order = document.createElement("select");
  readonly head = document.createElement("header");
  private readonly status = document.createElement("span");

  constructor() {
    this.align.id = "align";
    this.align.append(new Option("start of the recordings", ""));
    this.colour.id = "colour-threads";
    this.colour.append(new Option("state", ""));
    this.order.id = "order";
    this.order.append(new Option("process", ""), new Option("largest change first", "change"));
    this.order.disabled = true;
    this.status.role = "status";
    this.status.id = "answer";
    // In a narrow window it scrolls.
    this.status.tabIndex = 0;
    const title = document.createElement("h1");
    title.textContent = "Comparison of two traces";
    this.head.append(title, labelled("Align on", this.align), labelled("Colour threads by", this.colour), labelled("Order threads by", this.order), this.status);
  }

  say(text: string): void {
    this.status.textContent = this.status.title = text;
  }

  /** Offers the metrics of what changed. */
  offer(changes: Changes): void {
    const group = document.createElement("optgroup");
    group.label = "what changed";
    group.append(...changes.metrics.map((of, at) => new Option(`change of ${of.title}`, String(at))));
    this.colour.append(group);
    // Without an answer, the notes say why.
    this.say([changes.answer, ...changes.notes].filter((text) => text !== "").join(" "));
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
  const controls = new Controls();
  const { align, colour, order } = controls;
  const main = document.createElement("main");
  main.className = "both";
  main.append(...frames);
  const send = (to: number, message: Show) => frames[to]?.contentWindow?.postMessage(message, location.origin);
  const roles = new Roles((side, thread) => send(side, { kind: "open", thread }));
  body.replaceChildren(controls.head, roles.element, main);

  const marks: Map<string, number>[] = [new Map(), new Map()];
  let last: { of: number; span: Span } | null = null;
  const spread = () => {
    if (!last) return;
    const [own, other] = [last.of, 1 - last.of];
    const at = (of: number) => marks[of]?.get(align.value) ?? 0;
    const by = at(other) - at(own);
    send(other, { kind: "show", span: { from: last.span.from + by, to: last.span.to + by } });
  };

  let changes: Changes | null = null;
  const choose = (side: number) => {
    const metric = colour.value === "" ? null : Number(colour.value);
    if (changes) send(side, { kind: "changed", choice: { changes, side, metric, sorted: order.value === "change" } });
  };
  const chooseBoth = () => {
    order.disabled = colour.value === "";
    [0, 1].forEach(choose);
  };
  const marked = (of: number, thread: number | null) => {
    const role = thread === null ? undefined : changes?.roles.find((role) => role.threads[of]?.includes(thread));
    send(1 - of, { kind: "marked", threads: role?.threads[1 - of] ?? [] });
  };

  addEventListener("message", (event: MessageEvent<Report>) => {
    const of = frames.findIndex((frame) => frame.contentWindow === event.source);
    const { data } = event;
    if (event.origin !== location.origin || of < 0) return;
    if (data.kind === "seen") {
      last = { of, span: data.span };
      spread();
    } else if (data.kind === "ready") {
      // Perhaps after the other one reported its span, or what changed is known.
      spread();
      choose(of);
    } else if (data.kind === "marks") {
      marks[of] = new Map(data.marks);
      const common = [...marks[0]!.keys()].filter((name) => marks[1]!.has(name));
      align.replaceChildren(new Option("start of the recordings", ""), ...common.map((name) => new Option(`first mark ${name}`, name)));
      spread();
    } else if (data.kind === "chosen") marked(of, data.thread);
    else if (data.kind === "open") send(1 - of, { kind: "open", thread: data.thread });
    else if (data.kind === "back") send(1 - of, { kind: "back", by: data.by });
    else if (data.kind === "recolour" && changes) {
      colour.selectedIndex = (colour.selectedIndex + 1) % colour.length;
      chooseBoth();
    }
  });
  align.addEventListener("change", spread);
  colour.addEventListener("change", chooseBoth);
  order.addEventListener("change", chooseBoth);
  void load(controls).then((of) => {
    changes = of;
    if (of) roles.show(of);
    chooseBoth();
  });
}

/** Polls for what changed; null if that is not known, which the page then says. */
async function load(controls: Controls): Promise<Changes | null> {
  controls.say("Comparing the traces…");
  try {
    for (;;) {
      const answer = await askChanges();
      if (answer && "message" in answer) {
        controls.say(`What changed is unknown: ${answer.message}`);
        return null;
      }
      if (answer) {
        controls.offer(answer);
        return answer;
      }
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  } catch (why) {
    controls.say(`What changed is unknown: ${(why as Error).message}`);
    return null;
  }
}
