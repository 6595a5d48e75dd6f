"use strict";
// Without this script the page is complete: every table and figure, one below the other.

// ---- leaderboards: sorting ---------------------------------------------------------------

for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.querySelectorAll("th[data-column]")];
  const order = [...body.rows];
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const column = Number(head.dataset.column);
      const words = "words" in head.dataset;
      const turned = { ascending: "descending", descending: "ascending" };
      const direction = turned[head.getAttribute("aria-sort")] || head.dataset.first;
      const sign = direction === "ascending" ? 1 : -1;
      const key = (row) => row.cells[column].dataset.sort;
      const compare = (a, b) => {
        if (key(a) === "" || key(b) === "") return (key(a) === "") - (key(b) === "");
        if (words) return sign * key(a).localeCompare(key(b), "en", { numeric: true });
        return sign * (Number(key(a)) - Number(key(b)));
      };
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", direction);
      body.append(...[...order].sort(compare));
    });
  }
}

// ---- leaderboards: which reading, which cases, which methods -----------------------------

const filters = document.querySelector(".filters");
const reading = document.getElementById("choose-reading");
const part = document.getElementById("choose-part");
const methods = document.getElementById("choose-methods");
const boards = [...document.querySelectorAll("#boards > .scroll")];
const rows = [...document.querySelectorAll("tr[data-method]")];

function chooseBoard() {
  const wanted = boards.find((board) =>
    (!reading || board.dataset.reading === reading.value) &&
    (!part || board.dataset.part === part.value));
  for (const board of boards) board.hidden = board !== wanted;
  tellMethods(wanted ? "" : "That reading cannot be ranked for these cases.");
}

function chooseMethods() {
  const wanted = methods.value.split(",").map((word) => word.trim().toLowerCase()).filter(Boolean);
  for (const row of rows) {
    const name = row.dataset.method.toLowerCase();
    row.hidden = wanted.length > 0 && !wanted.some((word) => name.includes(word));
  }
  tellMethods("");
}

function tellMethods(problem) {
  const board = boards.find((each) => !each.hidden);
  const all = board ? [...board.querySelectorAll("tr[data-method]")] : [];
  const shown = all.filter((row) => !row.hidden).length;
  document.getElementById("chosen").textContent =
    problem || (shown < all.length ? `${shown} of ${all.length} methods` : "");
}

filters.hidden = false;
filters.addEventListener("submit", (event) => event.preventDefault());
if (reading) reading.addEventListener("change", chooseBoard);
if (part) part.addEventListener("change", chooseBoard);
methods.addEventListener("input", chooseMethods);
chooseBoard();
chooseMethods();

// ---- figures: one of a kind at a time ----------------------------------------------------

const choosers = [...document.querySelectorAll(".figure-group .choose")].map((line) => {
  const group = line.parentElement;
  const figures = [...group.querySelectorAll(".drawn-figure")];
  const select = line.querySelector("select");
  const show = (label) => {
    const at = figures.findIndex((figure) => figure.dataset.label === label);
    if (at < 0) return;
    select.selectedIndex = at;
    figures.forEach((figure, n) => { figure.hidden = n !== at; });
  };
  line.hidden = false;
  figures.forEach((figure, n) => { figure.hidden = n > 0; });
  return { select, figures, show };
});
for (const { select, figures } of choosers) {
  // the same score in every kind of figure that has it
  select.addEventListener("change", () => {
    const label = figures[select.selectedIndex].dataset.label;
    for (const other of choosers) other.show(label);
  });
}

// ---- figures: files from within the page -------------------------------------------------

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

function bytes(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

async function unpacked(base64) {
  const stream = new Blob([bytes(base64)]).stream();
  return new Response(stream.pipeThrough(new DecompressionStream("gzip"))).blob();
}

function asPng(image) {
  const scale = 2;
  const canvas = document.createElement("canvas");
  canvas.width = scale * image.getAttribute("width");
  canvas.height = scale * image.getAttribute("height");
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function aroundPixels(image) {
  const size = `width="${image.getAttribute("width")}" height="${image.getAttribute("height")}"`;
  const text = `<svg xmlns="http://www.w3.org/2000/svg" ${size}><image ${size} href="${image.src}"/></svg>`;
  return new Blob([text], { type: "image/svg+xml" });
}

// a page with one picture on it, as a JPEG
async function aroundJpeg(image) {
  const [width, height] = ["width", "height"].map((side) => 0.75 * image.getAttribute(side));
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  canvas.getContext("2d").drawImage(image, 0, 0);
  const jpeg = await new Promise((done) => canvas.toBlob(done, "image/jpeg", 0.95));
  const drawn = `q ${width} 0 0 ${height} 0 0 cm /I Do Q`;
  const objects = [
    ["<</Type/Catalog/Pages 2 0 R>>"],
    ["<</Type/Pages/Kids[3 0 R]/Count 1>>"],
    [`<</Type/Page/Parent 2 0 R/MediaBox[0 0 ${width} ${height}]` +
      "/Resources<</XObject<</I 4 0 R>>>>/Contents 5 0 R>>"],
    [`<</Type/XObject/Subtype/Image/Width ${canvas.width}/Height ${canvas.height}` +
      `/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter/DCTDecode/Length ${jpeg.size}>>\nstream\n`,
      jpeg, "\nendstream"],
    [`<</Length ${drawn.length}>>\nstream\n${drawn}\nendstream`],
  ];
  const parts = ["%PDF-1.4\n"];
  const size = () => new Blob(parts).size;
  const offsets = objects.map((object, n) => {
    const offset = size();
    parts.push(`${n + 1} 0 obj\n`, ...object, "\nendobj\n");
    return `${String(offset).padStart(10, "0")} 00000 n \n`;
  });
  const table = size();
  parts.push(`xref\n0 6\n0000000000 65535 f \n${offsets.join("")}`,
    `trailer\n<</Size 6/Root 1 0 R>>\nstartxref\n${table}\n%%EOF\n`);
  return new Blob(parts, { type: "application/pdf" });
}

// what a link saves; the PDF of vectors is in its address already
function file(link, image) {
  const address = image.getAttribute("src");
  const content = address.slice(address.indexOf(",") + 1);
  const vectors = address.startsWith("data:image/svg+xml,");
  const shown = () => vectors
    ? new Blob([decodeURIComponent(content)], { type: "image/svg+xml" })
    : new Blob([bytes(content)], { type: "image/png" });
  if (link.dataset.format === "svg") return vectors ? shown() : aroundPixels(image);
  if (link.dataset.format === "png") return vectors ? asPng(image) : shown();
  if (link.dataset.format === "pdf") return aroundJpeg(image);
  return unpacked(link.dataset.packed);
}

for (const link of document.querySelectorAll(".files a:not([href^='data:'])")) {
  const image = link.closest(".drawn-figure").querySelector("img");
  link.addEventListener("click", async (event) => {
    event.preventDefault();
    save(await file(link, image), link.download);
  });
}

// ---- paper: nothing can be unfolded there ------------------------------------------------

addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
