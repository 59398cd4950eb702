/** What is drawn of other tracks at a time. */

import type { ThreadTracks } from "../generated/tables";
import type { Drawn } from "../model/counted";
import type { Slice } from "../model/slices";
import { RUNS } from "./colours";
import type { Scene, Timeline } from "./timeline";

export class DrawnNow implements Drawn {
  private readonly timeline: Timeline;
  private readonly scene: Scene;
  private readonly threads: ReadonlyMap<number, ThreadTracks>;

  constructor(timeline: Timeline, scene: Scene, threads: ReadonlyMap<number, ThreadTracks>) {
    [this.timeline, this.scene, this.threads] = [timeline, scene, threads];
  }

  slice(kind: string, track: number, at: number): Slice | null {
    return this.timeline.sliceAt(this.scene, { kind, track }, at);
  }

  cpu(thread: number, at: number): number | null {
    const track = this.threads.get(thread)?.track;
    const slice = track === undefined ? null : this.slice("thread", track, at);
    return slice?.stretches === 1 && slice.state === RUNS ? slice.what : null;
  }
}
