"use strict";
(() => {
  // of every place of the map, then of every region from the place `region` on; `first` is shown at the beginning
  const {places, region, first} = JSON.parse(document.getElementById("places").textContent);
  const at = document.getElementById("place"), rows = new Map();
  const svg = (name, attributes, parent) => {
    const e = parent.appendChild(document.createElementNS(document.querySelector(".map svg").namespaceURI, name));
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    return e;
  };
  const word = (text, parent, name = "p") => { const e = parent.appendChild(document.createElement(name)); e.textContent = text; return e; };
  let chosen;
  const mark = () => rows.forEach((row, k) => {
    row.classList.toggle("chosen", k === chosen);
    row.querySelector("th button").setAttribute("aria-pressed", k === chosen);
  });
  const show = number => {
    const p = places[number];
    chosen = number;
    mark();
    document.querySelectorAll("[data-place]").forEach(e => e.classList.toggle("chosen", e.dataset.place === String(number)));
    at.replaceChildren();
    word(p.text, at, "h3");
    const told = p.bins.map(b => `predicted ${b[0].toFixed(2)}, observed ${b[1].toFixed(2)} in ${b[2]} rows`).join("; ");
    const s = svg("svg", {viewBox: "0 0 300 300", role: "img", "aria-label": "Reliability diagram of the top class: " + told}, at);
    svg("line", {x1: 40, y1: 260, x2: 290, y2: 10, class: "diagonal"}, s);
    const x = v => 40 + 250 * v, y = v => 260 - 250 * v, most = Math.max(...p.bins.map(b => b[2]));
    for (const b of p.bins) {
      svg("line", {x1: x(b[0]), y1: y(b[3]), x2: x(b[0]), y2: y(b[4]), class: "said"}, s);
      svg("circle", {cx: x(b[0]), cy: y(b[1]), r: 2.5 + 5 * Math.sqrt(b[2] / most)}, s);
    }
    for (const v of [0, .5, 1]) {
      svg("text", {x: x(v), y: 277, "text-anchor": v === 1 ? "end" : "middle"}, s).textContent = v;
      svg("text", {x: 34, y: y(v) + 5, "text-anchor": "end"}, s).textContent = v;
    }
    svg("text", {x: 165, y: 294, "text-anchor": "middle"}, s).textContent = "confidence of the top class";
    svg("text", {x: 12, y: 135, "text-anchor": "middle", transform: "rotate(-90 12 135)"}, s).textContent = "share that was right";
    word("Rows nearest the centre, counted from 0: " + p.near.join(", "), at);
  };
  for (const e of document.querySelectorAll("[data-place]")) {
    e.addEventListener("click", () => show(+e.dataset.place));
    e.addEventListener("keydown", event => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      show(+e.dataset.place);
    });
  }
  // a row of the table of regions, which comes below, chooses its region on the map, and the map its row
  document.addEventListener("DOMContentLoaded", () => {
    for (const row of document.querySelectorAll('table[aria-label="Regions of the latent space"] tbody tr')) {
      const head = row.querySelector("th"), button = document.createElement("button"), number = region + Number(head.textContent) - 1;
      button.type = "button";
      button.ariaLabel = "Show region " + head.textContent + " on the map";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => { show(number); document.getElementById("map").scrollIntoView({block: "nearest"}); });
      rows.set(number, row);
    }
    mark();
  });
  if (first >= 0) show(first);
})();
