// A place that files are dropped on.

import { make } from "./dom.js";

/**
 * @param {(dropped: DataTransfer | null) => void} take called with what is dropped, which holds its files during the call only
 * @param {...any} children
 */
export function dropZone(take, ...children) {
  const zone = make("div", { class: "drop" }, ...children);
  const over = (/** @type {boolean} */ is) => (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    zone.classList.toggle("over", is);
  };
  zone.addEventListener("dragover", over(true));
  zone.addEventListener("dragleave", over(false));
  zone.addEventListener("drop", (/** @type {DragEvent} */ event) => {
    over(false)(event);
    take(event.dataTransfer);
  });
  return zone;
}
