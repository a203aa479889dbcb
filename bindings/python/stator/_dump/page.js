"use strict";
// Shows one trace at a time: source and bytecode | graph | kernels. Every line carries keys (data-k): node keys "n7" and
// source keys "s0:14". Two elements belong together when they share a node key or, where one has none, a source key.
const traces = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const tab = { left: 0, middle: 0, right: 0 }, stage = { graph: -1, segment: 0 };
let fit = true, current = 0, pinned = null, index = [];

function element(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value); else if (value != null) e.setAttribute(name, value);
  e.append(...children.filter((c) => c != null));
  return e;
}

function lines(rows, linked = new Set()) {
  const pre = element("pre");
  for (const [text, keys, marks] of rows) {
    const row = element("div", { "data-k": keys.length ? keys.join(" ") : null });
    const numbered = /^( *\d+  )(.*)$/s.exec(text);
    if (marks && numbered) row.append(element("span", { class: "number" }, numbered[1]), numbered[2]);
    else {
      const at = text.search(/ @ [^ ]+:\d+( [^ ]+)?$|\s;.*$|\s#.*$/);
      if (at > 0) row.append(text.slice(0, at), element("span", { class: "comment" }, text.slice(at)));
      else row.append(text || " ");
    }
    if (marks && linked.has(keys[0])) row.classList.add("linked");
    for (const mark of marks || []) {
      row.classList.add(mark.kind);
      row.append(element("span", { class: "mark " + mark.kind, title: mark.why }, mark.text));
    }
    pre.append(row);
  }
  return pre;
}

function leftRows(t) {
  if (!t.left.length) return element("div", { class: "empty" }, "Nothing was left to Python, and the trace has no exits.");
  const box = element("div");
  for (const r of t.left)
    box.append(element("div", { class: "row " + r.kind, "data-k": r.keys.join(" ") }, element("b", {}, r.place), r.text,
      r.hint ? element("i", {}, "→ " + r.hint) : null));
  return box;
}

function picture(t) {
  const box = element("div", { class: "picture" });
  const legend = element("div", { class: "legend" });
  for (const [name, style] of [["input", "--c:var(--accent)"], ["view", "--s:dashed"], ["computed, a tint for each kernel", "--f:hsl(205 70% 88%)"],
    ["guard", "--c:var(--exit)"], ["library call", "--c:var(--python)"]]) legend.append(element("span", { style }, name));
  const drawing = element("div");
  drawing.innerHTML = t.svg || "<div class=empty>no nodes</div>";
  for (const g of drawing.querySelectorAll(".node")) {
    const source = t.sourceOf[g.dataset.n];
    g.setAttribute("data-k", "n" + g.dataset.n + (source ? " " + source : ""));
  }
  const svg = drawing.querySelector("svg"), width = svg ? +svg.getAttribute("width") : 0;
  if (fit && width) drawing.firstChild.style.cssText = `width:${Math.min(1, Math.max(0.5, ($("middle").clientWidth - 20) / width)) * width}px;height:auto`;
  legend.append(element("button", { "aria-selected": fit, onclick: () => { fit = !fit; show(); } }, "fit"));
  box.append(legend, drawing);
  return box;
}

function chooser(options, value, set) {
  const select = element("select", { onchange: (e) => { set(+e.target.value); show(); } });
  options.forEach((name, k) => select.append(element("option", { value: k, ...(k === value ? { selected: "" } : {}) }, name)));
  return select;
}

const views = {
  left: (t) => [
    ["source", () => t.sources.flatMap((p) => [element("h2", {}, p.title), lines(p.lines, new Set(Object.values(t.sourceOf)))])],
    ["bytecode", () => [lines(t.bytecode)]],
    ["guards", () => [t.guards.length ? lines(t.guards.map((g) => [g, []])) : element("div", { class: "empty" }, "no guards")]],
    [`left to Python (${t.left.length})`, () => [leftRows(t)]],
  ],
  middle: (t) => {
    const at = stage.graph < 0 || stage.graph >= t.graphs.length ? t.graphs.length - 1 : stage.graph;
    return [
      ["picture", () => [picture(t)]],
      ["text", () => [lines(t.graphs[at].lines)], chooser(t.graphs.map((g) => g.title), at, (k) => { stage.graph = k; tab.middle = 1; })],
    ];
  },
  right: (t) => {
    const at = Math.min(stage.segment, Math.max(0, t.segments.length - 1)), segment = t.segments[at];
    const names = ["loop IR", "LLVM IR", "assembly"];
    const gpu = Object.entries(t.gpu || {}).map(([name, rows]) => [name, () => [lines(rows)]]);
    return gpu.concat(names.map((name, k) => [name, () => [segment ? lines(segment[name]) : element("div", { class: "empty" }, "no compiled segment")],
      k === 2 && t.segments.length > 1 ? chooser(t.segments.map((_, i) => "segment " + i), at, (i) => { stage.segment = i; }) : null]));
  },
};

// A loop that is native code as a whole: source lines with code are shown as linked ones.
const regionViews = {
  left: (t) => [
    ["source", () => t.sources.flatMap((p) => [element("h2", {}, p.title), lines(p.lines, new Set(t.native))])],
    ["bytecode", () => [lines(t.bytecode)]],
  ],
  middle: (t) => [
    ["region", () => [lines(t.text)]],
    [`exits and what Python does (${t.left.length})`, () => [leftRows(t)]],
  ],
  right: (t) => ["assembly", "LLVM IR"].map((name) => [name, () => [lines(t[name])]]),
};
const viewsOf = (t) => (t.kind === "region" ? regionViews : views);

function about(t) {
  if (t.kind === "region") return [t.place, ...t.facts].join(" · ");
  return `${t.place} · ${t.nodes} nodes · ${t.segments.length} segment${t.segments.length === 1 ? "" : "s"} · ${t.nests} kernel${t.nests === 1 ? "" : "s"}`;
}

function show() {
  const t = traces[current];
  $("traces").replaceChildren(...traces.map((x, k) => {
    const b = element("button", { "aria-selected": k === current, title: x.place, class: x.kind || null, onclick: () => { current = k; pinned = null; show(); } }, x.name);
    if (x.exits) b.append(element("span", { class: "badge", title: "exits" }, x.exits));
    if (x.python) b.append(element("span", { class: "badge python", title: "left to Python" }, x.python));
    return b;
  }));
  if (!t) { $("about").textContent = "no traces were recorded"; return; }
  $("about").textContent = about(t);
  for (const side of ["left", "middle", "right"]) {
    const tabs = element("div", { class: "tabs", role: "tablist" }), list = viewsOf(t)[side](t), at = Math.min(tab[side], list.length - 1);
    list.forEach(([name, , extra], k) => {
      tabs.append(element("button", { role: "tab", "aria-selected": k === at, onclick: () => { tab[side] = k; show(); } }, name));
      if (extra) tabs.append(extra);
    });
    const previous = $(side).querySelector(".view"), view = element("div", { class: "view " + (t.kind || "") }, ...list[at][1]());
    $(side).replaceChildren(tabs, view);
    if (previous && previous.dataset.of === current + "/" + at) view.scrollTop = previous.scrollTop;
    view.dataset.of = current + "/" + at;
  }
  index = [...document.querySelectorAll("[data-k]")].map((e) => {
    const keys = e.dataset.k.split(" ");
    return { e, nodes: keys.filter((k) => k[0] === "n"), places: keys.filter((k) => k[0] === "s") };
  });
  light(pinned, "pin");
  remember();
}

// The address names the trace and what is pinned, so that a place can be linked to: #relax-1/n9
function remember() {
  const key = pinned && (pinned.nodes[0] || pinned.places[0]);
  history.replaceState(null, "", "#" + encodeURIComponent(traces[current].folder) + (key ? "/" + key : ""));
}

const meet = (a, b) => a.some((x) => b.includes(x));
const related = (a, b) => (a.nodes.length && b.nodes.length ? meet(a.nodes, b.nodes) : meet(a.places, b.places));

function light(keys, style) {
  for (const { e } of index) e.classList.remove(style);
  for (const e of document.querySelectorAll(".edge.hit")) e.classList.remove("hit");
  if (!keys) return [];
  const found = index.filter((x) => related(keys, x));
  for (const { e } of found) e.classList.add(style);
  for (const n of keys.nodes)
    for (const e of document.querySelectorAll(`.edge[data-from="${n.slice(1)}"], .edge[data-to="${n.slice(1)}"]`)) e.classList.add("hit");
  return found;
}

const lookup = (e) => { const at = e.target.closest && e.target.closest("[data-k]"); return at ? index.find((x) => x.e === at) : null; };

document.addEventListener("mouseover", (e) => light(lookup(e), "hit"));
function bring(e) {
  const text = e.closest("pre"), view = e.closest(".view");
  if (!text) e.scrollIntoView({ block: "center", inline: "center" });
  else view.scrollTop += e.getBoundingClientRect().top - view.getBoundingClientRect().top - view.clientHeight / 2;
}

function reveal(found, except) {
  for (const side of ["left", "middle", "right"]) {
    const first = found.find(({ e }) => e.closest("section") === $(side));
    if (first && $(side) !== except) bring(first.e);
  }
}

document.addEventListener("click", (e) => {
  if (!traces.length || e.target.closest("button, select")) return;
  const here = lookup(e);
  pinned = here && { nodes: here.nodes, places: here.places };
  reveal(light(pinned, "pin"), here && here.e.closest("section"));
  remember();
});
document.addEventListener("keydown", (e) => {
  if (e.key === "Escape") { pinned = null; light(null, "pin"); light(null, "hit"); }
  const step = { j: 1, k: -1 }[e.key];
  if (step && traces.length) { current = (current + step + traces.length) % traces.length; pinned = null; show(); }
});

const [folder, key] = decodeURIComponent(location.hash.slice(1)).split("/");
const wanted = traces.findIndex((t) => t.folder === folder);
if (wanted >= 0) current = wanted;
show();
if (key) {
  const seen = index.find((x) => x.nodes.includes(key)) || index.find((x) => x.places.includes(key));
  if (seen) {
    pinned = { nodes: key[0] === "n" ? seen.nodes : [], places: seen.places };
    reveal(light(pinned, "pin"));
  }
} else {
  const first = document.querySelector("#left .linked");
  if (first) bring(first);
}
