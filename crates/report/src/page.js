
/** Saves a text as a file. */
function saved(name, type, text) {
  const link = document.createElement("a");
  link.download = name;
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.click();
  URL.revokeObjectURL(link.href);
}

for (const place of document.querySelectorAll("figure")) {
  const figure = JSON.parse(place.querySelector("script").textContent);
  const drawing = drawn(figure);
  const button = (ending, type, text) => {
    const element = document.createElement("button");
    element.textContent = ending.toUpperCase();
    element.addEventListener("click", () => saved(`${place.id}.${ending}`, type, text()));
    return element;
  };
  place.prepend(drawing);
  place.querySelector("figcaption").append(" ",
    button("svg", "image/svg+xml", () => new XMLSerializer().serializeToString(drawing)), " ",
    button("csv", "text/csv", () => csv(figure)));
}
