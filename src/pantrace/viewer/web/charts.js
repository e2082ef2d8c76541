// Small pictures of numbers: intervals, shares, distributions.
import { h, svg } from './dom.js';
import { count, number, percent } from './words.js';

export function shareBar(statuses) {
  const order = ['passed', 'failed', 'error', 'limit', 'cancelled', 'undecided', 'unscored', 'none'];
  const total = Object.values(statuses).reduce((sum, each) => sum + each, 0);
  if (!total || statuses.none === total) return null;
  return h('span.shares', { role: 'img', 'aria-label': order.filter((name) => statuses[name]).map((name) => statuses[name] + ' ' + name).join(', ') },
    order.filter((name) => statuses[name]).map((name) => h('span', { class: name, title: count(statuses[name]) + ' ' + name, style: { width: (statuses[name] / total) * 100 + '%' } })));
}

// A mean with its interval on its scale.
export function intervalBar(measure) {
  const { value, low, high } = measure;
  if (typeof value !== 'number') return null;
  const from = measure.scale_low ?? (measure.share ? 0 : Math.min(0, low ?? value));
  const to = measure.scale_high ?? (measure.share ? 1 : Math.max(high ?? value, value) * 1.15);
  if (!(to > from)) return null;
  const x = (each) => Math.max(0, Math.min(100, ((each - from) / (to - from)) * 100));
  return svg('svg', { class: 'interval', viewBox: '0 0 100 12', preserveAspectRatio: 'none', role: 'img', 'aria-label': number(value) + (low != null ? ', 95 % interval ' + number(low) + ' to ' + number(high) : '') },
    svg('rect', { x: 0, y: 4, width: 100, height: 4, class: 'track', rx: 2 }),
    low != null ? svg('rect', { x: x(low), y: 3, width: Math.max(0.5, x(high) - x(low)), height: 6, class: 'range', rx: 1 }) : svg('rect', { x: 0, y: 4, width: x(value), height: 4, class: 'range', rx: 2 }),
    svg('line', { x1: x(value), x2: x(value), y1: 1, y2: 11, class: 'tick' }));
}

export function passRate(run) {
  const passed = run.statuses.passed || 0;
  const known = passed + (run.statuses.failed || 0) + (run.statuses.error || 0) + (run.statuses.limit || 0);
  return known ? passed / known : null;
}

// How values spread: bins for numbers, one bar for each word.
export function histogram(values, onpick) {
  const numbers = values.filter((value) => typeof value === 'number');
  const others = values.filter((value) => value !== null && value !== undefined && typeof value !== 'number');
  const bars = numbers.length > others.length ? bins(numbers) : wordBars(others);
  if (!bars.length) return null;
  const most = Math.max(...bars.map((bar) => bar.count));
  return h('div.histogram', { class: bars.length <= 8 ? 'few' : '', role: 'group', 'aria-label': bars.map((bar) => bar.name + ': ' + bar.count).join(', ') },
    bars.map((bar) => h('button.bin', { type: 'button', title: bar.name + ': ' + count(bar.count) + ' (' + percent(bar.count / values.length) + ')', onclick: () => onpick?.(bar) },
      h('span.stick', { style: { height: Math.max(2, (bar.count / most) * 56) + 'px' } }), h('span.name', {}, bar.label))));
}

function wordBars(values) {
  const found = new Map();
  for (const value of values) found.set(value, (found.get(value) || 0) + 1);
  return [...found].sort((one, two) => two[1] - one[1]).slice(0, 12).map(([value, times]) => ({ name: number(value), label: number(value), count: times, equals: value }));
}

function bins(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const distinct = new Set(values.slice(0, 5000));
  if (distinct.size <= 8 && values.length <= 5000) {
    return [...distinct].sort((one, two) => one - two).map((each) => ({ name: number(each), label: number(each), count: values.filter((value) => value === each).length, low: each, high: each }));
  }
  const size = 14;
  const step = (high - low) / size;
  const found = Array.from({ length: size }, (_, place) => ({ low: low + place * step, high: low + (place + 1) * step, count: 0 }));
  for (const value of values) found[Math.min(size - 1, Math.floor((value - low) / step))].count += 1;
  return found.map((bin, place) => ({ ...bin, name: number(bin.low) + ' to ' + number(bin.high), label: place === 0 ? number(bin.low) : place === size - 1 ? number(bin.high) : '' }));
}
