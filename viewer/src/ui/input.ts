/** Maps keyboard, wheel, mouse and touch to actions. */

import { LongPress } from "./press";

/** The actions. Places are CSS pixels of the canvas. */
export interface Actions {
  /** Zooms by a factor, about a place or the middle. */
  readonly zoom: (by: number, x: number | null) => void;
  /** Moves by a share of the screen. */
  readonly pan: (part: number) => void;
  readonly drag: (dx: number, dy: number) => void;
  readonly scroll: (by: number) => void;
  readonly page: (by: number) => void;
  readonly whole: () => void;
  /** Sets the time range between two places. */
  readonly mark: (x0: number, x1: number) => void;
  /** Time range: sets it to the selection or the visible time, moves its end, zooms to it, shows its critical path. */
  readonly range: () => void;
  readonly stretch: (by: number) => void;
  readonly zoomRange: () => void;
  readonly path: () => void;
  /** Jumps to the waker (-1), or to the first woken thread (1). */
  readonly jump: (by: number) => void;
  /** Goes to the previous (-1) or next (1) frame of the list. */
  readonly frame: (by: -1 | 1) => void;
  /** Goes to the previous (-1) or next (1) hit. */
  readonly hit: (by: number) => void;
  /** Returns whether a place is on the ruler, where a drag sets the time range. */
  readonly isRuler: (x: number, y: number) => boolean;
  readonly choose: (x: number, y: number) => void;
  readonly clear: () => void;
  readonly step: (by: number) => void;
  readonly track: (by: number) => void;
  readonly focus: () => void;
  readonly colour: () => void;
  /** Folds or opens the group of the selected track, or all groups. */
  readonly fold: () => void;
  readonly foldAll: () => void;
  /** Pins, hides or moves the selected track. */
  readonly pin: () => void;
  readonly hide: () => void;
  readonly shift: (by: number) => void;
  /** Takes hold of the label at a place; returns whether there is one. Then it is carried to a height, and dropped. */
  readonly grab: (x: number, y: number) => boolean;
  readonly carry: (y: number) => void;
  readonly drop: () => void;
  /** The pointer left. */
  readonly leave: () => void;
  /** Colours the threads of two traces by the next of what changed, or by state again. */
  readonly recolour: () => void;
  readonly hover: (x: number, y: number) => void;
  /** Pins a note to the selection or the pointer. */
  readonly note: () => void;
  /** Goes one step back (-1) or forward (1). */
  readonly back: (by: -1 | 1) => void;
}

/** Keys that work wherever the focus is, except in fields: those that no control has itself. */
const EVERYWHERE = /^([a-z0-9/?[\]]|shift\+m|(shift\+)?backspace)$/;

/** The maximum movement of a click, in pixels. */
const CLICK = 4;
/** A place outside the timeline, where no tooltip is shown. */
const NOWHERE = -1;

export function control(canvas: HTMLCanvasElement, act: Actions, ui: { help: () => void; search: () => void; filter: () => void }): void {
  const keys = new Map<string, () => void>([
    ["w", () => act.zoom(0.8, null)],
    ["s", () => act.zoom(1.25, null)],
    ["a", () => act.pan(-0.15)],
    ["d", () => act.pan(0.15)],
    ["0", act.whole],
    ["arrowup", () => act.track(-1)],
    ["arrowdown", () => act.track(1)],
    ["arrowleft", () => act.step(-1)],
    ["arrowright", () => act.step(1)],
    ["f", act.focus],
    ["enter", act.focus],
    ["pageup", () => act.page(-1)],
    ["pagedown", () => act.page(1)],
    ["t", act.colour],
    ["v", act.recolour],
    ["r", act.range],
    ["m", act.range],
    ["shift+m", act.note],
    ["backspace", () => act.back(-1)],
    ["shift+backspace", () => act.back(1)],
    ["shift+arrowleft", () => act.stretch(-1)],
    ["shift+arrowright", () => act.stretch(1)],
    ["z", act.zoomRange],
    ["c", act.path],
    [",", () => act.jump(-1)],
    [".", () => act.jump(1)],
    ["[", () => act.frame(-1)],
    ["]", () => act.frame(1)],
    ["n", () => act.hit(1)],
    ["p", () => act.hit(-1)],
    ["g", act.fold],
    ["shift+g", act.foldAll],
    ["k", act.pin],
    ["h", act.hide],
    ["shift+arrowup", () => act.shift(-1)],
    ["shift+arrowdown", () => act.shift(1)],
    ["l", ui.filter],
    ["escape", act.clear],
    ["/", ui.search],
    ["?", ui.help],
  ]);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const name = event.key.toLowerCase();
    const shifted = event.shiftKey && keys.has(`shift+${name}`) ? `shift+${name}` : name;
    const key = keys.get(shifted);
    if (!key || (event.target !== canvas && (isField(event.target) || !EVERYWHERE.test(shifted)))) return;
    event.preventDefault();
    key();
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      // Converts lines and pages to pixels.
      const unit = event.deltaMode === 0 ? 1 : event.deltaMode === 1 ? 16 : 400;
      const [x, y] = [event.deltaX * unit, event.deltaY * unit];
      if (event.ctrlKey) act.zoom(Math.exp(Math.min(1, Math.max(-1, y / 400))), event.offsetX);
      else if (event.shiftKey) act.pan((x + y) / canvas.clientWidth);
      else {
        if (x !== 0) act.pan(x / canvas.clientWidth);
        if (y !== 0) act.scroll(y);
      }
    },
    { passive: false },
  );
  pointers(canvas, act);
}

/** Whether keys are typed into an element, or a dialog is open. */
function isField(of: EventTarget | null): boolean {
  return of instanceof Element && of.closest("input, select, textarea, dialog, iframe") !== null;
}

/** Drag with one pointer, pinch with two; a finger that rests shows the tooltip. */
function pointers(canvas: HTMLCanvasElement, act: Actions): void {
  const down = new Map<number, { x: number; y: number }>();
  let begun: { x: number; y: number; marks: boolean; grabs: boolean; moved: boolean } | null = null;
  const press = new LongPress((x, y) => act.hover(x, y));
  // Browsers open a menu for a long press.
  canvas.addEventListener("contextmenu", (event) => down.size > 0 && event.preventDefault());
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    if (event.pointerType === "touch") {
      act.hover(NOWHERE, NOWHERE);
      press.down(event.offsetX, event.offsetY, down.size === 0);
    }
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    const grabs = event.pointerType === "mouse" && down.size === 1 && act.grab(event.offsetX, event.offsetY);
    begun = { x: event.offsetX, y: event.offsetY, grabs, marks: event.shiftKey || act.isRuler(event.offsetX, event.offsetY), moved: down.size > 1 };
  });
  canvas.addEventListener("pointermove", (event) => {
    const from = down.get(event.pointerId);
    if (!from || !begun || press.isHeld) return act.hover(event.offsetX, event.offsetY);
    const [dx, dy] = [event.offsetX - from.x, event.offsetY - from.y];
    const other = [...down.entries()].find(([id]) => id !== event.pointerId)?.[1];
    begun.moved ||= Math.abs(event.offsetX - begun.x) > CLICK || Math.abs(event.offsetY - begun.y) > CLICK;
    if (begun.moved) press.cancel();
    down.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    if (other) {
      const [was, is] = [Math.abs(from.x - other.x), Math.abs(event.offsetX - other.x)];
      if (was > 8 && is > 8) act.zoom(was / is, (event.offsetX + other.x) / 2);
    } else if (begun.grabs) {
      if (begun.moved) act.carry(event.offsetY);
    } else if (begun.moved && begun.marks) act.mark(begun.x, event.offsetX);
    else if (begun.moved) act.drag(dx, dy);
  });
  const up = (event: PointerEvent, done: boolean) => {
    if (!down.delete(event.pointerId) || !begun || down.size > 0) return;
    if (begun.grabs) act.drop();
    if (done && !begun.moved && !press.isHeld) act.choose(event.offsetX, event.offsetY);
    press.end();
    begun = null;
  };
  canvas.addEventListener("pointerup", (event) => up(event, true));
  canvas.addEventListener("pointerleave", () => act.leave());
  canvas.addEventListener("pointercancel", (event) => up(event, false));
}
