"use strict";
// Sorting by column; without it the page is complete, in the order of the ranking.
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
      const turned = { ascending: "descending", descending: "ascending" };
      const direction = turned[head.getAttribute("aria-sort")] || head.dataset.first;
      const sign = direction === "ascending" ? 1 : -1;
      const key = (row) => row.cells[column].dataset.sort;
      const compare = (a, b) => {
        if (key(a) === "" || key(b) === "") return (key(a) === "") - (key(b) === "");
        if (column === 1) return sign * key(a).localeCompare(key(b), "en", { numeric: true });
        return sign * (Number(key(a)) - Number(key(b)));
      };
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", direction);
      body.append(...[...order].sort(compare));
    });
  }
}
// On paper nothing can be unfolded, so it is before printing.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
