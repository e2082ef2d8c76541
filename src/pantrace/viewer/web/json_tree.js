// JSON as a tree that opens where one looks; JSON inside strings opens, too.
import { h } from './dom.js';
import { Cut } from './source.js';
import { count } from './words.js';

const AT_ONCE = 100;
const SHORT = 240;

export function jsonIn(text) {
  const start = text.trimStart()[0];
  if ((start !== '{' && start !== '[') || text.length > 2000000) return undefined;
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null && exact(text) ? value : undefined;
  } catch {
    return undefined;
  }
}

// Whole numbers that a browser would round stay text.
function exact(text) {
  return !/[\s:[,]-?\d{16,}/.test(text);
}

export function tree(value, { open = 2, cut } = {}) {
  const members = value && typeof value === 'object' && !Array.isArray(value) && !(value instanceof Cut) ? Object.entries(value) : [];
  // The outermost braces say nothing.
  if (members.length && members.length <= AT_ONCE && open > 0) return h('div.tree', {}, members.map(([name, each]) => member(name, each, open - 1, cut)));
  return h('div.tree', {}, member(null, value, open, cut));
}

function member(name, value, open, cut) {
  const label = name === null ? null : [h('span.key', {}, name), h('span.colon', {}, ': ')];
  if (value instanceof Cut) {
    if (value.number !== undefined) return h('div.leaf', {}, label, h('span.number', {}, value.number));
    return h('div.leaf', {}, label, cut ? cut(value) : value.head);
  }
  if (value === null || typeof value !== 'object') return leaf(label, value, open);
  const entries = Array.isArray(value) ? value.map((each, place) => [place, each]) : Object.entries(value);
  if (!entries.length) return h('div.leaf', {}, label, h('span.punctuation', {}, Array.isArray(value) ? '[]' : '{}'));
  const flat = oneLine(value);
  if (flat !== null && name !== null) return h('div.leaf', {}, label, h('span.flat', {}, flat));
  const body = h('div.members');
  const fill = () => {
    if (!body.childElementCount) more(body, entries, 0, open - 1, cut);
  };
  const summary = h('summary', {}, label, h('span.punctuation', {}, (Array.isArray(value) ? '[ ' : '{ ') + count(entries.length) + (Array.isArray(value) ? ' ]' : ' }')));
  const shown = h('details', { open: open > 0, ontoggle: () => shown.open && fill() }, summary, body);
  if (open > 0) fill();
  return shown;
}

function more(body, entries, from, open, cut) {
  body.append(...entries.slice(from, from + AT_ONCE).map(([name, each]) => member(String(name), each, open, cut)));
  if (entries.length > from + AT_ONCE) {
    const button = h('button.link', { type: 'button', onclick: () => {
      button.remove();
      more(body, entries, from + AT_ONCE, 0, cut);
    } }, 'show ' + count(Math.min(AT_ONCE, entries.length - from - AT_ONCE)) + ' more of ' + count(entries.length));
    body.append(button);
  }
}

// A short list of plain values reads best as one line.
function oneLine(value) {
  if (!Array.isArray(value) || value.some((each) => typeof each === 'object' && each !== null) || value.length > 8) return null;
  const text = JSON.stringify(value);
  return text.length < 70 ? text.replaceAll(',', ', ') : null;
}

function leaf(label, value, open) {
  if (typeof value !== 'string') return h('div.leaf', {}, label, h('span', { class: value === null ? 'null' : typeof value }, String(value)));
  const inside = value.length < 200000 ? jsonIn(value) : undefined;
  if (inside !== undefined) {
    const inner = h('div.members');
    const shown = h('details', { open: open > 0, ontoggle: () => {
      if (shown.open && !inner.childElementCount) inner.append(tree(inside, { open: 1 }));
    } }, h('summary', {}, label, h('span.string', {}, 'JSON text, ' + count(value.length) + ' characters')), inner);
    return shown;
  }
  if (value.includes('\n')) return h('div.leaf', {}, label, h('pre.string.block', {}, value));
  if (value.length <= SHORT) return h('div.leaf', {}, label, h('span.string', {}, value === '' ? '""' : value));
  const text = h('span.string', {}, value.slice(0, SHORT) + '…');
  const button = h('button.link', { type: 'button', onclick: () => {
    text.replaceWith(h('span.string', {}, value));
    button.remove();
  } }, 'all ' + count(value.length) + ' characters');
  return h('div.leaf', {}, label, text, ' ', button);
}
