/** What the user chose about tracks: kept in the address, and for each recording. */

/** How threads are sorted; `process`: in groups by process. */
export const SORTS = ["process", "running", "ready", "efficient", "name"] as const;
export type Sort = (typeof SORTS)[number];
/** Heights of tracks; `auto`: compact where there are many. */
export const SIZES = ["auto", "compact", "normal", "tall"] as const;
export type Size = (typeof SIZES)[number];

/** A track or group, and the one before which it was put; empty: at the end. */
export type Move = readonly [what: string, before: string];

/** The choices. Tracks have ids such as `thread:12`, groups such as `process:345`. */
export interface Choices {
  readonly sort: Sort;
  readonly size: Size;
  /** Only tracks that match this are shown; empty: all. */
  readonly filter: string;
  /** Pinned tracks, from the top. */
  readonly pinned: readonly string[];
  /** Hidden tracks and groups. */
  readonly hidden: ReadonlySet<string>;
  /** Groups that were opened (true) or folded. */
  readonly open: ReadonlyMap<string, boolean>;
  /** In the order in which they were made. */
  readonly moves: readonly Move[];
}

export const NONE: Choices = { sort: "process", size: "auto", filter: "", pinned: [], hidden: new Set(), open: new Map(), moves: [] };

/** The maximum length of each list. */
const MAX = 200;
const ID = /^[a-z]{1,20}:[a-z0-9]{1,15}$/;

/** Writes choices as one word of an address; empty if nothing was chosen. */
export function toWord(choices: Choices): string {
  const { sort, size, filter, pinned, hidden, open, moves } = choices;
  const list = (name: string, of: readonly string[]) => (of.length === 0 ? [] : [`${name}.${of.slice(-MAX).join(",")}`]);
  const opened = (is: boolean) => [...open].flatMap(([id, was]) => (was === is ? [id] : []));
  const parts = [
    ...(sort === NONE.sort ? [] : [`sort.${sort}`]),
    ...(size === NONE.size ? [] : [`size.${size}`]),
    ...list("pin", pinned),
    ...list("hide", [...hidden]),
    ...list("open", opened(true)),
    ...list("fold", opened(false)),
    ...list("move", moves.map(([what, before]) => `${what}-${before}`)),
    ...(filter === "" ? [] : [`only.${encodeURIComponent(filter)}`]),
  ];
  return parts.join(";");
}

/** Reads choices from such a word; what is not valid is left out. */
export function fromWord(word: string): Choices {
  const parts = new Map(word.split(";").map((part) => [part.slice(0, part.indexOf(".")), part.slice(part.indexOf(".") + 1)] as const));
  const list = (name: string) => (parts.get(name) ?? "").split(",", MAX);
  const ids = (name: string) => list(name).filter((id) => ID.test(id));
  const one = <T extends string>(name: string, of: readonly T[], none: T) => of.find((known) => known === parts.get(name)) ?? none;
  const moves = list("move").flatMap((move) => {
    const [what = "", before = ""] = move.split("-", 2);
    return ID.test(what) && (before === "" || ID.test(before)) ? [[what, before] as const] : [];
  });
  return {
    sort: one("sort", SORTS, NONE.sort),
    size: one("size", SIZES, NONE.size),
    filter: decoded(parts.get("only") ?? "").slice(0, 200),
    pinned: [...new Set(ids("pin"))],
    hidden: new Set(ids("hide")),
    open: new Map([...ids("open").map((id) => [id, true] as const), ...ids("fold").map((id) => [id, false] as const)]),
    moves,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** Returns the word about tracks in an address; null if it has none. */
export function inHash(hash: string): string | null {
  return /(?:^#?|&)tracks=([^&]*)/.exec(hash)?.[1] ?? null;
}

/** Returns a list in the order of the moves; moves of what is not in it change nothing. */
export function moved<T extends { readonly id: string }>(list: readonly T[], moves: readonly Move[]): T[] {
  const made = [...list];
  for (const [what, before] of moves) {
    const from = made.findIndex((of) => of.id === what);
    if (from < 0 || what === before) continue;
    if (before !== "" && !made.some((of) => of.id === before)) continue;
    const [taken] = made.splice(from, 1);
    const to = before === "" ? made.length : made.findIndex((of) => of.id === before);
    made.splice(to, 0, taken!);
  }
  return made;
}
