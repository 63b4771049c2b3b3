// Draws the figures of reports: lines, dots and rings over two axes, with a legend below. It imports nothing, so that
// saved pages can hold it.

/**
 * @typedef {{x: number, y: number, band?: [number, number], name?: string}} Point
 * @typedef {{name: string, mark: "line" | "dashed" | "dots" | "rings", color: number | null, points: Point[]}} Series
 * @typedef {{name: string, range?: [number, number] | null, is_whole?: boolean}} Axis
 * @typedef {{name: string, caption: string, across: Axis, up: Axis, series: Series[]}} Figure
 */

/** Colors that are distinct to most people, after Okabe and Ito, on light and on dark ground. */
const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#888888", "#8a7a00"];

/** The color of what others are compared with. */
const PLAIN = "#999999";

/** The sizes of a drawing, in its own units. */
const [WIDTH, HEIGHT, LEFT, BELOW, MARGIN, ENTRY] = [560, 360, 64, 44, 20, 18];

/** Numbers on an axis of whole numbers at most, and about how many steps others have. */
const [MOST, STEPS] = [14, 4];

/**
 * An element of a drawing; attributes without a value are left out.
 * @param {string} name
 * @param {Record<string, any>} [attributes]
 * @param {...any} children
 * @returns {any}
 */
export function draw(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) if (value != null) element.setAttribute(key, value);
  element.append(...children.flat(2).filter((child) => child != null && child !== false));
  return element;
}

/**
 * The ends of an axis, and the numbers on it: at every multiple of a round step, or of whole numbers at some of those
 * that occur. Nothing that is never negative goes below zero.
 * @param {Axis} axis @param {number[]} values
 */
export function scale({ range, is_whole: isWhole }, values) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const margin = Math.max((most - least) * 0.08, 0.005);
  const [low, high] = range ?? [least < 0 ? least - margin : Math.max(least - margin, 0), most + margin];
  if (isWhole) {
    const all = [...new Set(values)].sort((one, other) => one - other);
    const every = Math.ceil(all.length / MOST);
    return { low, high, numbers: all.filter((_, place) => place % every === 0).map((value) => [value, String(value)]) };
  }
  const step = round((high - low) / STEPS);
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  const numbers = Array.from({ length: count }, (_, place) => (first + place) * step);
  return { low, high, numbers: numbers.map((value) => [value, (value || 0).toFixed(digits)]) };
}

/** The number nearest to a step that is 1, 2 or 5 times a power of ten. @param {number} step */
function round(step) {
  const power = 10 ** Math.floor(Math.log10(step));
  const far = (/** @type {number} */ times) => Math.abs(Math.log(times * power / step));
  return power * [1, 2, 5, 10].reduce((best, times) => (far(times) < far(best) ? times : best));
}

/** A figure as a drawing. @param {Figure} figure */
export function drawn({ caption, across, up, series }) {
  const points = series.flatMap((one) => one.points);
  const horizontal = scale(across, points.map((point) => point.x));
  const vertical = scale(up, points.flatMap((point) => [point.y, ...(point.band ?? [])]));
  const placed = (/** @type {number} */ value, /** @type {{low: number, high: number}} */ { low, high }) =>
    Math.min(1, Math.max(0, (value - low) / (high - low)));
  const x = (/** @type {number} */ value) => LEFT + (WIDTH - LEFT - MARGIN) * placed(value, horizontal);
  const y = (/** @type {number} */ value) => MARGIN + (HEIGHT - BELOW - MARGIN) * (1 - placed(value, vertical));
  const path = (/** @type {[number, number][]} */ all) => all.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ");
  const named = series.filter((one) => one.mark === "line" || one.mark === "dashed");
  const whole = HEIGHT + ENTRY * named.length;
  return draw("svg", { class: "curves", viewBox: `0 0 ${WIDTH} ${whole}`, width: WIDTH, role: "img", "aria-label": caption,
    "font-family": "sans-serif", "font-size": 12, fill: "currentColor" },
    vertical.numbers.map(([value, shown]) => [
      draw("line", { x1: LEFT, x2: WIDTH - MARGIN, y1: y(value), y2: y(value), stroke: "currentColor", "stroke-opacity": 0.15 }),
      draw("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, shown)]),
    horizontal.numbers.map(([value, shown]) => draw("text", { x: x(value), y: HEIGHT - BELOW + 18, "text-anchor": "middle" }, shown)),
    series.map((one) => marks(one, { x, y, path })),
    draw("text", { x: (LEFT + WIDTH - MARGIN) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, across.name),
    draw("text", { transform: `translate(12 ${(HEIGHT - BELOW) / 2}) rotate(-90)`, "text-anchor": "middle" }, up.name),
    named.map((one, place) => [
      draw("line", { x1: LEFT, x2: LEFT + 18, y1: HEIGHT + 8 + ENTRY * place, y2: HEIGHT + 8 + ENTRY * place, ...pen(one) }),
      draw("text", { x: LEFT + 24, y: HEIGHT + 12 + ENTRY * place }, one.name)]));
}

/** @param {Series} series */
const pen = ({ color, mark }) => ({ fill: "none", stroke: color == null ? PLAIN : COLORS[color % COLORS.length], "stroke-width": 2,
  "stroke-dasharray": mark === "dashed" ? "5 4" : null });

/** @param {Series} series @param {{x: (value: number) => number, y: (value: number) => number, path: (all: [number, number][]) => string}} on */
function marks(series, { x, y, path }) {
  const { mark, points } = series;
  if (mark === "line" || mark === "dashed") {
    const banded = points.filter((point) => point.band);
    const edge = (/** @type {0 | 1} */ end) => banded.map((point) => /** @type {[number, number]} */ ([point.x, point.band?.[end]]));
    return [
      banded.length > 1 && draw("polygon", { points: path([...edge(0), ...edge(1).reverse()]), fill: pen(series).stroke, "fill-opacity": 0.12 }),
      draw("polyline", { points: path(points.map((point) => [point.x, point.y])), ...pen(series) })];
  }
  return points.map((point) => draw("circle", { class: mark === "rings" ? "ring" : null, cx: x(point.x), cy: y(point.y),
    r: mark === "rings" ? 7 : 4, ...(mark === "rings" ? pen(series) : { "fill-opacity": 0.75 }) },
    draw("title", {}, `${point.name ?? series.name} (${point.x.toFixed(3)}, ${point.y.toFixed(3)})`)));
}

/** The points of a figure as CSV. @param {Figure} figure */
export function csv({ across, up, series }) {
  const quoted = (/** @type {string | number} */ field) => (/[",\n]/.test(String(field)) ? `"${String(field).replaceAll('"', '""')}"` : field);
  const rows = series.flatMap((one) => one.points.map((point) => [point.name || one.name, point.x, point.y]));
  return [["series", across.name, up.name], ...rows].map((row) => `${row.map(quoted).join(",")}\n`).join("");
}
