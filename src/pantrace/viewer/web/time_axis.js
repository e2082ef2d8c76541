// Where the time went: a lane for each agent, model and tool time in it; a click leads to the step.
import { h } from './dom.js';
import { duration } from './words.js';

const LANE = 18;
const MOST_LANES = 8;

export function timeAxis(page, go) {
  const { heads } = page;
  const timed = heads.at.map((at, place) => place).filter((place) => heads.at[place] != null);
  if (timed.length < 2) return null;
  const ends = timed.map((place) => heads.ended[place] ?? heads.at[place]);
  const start = timed.reduce((least, place) => Math.min(least, heads.at[place]), Infinity);
  const end = ends.reduce((most, at) => Math.max(most, at), -Infinity);
  if (!(end > start)) return null;
  const laneOf = new Map();
  for (const place of timed) {
    const name = laneName(page, place);
    if (!laneOf.has(name)) laneOf.set(name, Math.min(laneOf.size, MOST_LANES - 1));
  }
  const lanes = Math.min(laneOf.size, MOST_LANES);
  const canvas = h('canvas.axis', { role: 'img', tabindex: '0', 'aria-label': 'time axis: ' + duration(end - start) + ' in all, ' + lanes + ' lanes' });
  canvas.style.height = lanes * LANE + 4 + 'px';
  const tip = h('span.tip', { 'aria-hidden': 'true' });
  // An element of its own: drawing thousands of steps again for each one passed would be slow.
  const cursor = h('span.cursor', { 'aria-hidden': 'true' });
  const x = (at, width) => ((at - start) / (end - start)) * width;

  function draw() {
    const width = canvas.clientWidth;
    if (!width) return;
    const scale = devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = (lanes * LANE + 4) * scale;
    const pen = canvas.getContext('2d');
    pen.scale(scale, scale);
    const style = getComputedStyle(canvas);
    const colour = (name) => style.getPropertyValue('--' + name);
    const colours = { user: colour('user'), agent: colour('agent'), bad: colour('bad'), tool: colour('tool') };
    for (let lane = 0; lane < lanes; lane += 1) {
      pen.fillStyle = colour('sunken');
      pen.fillRect(0, lane * LANE + 2, width, LANE - 4);
    }
    timed.forEach((place, order) => {
      const top = (laneOf.get(laneName(page, place)) ?? 0) * LANE + 2;
      const from = x(heads.at[place], width);
      const until = Math.max(x(ends[order], width), from + 1.5);
      const tools = heads.tool_seconds[place] ? Math.min(until - from, (heads.tool_seconds[place] / (end - start)) * width) : 0;
      pen.fillStyle = heads.role[place] === 'user' ? colours.user : colours.agent;
      pen.fillRect(from, top, until - from, LANE - 4);
      pen.fillStyle = heads.failed[place] ? colours.bad : colours.tool;
      if (tools) pen.fillRect(until - tools, top, tools, LANE - 4);
      else if (heads.failed[place]) pen.fillRect(from, top, until - from, LANE - 4);
    });
  }

  function nearest(event) {
    const width = canvas.clientWidth;
    const lane = Math.floor((event.offsetY - 2) / LANE);
    let best = timed[0];
    let least = Infinity;
    timed.forEach((place, order) => {
      const from = x(heads.at[place], width);
      const until = Math.max(x(ends[order], width), from + 1.5);
      const far = event.offsetX < from ? from - event.offsetX : event.offsetX > until ? event.offsetX - until : 0;
      const off = far + (laneOf.get(laneName(page, place)) === lane ? 0 : 8);
      if (off < least) [least, best] = [off, place];
    });
    return best;
  }

  canvas.addEventListener('click', (event) => go(nearest(event)));
  canvas.addEventListener('mousemove', (event) => {
    const place = nearest(event);
    tip.textContent = '#' + (place + 1) + ' ' + (heads.tools[place].join(', ') || heads.role[place]) + ' +' + duration(heads.at[place] - start);
    tip.style.left = Math.min(event.offsetX, canvas.clientWidth - 160) + 'px';
    tip.classList.add('shown');
  });
  canvas.addEventListener('mouseleave', () => tip.classList.remove('shown'));
  new ResizeObserver(draw).observe(canvas);
  const names = [...laneOf.keys()].slice(0, MOST_LANES);
  const box = h('div.time', {},
    lanes > 1 ? h('div.lane-names', {}, names.map((name) => h('span', { style: { height: LANE + 'px' } }, name))) : null,
    h('div.axis-box', {}, canvas, cursor, tip),
    h('div.axis-legend', {}, h('span.dot.agent', {}, 'model'), h('span.dot.tool', {}, 'tools'), h('span.dot.bad', {}, 'errors'), h('span', {}, duration(end - start))));
  const at = (place) => {
    if (heads.at[place] != null) cursor.style.left = x(heads.at[place], 100) + '%';
  };
  at(0);
  return { element: box, at, redraw: draw };
}

function laneName(page, place) {
  const branch = page.branches?.[page.heads.branch[place]];
  return page.heads.branch[place] === 0 ? page.heads.agent[place] || 'agent' : branch?.title || branch?.agents?.[0]?.name || page.heads.agent[place] || branch?.id || 'sub-agent';
}
