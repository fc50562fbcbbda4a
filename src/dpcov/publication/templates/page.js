"use strict";
// Sorts and searches the tables of the page. Without it all is there, in the order of the list.
for (const tool of document.querySelectorAll(".tools")) {
  const table = document.getElementById(tool.dataset.table);
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const [search, only] = tool.querySelectorAll("input");
  const count = tool.querySelector("output");
  tool.hidden = false;
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const names = (row.cells[0].textContent + " " + row.cells[1].textContent).toLowerCase();
      row.hidden = !words.every(word => names.includes(word)) || (only && only.checked && !row.classList.contains("related"));
      shown += !row.hidden;
    }
    count.value = shown + " of " + rows.length + " shown";
  };
  search.addEventListener("input", show);
  if (only) only.addEventListener("change", show);
  show();
}
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  Array.from(table.tHead.rows[0].cells).forEach((heading, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const down = heading.ariaSort === (heading.dataset.first || "ascending");
      const other = { ascending: "descending", descending: "ascending" };
      const order = down ? other[heading.ariaSort] : heading.dataset.first || "ascending";
      for (const each of table.tHead.rows[0].cells) each.ariaSort = null;
      heading.ariaSort = order;
      const key = row => {
        const cell = row.cells[place], stated = cell.dataset.v;
        return stated === undefined ? cell.textContent : stated === "" ? NaN : Number(stated);
      };
      const compare = (a, b) => {
        if (typeof a === "string") return a.localeCompare(b, undefined, { numeric: true });
        if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
        return a - b;
      };
      const sign = order === "ascending" ? 1 : -1;
      const keys = new Map(rows.map(row => [row, key(row)]));
      const unknown = row => Number.isNaN(keys.get(row));
      const sorted = rows.slice().sort((a, b) =>
        unknown(a) || unknown(b) ? unknown(a) - unknown(b) : sign * compare(keys.get(a), keys.get(b)));
      body.append(...sorted);
    });
  });
}
