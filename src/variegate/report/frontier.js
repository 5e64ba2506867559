// The figure of what diversity costs: pick a point to see its set.
"use strict";

(() => {
  const marks = document.querySelectorAll("#frontier .pick");
  const picked = document.getElementById("picked");

  function pick(mark) {
    for (const other of marks) other.setAttribute("aria-pressed", String(other === mark));
    const row = document.getElementById(`point-${mark.dataset.point}`);
    const cells = Array.from(row.cells, (cell) => cell.textContent);
    const [method, size, diversity, accuracy, logDet, features] = cells;
    const asked = diversity === "–" ? "" : ` at diversity ${diversity}`;
    picked.textContent = `${method}, ${size} features${asked}: ${marks[0].dataset.metric} ${accuracy}, log det ${logDet}. The set: ${features}.`;
  }

  for (const mark of marks) {
    mark.addEventListener("click", () => pick(mark));
    mark.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      pick(mark);
    });
  }
})();
