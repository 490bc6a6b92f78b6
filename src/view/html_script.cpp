#include "view/html_script.h"

namespace fovea {

// No comparison with the sign that opens a tag, no "and": XML would read them as its own.
const std::string_view kPageScript = R"js('use strict';
(() => {
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const data = JSON.parse(one('#data').textContent);
  const said = one('#said');
  const clamp = (value, most) => Math.max(0, Math.min(most, value));
  const number = (w) => w === null ? 'masked' : w >= 0.01 || 0 >= w ? w.toFixed(2) :
      w >= 0.0001 ? w.toFixed(4) : '\u003c 0.0001';
  const isolated = (text) => '\u2068' + text + '\u2069';
  const weight = (r, c) => data.weights[r][c];

  // The largest weights of a row or a column, in words.
  const largest = (side, i) => {
    const others = side === 'row' ? data.columns : data.rows;
    const own = side === 'row' ? data.rows : data.columns;
    const weights = others.map((_, k) => side === 'row' ? weight(i, k) : weight(k, i));
    const order = others.map((_, k) => k).filter((k) => weights[k] > 0).sort((a, b) => weights[b] - weights[a]);
    const best = order.slice(0, 4).map((k) => isolated(others[k]) + ' ' + number(weights[k]));
    return isolated(own[i]) + (side === 'row' ? ' looks at ' : ' is looked at by ') + (best.join(', ') || 'nothing');
  };

  const heatmap = () => {
    const svg = one('.picture svg'), box = one('.cells').dataset;
    const x = +box.x, y = +box.y, width = +box.width, height = +box.height;
    const bands = { row: one('.band.row'), column: one('.band.column'), cell: one('.band.cell') };
    let r = 0, c = 0;
    const show = (row, column) => {
      r = clamp(row, data.rows.length - 1);
      c = clamp(column, data.columns.length - 1);
      for (const band of Object.values(bands)) band.setAttribute('visibility', 'visible');
      for (const name of ['row', 'cell']) bands[name].setAttribute('y', y + r * height);
      for (const name of ['column', 'cell']) bands[name].setAttribute('x', x + c * width);
      said.textContent = isolated(data.rows[r]) + ' \u2192 ' + isolated(data.columns[c]) + ': ' + number(weight(r, c));
    };
    const hide = () => { for (const band of Object.values(bands)) band.setAttribute('visibility', 'hidden'); };
    svg.addEventListener('pointermove', (event) => {
      const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const row = Math.floor((p.y - y) / height), column = Math.floor((p.x - x) / width);
      const inside = row === clamp(row, data.rows.length - 1) ? column === clamp(column, data.columns.length - 1) : false;
      if (inside) show(row, column); else if (document.activeElement !== svg) hide();
    });
    svg.addEventListener('pointerleave', () => { if (document.activeElement !== svg) hide(); });
    svg.setAttribute('tabindex', '0');
    svg.addEventListener('focus', () => show(r, c));
    svg.addEventListener('blur', hide);
    const ways = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    svg.addEventListener('keydown', (event) => {
      const way = ways[event.key];
      if (!way) return;
      event.preventDefault();
      show(r + way[0], c + way[1]);
    });
  };

  // Words that can be pointed at, focused or pressed; a pressed one stays.
  const pickable = (words, pick) => {
    let held = null;
    const mark = (word) => {
      for (const w of words) w.classList.toggle('picked', w === word);
      pick(word);
    };
    for (const word of words) {
      word.setAttribute('aria-pressed', 'false');
      const press = () => {
        held = held === word ? null : word;
        for (const w of words) w.setAttribute('aria-pressed', String(w === held));
        mark(held || word);
      };
      word.addEventListener('pointerenter', () => mark(word));
      word.addEventListener('pointerleave', () => mark(held));
      word.addEventListener('focus', () => mark(word));
      word.addEventListener('blur', () => mark(held));
      word.addEventListener('click', press);
      word.addEventListener('keydown', (event) => {
        if (event.key === 'Escape') { held = null; mark(null); }
        if (word.tagName === 'BUTTON') return;
        if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); press(); }
      });
    }
  };

  const flow = () => {
    const svg = one('.picture svg'), links = all('.link[data-row]');
    pickable(all('.word'), (word) => {
      svg.classList.toggle('picking', word !== null);
      if (word === null) return;
      const side = word.dataset.side, i = word.dataset.index;
      for (const link of links) link.classList.toggle('picked', link.dataset[side] === i);
      said.textContent = largest(side, +i);
    });
  };

  const highlight = () => {
    const words = all('.pair button');
    one('.pair').hidden = false;
    pickable(words, (word) => {
      for (const other of words) other.style.removeProperty('--share');
      if (word === null) return;
      const side = word.dataset.side, i = +word.dataset.index;
      for (const other of words) {
        if (other.dataset.side === side) continue;
        const k = +other.dataset.index, w = side === 'row' ? weight(i, k) : weight(k, i);
        const part = Math.min(1, (w || 0) / data.largest);
        const share = data.scale === 'sqrt' ? Math.sqrt(part) :
            data.scale === 'log' ? Math.max(0, 1 + Math.log10(Math.max(part, 0.001)) / 3) : part;
        other.style.setProperty('--share', (100 * share).toFixed(1) + '%');
        other.classList.toggle('strong', share > 0.4);
      }
      for (const other of words) if (other.dataset.side === side) other.classList.remove('strong');
      said.textContent = largest(side, i);
    });
  };

  const steps = () => {
    const svg = one('.picture svg'), frames = all('.frame'), slider = one('#step');
    const play = one('#play'), whole = svg.getAttribute('viewBox'), height = svg.getAttribute('height');
    const width = svg.getAttribute('width'), room = () => one('.picture').clientWidth;
    let at = 0, timer = 0, film = true;
    const draw = () => {
      frames.forEach((frame, i) => frame.setAttribute('visibility', !film || i === at ? 'visible' : 'hidden'));
      const box = frames[at].dataset;
      svg.setAttribute('viewBox', film ? [0, +box.y + 1, width, box.height].join(' ') : whole);
      const times = film ? Math.max(0.75, Math.min(1.5, room() / width)) : 1;
      svg.setAttribute('width', width * times);
      svg.setAttribute('height', film ? box.height * times : height);
      slider.value = at + 1;
      slider.setAttribute('aria-valuetext', 'step ' + (at + 1) + ' of ' + frames.length + ': ' + data.rows[at]);
      one('#where').textContent = (at + 1) + ' / ' + frames.length;
      said.textContent = data.steps[at];
      play.textContent = timer ? 'Pause' : 'Play';
      one('#whole').textContent = film ? 'All steps' : 'One step';
    };
    const stop = () => { clearInterval(timer); timer = 0; };
    const go = (to) => { at = clamp(to, frames.length - 1); film = true; draw(); };
    const next = () => { if (at + 1 === frames.length) { stop(); draw(); } else go(at + 1); };
    play.addEventListener('click', () => {
      if (timer) { stop(); draw(); return; }
      if (at + 1 === frames.length) at = 0;
      timer = setInterval(next, 900);
      go(at);
    });
    slider.addEventListener('input', () => { stop(); go(+slider.value - 1); });
    one('#back').addEventListener('click', () => { stop(); go(at - 1); });
    one('#next').addEventListener('click', () => { stop(); go(at + 1); });
    one('#whole').addEventListener('click', () => { stop(); film = !film; draw(); });
    document.addEventListener('keydown', (event) => {
      if (event.target === slider) return;
      const way = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0;
      if (way === 0 || event.target.classList.contains('picture')) return;
      event.preventDefault();
      stop();
      go(at + way);
    });
    addEventListener('resize', draw);
    one('.player').hidden = false;
    draw();
  };

  ({ heatmap, highlight, flow, steps, heads: () => {} })[data.view]();
})();
)js";

const std::string_view kPageScriptHash = "sha256-A2YmAt8gVMgCIZXLGkR5+5iwMYfe63viDnLIzIIXYx4=";

const std::string_view kLightPage =
    ":root{color-scheme:light;--paper:#fff;--ink:#1b1f24;--faint:#5b6570;--rule:#cdd3da;--link:#2b6cb0;--pen:#fee838}";
const std::string_view kDarkPage =
    ":root{color-scheme:dark;--paper:#14171c;--ink:#e6e9ed;--faint:#98a2ad;--rule:#3a414b;--link:#7fb2ea;--pen:#"
    "fee838}";

const std::string_view kPageStyle = R"css(
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI','Noto Sans','DejaVu Sans',sans-serif}
main{max-width:1200px;margin:0 auto;padding:24px 20px 48px}
h1{font-size:20px;line-height:1.3;margin:0 0 4px;overflow-wrap:anywhere}
.how{color:var(--faint);margin:0}
.picture{overflow-x:auto;max-width:100%}
.picture svg{display:block;margin-left:-20px}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
#said{min-height:1.5em;margin:6px 0 10px;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.band{stroke:#fff;filter:drop-shadow(0 0 1px #000)}
.band.cell{stroke-width:2}
.picture svg:focus-visible{outline:none}
.word{cursor:pointer}
.word:focus-visible{outline:none}
.word:focus-visible .target,.word.picked .target{fill:var(--pen);fill-opacity:.35}
.picking .link[data-row]{fill-opacity:.04}
.picking .link.picked{fill-opacity:.85}
.pair{display:grid;grid-template-columns:auto 1fr;gap:10px 14px;margin:16px 0 4px;align-items:baseline}
.pair[hidden],.player[hidden]{display:none}
.pair h2{font-size:13px;font-weight:400;color:var(--faint);margin:0}
.pair p{margin:0;justify-self:start;line-height:2}
.pair button{font:inherit;font-size:17px;color:inherit;border:0;border-radius:4px;padding:1px 3px;cursor:pointer;
background:color-mix(in srgb,var(--pen) var(--share,0%),transparent)}
.pair button.strong{color:#000}
.pair button.picked{box-shadow:inset 0 -3px var(--link);font-weight:600}
.pair .mark{color:var(--faint)}
.player{display:flex;flex-wrap:wrap;gap:8px 12px;align-items:center;margin:12px 0}
.player button{font:inherit;color:inherit;background:none;border:1px solid var(--rule);border-radius:6px;padding:5px 12px;min-width:44px;min-height:36px;cursor:pointer}
.player button:hover{border-color:var(--link)}
.player input{flex:1 1 140px;min-width:100px;accent-color:var(--link)}
#where{font-variant-numeric:tabular-nums;color:var(--faint)}
details{margin-top:20px;border-top:1px solid var(--rule);padding-top:12px}
summary{cursor:pointer;color:var(--faint)}
.numbers{overflow:auto;max-height:70vh;margin-top:12px}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}
caption{text-align:start;color:var(--faint);padding:8px 0}
th,td{padding:3px 8px;border-bottom:1px solid var(--rule);text-align:end;white-space:nowrap}
th{font-weight:600}
td.absent{color:var(--faint)}
@media (prefers-reduced-motion:no-preference){.link{transition:fill-opacity .15s}.pair button{transition:background-color .15s}}
@media (max-width:600px){main{padding:16px 12px 32px}.pair{grid-template-columns:1fr;gap:2px}}
)css";

}  // namespace fovea
