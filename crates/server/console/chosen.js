// A policy that tuning chose, and how it is put to use: by a button, or by hand.

import { escaped, get, post, text } from "./api.js";
import { button, make, notice, saveAs, told } from "./dom.js";

/** The lines for the settings, as the server keeps them beside the report. */
const LINES = "chosen.toml";

/** What the lines name. */
const BESIDE = ["tuned.toml", "tuned.guarantee.json"];

/** The policy that was chosen in a study of this name. @param {string} name */
export async function chosenIn(name) {
  const { studies } = await get("/v1/ken/studies");
  const study = studies.find((/** @type {any} */ one) => one.name === name);
  return study?.chosen ? [await chosenPanel(study)] : [];
}

/** @param {{name: string, chosen: string | null, files: {name: string, bytes: number}[]}} study */
export async function chosenPanel({ name, chosen, files }) {
  const content = (/** @type {string} */ file) => text(`/v1/ken/studies/${escaped(name)}/${escaped(file)}`);
  const beside = BESIDE.filter((file) => files.some((one) => one.name === file));
  const held = (/** @type {string} */ path, /** @type {any} */ body, /** @type {string} */ said) => () => told(async () => {
    await post(path, body);
    notice(said);
  });
  return make("section", { class: "panel", "aria-label": "Put it to use" },
    make("h2", {}, `Chosen: ${chosen}`),
    make("p", {}, "Everybody who names no policy is answered by it from the next question on, and the server's settings file says so:"),
    make("div", { class: "row" },
      button("Use this policy", held("/v1/ken/policy", { study: name }, "It is used from the next question on.")),
      make("a", { href: `#chat/with/${encodeURIComponent(chosen ?? "")}` }, `Ask with ${chosen}`)),
    make("details", {}, make("summary", {}, "By hand"),
      make("p", {}, `Save ${beside.join(" and ")} beside the server's ken.toml, write these lines into that, and have the settings read again:`),
      make("pre", { class: "scroll", tabindex: "0" }, await content(LINES)),
      make("div", { class: "row" },
        beside.map((file) => button(`Save ${file}`, () => told(async () => saveAs(file, "application/octet-stream", await content(file))))),
        button("Read the settings again",
          held("/v1/ken/reload", {}, "The settings are read, and hold from the next question on.")))));
}
