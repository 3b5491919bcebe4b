"use strict";
const box = document.getElementById("search"), shown = document.getElementById("shown");
const rows = [...document.querySelectorAll("tr.row")].map(row => [row, row.textContent.toLowerCase()]);
function search() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const [row, text] of rows) {
    row.hidden = !words.every(word => text.includes(word));
    count += row.hidden ? 0 : 1;
  }
  for (const group of document.querySelectorAll("tbody.group")) {
    group.hidden = !group.querySelector("tr.row:not([hidden])");
  }
  shown.textContent = words.length ? `${count} of ${rows.length}` : "";
}
box.addEventListener("input", search);
box.closest("p").hidden = false;
search();
