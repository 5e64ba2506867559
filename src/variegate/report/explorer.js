"use strict";
// The explorer: what was included and excluded, and what follows. Text goes in as text, never as HTML.

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const model = variegate.open(data);
  const part = (id) => document.getElementById(id);
  const names = data.names;
  const given = new Map(); // unit: "in" or "out", in the order of asking
  const FIRST = 15;
  const UNUSUAL = 0.05; // as in Python's diagnostics
  let shown = FIRST;
  let now = model.probability;
  let best = [];

  // --- words -------------------------------------------------------------------------------------------------

  const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

  function shortened(name, limit = 48) {
    const text = name.replace(/[\t\n\r]/g, " ").replace(UNSAFE, "\ufffd") || "(no name)";
    const letters = Array.from(text.slice(0, 4 * limit));
    if (text.length <= limit) return text;
    const end = Math.floor(((limit - 1) * 3) / 8);
    return `${letters.slice(0, limit - 1 - end).join("")}…${Array.from(text.slice(-4 * end)).slice(-end).join("")}`;
  }

  const twins = new Set(); // names that several share: the position tells them apart
  const met = new Set();
  for (const name of names) (met.has(name) ? twins : met).add(name);

  const label = (unit, limit) =>
    shortened(names[unit], limit) + (twins.has(names[unit]) ? ` (no. ${data.positions[unit] + 1})` : "");

  function digits(p) {
    if (p > 0.9995 && p < 1) return ">0.999";
    if (p < 0.0005 && p > 0) return "<0.001";
    return p.toFixed(3);
  }

  // --- elements ----------------------------------------------------------------------------------------------

  function element(tag, text, attributes = {}) {
    const out = document.createElement(tag);
    if (text !== undefined) out.textContent = text;
    for (const [name, value] of Object.entries(attributes)) out.setAttribute(name, value);
    return out;
  }

  function nameOf(unit, limit) {
    const out = element("bdi", label(unit, limit));
    if (names[unit].length > 48) out.title = shortened(names[unit], 300);
    return out;
  }

  function button(text, says, act) {
    const out = element("button", text, { type: "button", "aria-label": says });
    out.addEventListener("click", act);
    return out;
  }

  function bar(before, after) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const rectangle = (name, box) => {
      const r = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      r.setAttribute("class", name);
      for (const [key, value] of Object.entries(box)) r.setAttribute(key, value);
      svg.append(r);
    };
    svg.setAttribute("class", "bar");
    svg.setAttribute("viewBox", "0 0 100 8");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    rectangle("rail", { width: 100, height: 8 });
    rectangle("fill", { width: (100 * after).toFixed(1), height: 8 });
    rectangle("before", { x: Math.min(100 * before, 98.5).toFixed(1), width: 1.5, height: 8 });
    return svg;
  }

  // --- asking ------------------------------------------------------------------------------------------------

  const included = () => [...given].filter(([, how]) => how === "in").map(([unit]) => unit);
  const excluded = () => [...given].filter(([, how]) => how === "out").map(([unit]) => unit);

  function reason(error) {
    const name = error.item === undefined ? "" : `“${label(error.item)}”`;
    if (error.reason === "copy") {
      return included().length > 1
        ? `${name} is a copy of what you have included, or never occurs together with it. It was left out again.`
        : `${name} is never in a set: it does not vary, or nothing speaks for it. It was left out again.`;
    }
    if (error.reason === "certain") {
      return `Without ${name} and the others that you excluded, hardly any set is left: this page cannot say what would follow. Python can: model.posterior_.condition(exclude=[…]). It was taken back.`;
    }
    throw error;
  }

  function ask(unit, how) {
    const before = given.get(unit);
    if (before === how) return;
    given.delete(unit);
    if (how) given.set(unit, how);
    const start = model.work;
    let trouble = "";
    try {
      now = given.size && !data.fixed ? variegate.condition(model, included(), excluded()) : model.probability;
      if (data.fixed && included().length > data.fixed) throw new variegate.Impossible("size", unit);
    } catch (error) {
      trouble = error.reason === "size" ? `Sets of this model have ${data.fixed} features; no more can be included.` : reason(error);
      given.delete(unit);
      if (before) given.set(unit, before);
    }
    part("explorer").dataset.work = model.work - start;
    chooseBest();
    show(trouble);
  }

  function chooseBest() {
    const wanted = Math.max(Math.floor(Number(part("size").value)) || 1, included().length);
    const start = model.work;
    try {
      best = variegate.bestSet(model, Math.min(wanted, names.length), included(), excluded());
    } catch (error) {
      if (!(error instanceof variegate.Impossible)) throw error;
      best = [];
    }
    part("explorer").dataset.bestWork = model.work - start;
  }

  // --- showing -----------------------------------------------------------------------------------------------

  function show(trouble) {
    showConditions();
    showStatus(trouble);
    showOthers();
    showBest();
    showMap();
    showMatches();
  }

  function showConditions() {
    const items = [...given].map(([unit, how]) => {
      const item = element("li", how === "in" ? "with " : "without ", { class: how === "in" ? "included" : "excluded" });
      item.append(nameOf(unit), button("×", `Take back ${label(unit)}`, () => (ask(unit, null), part("search").focus())));
      return item;
    });
    part("conditions").replaceChildren(...items);
    part("clear").hidden = given.size === 0;
  }

  function showStatus(trouble) {
    const status = part("status");
    status.classList.toggle("trouble", Boolean(trouble));
    const sum = (p) => p.reduce((a, b) => a + b, 0) + data.expected_elsewhere;
    if (trouble) status.textContent = trouble;
    else if (!given.size) status.textContent = `Nothing included or excluded yet; ${sum(now).toFixed(1)} are expected in a set.`;
    else if (data.fixed) status.textContent = "The best set follows your choice; probabilities are those without conditions.";
    else {
      const others = [...names.keys()].filter((unit) => !given.has(unit));
      const change = (unit) => now[unit] - model.own[unit];
      const say = (unit) => `${label(unit, 36)} (${digits(model.probability[unit])} → ${digits(now[unit])})`;
      const up = others.reduce((a, b) => (change(b) > change(a) ? b : a), others[0]);
      const down = others.reduce((a, b) => (change(b) < change(a) ? b : a), others[0]);
      const parts = [];
      if (data.expected_elsewhere === 0) parts.push(`${sum(now).toFixed(1)} expected in a set, ${sum(model.probability).toFixed(1)} before.`);
      if (up !== undefined && change(up) > 0.001) parts.push(`Rises most: ${say(up)}.`);
      if (down !== undefined && change(down) < -0.001) parts.push(`Falls most: ${say(down)}.`);
      const rare = [...given].filter(([unit, how]) => (how === "in" ? model.probability[unit] : 1 - model.probability[unit]) < UNUSUAL);
      if (rare.length) parts.push(`Sets ${rare[0][1] === "in" ? "with" : "without"} ${label(rare[0][0], 36)} are rare, and q knows little about them: stand-ins may be far more probable than it says here.${rare[0][1] === "out" && part("stands") ? " “What each one stands for”, above, has the answer of the data for a chosen one." : ""}`);
      if (others.every((unit) => Math.abs(change(unit)) <= 0.001)) parts.push("All others stay as they were.");
      status.textContent = parts.join(" ");
    }
  }

  function ordered() {
    const units = [...names.keys()].filter((unit) => !given.has(unit));
    const how = part("order").value;
    if (how === "name") return units.sort((a, b) => names[a].localeCompare(names[b]) || a - b);
    const key = how === "now" ? (u) => now[u] : (u) => Math.abs(now[u] - (given.size ? model.own[u] : model.probability[u]));
    return units.sort((a, b) => key(b) - key(a) || model.probability[b] - model.probability[a] || a - b);
  }

  function showOthers() {
    const units = ordered();
    const rows = units.slice(0, shown).map((unit, place) => {
      const row = element("tr");
      const name = element("th", undefined, { scope: "row" });
      name.append(nameOf(unit));
      const drawing = element("td", undefined, { class: "drawing" });
      drawing.append(bar(model.probability[unit], now[unit]));
      const act = element("td");
      act.append(
        button("+", `Include ${label(unit)}`, () => (ask(unit, "in"), focusRow(place, 0))),
        " ",
        button("−", `Exclude ${label(unit)}`, () => (ask(unit, "out"), focusRow(place, 1))),
      );
      row.append(
        name,
        element("td", digits(model.probability[unit]), { class: "number" }),
        element("td", digits(now[unit]), { class: "number", "data-value": now[unit] }),
        drawing,
        act,
      );
      return row;
    });
    part("others").tBodies[0].replaceChildren(...rows);
    part("more").hidden = units.length <= shown;
  }

  function focusRow(place, which) {
    // the row that was acted on is gone; jumping to the search field would open a phone's keyboard
    const rows = part("others").tBodies[0].rows;
    (rows[Math.min(place, rows.length - 1)]?.querySelectorAll("button")[which] ?? part("search")).focus();
  }

  function showBest() {
    const wanted = Number(part("size").value);
    part("best-size").textContent = best.length === 1 ? "1 feature" : `${best.length} features`;
    const units = [...best].sort((a, b) => now[b] - now[a]);
    part("best").replaceChildren(
      ...units.map((unit) => {
        const item = element("li", undefined, { "data-unit": unit, class: given.has(unit) ? "asked" : "" });
        item.append(nameOf(unit));
        return item;
      }),
    );
    if (best.length < wanted) part("best-size").textContent += `: larger sets are impossible`;
  }

  const places = new Map(data.positions.map((position, unit) => [position, unit]));

  function showMap() {
    for (const circle of document.querySelectorAll(".map circle")) {
      const unit = places.get(Number(circle.dataset.unit));
      if (unit === undefined) continue;
      const radius = 3 + 7 * Math.sqrt(now[unit]);
      circle.setAttribute("r", (given.get(unit) === "out" ? Math.max(radius, 5) : radius).toFixed(1));
      circle.classList.toggle("asked-in", given.get(unit) === "in");
      circle.classList.toggle("asked-out", given.get(unit) === "out");
    }
  }

  function matching() {
    const text = part("search").value.trim().toLowerCase();
    if (!text) return [];
    const found = [];
    for (let unit = 0; unit < names.length; unit++) {
      const at = folded[unit].indexOf(text);
      if (at >= 0) found.push([folded[unit] === text ? -1 : at === 0 ? 0 : 1, unit]);
    }
    found.sort((a, b) => a[0] - b[0] || model.probability[b[1]] - model.probability[a[1]]);
    return found.map(([, unit]) => unit);
  }
  const folded = names.map((name) => name.trim().toLowerCase());

  function showMatches() {
    const units = matching();
    const rows = units.slice(0, 6).map((unit) => {
      const row = element("li");
      const what = element("span", undefined, { class: "what" });
      what.append(nameOf(unit), ` ${digits(now[unit])}`);
      row.append(
        what,
        button("Include", `Include ${label(unit)}`, () => choose(unit, "in")),
        button("Exclude", `Exclude ${label(unit)}`, () => choose(unit, "out")),
      );
      return row;
    });
    if (units.length > 6) rows.push(element("li", `and ${units.length - 6} more: type on`, { class: "hint" }));
    if (!units.length && part("search").value.trim()) rows.push(element("li", "No candidate is called that.", { class: "hint" }));
    part("matches").replaceChildren(...rows);
  }

  function choose(unit, how) {
    part("search").value = "";
    ask(unit, how);
    part("search").focus();
  }

  // --- taking it away ----------------------------------------------------------------------------------------

  function cell(value) {
    // a spreadsheet would run text that begins like a formula
    const text = /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value;
    return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function csv() {
    const inBest = new Set(best);
    const lines = ["feature,probability,condition,conditional_probability,in_best_set"];
    for (const unit of [...names.keys()].sort((a, b) => now[b] - now[a] || a - b)) {
      const how = { in: "included", out: "excluded" }[given.get(unit)] ?? "";
      lines.push([cell(names[unit]), model.probability[unit], how, data.fixed ? "" : now[unit], inBest.has(unit)].join(","));
    }
    return `${lines.join("\r\n")}\r\n`;
  }

  function save() {
    const link = element("a", undefined, { download: "variegate-explored.csv" });
    link.href = URL.createObjectURL(new Blob(["\ufeff", csv()], { type: "text/csv" }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // --- wiring ------------------------------------------------------------------------------------------------

  part("search").addEventListener("input", showMatches);
  part("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && matching().length) choose(matching()[0], event.shiftKey ? "out" : "in");
    else if (event.key === "ArrowDown") part("matches").querySelector("button")?.focus();
    else if (event.key === "Escape") (part("search").value = ""), showMatches();
    else return;
    event.preventDefault();
  });
  part("matches").addEventListener("keydown", (event) => {
    const buttons = [...part("matches").querySelectorAll("button")];
    const step = { ArrowDown: 2, ArrowUp: -2, ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    (buttons[buttons.indexOf(event.target) + step] ?? part("search")).focus();
    event.preventDefault();
  });
  part("size").addEventListener("input", () => (chooseBest(), showBest()));
  part("order").addEventListener("change", showOthers);
  part("more").addEventListener("click", () => ((shown += 50), showOthers()));
  part("export").addEventListener("click", save);
  part("clear").addEventListener("click", () => {
    given.clear();
    now = model.probability;
    chooseBest();
    show("");
    part("search").focus();
  });

  function checkAgainstPython() {
    // the page and Python have the same q; if rounding has cost the page too much, it says so
    if (model.kind !== "dpp" || data.fixed) return;
    const here = variegate.condition(model, [], []);
    const off = here.reduce((most, p, i) => Math.max(most, Math.abs(p - model.own[i])), 0);
    part("rounded").hidden = off < 5e-5;
    part("rounded").textContent = `Features of this model are so alike, or so strongly demanded, that the rounded numbers in this page are off by up to ${off.toPrecision(1)}. Python has no such rounding: model.posterior_.condition(…).`;
  }

  checkAgainstPython();
  part("explorer").hidden = false;
  chooseBest();
  show("");
  variegate.page = { model, condition: (a, b) => variegate.condition(model, a, b), bestSet: (k, a, b) => variegate.bestSet(model, k, a, b) };
  document.documentElement.dataset.ready = "true";
})();
