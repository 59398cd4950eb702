/** Stacked values: a track has several layers, each drawn from the bottom up to the sum of itself and those below it. */

import type { Layer } from "../model/layout";
import type { Bar } from "../model/raster";
import type { Slice } from "../model/slices";
import type { KindOfTrack } from "./kind";

/**
 * Writes rows of sums into an image with `width` pixels per line, from column `left` on: the first row is that of the topmost layer.
 * What is 0 everywhere, but known, is a line of the colour `none`.
 */
export function paintStack(image: Uint32Array, width: number, left: number, rows: readonly Float32Array[], bar: Bar, colours: { layers: readonly number[]; none: number; page: number }): void {
  const columns = rows[0]?.length ?? 0;
  for (let y = Math.max(0, -bar.top); y < bar.height; y++) {
    const at = (bar.top + y) * width + left;
    if (at + columns > image.length) return;
    const reach = (bar.height - y - 0.5) / bar.height;
    const lowest = y === bar.height - 1;
    for (let x = 0; x < columns; x++) {
      let colour = lowest && rows[0]![x]! >= 0 ? colours.none : colours.page;
      // The last layer that reaches up to here is in front.
      for (let layer = 0; layer < rows.length; layer++) {
        const sum = rows[layer]![x]!;
        if (sum >= reach || (lowest && sum > 0)) colour = colours.layers[layer]!;
      }
      image[at + x] = colour;
    }
  }
}

/** The value of each layer: the difference to the sum below it. */
export interface LayerValue {
  readonly layer: Layer;
  readonly value: number;
}

/**
 * Returns the values of the layers by the slices of their sums, and whether they are exact: those of merged slices are means over times
 * that may differ. A layer without a slice is left out.
 */
export function layerValues(layers: readonly Layer[], slices: readonly (Slice | null)[]): { values: LayerValue[]; exact: boolean } {
  const values = layers.flatMap((layer, at) => {
    const slice = slices[at];
    if (!slice) return [];
    const below = slices[at + 1]?.mean ?? 0;
    return [{ layer, value: Math.max(0, (slice.mean ?? 0) - below) }];
  });
  return { values, exact: slices.every((slice) => slice === null || slice.stretches === 1) };
}

/** Describes the layers at a time, those at the top first; layers of 0 are left out, unless all are. */
export function layerFacts(kind: KindOfTrack, unit: string, layers: readonly Layer[], slices: readonly (Slice | null)[]): [string, string][] {
  const { values, exact } = layerValues(layers, slices);
  const total = slices[0]?.mean;
  const words = (value: number) => `${exact ? "" : "about "}${kind.words(value, unit)}`;
  const all: [string, string][] = total === undefined || values.length < 2 ? [] : [["all", words(total)]];
  const parts = values.filter(({ value }) => value > 0);
  return [...all, ...(parts.length > 0 ? parts : values.slice(0, 1)).map(({ layer, value }): [string, string] => [layer.label, words(value)])];
}
