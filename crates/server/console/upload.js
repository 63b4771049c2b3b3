// Putting documents in: sending them, and following the job that takes them in.

import { get, post, upload } from "./api.js";
import { button, field, make, told } from "./dom.js";
import { count, counted, share } from "./format.js";

/** How often a job is looked at, in milliseconds. */
const EVERY = 400;

/**
 * @param {string} name of the corpus
 * @param {string} path of it
 * @param {() => Promise<void>} changed called when documents were taken in
 */
export function uploadPanel(name, path, changed) {
  const files = make("input", { type: "file", multiple: true, required: true });
  const jobs = make("div");
  const form = make("form", { class: "row" }, field("Add documents", files), make("button", {}, "Upload"));
  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    const body = new FormData();
    for (const file of files.files) body.append("file", file);
    const shown = progressOf([...files.files].map((file) => file.name).join(", "));
    files.value = "";
    jobs.prepend(shown.element);
    sendAndFollow(path, body, shown, changed);
  });
  // Whatever goes on already, from here or elsewhere.
  told(async () => {
    const { data } = await get("/v1/ken/jobs?limit=50");
    for (const job of data.filter((one) => one.corpus === name && isOpen(one))) {
      const shown = progressOf(job.kind);
      jobs.append(shown.element);
      follow(job, shown, changed);
    }
  });
  return make("div", {}, form, jobs);
}

const isOpen = (/** @type {any} */ job) => job.status === "waiting" || job.status === "running";

/** How far something is. @param {string} what */
function progressOf(what) {
  const bar = make("progress", { max: "1", value: "0", "aria-label": what });
  const said = make("p", { class: "dim", role: "status" });
  const cancel = button("Cancel", () => {});
  const element = make("div", { class: "job" }, make("p", {}, what), bar, make("div", { class: "row" }, said, cancel));
  let onCancel = () => {};
  cancel.addEventListener("click", () => onCancel());
  return {
    element,
    /** @param {string} text @param {number} [value] from 0 to 1 */
    say(text, value) {
      said.textContent = text;
      if (value !== undefined) bar.value = value;
    },
    /** @param {() => void} action */
    cancelBy(action) { onCancel = action; },
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
 * @param {string} path
 * @param {FormData} body
 * @param {ReturnType<typeof progressOf>} shown
 * @param {() => Promise<void>} changed
 */
async function sendAndFollow(path, body, shown, changed) {
  const sending = new AbortController();
  shown.cancelBy(() => sending.abort());
  try {
    const told = (/** @type {number} */ part) => shown.say(`sending: ${share(part, 1)}`, part);
    const job = await upload(`${path}/documents`, body, told, sending.signal);
    await follow(job, shown, changed);
  } catch (error) {
    shown.end(sending.signal.aborted ? "cancelled; nothing was taken in" : error.message, sending.signal.aborted);
  }
}

/**
 * Follows a job to its end.
 * @param {any} job
 * @param {ReturnType<typeof progressOf>} shown
 * @param {() => Promise<void>} changed
 */
async function follow(job, shown, changed) {
  const address = `/v1/ken/jobs/${encodeURIComponent(job.id)}`;
  shown.cancelBy(() => told(() => post(`${address}/cancel`, {})));
  try {
    while (isOpen(job)) {
      const { bytes_read: read, bytes_total: total, documents, passages } = job.progress;
      shown.say(`${job.status}: ${counted(documents, "document")}, ${counted(passages, "passage")}`, total ? read / total : 0);
      await new Promise((wake) => setTimeout(wake, EVERY));
      job = await get(address);
    }
  } catch (error) {
    shown.end(error.message, false);
    return;
  }
  const { added, replaced, unchanged } = job.progress;
  if (job.status === "failed") shown.end(`failed: ${job.error?.message}`, false);
  else if (job.status === "cancelled") shown.end("cancelled");
  else {
    shown.end(`searched as of generation ${job.generation}: ${count(added)} added, ${count(replaced)} replaced, ` +
      `${count(unchanged)} unchanged`);
  }
  await changed();
}
