/** Notes pinned to a time. They are a word of the page's address: `notes=NS:TEXT,NS:TEXT`, each text percent-encoded. */

/** A note. */
export interface Note {
  /** The time that it is about, in ns from the start of the recording. */
  readonly at: number;
  readonly text: string;
}

/** The maximum number of notes, so that the address stays short enough to be passed on. */
export const MAX_NOTES = 40;
/** The maximum length of a text, in characters. */
export const MAX_TEXT = 120;

/** Returns a text without what an address cannot keep: line breaks, lone surrogates, and what exceeds the maximum. */
export function tidied(text: string): string {
  const plain = text.replace(/\p{Surrogate}/gu, "").replace(/\s+/g, " ");
  return [...plain].slice(0, MAX_TEXT).join("");
}

/** Returns the word of the address for some notes; empty if there are none. */
export function notesWord(notes: readonly Note[]): string {
  if (notes.length === 0) return "";
  return `notes=${notes.map((note) => `${Math.round(note.at)}:${encodeURIComponent(tidied(note.text))}`).join(",")}`;
}

/** Reads the notes of an address, in order of time; invalid ones, and those outside the recording, are omitted. */
export function notesFrom(hash: string, whole: number): Note[] {
  const word = hash.replace(/^#/, "").split("&").find((word) => word.startsWith("notes="));
  if (word === undefined) return [];
  const notes: Note[] = [];
  for (const part of word.slice("notes=".length).split(",")) {
    const match = /^(\d{1,16}):([^:,]*)$/.exec(part);
    if (!match || Number(match[1]) > whole) continue;
    try {
      notes.push({ at: Number(match[1]), text: tidied(decodeURIComponent(match[2]!)) });
    } catch {
      // Not valid percent-encoding.
    }
  }
  return sorted(notes).slice(0, MAX_NOTES);
}

/** Adds a note, or replaces that of the same time; unchanged if there is no room. */
export function withNote(notes: readonly Note[], note: Note): readonly Note[] {
  const others = notes.filter((other) => other.at !== note.at);
  return others.length >= MAX_NOTES ? notes : sorted([...others, note]);
}

function sorted(notes: Note[]): Note[] {
  return notes.sort((a, b) => a.at - b.at);
}
