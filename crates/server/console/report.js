// Draws a report from its data: sections with tables and figures, as the program that measured wrote them.

import { make, table, terms } from "./dom.js";
import { drawn } from "./figure.js";

/**
 * @typedef {string | number | null | {value: number, interval: [number, number]}} Cell
 * @typedef {{name: string, unit?: string, digits: number | null}} Column
 * @typedef {{name: string, columns: Column[], rows: Cell[][]}} Table
 * @typedef {{title: string, provenance: Record<string, string>, sections: Record<string, any>[]}} Report
 */

/** How the content of a section is shown, by its kind. @type {Record<string, (content: any) => any>} */
const KINDS = {
  subheading: (text) => make("h3", {}, text),
  text: (text) => make("p", {}, text),
  note: (text) => make("p", { class: "dim small" }, text),
  terms,
  table: numbers,
  details: (of) => (of.rows.length ? make("details", {}, make("summary", {}, of.name), numbers(of)) : null),
  figure: (figure) => make("figure", {}, drawn(figure), make("figcaption", { class: "dim small" }, figure.caption)),
};

/** The panels of a report, one for each heading. @param {Report} report */
export function reported({ title, provenance, sections }) {
  /** @type {{title: string, children: any[]}[]} */
  const panels = [{ title, children: [] }];
  for (const section of sections) {
    const [[kind, content]] = Object.entries(section);
    if (kind === "heading") panels.push({ title: content, children: [] });
    else panels[panels.length - 1].children.push(KINDS[kind]?.(content));
  }
  const measured = Object.entries(provenance);
  if (measured.length) panels[panels.length - 1].children.push(
    make("details", {}, make("summary", {}, "Measured with"), terms(measured)));
  return panels.filter(({ children }) => children.length).map((panel) =>
    make("section", { class: "panel", "aria-label": panel.title }, make("h2", {}, panel.title), panel.children));
}

/** A table without the columns that say nothing. @param {Table} of */
function numbers({ name, columns, rows }) {
  const says = (/** @type {Cell} */ cell) => cell != null && cell !== "";
  const shown = columns.map((column, place) => ({ ...column, place })).filter(({ place }) => rows.some((row) => says(row[place])));
  const heads = shown.map(({ name: own, unit, place }) =>
    (rows.some((row) => says(row[place]) && typeof row[place] !== "string") ? "#" : "") + own + (unit ? `, ${unit}` : ""));
  return table(name, heads, rows.map((row) => shown.map(({ place, digits }) => read(row[place], digits))), "–");
}

/** A cell as people read it. @param {Cell} cell @param {number | null} digits */
function read(cell, digits) {
  const fixed = (/** @type {number} */ number) => (digits == null ? String(number) : number.toFixed(digits));
  if (cell == null) return "–";
  if (typeof cell === "string") return cell;
  return typeof cell === "number" ? fixed(cell) : `${fixed(cell.value)} [${cell.interval.map(fixed).join(", ")}]`;
}
