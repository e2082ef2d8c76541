// The axis above the steps: where the time went, or where the tokens went. A click leads to the step.
import { h, replace } from './dom.js';
import { remember, remembered } from './remembered.js';
import { timeLanes } from './time_lanes.js';
import { tokenBars } from './token_bars.js';

export function axis(page, go) {
  const kinds = new Map([['time', timeLanes(page)], ['tokens', tokenBars(page)]].filter(([, found]) => found));
  if (!kinds.size) return null;
  let name = kinds.has(remembered('axis', 'time')) ? remembered('axis', 'time') : [...kinds.keys()][0];
  let picture = kinds.get(name);
  let current = -1;
  const canvas = h('canvas.axis', { role: 'img' });
  // An element of its own: drawing thousands of steps again for each one passed would be slow.
  const cursor = h('span.cursor', { 'aria-hidden': 'true' });
  const tip = h('span.tip', { 'aria-hidden': 'true' });
  const names = h('div.lane-names');
  const legend = h('div.axis-legend');
  const choice = kinds.size > 1 ? h('div.choice', { role: 'group', 'aria-label': 'What the axis shows' }, [...kinds.keys()].map((each) => h('button', { type: 'button', 'aria-pressed': String(each === name), onclick: () => choose(each) }, each))) : null;

  function choose(wanted) {
    name = wanted;
    picture = kinds.get(name);
    remember('axis', name);
    for (const button of choice.children) button.setAttribute('aria-pressed', String(button.textContent === name));
    dress();
    redraw();
    at(current);
  }

  function dress() {
    canvas.style.height = picture.height + 'px';
    canvas.setAttribute('aria-label', picture.words);
    replace(names, picture.lanes.map((each) => h('span', { title: each, style: { height: picture.lane + 'px', lineHeight: picture.lane + 'px' } }, each)));
    replace(legend, choice, picture.legend.map(([kind, words]) => h('span.dot', { class: kind }, words)), h('span', {}, picture.sum));
  }

  function redraw() {
    const width = canvas.clientWidth;
    if (!width || page.rest) return;
    const scale = devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = picture.height * scale;
    const pen = canvas.getContext('2d');
    pen.scale(scale, scale);
    const style = getComputedStyle(canvas);
    picture.draw(pen, width, (colour) => style.getPropertyValue('--' + colour));
  }

  function at(place) {
    current = place;
    const share = place < 0 ? null : picture.x(place);
    cursor.hidden = share == null;
    if (share != null) cursor.style.left = share * 100 + '%';
  }

  canvas.addEventListener('click', (event) => go(picture.nearest(event.offsetX / canvas.clientWidth, event.offsetY)));
  canvas.addEventListener('mousemove', (event) => {
    tip.textContent = picture.tip(picture.nearest(event.offsetX / canvas.clientWidth, event.offsetY));
    tip.style.left = Math.max(0, Math.min(event.offsetX, canvas.clientWidth - 220)) + 'px';
    tip.classList.add('shown');
  });
  canvas.addEventListener('mouseleave', () => tip.classList.remove('shown'));
  // Words come first: the axis is drawn in the frame after theirs.
  new ResizeObserver(() => requestAnimationFrame(redraw)).observe(canvas);
  dress();
  at(-1);
  return { element: h('div.time', { class: page.rest ? 'not-yet' : '' }, names, h('div.axis-box', {}, canvas, cursor, tip), legend), at, redraw };
}
