// A live series of one bar for each interval, stacked from retrieved to from memory.

import { draw } from "./figure.js";

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
