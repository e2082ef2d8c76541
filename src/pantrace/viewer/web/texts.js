// A text in the form it has: Markdown, JSON, a diff, terminal output or plain; long ones folded, never cut.
import { h, replace } from './dom.js';
import { ansi, hasAnsi } from './ansi.js';
import { diff, editOf, looksLikeDiff, patch } from './diff.js';
import { looksLikeMarkdown, markdown } from './markdown.js';
import { jsonIn, tree } from './json_tree.js';
import { Cut, imageAddress, rawText } from './source.js';
import { bytes, count } from './words.js';

const TALL = 22;
const LONG = 2600;
const HEAD = 2800;

// prose: what somebody said, where Markdown is likely.
export function text(value, { prose = false, whole = false } = {}) {
  if (value instanceof Cut) return value.image ? picture(value) : cutText(value, { prose });
  if (whole || !isTall(value)) return form(value, prose);
  const json = jsonIn(value);
  if (json !== undefined) return folded(tree(json), value);
  // The browser lays out only the beginning, until somebody wants all of it.
  return folded(form(value.slice(0, HEAD), prose), value, () => form(value, prose));
}

function isTall(value) {
  return value.length > LONG || value.split('\n', TALL + 2).length > TALL;
}

function form(value, prose) {
  if (hasAnsi(value)) return ansi(value);
  const json = jsonIn(value);
  if (json !== undefined) return tree(json);
  if (looksLikeDiff(value)) return patch(value);
  if (prose && looksLikeMarkdown(value)) return markdown(value);
  return h(prose ? 'div.prose' : 'pre.plain', { dir: 'auto' }, value);
}

export function folded(shown, value, whole) {
  if (!isTall(value)) return shown;
  const box = h('div.fold', {}, shown);
  const button = h('button.link', { type: 'button', 'aria-expanded': 'false', onclick: () => {
    if (whole) {
      replace(box, whole());
      whole = null;
    }
    const open = box.classList.toggle('open');
    button.setAttribute('aria-expanded', String(open));
    button.textContent = open ? 'Show less' : 'Show all ' + count(value.length) + ' characters';
  } }, 'Show all ' + count(value.length) + ' characters');
  return h('div', {}, box, button);
}

export function cutText(cut, { prose = false } = {}) {
  const box = h('div.cut', {}, h(prose ? 'div.prose' : 'pre.plain', {}, cut.head + '…'));
  const button = h('button.link', { type: 'button', onclick: async () => {
    button.disabled = true;
    try {
      const whole = await rawText(cut.text);
      replace(box, pages(whole));
      button.remove();
    } catch (error) {
      button.replaceWith(h('span.trouble', {}, error.message));
    }
  } }, 'Show all ' + count(cut.size) + ' characters (' + bytes(cut.bytes) + ')');
  return h('div', {}, box, button);
}

// A very long text in pieces that a browser can lay out.
function pages(whole) {
  const size = 100000;
  const body = h('div');
  const add = (from) => {
    body.append(h('pre.plain', {}, whole.slice(from, from + size)));
    if (from + size >= whole.length) return;
    const button = h('button.link', { type: 'button', onclick: () => {
      button.remove();
      add(from + size);
    } }, 'Show more (' + count(whole.length - from - size) + ' characters left)');
    body.append(button);
  };
  add(0);
  return body;
}

export function picture(cut, alt = 'picture from the recording') {
  const image = h('img.picture', { alt, loading: 'lazy' });
  const frame = h('span.frame', {}, image);
  imageAddress(cut.image, cut.mime).then((address) => {
    image.addEventListener('load', () => URL.revokeObjectURL(address), { once: true });
    image.addEventListener('error', () => replace(frame, h('span.trouble', {}, 'This picture cannot be shown.')), { once: true });
    image.src = address;
  }, (error) => replace(frame, h('span.trouble', {}, error.message)));
  return frame;
}

// Any value of a recording.
export function value(given, options = {}) {
  if (given === undefined || given === null) return null;
  if (typeof given === 'string' || given instanceof Cut) return text(given, options);
  return tree(given, { open: options.open ?? 2, cut: (each) => text(each) });
}

// The arguments of a call: edits as diffs, commands and code as such, the rest as a tree.
export function callArguments(given) {
  if (typeof given === 'string') {
    const parsed = jsonIn(given);
    return parsed === undefined ? text(given) : callArguments(parsed);
  }
  if (given === null || given === undefined || typeof given !== 'object' || Array.isArray(given) || given instanceof Cut) return value(given);
  const rest = { ...given };
  const parts = [];
  const edit = editOf(rest);
  if (edit) {
    parts.push(folded(diff(rest[edit.before], rest[edit.after]), rest[edit.before] + rest[edit.after]));
    delete rest[edit.before];
    delete rest[edit.after];
  }
  for (const name of ['command', 'cmd', 'code', 'script', 'patch', 'diff', 'content', 'query', 'sql', 'patchText']) {
    const found = rest[name];
    if (typeof found === 'string' && (found.includes('\n') || ['command', 'cmd'].includes(name)) && jsonIn(found) === undefined) {
      parts.push(h('div.named', {}, h('span.key', {}, name), form(found, false).tagName === 'PRE' ? folded(form(found, false), found) : text(found)));
      delete rest[name];
    }
  }
  if (Object.keys(rest).length) parts.unshift(tree(rest, { open: 2, cut: (each) => text(each) }));
  return parts.length ? h('div', {}, parts) : h('span.quiet', {}, 'no arguments');
}
