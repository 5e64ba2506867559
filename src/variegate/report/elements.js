"use strict";
// Names, numbers and elements of the explorer. Text is inserted as text, never as HTML.

variegate.digits = (p) => {
  if (p > 0.995 && p < 1) return ">0.99";
  if (p < 0.005 && p > 0) return "<0.01";
  return p.toFixed(2);
};

variegate.element = (tag, text, attributes = {}) => {
  const out = document.createElement(tag);
  if (text !== undefined) out.textContent = text;
  for (const [name, value] of Object.entries(attributes)) out.setAttribute(name, value);
  return out;
};

variegate.button = (text, says, act) => {
  const out = variegate.element("button", text, { type: "button", "aria-label": says });
  out.addEventListener("click", act);
  return out;
};

// a bar up to `now`, with a mark at `before`
variegate.bar = (before, now) => {
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
  rectangle("fill", { width: (100 * now).toFixed(1), height: 8 });
  rectangle("before", { x: Math.min(100 * before, 98.5).toFixed(1), width: 1.5, height: 8 });
  return svg;
};

// Names as shown: as in names.py, with the position if several features share a name.
variegate.Names = class {
  static UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

  constructor(names, positions) {
    this.names = names;
    this.positions = positions;
    this.folded = names.map((name) => name.trim().toLowerCase());
    const met = new Set();
    this.shared = new Set(names.filter((name) => met.size === met.add(name).size));
  }

  static shortened(name, limit = 48) {
    const text = name.replace(/[\t\n\r]/g, " ").replace(variegate.Names.UNSAFE, "\ufffd") || "(no name)";
    const letters = Array.from(text.slice(0, 4 * limit));
    if (text.length <= limit) return text;
    const end = Math.floor(((limit - 1) * 3) / 8);
    return `${letters.slice(0, limit - 1 - end).join("")}…${Array.from(text.slice(-4 * end)).slice(-end).join("")}`;
  }

  label(m, limit) {
    const name = this.names[m];
    return variegate.Names.shortened(name, limit) + (this.shared.has(name) ? ` (no. ${this.positions[m] + 1})` : "");
  }

  element(m, limit) {
    const out = variegate.element("bdi", this.label(m, limit));
    if (this.names[m].length > 48) out.title = variegate.Names.shortened(this.names[m], 300);
    return out;
  }

  // features whose name contains the text: exact matches first, then names that begin with it
  matching(text, probability) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    const found = [];
    this.folded.forEach((name, m) => {
      const at = name.indexOf(wanted);
      if (at >= 0) found.push([name === wanted ? -1 : at === 0 ? 0 : 1, m]);
    });
    return found.sort((a, b) => a[0] - b[0] || probability[b[1]] - probability[a[1]]).map(([, m]) => m);
  }
};
