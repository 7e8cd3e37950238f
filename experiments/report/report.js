"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const text = cell => cell.textContent.trim();
  // ".0053±.0007" is .0053, "−.0014", "+2.3 %" and "2,000" are numbers too; a dash is none
  const number = s => parseFloat(s.replace("−", "-").replace(/^\+/, "").replaceAll(",", ""));

  const sort = (th, column) => {
    const table = th.closest("table"), up = th.getAttribute("aria-sort") !== "ascending";
    all("th", th.parentNode).forEach(h => h.removeAttribute("aria-sort"));
    th.setAttribute("aria-sort", up ? "ascending" : "descending");
    for (const body of table.tBodies) {
      const rows = all("tr:not(.block)", body);
      const key = row => text(row.cells[column]);
      rows.sort((a, b) => {
        const x = number(key(a)), y = number(key(b));
        if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1; // dashes last, either way
        const order = isNaN(x) ? key(a).localeCompare(key(b)) : x - y;
        return up ? order : -order;
      });
      body.append(...rows);
    }
  };
  for (const table of all("table"))
    [...table.tHead.rows[0].cells].forEach((th, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...th.childNodes);
      button.addEventListener("click", () => sort(th, column));
      th.append(button);
    });

  const names = [...new Set(all("tr[data-series]").map(row => row.dataset.series))];
  const bar = document.getElementById("toggles");
  const toggle = button => {
    const on = button.getAttribute("aria-pressed") === "false";
    button.setAttribute("aria-pressed", on);
    for (const part of all("[data-series]"))
      if (part.dataset.series === button.textContent) part.classList.toggle("off", !on);
  };
  for (const name of names) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => toggle(button));
    bar.append(button);
  }
  bar.hidden = names.length < 2;

  // One number a cell: "mean±sd" and "low – high" are two columns, daggers and stars are left out.
  const split = [[/±/, ["", " sd"]], [/ [–…] /, [" low", " high"]]];
  const csv = table => {
    const rows = all("tr", table).filter(row => !row.classList.contains("off") && !row.classList.contains("block"));
    const kinds = [...table.tHead.rows[0].cells].map((_, k) => split.find(([mark]) => rows.some(r => r.parentNode !== table.tHead && mark.test(text(r.cells[k])))));
    const plain = s => /^[−+]?[.\d]/.test(s) ? s.replace("−", "-").replace(/^\+/, "").replace("†", "").replace(/,(?=\d{3}\b)/g, "") : s;
    return rows.map(row => {
      const head = row.parentNode === table.tHead;
      const block = row.parentNode.querySelector(".block"), cells = [...row.cells].flatMap((cell, k) => {
        const s = text(cell), kind = kinds[k];
        if (!kind) return [head ? s : plain(s)];
        if (head) return kind[1].map(suffix => s + suffix);
        const parts = s.split(kind[0]).map(plain);
        return [parts[0], parts[1] ?? ""];
      });
      if (table.querySelector(".block")) cells.unshift(row.parentNode === table.tHead ? "data" : block ? text(block) : "");
      return cells.map(c => /[",\n]/.test(c) ? `"${c.replaceAll('"', '""')}"` : c).join(",") + "\n";
    }).join("");
  };
  const copy = async s => {
    try { await navigator.clipboard.writeText(s); } catch { // a page that may not: by way of a selection
      const area = document.body.appendChild(document.createElement("textarea"));
      area.value = s;
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  for (const tools of all(".tools")) {
    tools.hidden = false;
    tools.addEventListener("click", async event => {
      const kind = event.target.dataset.copy;
      if (!kind) return;
      await copy(kind === "csv" ? csv(tools.previousElementSibling.querySelector("table")) : (kind === "command" ? tools.previousElementSibling : tools.querySelector("pre")).textContent);
      const label = event.target.textContent;
      event.target.textContent = "Copied";
      setTimeout(() => { event.target.textContent = label; }, 1200);
    });
  }

  const tip = document.getElementById("tip");
  document.addEventListener("pointerover", event => {
    const point = event.target.closest?.(".point");
    tip.hidden = !point;
    if (!point) return;
    point.said ??= point.querySelector("title")?.textContent;
    point.querySelector("title")?.remove(); // the browser's own would come late and cover it
    tip.textContent = point.said;
    const at = point.getBoundingClientRect();
    tip.style.left = Math.max(0, Math.min(at.left + scrollX, scrollX + innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = at.bottom + scrollY + 6 + "px";
  });
})();
