// Reads the server's metrics, which are written for Prometheus.

/** @typedef {{name: string, labels: Record<string, string>, value: number}} Sample */

const LINE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;

/** All samples of a text of metrics. @param {string} text @returns {Sample[]} */
export function samples(text) {
  return text.split("\n").flatMap((line) => {
    const found = LINE.exec(line);
    if (!found) return [];
    const labels = [...(found[2] ?? "").matchAll(LABEL)].map(([, name, value]) =>
      [name, value.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c))]);
    return [{ name: found[1], labels: Object.fromEntries(labels), value: Number(found[3]) }];
  });
}

/**
 * The sum of the samples of a name whose labels have these values.
 * @param {Sample[]} all
 * @param {string} name
 * @param {Record<string, string>} [labels]
 */
export function sum(all, name, labels = {}) {
  const wanted = Object.entries(labels);
  const found = all.filter((one) => one.name === name && wanted.every(([label, value]) => one.labels[label] === value));
  return found.reduce((total, one) => total + one.value, 0);
}

/**
 * The samples of a name, summed by one or more labels, largest first.
 * @param {Sample[]} all
 * @param {string} name
 * @param {string[]} labels
 * @returns {[string[], number][]}
 */
export function by(all, name, labels) {
  /** @type {Map<string, [string[], number]>} */
  const sums = new Map();
  for (const one of all.filter((sample) => sample.name === name)) {
    const values = labels.map((label) => one.labels[label] ?? "");
    const group = JSON.stringify(values);
    sums.set(group, [values, (sums.get(group)?.[1] ?? 0) + one.value]);
  }
  return [...sums.values()].sort(([, one], [, other]) => other - one);
}

/**
 * A quantile of a histogram, interpolated within its bucket as Prometheus does; of those beyond the last
 * finite bound, that bound. Nothing where nothing was observed.
 * @param {Sample[]} all
 * @param {string} name without `_bucket`
 * @param {number} q from 0 to 1
 */
export function quantile(all, name, q) {
  const buckets = all.filter((one) => one.name === `${name}_bucket`)
    .map((one) => ({ bound: one.labels.le === "+Inf" ? Infinity : Number(one.labels.le), count: one.value }))
    .sort((one, other) => one.bound - other.bound);
  const observed = buckets.at(-1)?.count ?? 0;
  if (!observed) return null;
  const rank = q * observed;
  const place = buckets.findIndex((bucket) => bucket.count >= rank);
  const { bound, count } = buckets[place];
  const below = buckets[place - 1] ?? { bound: 0, count: 0 };
  if (bound === Infinity) return below.bound;
  return below.bound + (bound - below.bound) * (rank - below.count) / Math.max(1e-9, count - below.count);
}
