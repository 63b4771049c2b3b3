// Putting documents in: files and folders, chosen or dropped; sending them, and following the jobs that take them in.

import { get, upload } from "./api.js";
import { make, notice, told } from "./dom.js";
import { dropZone } from "./dropzone.js";
import { count, counted, share } from "./format.js";
import { follow, isOpen, progressOf } from "./jobs.js";

/** @typedef {{file: File, path: string}} Sent a file, and its path in the folder that it comes from */

/** The most files and bytes that are sent at once. */
const FILES = 50;
const BYTES = 64 << 20;

/** The share of a batch that is done when it is sent. */
const SENT = 0.2;

/**
 * @param {string} name of the corpus
 * @param {string} path of it
 * @param {() => Promise<void>} changed called when documents were taken in
 */
export function uploadPanel(name, path, changed) {
  const jobs = make("div");
  /** @param {Sent[]} all */
  function take(all) {
    const files = all.filter((one) => !/(^|\/)\./.test(one.path));
    if (!files.length) {
      notice("Hidden files are not sent.");
      return;
    }
    const shown = progressOf(files.length === 1 ? files[0].path : counted(files.length, "file"));
    jobs.prepend(shown.element);
    sendAll(path, files, shown, changed);
  }
  /** @param {string} label @param {Record<string, any>} more */
  const chooser = (label, more) => {
    const input = make("input", { type: "file", multiple: true, ...more, onchange: () => {
      take([...input.files].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
      input.value = "";
    } });
    return make("label", {}, label, input);
  };
  /** @param {DataTransfer | null} dropped */
  function takeDropped(dropped) {
    const entries = [...dropped?.items ?? []].map((item) => item.webkitGetAsEntry());
    told(async () => take((await Promise.all(entries.map(filesOf))).flat()));
  }
  const zone = dropZone(takeDropped, make("p", {}, "Drop files or folders here, or choose them:"),
    make("div", { class: "row" }, chooser("Add files", {}), chooser("Add a folder", { webkitdirectory: true })));
  // Whatever goes on already, from here or elsewhere.
  told(async () => {
    const { data } = await get("/v1/ken/jobs?limit=50");
    for (const job of data.filter((one) => one.corpus === name && isOpen(one))) {
      const shown = progressOf(job.kind);
      jobs.append(shown.element);
      follow(job, shown, taking(0, 1)).then((ended) => {
        shown.tell(failures(ended));
        shown.end(ended.status === "failed" ? `failed: ${ended.error?.message}` : ended.status === "cancelled" ? "cancelled" : done(ended),
          ended.status !== "failed");
        return changed();
      }).catch((error) => shown.end(error.message, false));
    }
  });
  return make("div", {}, zone, jobs);
}

/** All files of something that was dropped. @param {any} entry @returns {Promise<Sent[]>} */
async function filesOf(entry) {
  if (!entry) return [];
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ file, path: entry.fullPath.replace(/^\//, "") }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    // A folder is told in parts.
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    for (const one of some) found.push(...await filesOf(one));
  }
}

/** What came of jobs, in words. @param {any} job */
const done = ({ generation, progress: { added, replaced, unchanged } }) =>
  `searched as of generation ${generation}: ${count(added)} added, ${count(replaced)} replaced, ${count(unchanged)} unchanged`;

/** The files of a job that were not taken in, each with why. @param {any} job @returns {[string, string][]} */
const failures = (job) => job.failed.map((/** @type {any} */ { file, message, hint }) => [file, hint ? `${message}; ${hint}` : message]);

/** Files that are sent together. @param {Sent[]} files */
function batches(files) {
  /** @type {Sent[][]} */
  const made = [];
  let bytes = 0;
  for (const one of files) {
    const last = made.at(-1);
    const fits = last && last.length < FILES && bytes + one.file.size <= BYTES;
    if (fits) last.push(one);
    else made.push([one]);
    bytes = (fits ? bytes : 0) + one.file.size;
  }
  return made;
}

/**
 * Sends files batch by batch, and names those that are not taken in.
 * @param {string} path
 * @param {Sent[]} files
 * @param {ReturnType<typeof progressOf>} shown
 * @param {() => Promise<void>} changed
 */
async function sendAll(path, files, shown, changed) {
  const all = Math.max(1, files.reduce((sum, { file }) => sum + file.size, 0));
  const stopped = new AbortController();
  /** @type {[string, string][]} */
  const failed = [];
  const sum = { generation: 0, progress: { added: 0, replaced: 0, unchanged: 0 } };
  let begun = 0;
  for (const batch of batches(files)) {
    if (stopped.signal.aborted) break;
    const size = batch.reduce((bytes, { file }) => bytes + file.size, 0) / all;
    failed.push(...await sendBatch(path, batch, { shown, stopped, begun, size, sum }));
    shown.tell(failed);
    begun += size;
  }
  const taken = sum.generation ? done(sum) : "nothing was taken in";
  if (stopped.signal.aborted) shown.end(`cancelled; ${taken}`);
  else shown.end(sum.generation ? taken : `failed: ${taken}`, sum.generation > 0);
  await changed();
}

/**
 * Sends a batch and waits until it is taken in; returns the files that are not, each with why.
 * @param {string} path
 * @param {Sent[]} batch
 * @param {{shown: ReturnType<typeof progressOf>, stopped: AbortController, begun: number, size: number, sum: any}} how
 * @returns {Promise<[string, string][]>}
 */
async function sendBatch(path, batch, how) {
  const { shown, stopped, begun, size, sum } = how;
  const body = new FormData();
  for (const { file, path: own } of batch) body.append("file", file, own);
  shown.cancelBy(() => stopped.abort());
  const sent = (/** @type {number} */ part) => shown.say(`sending: ${share(part, 1)}`, begun + size * SENT * part);
  /** @param {string[]} names @param {string} why @returns {[string, string][]} */
  const each = (names, why) => names.map((name) => [name, why]);
  const names = batch.map((one) => one.path);
  try {
    const job = await follow(await upload(`${path}/documents`, body, sent, stopped.signal), shown,
      taking(begun + size * SENT, size * (1 - SENT)));
    const failed = failures(job);
    if (job.status === "cancelled") stopped.abort();
    if (job.status === "failed") {
      const named = new Set(failed.map(([name]) => name));
      return [...failed, ...each(names.filter((name) => !named.has(name)), job.error.message)];
    }
    if (job.status === "done") {
      sum.generation = job.generation;
      for (const name of Object.keys(sum.progress)) sum.progress[name] += job.progress[name];
    }
    return failed;
  } catch (error) {
    if (stopped.signal.aborted) return [];
    // A name that no file can have refuses the whole batch.
    const refused = names.find((name) => error.message.includes(JSON.stringify(name)));
    if (!refused) return each(names, error.message);
    const rest = batch.filter((one) => one.path !== refused);
    return [...each([refused], error.message), ...(rest.length ? await sendBatch(path, rest, how) : [])];
  }
}

/**
 * How far a job is that takes documents in, in words and as a share of all that is done.
 * @param {number} begun the share of all that is done before it
 * @param {number} size its own share
 */
const taking = (begun, size) => (/** @type {any} */ { status, progress }) => {
  const { bytes_read: read, bytes_total: total, documents, passages } = progress;
  return /** @type {[string, number]} */ ([`${status}: ${counted(documents, "document")}, ${counted(passages, "passage")}`,
    begun + size * (total ? read / total : 0)]);
};
