"use strict";
// The explorer: features included and excluded, and what follows.

{
  const { element, button, bar, digits } = variegate;
  const data = JSON.parse(document.getElementById("data").textContent);
  const part = (id) => document.getElementById(id);
  const box = part("explorer");
  const names = new variegate.Names(data.names, data.positions);
  const every = [...data.names.keys()];
  const given = new Map(); // feature: "in" or "out", in the order chosen
  const FIRST = 15; // rows
  const MORE = 50;
  const LARGEST = 100; // members of a best set; the search takes cubic time
  // Evidence (nats) lost against sets that the form was fitted to: with at most 4, answers were off by 0.04; with 8 to 16, by
  // 0.05 to 0.8 (N = 500, M = 2000).
  const FAR = 6;
  let shown = FIRST;
  const before = Float64Array.from(data.probability);
  let now = before;
  let error = 0; // null: not known yet
  let lost = 0; // evidence (nats) lost against sets that the form was fitted to
  let best = [];
  let trouble = ""; // why the last choice was undone; shown until the next choice

  // --- asking ------------------------------------------------------------------------------------------------

  const asking = new variegate.Asking(data.form, { answer: learn, impossible: takeBack, best: showBest });
  const asked = (wanted) => [...given].filter(([, how]) => how === wanted).map(([m]) => m); // the last one last
  const included = () => asked("in");
  const excluded = () => asked("out");

  function ask(m, how) {
    if (given.get(m) === how) return;
    given.delete(m);
    if (how) given.set(m, how);
    trouble = "";
    answer();
  }

  function answer() {
    if (!given.size) {
      asking.stop();
      now = before;
      error = 0;
      settle(0);
    } else {
      box.dataset.state = "running";
      error = null;
      asking.ask(included(), excluded());
      show();
    }
    chooseBest();
  }

  function learn(found) {
    now = found.probability;
    included().forEach((m) => (now[m] = 1));
    excluded().forEach((m) => (now[m] = 0));
    if (error === null) box.dataset.first = found.passed.toFixed(0);
    error = found.error;
    lost = found.lost;
    box.dataset.error = error;
    if (found.done) settle(found.passed);
    else show();
  }

  function settle(passed) {
    box.dataset.state = "settled";
    box.dataset.took = passed.toFixed(0);
    show();
  }

  function takeBack(reason, feature) {
    trouble = refusal(reason, feature);
    given.delete(feature ?? [...given.keys()].pop());
    answer();
  }

  function refusal(reason, feature) {
    if (reason === "size") return `A set cannot hold that many ${data.thing}s, or too few are left. Your last choice was undone.`;
    const name = `“${names.label(feature)}”`;
    return included().length > 1
      ? `${name} is a copy of what you have included, or never occurs together with it. Your choice was undone.`
      : `${name} is never in a set: it is constant, or nothing supports it. Your choice was undone.`;
  }

  const wantedSize = () => Math.max(Math.floor(Number(part("size").value)) || 1, included().length);

  function chooseBest() {
    const size = Math.min(wantedSize(), every.length - excluded().length, LARGEST);
    const margin = data.exact ? 0.1 : 1; // nats: the most probable set was found from the data themselves, at the exact means
    asking.askBest({ size, include: included(), exclude: excluded(), margin });
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
    if (key === shownConditions) return; // so that a focused button keeps the focus
    shownConditions = key;
    const items = [...given].map(([m, how]) => {
      const item = element("li", how === "in" ? "with " : "without ", { class: how === "in" ? "included" : "excluded" });
      item.append(names.element(m), button("×", `Take back ${names.label(m)}`, () => (ask(m, null), part("search").focus())));
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
    const sum = (p) => p.reduce((a, b) => a + b, 0) + data.expected_elsewhere;
    const others = every.filter((m) => !given.has(m));
    if (error === null) return ["Computing…"];
    if (!given.size) return [`Nothing included or excluded yet; ${sum(before).toFixed(1)} are expected in a set.`];
    if (!others.length) return ["Nothing is left to choose from."];
    const sharpening = box.dataset.state === "running" ? ", still improving" : "";
    const parts = [`Known to ±${(2 * error).toPrecision(1)} (two Monte Carlo errors)${sharpening}.`];
    if (!data.exact && lost > FAR) parts.push("Rough: with this choice, sets explain the data far worse than those that the page's approximation was made for. Use Python.");
    if (data.form.size === null) parts.push(`${sum(now).toFixed(1)} expected in a set, ${sum(before).toFixed(1)} before.`);
    return [...parts, ...changes(others)];
  }

  function changes(others) {
    const change = (m) => now[m] - before[m];
    const clear = Math.max(0.01, 2 * Math.hypot(error, data.error));
    const say = (m) => `${names.label(m, 36)} (${digits(before[m])} → ${digits(now[m])})`;
    const up = others.reduce((a, b) => (change(b) > change(a) ? b : a));
    const down = others.reduce((a, b) => (change(b) < change(a) ? b : a));
    const parts = [];
    if (change(up) > clear) parts.push(`Rises most: ${say(up)}.`);
    if (change(down) < -clear) parts.push(`Falls most: ${say(down)}.`);
    return parts.length ? parts : ["All others stay the same, within the error."];
  }

  function ordered() {
    const features = every.filter((m) => !given.has(m));
    const how = part("order").value;
    if (how === "name") return features.sort((a, b) => data.names[a].localeCompare(data.names[b]) || a - b);
    const key = how === "now" ? (m) => now[m] : (m) => Math.abs(now[m] - before[m]);
    return features.sort((a, b) => key(b) - key(a) || before[b] - before[a] || a - b);
  }

  function showOthers() {
    const features = ordered();
    const at = document.activeElement?.closest?.("#others tbody tr");
    const focus = at && [at.rowIndex - 1, [...at.querySelectorAll("button")].indexOf(document.activeElement)];
    part("others").tBodies[0].replaceChildren(...features.slice(0, shown).map(row));
    if (focus) focusRow(...focus);
    part("more").hidden = features.length <= shown;
  }

  function row(m, place) {
    const out = element("tr");
    const name = element("th", undefined, { scope: "row" });
    const drawing = element("td", undefined, { class: "drawing" });
    const act = element("td");
    name.append(names.element(m));
    drawing.append(bar(before[m], now[m]));
    act.append(
      button("+", `Include ${names.label(m)}`, () => (ask(m, "in"), focusRow(place, 0))),
      " ",
      button("−", `Exclude ${names.label(m)}`, () => (ask(m, "out"), focusRow(place, 1))),
    );
    out.append(
      name,
      element("td", digits(before[m]), { class: "number" }),
      element("td", digits(now[m]), { class: "number", "data-value": now[m] }),
      drawing,
      act,
    );
    return out;
  }

  function focusRow(place, which) {
    // the row is gone; focusing the search field would open a phone's keyboard
    const rows = part("others").tBodies[0].rows;
    (rows[Math.min(place, rows.length - 1)]?.querySelectorAll("button")[which] ?? part("search")).focus();
  }

  function showBest(found = best) {
    best = found;
    const items = [...best].sort((a, b) => now[b] - now[a]).map((m) => {
      const item = element("li", undefined, { "data-feature": m, class: given.has(m) ? "asked" : "" });
      item.append(names.element(m));
      return item;
    });
    part("best").replaceChildren(...items);
    const fewer = best.length < LARGEST ? ": larger sets are impossible" : ": larger sets are not searched here";
    const count = `${best.length} ${data.thing}${best.length === 1 ? "" : "s"}`;
    part("best-size").textContent = count + (best.length < wantedSize() ? fewer : "");
  }

  const places = new Map(data.positions.map((position, m) => [position, m]));

  function showMap() {
    for (const circle of document.querySelectorAll(".map circle")) {
      const m = places.get(Number(circle.dataset.feature));
      if (m === undefined) continue;
      const radius = 3 + 7 * Math.sqrt(now[m]);
      circle.setAttribute("r", (given.get(m) === "out" ? Math.max(radius, 5) : radius).toFixed(1));
      circle.classList.toggle("asked-in", given.get(m) === "in");
      circle.classList.toggle("asked-out", given.get(m) === "out");
    }
  }

  const matching = () => names.matching(part("search").value, before);

  function showMatches() {
    const features = matching();
    const rows = features.slice(0, 6).map((m) => {
      const item = element("li");
      const what = element("span", undefined, { class: "what" });
      what.append(names.element(m), ` ${digits(now[m])}`);
      item.append(
        what,
        button("Include", `Include ${names.label(m)}`, () => choose(m, "in")),
        button("Exclude", `Exclude ${names.label(m)}`, () => choose(m, "out")),
      );
      return item;
    });
    if (features.length > 6) rows.push(element("li", `and ${features.length - 6} more; keep typing`, { class: "hint" }));
    if (!features.length && part("search").value.trim()) {
      rows.push(element("li", `No ${data.thing} on this page matches.`, { class: "hint" }));
    }
    part("matches").replaceChildren(...rows);
  }

  function choose(m, how) {
    part("search").value = "";
    ask(m, how);
    part("search").focus();
  }

  // --- exporting ---------------------------------------------------------------------------------------------

  function cell(value) {
    // a spreadsheet would run text that looks like a formula
    const text = /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value;
    return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function csv() {
    const inBest = new Set(best);
    const lines = ["feature,probability,condition,conditional_probability,in_best_set"];
    for (const m of [...every].sort((a, b) => now[b] - now[a] || a - b)) {
      const how = { in: "included", out: "excluded" }[given.get(m)] ?? "";
      lines.push([cell(data.names[m]), before[m], how, now[m], inBest.has(m)].join(","));
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
  part("more").addEventListener("click", () => ((shown += MORE), showOthers()));
  part("export").addEventListener("click", save);
  part("clear").addEventListener("click", () => {
    given.clear();
    trouble = "";
    answer();
    part("search").focus();
  });

  box.hidden = false;
  answer();
  document.documentElement.dataset.ready = "true";
}
