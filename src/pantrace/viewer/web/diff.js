// Two texts line by line, and texts that are diffs already.
import { h } from './dom.js';

const MOST_LINES = 1500;

function lineDiff(before, after) {
  // An end of line that both have is no line.
  const both = before.endsWith('\n') && after.endsWith('\n');
  const [one, two] = [before, after].map((text) => (both ? text.slice(0, -1) : text).split('\n'));
  let start = 0;
  while (start < one.length && start < two.length && one[start] === two[start]) start += 1;
  let end = 0;
  while (end < one.length - start && end < two.length - start && one[one.length - 1 - end] === two[two.length - 1 - end]) end += 1;
  const a = one.slice(start, one.length - end);
  const b = two.slice(start, two.length - end);
  const found = one.slice(0, start).map((line) => [' ', line]);
  if (a.length * b.length > MOST_LINES * MOST_LINES) found.push(...a.map((line) => ['-', line]), ...b.map((line) => ['+', line]));
  else found.push(...longestCommon(a, b));
  return [...found, ...one.slice(one.length - end).map((line) => [' ', line])];
}

function longestCommon(a, b) {
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  const found = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.push([' ', a[i]]);
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && table[i + 1][j] >= table[i][j + 1])) {
      found.push(['-', a[i]]);
      i += 1;
    } else {
      found.push(['+', b[j]]);
      j += 1;
    }
  }
  return found;
}

const CLASSES = { '+': 'added', '-': 'removed', ' ': 'same', '@': 'place' };

function drawn(lines) {
  return h('pre.diff', {}, lines.map(([sign, line]) => h('span', { class: CLASSES[sign] }, sign + ' ' + line + '\n')));
}

export function diff(before, after) {
  return drawn(lineDiff(before, after));
}

export function looksLikeDiff(text) {
  return /^(diff --git |--- |\*\*\* Begin Patch|Index: )/.test(text) && /^[+-]/m.test(text);
}

export function patch(text) {
  return h('pre.diff', {}, text.split('\n').map((line) => {
    const kind = /^(\+\+\+|---|diff |index |\*\*\*|Index)/.test(line) ? 'place' : CLASSES[line[0]] || 'same';
    return h('span', { class: kind }, line + '\n');
  }));
}

// Pairs of keys under which tools take a text and what to put in its place.
const EDITS = [['oldString', 'newString'], ['old_string', 'new_string'], ['old_str', 'new_str'], ['old_text', 'new_text'], ['old', 'new']];

export function editOf(values) {
  if (!values || typeof values !== 'object' || Array.isArray(values)) return null;
  for (const [before, after] of EDITS) {
    if (typeof values[before] === 'string' && typeof values[after] === 'string') return { before, after };
  }
  return null;
}
