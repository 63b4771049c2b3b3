// Jobs of the server: how far one is, with a bar, until it is over.

import { get, post } from "./api.js";
import { button, make, told } from "./dom.js";

/** How often a job is looked at, in milliseconds. */
const EVERY = 400;

export const isOpen = (/** @type {any} */ job) => job.status === "waiting" || job.status === "running";

/** How far something is. @param {string} what */
export function progressOf(what) {
  const bar = make("progress", { max: "1", value: "0", "aria-label": what });
  const said = make("p", { class: "dim", role: "status" });
  const cancel = button("Cancel", () => {});
  const failures = make("div");
  const element = make("div", { class: "job" }, make("p", {}, what), bar, make("div", { class: "row" }, said, cancel), failures);
  let onCancel = () => {};
  cancel.addEventListener("click", () => onCancel());
  return {
    element,
    /** @param {string} text @param {number} value from 0 to 1 */
    say(text, value) {
      said.textContent = text;
      bar.value = value;
    },
    /** @param {() => void} action */
    cancelBy(action) { onCancel = action; },
    /** @param {[string, string][]} failed names of files, each with why it was not taken in */
    tell(failed) {
      failures.replaceChildren(failed.length ? make("details", { open: true },
        make("summary", { class: "warn" }, "What failed"),
        make("ul", { class: "small" }, failed.map(([name, why]) => make("li", {}, make("strong", {}, name), `: ${why}`)))) : "");
    },
    /** @param {string} text @param {boolean} [isGood] */
    end(text, isGood = true) {
      said.textContent = text;
      said.className = isGood ? "dim" : "warn";
      bar.remove();
      cancel.remove();
    },
  };
}

/**
 * Follows a job to its end.
 * @param {any} job
 * @param {ReturnType<typeof progressOf>} shown
 * @param {(job: any) => [string, number]} worded what is said of it, and the share that is done
 */
export async function follow(job, shown, worded) {
  const address = `/v1/ken/jobs/${encodeURIComponent(job.id)}`;
  shown.cancelBy(() => told(() => post(`${address}/cancel`, {})));
  while (isOpen(job)) {
    shown.say(...worded(job));
    await new Promise((wake) => setTimeout(wake, EVERY));
    job = await get(address);
  }
  return job;
}
