// Where the time went: a lane for each agent, with the time of models and tools in it. Long pauses are squeezed.
import { laneName } from './branches.js';
import { duration, plural } from './words.js';

const LANE = 18;
const MOST_LANES = 8;
const LONG_PAUSE = 0.12; // of the whole time
const SQUEEZED = 0.025; // of the width

export function timeLanes(page) {
  const { heads } = page;
  const timed = heads.at.map((at, place) => place).filter((place) => heads.at[place] != null);
  if (timed.length < 2) return null;
  const until = (place) => Math.max(heads.ended[place] ?? heads.at[place], heads.at[place]);
  const start = timed.reduce((least, place) => Math.min(least, heads.at[place]), Infinity);
  const end = timed.reduce((most, place) => Math.max(most, until(place)), -Infinity);
  if (!(end > start)) return null;
  const laneOf = new Map();
  for (const place of timed) {
    const name = laneName(page, place);
    if (!laneOf.has(name)) laneOf.set(name, Math.min(laneOf.size, MOST_LANES - 1));
  }
  const lanes = Math.min(laneOf.size, MOST_LANES);
  const pauses = longPauses(timed, heads, until, end - start);
  const scale = squeezed(start, end, pauses);

  function draw(pen, width, colour) {
    const colours = { user: colour('user'), agent: colour('agent'), bad: colour('bad'), tool: colour('tool'), sunken: colour('sunken'), line: colour('line-strong') };
    for (let lane = 0; lane < lanes; lane += 1) {
      pen.fillStyle = colours.sunken;
      pen.fillRect(0, lane * LANE + 2, width, LANE - 4);
    }
    for (const place of timed) {
      const top = laneOf.get(laneName(page, place)) * LANE + 2;
      const from = scale(heads.at[place]) * width;
      const to = Math.max(scale(until(place)) * width, from + 2);
      const tools = heads.tool_seconds[place] ? Math.min(to - from, (heads.tool_seconds[place] / Math.max(until(place) - heads.at[place], 1e-9)) * (to - from)) : 0;
      pen.fillStyle = heads.role[place] === 'user' ? colours.user : colours.agent;
      pen.fillRect(from, top, to - from, LANE - 4);
      pen.fillStyle = heads.failed[place] ? colours.bad : colours.tool;
      if (tools) pen.fillRect(to - tools, top, tools, LANE - 4);
      else if (heads.failed[place]) pen.fillRect(from, top, to - from, LANE - 4);
    }
    pen.strokeStyle = colours.line;
    pen.setLineDash([2, 3]);
    for (const [from, to] of pauses) {
      for (const edge of [from, to]) {
        const x = Math.round(scale(edge) * width) + 0.5;
        pen.beginPath();
        pen.moveTo(x, 0);
        pen.lineTo(x, lanes * LANE + 4);
        pen.stroke();
      }
    }
  }

  function nearest(share, y) {
    const lane = Math.floor((y - 2) / LANE);
    let best = timed[0];
    let least = Infinity;
    for (const place of timed) {
      const [from, to] = [scale(heads.at[place]), scale(until(place))];
      const far = (share < from ? from - share : share > to ? share - to : 0) + (laneOf.get(laneName(page, place)) === lane ? 0 : 0.01);
      if (far < least) [least, best] = [far, place];
    }
    return best;
  }

  const names = [...laneOf.keys()].slice(0, MOST_LANES);
  return {
    height: lanes * LANE + 4, lane: LANE, lanes: lanes > 1 ? names : [], draw, nearest,
    words: 'time axis: ' + duration(end - start) + ' in all, ' + plural(lanes, 'lane'),
    legend: [['agent', 'model'], ['tool', 'tools'], ...(heads.failed.some(Boolean) ? [['bad', 'errors']] : []), ...(pauses.length ? [['pause', plural(pauses.length, 'pause') + ' squeezed']] : [])],
    sum: duration(end - start),
    x: (place) => (heads.at[place] == null ? null : scale(heads.at[place])),
    tip: (place) => '#' + (place + 1) + ' ' + (heads.tools[place].join(', ') || heads.role[place]) + ' · +' + duration(heads.at[place] - start) + (until(place) > heads.at[place] ? ' · took ' + duration(until(place) - heads.at[place]) : ''),
  };
}

// Times in which nothing at all happened, long enough to make all else too small to see.
function longPauses(timed, heads, until, whole) {
  const found = [];
  let busyUntil = -Infinity;
  for (const place of [...timed].sort((one, two) => heads.at[one] - heads.at[two])) {
    const gap = heads.at[place] - busyUntil;
    if (Number.isFinite(gap) && gap > whole * LONG_PAUSE && gap > 5) found.push([busyUntil, heads.at[place]]);
    busyUntil = Math.max(busyUntil, until(place));
  }
  return found;
}

// A time as a share of the width, with the pauses made narrow.
function squeezed(start, end, pauses) {
  const idle = pauses.reduce((sum, [from, to]) => sum + to - from, 0);
  const busy = Math.max(end - start - idle, 1e-9);
  const room = 1 - pauses.length * SQUEEZED;
  return (at) => {
    let shares = 0;
    let active = at - start;
    for (const [from, to] of pauses) {
      if (at <= from) break;
      active -= Math.min(at, to) - from;
      shares += (Math.min(at, to) - from) / (to - from) * SQUEEZED;
    }
    return (active / busy) * room + shares;
  };
}
