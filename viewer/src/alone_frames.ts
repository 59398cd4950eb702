/** The frames in a page of one file: the sources, the slowest frames of each, and the causes of the slowest of the first source. */

import type { FrameList, FrameSource } from "./model/frames";

/** What the page contains: texts and tables by the names of their blocks; null if it has no such block. */
export interface Blocks<Table> {
  readonly text: (name: string) => Promise<string | null>;
  readonly table: (name: string) => Promise<Table | null>;
  readonly listOf: (table: Table) => FrameList;
  /** What to do for more. */
  readonly more: string;
}

export class HeldFrames<Table> {
  private readonly blocks: Blocks<Table>;

  constructor(blocks: Blocks<Table>) {
    this.blocks = blocks;
  }

  /** Returns the sources of which the page has frames; it has no other intervals. */
  async sources(intervals: boolean): Promise<FrameSource[]> {
    if (intervals) throw new Error(`this page has no periods, requests and parallel regions: ${this.blocks.more}`);
    return JSON.parse((await this.blocks.text("frame-sources")) ?? "[]") as FrameSource[];
  }

  /** Returns the frames of a source. With another budget than that of the page, only if the page has all of them. */
  async list(of: string, budget: number | null): Promise<FrameList> {
    const table = await this.blocks.table(`frames-${await this.place(of)}`);
    if (!table) throw new Error(`this page does not contain these frames: ${this.blocks.more}`);
    const list = this.blocks.listOf(table);
    if (budget === null || budget === list.budget) return list;
    if (list.frames.length < list.count) throw new Error(`this page has only the ${list.frames.length} slowest of ${list.count} frames: for another budget, ${this.blocks.more}`);
    const frames = list.frames.map((frame) => ({ ...frame, over_ns: frame.frame_ns - budget }));
    return { ...list, frames, budget, over: frames.filter((frame) => frame.over_ns > 0).length };
  }

  /** Returns the causes of a frame by its rank, for the budget of the page: what is typical depends on it. */
  async causes(of: string, budget: number | null, rank: number): Promise<Table> {
    if (budget !== null && (await this.list(of, null)).budget !== budget) throw new Error(`this page has causes for its own budget only: for another, ${this.blocks.more}`);
    const table = await this.blocks.table(`causes-${await this.place(of)}-${rank}`);
    if (!table) throw new Error(`this page has the causes only of the slowest frames of its first source; for others, ${this.blocks.more}`);
    return table;
  }

  private async place(of: string): Promise<number> {
    return (await this.sources(false)).findIndex((source) => source.of === of);
  }
}
