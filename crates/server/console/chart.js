// Drawings: a live series of one bar for each interval, stacked from retrieved to from memory; and lines over axes.

import { draw } from "./dom.js";

/** Intervals that are shown. */
export const SHOWN = 60;

const HEIGHT = 30;

/**
 * Bars.
 * @param {{corpus: number, self: number}[]} series oldest first
 * @param {string} label for those who do not see it
 */
export function bars(series, label) {
  const shown = series.slice(-SHOWN);
  const most = Math.max(1, ...shown.map(({ corpus, self }) => corpus + self));
  const chart = draw("svg", { class: "chart", viewBox: `0 0 ${SHOWN} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label });
  const bar = (/** @type {string} */ kind, /** @type {number} */ x, /** @type {number} */ from, /** @type {number} */ count) => {
    const height = HEIGHT * count / most;
    return count ? draw("rect", { class: kind, x: x + 0.1, width: 0.8, y: HEIGHT - HEIGHT * from / most - height, height }) : null;
  };
  shown.forEach(({ corpus, self }, place) => {
    const x = SHOWN - shown.length + place;
    chart.append(...[bar("corpus", x, 0, corpus), bar("self", x, corpus, self)].filter((one) => one != null));
  });
  return { chart, most };
}

/** The colors of lines in the style sheet. */
const COLORS = 6;

/** A drawing with axes, in its own units. */
const DRAWING = { width: 640, height: 360, left: 46, right: 24, top: 10, bottom: 40 };

/** The class of the color of a line. @param {number} place its number, from 0 */
export const color = (place) => `color-${place % COLORS}`;

/** A square of the color of a line. @param {number} place */
export const swatch = (place) => draw("svg", { class: "swatch", viewBox: "0 0 1 1", "aria-hidden": "true" },
  draw("rect", { class: color(place), width: 1, height: 1 }));

/**
 * @typedef {{
 *   label: string, across: {name: string, low: number, high: number, ticks: [number, string][]},
 *   lines: {class: string, points: [number, number][]}[], rings?: {class: string, at: [number, number], name: string}[],
 *   mark?: [number, number]
 * }} Curves
 */

/** Lines over an axis with numbers; what stands up goes as far as the points do. @param {Curves} curves */
export function curves({ label, across, lines, rings = [], mark }) {
  const { width, height, left, right, top, bottom } = DRAWING;
  const values = lines.flatMap((line) => line.points.map((point) => point[1]));
  const step = niceStep((Math.max(...values) - Math.min(...values)) / 4 || 0.1);
  const low = Math.floor(Math.min(...values) / step) * step;
  const high = Math.ceil(Math.max(...values) / step + 1e-9) * step;
  const span = across.high - across.low || 1;
  const x = (/** @type {number} */ value) => left + (width - left - right) * (value - across.low) / span;
  const y = (/** @type {number} */ value) => height - bottom - (height - top - bottom) * (value - low) / (high - low);
  const path = (/** @type {[number, number][]} */ points) => points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ");
  const ticks = Array.from({ length: Math.round((high - low) / step) + 1 }, (_, place) => low + place * step);
  return draw("svg", { class: "curves", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    ticks.map((value) => [
      draw("line", { x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      draw("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, value.toFixed(step < 0.01 ? 3 : 2)),
    ]),
    across.ticks.map(([value, shown]) => draw("text", { x: x(value), y: height - bottom + 18, "text-anchor": "middle" }, shown)),
    draw("text", { x: left + (width - left - right) / 2, y: height - 4, "text-anchor": "middle" }, across.name),
    lines.map((line) => draw("polyline", { class: line.class, points: path(line.points) })),
    rings.map((ring) => draw("circle", { class: `ring ${ring.class}`, cx: x(ring.at[0]), cy: y(ring.at[1]), r: 8 },
      draw("title", {}, ring.name))),
    mark && draw("circle", { cx: x(mark[0]), cy: y(mark[1]), r: 6 }));
}

/** The next of 1, 2 or 5 times a power of ten. @param {number} least */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= least * (1 - 1e-9)) ?? least;
}
