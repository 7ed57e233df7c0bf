"use strict";
// Sorting: a click on a header sorts its table by that column, another one turns the order round.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const header = button.closest("th");
    const table = header.closest("table");
    const column = [...header.parentNode.children].indexOf(header);
    const down = header.getAttribute("aria-sort") === "ascending";
    for (const other of header.parentNode.children) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => row.children[column].dataset.value ?? row.children[column].textContent;
    const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
    const numbers = rows.every(([value]) => value !== "" && !Number.isNaN(Number(value)));
    rows.sort(([a], [b]) => (numbers ? Number(a) - Number(b) : a.localeCompare(b)) * (down ? -1 : 1));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  });
}
// Drawings: a row of the table, or a dot of a chart, shows its complex beside the pointer.
const tip = document.getElementById("tip");
let shown = null; // the element whose complex is shown
function show(element, row, label, x, y) {
  shown = element;
  const drawing = document.querySelector(`#drawings > [data-row="${Number(row)}"] > svg`);
  tip.replaceChildren(...(drawing ? [drawing.cloneNode(true)] : []), label);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 16, innerWidth - box.width - 8))}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 16, innerHeight - box.height - 8))}px`;
}
function watch(element, row, label) {
  element.addEventListener("pointermove", (event) => show(element, row, label, event.clientX, event.clientY));
  const hide = () => { if (shown === element) tip.hidden = true; };
  element.addEventListener("pointerleave", hide);
  element.addEventListener("focus", () => {
    const box = element.getBoundingClientRect();
    show(element, row, label, box.left + 200, box.top);
  });
  element.addEventListener("blur", hide);
}
for (const row of document.querySelectorAll("tr[data-row]")) {
  watch(row, row.dataset.row, row.querySelector(".name").textContent);
}
for (const chart of document.querySelectorAll("figure[data-rows]")) {
  const rows = JSON.parse(chart.dataset.rows);
  chart.querySelectorAll("#points use").forEach((dot, number) => {
    const row = document.querySelector(`tr[data-row="${Number(rows[number])}"]`);
    watch(dot, rows[number], row ? row.querySelector(".name").textContent : `row ${rows[number]}`);
  });
}
document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
