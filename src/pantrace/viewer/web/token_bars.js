// Where the tokens went: a bar for each model call, what came from a cache paler, and what it cost so far as a line.
import { compact, count, money } from './words.js';

const HEIGHT = 46;
const WIDEST = 0.08; // of the width: two bars must not look like two walls

export function tokenBars(page) {
  const { heads } = page;
  const calls = heads.input.map((given, place) => place).filter((place) => heads.input[place] != null || heads.output[place] != null);
  if (calls.length < 2) return null;
  const input = (place) => heads.input[place] || 0;
  const output = (place) => heads.output[place] || 0;
  const most = calls.reduce((found, place) => Math.max(found, input(place) + output(place)), 1);
  const priced = calls.some((place) => heads.cost[place] != null);
  const sums = new Map();
  let sum = 0;
  for (const place of calls) {
    sum += priced ? heads.cost[place] || 0 : input(place) + output(place);
    sums.set(place, sum);
  }
  const order = new Map(calls.map((place, at) => [place, at]));
  const step = Math.min(1 / calls.length, WIDEST);
  const compactions = heads.kind.map((kind, place) => place).filter((place) => heads.kind[place] === 'compaction');

  // Rows without tokens stand where the next call does.
  const x = (place) => {
    const at = order.get(place) ?? calls.findIndex((each) => each >= place);
    return at < 0 ? calls.length * step : at * step;
  };

  function draw(pen, width, colour) {
    const room = HEIGHT - 6;
    const [agent, tool, quiet, warn, good] = ['agent', 'tool', 'quiet', 'warn', 'good'].map(colour);
    const bar = Math.max(1, step * width - (step * width > 4 ? 2 : 0));
    for (const place of calls) {
      const left = x(place) * width;
      const high = (input(place) / most) * room;
      const cached = Math.min(high, ((heads.cached[place] || 0) / most) * room);
      const out = Math.max(output(place) ? 1.5 : 0, (output(place) / most) * room);
      pen.fillStyle = agent;
      pen.globalAlpha = 0.35;
      pen.fillRect(left, HEIGHT - 2 - cached, bar, cached);
      pen.globalAlpha = 1;
      pen.fillRect(left, HEIGHT - 2 - high, bar, high - cached);
      pen.fillStyle = tool;
      pen.fillRect(left, HEIGHT - 2 - high - out, bar, out);
    }
    pen.strokeStyle = warn;
    pen.setLineDash([3, 3]);
    for (const place of compactions) line(pen, [[x(place) * width, 0], [x(place) * width, HEIGHT]]);
    pen.setLineDash([]);
    pen.strokeStyle = priced ? good : quiet;
    pen.lineWidth = 1.5;
    line(pen, calls.map((place) => [x(place) * width + bar / 2, HEIGHT - 2 - (sums.get(place) / (sum || 1)) * room]));
  }

  return {
    height: HEIGHT, lane: HEIGHT, lanes: [], draw, x,
    nearest: (share) => calls[Math.max(0, Math.min(calls.length - 1, Math.floor(share / step)))],
    words: 'tokens of ' + count(calls.length) + ' model calls, at most ' + count(most),
    legend: [['agent', 'input'], ...(calls.some((place) => heads.cached[place]) ? [['cached', 'from cache']] : []), ['tool', 'output'], [priced ? 'good line' : 'line', priced ? 'cost so far' : 'tokens so far'], ...(compactions.length ? [['warn', 'compaction']] : [])],
    sum: priced ? money(sum, page.estimated) : compact(sum),
    tip: (place) => '#' + (place + 1) + ' · ' + count(heads.input[place] ?? 0) + ' in' + (heads.cached[place] ? ' (' + count(heads.cached[place]) + ' cached)' : '') + ', ' + count(heads.output[place] ?? 0) + ' out · so far ' + (priced ? money(sums.get(place)) : compact(sums.get(place)) + ' tokens'),
  };
}

function line(pen, points) {
  pen.beginPath();
  points.forEach(([left, top], at) => (at ? pen.lineTo(left, top) : pen.moveTo(left, top)));
  pen.stroke();
}
