// Studies: what was studied, compared and probed, in the folder that the server's settings name.

import { escaped, get, text } from "./api.js";
import { chosenPanel } from "./chosen.js";
import { button, make, saveAs, table, told } from "./dom.js";
import { count, counted, time } from "./format.js";
import { compared, read as readComparison } from "./policies.js";
import { probed, read as readProbe } from "./probed.js";
import { reported } from "./report.js";

/**
 * @typedef {{name: string, kind: string, changed_at: number, datasets: {name: string, questions: number | null}[],
 *   models: {name: string, parameters: number}[], scales: number[], missing: number, questions: number | null,
 *   page: string | null, report: string | null, data: string | null, chosen: string | null,
 *   files: {name: string, bytes: number}[]}} Study
 */

/** @param {import("./access.js").Access} access */
export async function studiesPage(access) {
  const list = make("div");
  const place = make("div");
  const refused = !access.showsStudies
    ? "This server shows no studies: it was started without a folder of them (the setting studies)."
    : access.may("admin") ? "" : access.lacks("admin", "see studies");
  if (refused) list.replaceChildren(make("p", { class: "dim" }, refused));

  /** @param {string} name of what is chosen; the first where that is not there */
  async function open(name) {
    if (refused) return;
    const { studies } = await get("/v1/ken/studies");
    const chosen = studies.find((one) => one.name === name) ?? studies[0];
    list.replaceChildren(table("Studies", ["name", "kind", "~measured", "changed"], studies.map((/** @type {Study} */ one) => [
      make("a", { href: `#studies/${encodeURIComponent(one.name)}`, "aria-current": one === chosen ? "true" : null }, one.name),
      one.kind, measuredOf(one), time(one.changed_at),
    ]), "The folder holds none yet."));
    place.replaceChildren(...(chosen ? await shown(chosen, access) : []));
  }
  const element = make("div", {},
    make("section", { class: "panel", "aria-labelledby": "studies-title" },
      make("h2", { id: "studies-title" }, "Studies"),
      make("p", {}, "Models against corpus scales, policies against each other, and what models know:"),
      make("pre", { class: "scroll", tabindex: "0" }, "ken study run questions.jsonl --corpus notes.ken --out measured/sizes …"),
      list),
    place);
  return { element, enter: (/** @type {string} */ name) => { told(() => open(name)); } };
}

/** What was measured, in a line. @param {Study} study */
function measuredOf({ kind, datasets, models, scales, missing, questions }) {
  if (kind !== "study") return questions == null ? "" : counted(questions, "question");
  const sets = datasets.map(({ name, questions: own }) => (own == null ? name : `${name} (${count(own)})`)).join(", ");
  return `${models.map((model) => model.name).join(", ")}; scales ${scales.join(", ")}; questions of ${sets}` +
    (missing ? `; ${counted(missing, "cell")} missing` : "");
}

/** @param {Study} study @param {import("./access.js").Access} access */
async function shown(study, access) {
  const address = (/** @type {string} */ file) => `/v1/ken/studies/${escaped(study.name)}/${escaped(file)}`;
  const saved = async (/** @type {string} */ file) =>
    saveAs(file.replace(/^.*\//, ""), "application/octet-stream", await text(address(file)));
  // A link carries no key; and the page stands alone, so that nothing in it reads this one.
  const page = study.page && (access.key != null
    ? button("Save the page", () => told(() => saved(study.page ?? "")))
    : make("a", { href: address(study.page), target: "_blank", rel: "noopener noreferrer" }, "Open the page"));
  const files = study.files.filter((file) => file.name !== study.page);
  const about = make("section", { class: "panel", "aria-label": study.name },
    make("h2", {}, study.name),
    study.models.length > 0 && make("p", { class: "dim" },
      study.models.map((model) => `${model.name}: ${parameters(model.parameters)}`).join(", ")),
    page ? make("p", { class: "row" }, page)
      : study.kind === "study" && make("p", { class: "dim" }, `No report yet: ken study report ${study.name} writes it.`),
    files.length > 0 && make("details", {}, make("summary", {}, "Data"), make("ul", {}, files.map((file) =>
      make("li", {}, button(file.name, () => told(() => saved(file.name)), { class: "link" }), ` ${size(file.bytes)}`)))));
  return [about, ...(study.chosen ? [await chosenPanel(study)] : []), ...await drawn(study, address)];
}

/** What is drawn of its data. @param {Study} study @param {(file: string) => string} address @returns {Promise<any[]>} */
async function drawn({ kind, report, data }, address) {
  if (report) return reported(await get(address(report)));
  if (kind === "probe" && data) return probed(readProbe(await text(address(data))));
  const comparison = kind === "comparison" && data ? readComparison(await text(address(data))) : null;
  return comparison ? compared(comparison) : [];
}

/** @param {number} number */
const parameters = (number) => (number >= 1e9 ? `${(number / 1e9).toPrecision(3)} billion` : `${(number / 1e6).toPrecision(3)} million`);

/** @param {number} bytes */
const size = (bytes) => (bytes < 1e5 ? `${count(bytes)} bytes` : `${(bytes / 1e6).toFixed(1)} MB`);
