// A screenshot with what the hand did on it: the click, the box it aimed at, and where the reference clicks.
import { h, svg } from './dom.js';
import { Cut } from './source.js';
import { picture } from './texts.js';

// A point as shares of the picture; null where it cannot be said.
function share(point, image) {
  const { x, y, space, viewport } = point;
  if (space === 'normalised') return [x, y];
  if (space === 'permille') return [x / 1000, y / 1000];
  const size = viewport || [image.naturalWidth, image.naturalHeight];
  if (space === 'pixels' && size[0] && size[1]) return [x / size[0], y / size[1]];
  return null;
}

function marks(action, expected, image) {
  const found = [];
  const box = action.target?.box;
  if (box) {
    const from = share({ ...box, x: box.left, y: box.top }, image);
    const to = share({ ...box, x: box.right, y: box.bottom }, image);
    if (from && to) found.push(h('span.aim', { title: 'target box', style: { left: from[0] * 100 + '%', top: from[1] * 100 + '%', width: (to[0] - from[0]) * 100 + '%', height: (to[1] - from[1]) * 100 + '%' } }));
  }
  const place = (point, name, title) => {
    const at = point && share(point, image);
    if (at) found.push(h('span.' + name, { title, style: { left: at[0] * 100 + '%', top: at[1] * 100 + '%' } }));
    return at;
  };
  const from = place(action.target?.point, 'click', action.kind);
  const to = place(action.end, 'click.end', action.kind + ' ends');
  if (from && to) {
    found.push(svg('svg', { class: 'path', viewBox: '0 0 100 100', preserveAspectRatio: 'none' },
      svg('line', { x1: from[0] * 100, y1: from[1] * 100, x2: to[0] * 100, y2: to[1] * 100 })));
  }
  place(expected?.target?.point, 'wanted', 'expected: ' + (expected?.kind || ''));
  return found;
}

export function screenshot(media, action, expected) {
  // A file beside the recording, or one that it holds itself.
  const shown = [media.picture, media.uri].find((each) => each instanceof Cut && each.image);
  if (!shown) return null;
  const frame = picture(shown, action ? 'screenshot before ' + describe(action) : media.name || 'picture');
  const image = frame.querySelector('img');
  if (action) image.addEventListener('load', () => frame.append(...marks(action, expected, image)));
  frame.classList.add('screen');
  image.addEventListener('click', () => enlarge(image, frame));
  return frame;
}

function enlarge(image, frame) {
  const dialog = h('dialog.large', { 'aria-label': image.alt, onclick: () => dialog.close(), onclose: () => dialog.remove() }, frame.cloneNode(true));
  document.body.append(dialog);
  dialog.showModal();
}

const NEAR = 0.05; // of the screen

// Whether an action is the one that was expected: another kind is wrong, another place is doubtful.
export function agreement(action, expected) {
  if (action.kind !== expected.kind) return 'bad';
  const [one, two] = [action.target?.point, expected.target?.point];
  if (!one || !two || one.space !== two.space) return 'good';
  const [wide, high] = one.space === 'permille' ? [1000, 1000] : one.space === 'pixels' ? one.viewport || [1920, 1080] : [1, 1];
  return Math.hypot((one.x - two.x) / wide, (one.y - two.y) / high) <= NEAR ? 'good' : 'warn';
}

export function describe(action) {
  const target = action.target || {};
  const words = [String(action.kind).replaceAll('_', ' ')];
  if (target.description) words.push('“' + target.description + '”');
  else if (target.element != null) words.push('element ' + target.element);
  if (target.point) words.push('at ' + coordinates(target.point));
  if (action.end) words.push('to ' + coordinates(action.end));
  if (action.text != null) words.push('“' + action.text + '”');
  if (action.key) words.push([...(action.modifiers || []), action.key].join('+'));
  if (action.direction) words.push(action.direction + (action.amount != null ? ' ' + action.amount : ''));
  if (action.url) words.push(action.url);
  if (action.app) words.push(action.app);
  if (action.seconds != null) words.push(action.seconds + ' s');
  return words.join(' ');
}

function coordinates(point) {
  const digits = (number) => (point.space === 'normalised' ? +number.toFixed(3) : Math.round(number));
  return '(' + digits(point.x) + ', ' + digits(point.y) + ')' + (point.space === 'pixels' ? ' px' : point.space === 'permille' ? ' ‰' : '');
}
