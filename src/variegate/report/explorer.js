"use strict";
// The explorer: what was included and excluded, and what follows. Text goes in as text, never as HTML.

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const part = (id) => document.getElementById(id);
  const names = data.names;
  const given = new Map(); // unit: "in" or "out", in the order of asking
  const FIRST = 15;
  const KNOWN = 0.006; // error at which an answer needs no more steps: of many features the worst is three errors off
  const LEAST = 500; // milliseconds: the error of few batches is itself uncertain
  const PATIENCE = 4000; // milliseconds at most
  const LARGEST = 100; // features of a best set: the search takes the third power of it
  const CHAINS = Math.min(Math.max(navigator.hardwareConcurrency || 2, 2), 4);
  let shown = FIRST;
  let before = Float64Array.from(data.probability);
  let now = before;
  let error = 0;
  let best = [];
  let question = 0;

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
    if (p > 0.995 && p < 1) return ">0.99";
    if (p < 0.005 && p > 0) return "<0.01";
    return p.toFixed(2);
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

  function reason(found) {
    if (found.impossible === "size") return `So many ${data.thing}s cannot be in a set, or too few are left. Your last choice was taken back.`;
    const name = `“${label(found.item)}”`;
    return included().length > 1
      ? `${name} is a copy of what you have included, or never occurs together with it. It was left out again.`
      : `${name} is never in a set: it does not vary, or nothing speaks for it. It was left out again.`;
  }

  // --- chains, each in a worker of its own; in the page where there can be none --------------------------------

  function started(chain) {
    const receive = (answer) => heard(chain, answer);
    const inPage = () => serve((found) => setTimeout(() => receive(found), 0));
    let send = null;
    const kept = {}; // what a chain in the page would have to be told again
    try {
      const text = [...document.querySelectorAll("script.chain")].map((script) => script.textContent).join("\n");
      const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
      worker.onmessage = (event) => receive(event.data);
      worker.onerror = (event) => {
        event.preventDefault();
        worker.terminate();
        send = inPage();
        for (const message of Object.values(kept)) send(message);
      };
      send = (message) => worker.postMessage(message);
    } catch {
      send = inPage();
    }
    return (message) => {
      kept[message.form ? "form" : message.size === undefined ? "question" : "size"] = message;
      send(message);
    };
  }

  let reports = [];
  let began = 0;
  let drawn = 0;
  let trouble = ""; // why the last choice was taken back; said until there is another one
  let known = !data.own; // whether `before` is
  const chains = Array.from({ length: CHAINS }, (_, k) => started(k));
  chains.forEach((send) => send({ form: data.form }));

  function ask(unit, how) {
    if (given.get(unit) === how || !known) return;
    given.delete(unit);
    if (how) given.set(unit, how);
    trouble = "";
    answer();
  }

  function answer() {
    question += 1;
    reports = [];
    began = performance.now();
    drawn = 0;
    const conditions = { include: included(), exclude: excluded() };
    if (!given.size && !data.own) {
      chains.forEach((send) => send({ stop: true }));
      now = before;
      error = 0;
      finish();
    } else {
      part("explorer").dataset.state = "running";
      error = null;
      show();
      const id = question;
      chains.forEach((send, k) => send({ id, milliseconds: PATIENCE, start: data.form.starts[k % data.form.starts.length], ...conditions }));
    }
    chooseBest();
  }

  function heard(chain, found) {
    if (found.best) {
      if (found.id !== question) return;
      best = found.best;
      showBest();
      return;
    }
    if (found.id !== question || part("explorer").dataset.state === "settled") return;
    if (found.impossible) takeBack(found);
    else {
      reports[chain] = found.report;
      if (reports.filter(Boolean).length === CHAINS) learn();
    }
  }

  function learn() {
    const all = variegate.merged(reports);
    const passed = performance.now() - began;
    const done = (all.error <= KNOWN && passed >= LEAST) || passed >= PATIENCE;
    if (!done && drawn && passed - drawn < 300) return; // rows that jump cannot be read
    now = all.probability;
    included().forEach((unit) => (now[unit] = 1));
    excluded().forEach((unit) => (now[unit] = 0));
    error = all.error;
    const box = part("explorer").dataset;
    if (!drawn) box.first = passed.toFixed(0);
    drawn = passed;
    if (done && !given.size) {
      before = now; // a model without probabilities of its own
      known = true;
    }
    if (done) finish();
    else show();
    box.error = error;
  }

  function finish() {
    chains.forEach((send) => send({ stop: true }));
    part("explorer").dataset.state = "settled";
    part("explorer").dataset.took = (performance.now() - began).toFixed(0);
    show();
  }

  function takeBack(found) {
    trouble = reason(found);
    given.delete(found.item ?? [...given.keys()].pop());
    answer();
  }

  const wantedSize = () => Math.max(Math.floor(Number(part("size").value)) || 1, included().length);

  function chooseBest() {
    const size = Math.min(wantedSize(), names.length - excluded().length, LARGEST);
    const margin = data.exact ? 0.1 : 1; // the chosen set was found with the data, and at the very means
    chains[0]({ id: question, size, include: included(), exclude: excluded(), start: data.form.chosen, margin });
  }

  // --- showing -----------------------------------------------------------------------------------------------

  function show() {
    showConditions();
    showStatus();
    showOthers();
    showBest();
    showMap();
    showMatches();
  }

  let shownConditions = "";

  function showConditions() {
    const key = JSON.stringify([...given]);
    if (key === shownConditions) return; // a button that has the focus keeps it
    shownConditions = key;
    const items = [...given].map(([unit, how]) => {
      const item = element("li", how === "in" ? "with " : "without ", { class: how === "in" ? "included" : "excluded" });
      item.append(nameOf(unit), button("×", `Take back ${label(unit)}`, () => (ask(unit, null), part("search").focus())));
      return item;
    });
    part("conditions").replaceChildren(...items);
    part("clear").hidden = given.size === 0;
  }

  function showStatus() {
    const status = part("status");
    status.textContent = [...(trouble ? [trouble] : []), ...sentences()].join(" ");
    status.classList.toggle("trouble", Boolean(trouble));
  }

  function sentences() {
    const sum = (p) => p.reduce((a, b) => a + b, 0);
    const first = (sum(before) + data.expected_elsewhere).toFixed(1);
    if (!given.size && error !== null) return [`Nothing included or excluded yet; ${first} are expected in a set.`];
    const others = [...names.keys()].filter((unit) => !given.has(unit));
    const change = (unit) => now[unit] - before[unit];
    if (!others.length) return ["Nothing is left to choose from."];
    const clear = Math.max(0.01, 2 * Math.hypot(error, data.own ? error : data.error));
    const say = (unit) => `${label(unit, 36)} (${digits(before[unit])} → ${digits(now[unit])})`;
    const up = others.reduce((a, b) => (change(b) > change(a) ? b : a), others[0]);
    const down = others.reduce((a, b) => (change(b) < change(a) ? b : a), others[0]);
    if (error === null) return ["Computing…"];
    const known = `Known to ±${(2 * error).toPrecision(1)} (two Monte Carlo errors)`;
    const parts = [`${known}${part("explorer").dataset.state === "running" ? ", and sharpening" : ""}.`];
    if (data.form.size === null) parts.push(`${sum(now).toFixed(1)} expected in a set, ${first} before.`);
    if (up !== undefined && change(up) > clear) parts.push(`Rises most: ${say(up)}.`);
    if (down !== undefined && change(down) < -clear) parts.push(`Falls most: ${say(down)}.`);
    if (others.every((unit) => Math.abs(change(unit)) <= clear)) parts.push("All others stay as they were, as far as is known.");
    return parts;
  }

  function ordered() {
    const units = [...names.keys()].filter((unit) => !given.has(unit));
    const how = part("order").value;
    if (how === "name") return units.sort((a, b) => names[a].localeCompare(names[b]) || a - b);
    const key = how === "now" ? (u) => now[u] : (u) => Math.abs(now[u] - before[u]);
    return units.sort((a, b) => key(b) - key(a) || before[b] - before[a] || a - b);
  }

  function showOthers() {
    const units = ordered();
    const rows = units.slice(0, shown).map((unit, place) => {
      const row = element("tr");
      const name = element("th", undefined, { scope: "row" });
      name.append(nameOf(unit));
      const drawing = element("td", undefined, { class: "drawing" });
      drawing.append(bar(before[unit], now[unit]));
      const act = element("td");
      act.append(
        button("+", `Include ${label(unit)}`, () => (ask(unit, "in"), focusRow(place, 0))),
        " ",
        button("−", `Exclude ${label(unit)}`, () => (ask(unit, "out"), focusRow(place, 1))),
      );
      row.append(
        name,
        element("td", digits(before[unit]), { class: "number" }),
        element("td", digits(now[unit]), { class: "number", "data-value": now[unit] }),
        drawing,
        act,
      );
      return row;
    });
    const at = document.activeElement?.closest?.("#others tbody tr");
    const focus = at && [at.rowIndex - 1, [...at.querySelectorAll("button")].indexOf(document.activeElement)];
    part("others").tBodies[0].replaceChildren(...rows);
    if (focus) focusRow(...focus);
    part("more").hidden = units.length <= shown;
  }

  function focusRow(place, which) {
    // the row that was acted on is gone; jumping to the search field would open a phone's keyboard
    const rows = part("others").tBodies[0].rows;
    (rows[Math.min(place, rows.length - 1)]?.querySelectorAll("button")[which] ?? part("search")).focus();
  }

  function showBest() {
    part("best-size").textContent = `${best.length} ${data.thing}${best.length === 1 ? "" : "s"}`;
    const units = [...best].sort((a, b) => now[b] - now[a]);
    part("best").replaceChildren(
      ...units.map((unit) => {
        const item = element("li", undefined, { "data-unit": unit, class: given.has(unit) ? "asked" : "" });
        item.append(nameOf(unit));
        return item;
      }),
    );
    const wanted = wantedSize();
    if (best.length < wanted) part("best-size").textContent += best.length < LARGEST ? ": larger sets are impossible" : ": larger ones are not searched here";
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
    found.sort((a, b) => a[0] - b[0] || before[b[1]] - before[a[1]]);
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
      lines.push([cell(names[unit]), before[unit], how, now[unit], inBest.has(unit)].join(","));
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
  let typing = 0;
  part("size").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(chooseBest, 200);
  });
  part("order").addEventListener("change", showOthers);
  part("more").addEventListener("click", () => ((shown += 50), showOthers()));
  part("export").addEventListener("click", save);
  part("clear").addEventListener("click", () => {
    given.clear();
    trouble = "";
    answer();
    part("search").focus();
  });

  part("explorer").hidden = false;
  answer();
  document.documentElement.dataset.ready = "true";
})();
