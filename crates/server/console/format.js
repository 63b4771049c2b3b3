// Numbers and times as people read them.

import { make } from "./dom.js";

/** @param {number} number */
export const count = (number) => Math.round(number).toLocaleString("en");

/** A number of things. @param {number} number @param {string} one its name in the singular */
export const counted = (number, one) => `${count(number)} ${one}${number === 1 ? "" : "s"}`;

/** @param {number} part @param {number} all */
export const share = (part, all) => (all ? `${(100 * part / all).toFixed(1)}%` : "–");

/** A time of day, with the date where it is not today. @param {number} seconds since 1970 */
export function time(seconds) {
  const date = new Date(1000 * seconds);
  const isToday = date.toDateString() === new Date().toDateString();
  const worded = isToday ? date.toLocaleTimeString() : date.toLocaleString();
  return make("time", { datetime: date.toISOString() }, worded);
}

/** @param {number | null | undefined} ms */
export function duration(ms) {
  if (ms == null || !Number.isFinite(ms)) return "–";
  if (ms < 0.05) return "< 0.1 ms";
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** A measured number, short. @param {number | null | undefined} number */
export const measured = (number) => (number == null ? null : String(Number(number.toPrecision(3))));

/** @param {string} text @param {number} most characters */
export const shortened = (text, most) => (text.length > most ? `${text.slice(0, most).trimEnd()}…` : text);
