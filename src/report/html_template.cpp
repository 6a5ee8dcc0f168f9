// SPDX-License-Identifier: BSD-3-Clause
#include "html_template.h"

namespace gradfuzz::report {

const char* const kHtmlStyle = R"css(
:root {
  color-scheme: light dark;
  --bg: #fff; --fg: #1b1f24; --soft: #57606a; --line: #d5dae0; --panel: #f5f7f9;
  --bad: #b3261e; --good: #1a6b3c; --warn: #7d5700; --link: #0b57d0; --mark: #d81b60;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #14171a; --fg: #e4e7ea; --soft: #9aa4ae; --line: #343b42; --panel: #1d2226;
    --bad: #ff8f86; --good: #6fd08c; --warn: #e3b341; --link: #8ab4f8; --mark: #ff5c93;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body {
  margin: 0 auto; max-width: 74rem; padding: 1rem; background: var(--bg); color: var(--fg);
  font: 15px/1.45 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
h1 { font-size: 1.5rem; margin: 0 0 .2rem; line-height: 1.2; }
h2 { font-size: 1.15rem; margin: 1.8rem 0 .6rem; }
h3 { font-size: .95rem; margin: 1.2rem 0 .4rem; }
p { margin: .4rem 0; }
a { color: var(--link); }
.soft { color: var(--soft); }
.bad { color: var(--bad); font-weight: 600; }
.light { font-weight: 400; }
.good { color: var(--good); }
.warn { color: var(--warn); }
code, pre, .mono { font-family: ui-monospace, "SF Mono", "DejaVu Sans Mono", Menlo, monospace; }
code { overflow-wrap: anywhere; font-size: .88em; }
pre {
  background: var(--panel); border: 1px solid var(--line); border-radius: 6px; margin: 0;
  padding: .6rem .8rem; overflow-x: auto; font-size: 13px; line-height: 1.4;
}
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(7.3rem, 1fr)); gap: .6rem; margin: 1rem 0; padding: 0; list-style: none; }
.tiles li { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .5rem .7rem; }
.tiles b { display: block; white-space: nowrap; font-size: 1.2rem; line-height: 1.25; font-variant-numeric: tabular-nums; }
.tiles span { color: var(--soft); font-size: .82rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .87rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.result, td.result code { white-space: nowrap; overflow-wrap: normal; }
table.rungs td, table.rungs code { white-space: nowrap; overflow-wrap: normal; }
table.findings { width: 100%; }
table.findings tr:hover td, table.findings tr:focus-within td { background: var(--panel); }
.filter { display: flex; gap: .8rem; flex-wrap: wrap; align-items: center; margin: .4rem 0; }
.filter input[type=search] {
  flex: 1 1 14rem; max-width: 26rem; padding: .4rem .6rem; font: inherit; color: inherit;
  background: var(--bg); border: 1px solid var(--soft); border-radius: 6px;
}
.tag { display: inline-block; border: 1px solid currentColor; border-radius: 4px; padding: 0 .35rem; font-size: .78rem; font-weight: 600; }
details.finding { border: 1px solid var(--line); border-radius: 8px; margin: .8rem 0; }
details.finding > summary { padding: .6rem .8rem; cursor: pointer; font-weight: 600; overflow-wrap: anywhere; }
details.finding > div { padding: 0 .8rem .9rem; }
summary { cursor: pointer; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 1px; border-radius: 3px; }
.columns { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 1.4rem; }
.code { position: relative; }
.code button { position: absolute; top: .35rem; right: .35rem; }
.code.head pre { padding-top: .6rem; }
button {
  font: inherit; font-size: .82rem; color: var(--fg); background: var(--bg); cursor: pointer;
  border: 1px solid var(--soft); border-radius: 5px; padding: .15rem .6rem;
}
button:hover { border-color: var(--fg); }
.maps { display: flex; flex-wrap: wrap; gap: .4rem 1.4rem; }
.maps figure { margin: 0; width: min-content; min-width: 8.2rem; }
.maps figcaption { font-size: .82rem; color: var(--soft); margin-bottom: .2rem; }
svg.heat { max-width: 100%; height: auto; display: block; }
svg.heat text { font: 11px ui-monospace, "DejaVu Sans Mono", monospace; text-anchor: middle; dominant-baseline: central; pointer-events: none; }
svg.heat text.small { font-size: 9px; }
svg.heat .wrong { fill: none; stroke: var(--mark); stroke-width: 3; }
svg.rate { width: 100%; max-width: 34rem; height: auto; display: block; }
svg.rate text { font: 9px system-ui, "DejaVu Sans", sans-serif; fill: var(--soft); }
svg.rate .grid { stroke: var(--line); stroke-width: .7; }
svg.rate .line { fill: none; stroke: var(--link); stroke-width: 1.6; stroke-linejoin: round; }
svg.rate .event { stroke: var(--mark); stroke-width: .8; stroke-dasharray: 2 2; }
svg.rate .mark { fill: var(--mark); }
.key { width: 1.1rem; height: .8rem; display: inline-block; border: 1px solid var(--line); vertical-align: -.1em; }
.key.framed { border: 2px solid var(--mark); }
.yields { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 0 1.6rem; align-items: start; }
.yields table { width: 100%; }
dl { display: grid; grid-template-columns: fit-content(11rem) minmax(0, 1fr); gap: .15rem .9rem; margin: .4rem 0; font-size: .87rem; }
dt { color: var(--soft); overflow-wrap: anywhere; }
dd { margin: 0; overflow-wrap: anywhere; }
kbd { border: 1px solid var(--line); border-radius: 3px; padding: 0 .3rem; font-size: .78rem; font-family: inherit; }
[hidden] { display: none !important; }
@media (max-width: 52rem) {
  .columns { grid-template-columns: minmax(0, 1fr); }
}
@media (max-width: 40rem) {
  body { padding: .7rem; }
  .wide { display: none; }
  th, td { padding: .3rem .4rem; }
  .tiles { grid-template-columns: repeat(3, 1fr); gap: .4rem; }
  .tiles li { padding: .4rem .5rem; }
  .tiles b { font-size: 1.05rem; }
  .keys { display: none; }
}
@media print {
  .filter, button { display: none; }
}
)css";

const char* const kHtmlScript = R"js(
"use strict";
(() => {
  const rows = [...document.querySelectorAll("table.findings tbody tr")];
  const filter = document.getElementById("filter");
  const known = document.getElementById("known");
  const shown = document.getElementById("shown");
  const visible = () => rows.filter((row) => !row.hidden);

  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase() + " " + row.dataset.words.toLowerCase();
      row.hidden = (row.dataset.known === "1" && !known.checked) || !words.every((w) => text.includes(w));
    }
    shown.textContent = visible().length + " of " + rows.length + " shown";
  };
  if (filter) {
    document.querySelector(".filter").hidden = false;
    filter.addEventListener("input", apply);
    known.addEventListener("change", apply);
    apply();
  }

  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !target.matches("details")) return;
    target.open = true;
    target.scrollIntoView();
    target.querySelector("summary").focus({ preventScroll: true });
  };
  addEventListener("hashchange", open);
  open();

  const move = (step) => {
    const list = visible();
    const at = list.indexOf(document.activeElement.closest ? document.activeElement.closest("tr") : null);
    const next = list[at < 0 ? 0 : Math.min(Math.max(at + step, 0), list.length - 1)];
    if (next) next.querySelector("a[href^='#']").focus();
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = /^(input|textarea|select)$/i.test(document.activeElement.tagName) && document.activeElement.type !== "checkbox";
    if (event.key === "Escape" && document.activeElement === filter) {
      filter.value = "";
      apply();
      filter.blur();
    } else if (event.key === "ArrowDown" && document.activeElement === filter) {
      event.preventDefault();
      move(0);
    } else if (typing) {
      return;
    } else if (event.key === "/" && filter) {
      event.preventDefault();
      filter.focus();
    } else if (event.key === "j") {
      move(1);
    } else if (event.key === "k") {
      move(-1);
    }
  });

  const select = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  };
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy);
      const label = button.textContent;
      let done = false;
      try {
        await navigator.clipboard.writeText(source.textContent);
        done = true;
      } catch {
        const details = source.closest("details");
        if (details) details.open = true;
        select(source);
        done = document.execCommand("copy");
      }
      button.textContent = done ? "copied" : "selected: press Ctrl+C";
      setTimeout(() => { button.textContent = label; }, 1500);
    });
  }
})();
)js";

}  // namespace gradfuzz::report
