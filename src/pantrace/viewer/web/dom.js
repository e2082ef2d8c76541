// Elements without markup: every text becomes a text node, so nothing in a recording can become an element.

const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udc7f]/;
const HIDDEN_ALL = new RegExp(HIDDEN, 'g');

// Characters that cannot be seen but change what is: shown as small marks with their numbers.
function withMarks(text) {
  const nodes = document.createDocumentFragment();
  let from = 0;
  for (const found of text.matchAll(HIDDEN_ALL)) {
    nodes.append(text.slice(from, found.index));
    const number = 'U+' + found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
    const mark = document.createElement('span');
    mark.className = 'mark';
    mark.title = 'a hidden character: ' + number;
    mark.textContent = number;
    nodes.append(mark);
    from = found.index + found[0].length;
  }
  nodes.append(text.slice(from));
  return nodes;
}

export function textNode(text) {
  return HIDDEN.test(text) ? withMarks(text) : document.createTextNode(text);
}

function add(parent, child) {
  if (child == null || child === false || child === '') return;
  if (Array.isArray(child)) child.forEach((each) => add(parent, each));
  else parent.append(child instanceof Node ? child : textNode(String(child)));
}

// h('button.small', {onclick: …, title: …}, 'text', other)
export function h(tag, props, ...children) {
  const [name, ...classes] = tag.split('.');
  const element = document.createElement(name || 'div');
  if (classes.length) element.className = classes.join(' ');
  for (const [key, value] of Object.entries(props || {})) {
    if (value == null || value === false) continue;
    if (key === 'class') element.className += ' ' + value;
    else if (key === 'style') Object.assign(element.style, value);
    else if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key === 'title') element.title = value;
    else element.setAttribute(key, value === true ? '' : value);
  }
  add(element, children);
  return element;
}

export function svg(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes || {})) if (value != null) element.setAttribute(key, value);
  add(element, children);
  return element;
}

export function replace(parent, ...children) {
  parent.replaceChildren();
  add(parent, children);
}

const ICONS = {
  link: 'M10 13a5 5 0 0 0 7.5.5l3-3a5 5 0 0 0-7-7l-1.7 1.7M14 11a5 5 0 0 0-7.5-.5l-3 3a5 5 0 0 0 7 7l1.7-1.7',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  code: 'M8 6l-6 6 6 6M16 6l6 6-6 6',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM21 21l-5-5',
  moon: 'M21 13A9 9 0 1 1 11 3a7 7 0 0 0 10 10z',
  help: 'M9 9a3 3 0 1 1 4 3c-1 .5-1 1-1 2M12 18h.01M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20z',
  list: 'M8 6h13M8 12h13M8 18h13M3 6h.01M3 12h.01M3 18h.01',
  tool: 'M14.7 6.3a4 4 0 0 0-5 5L3 18l3 3 6.700-6.700a4 4 0 0 0 5-5l-2.500 2.500-2.500-.500-.500-2.500z',
  braces: 'M8 4c-2 0-3 1-3 3v2c0 2-1 3-2 3 1 0 2 1 2 3v2c0 2 1 3 3 3M16 4c2 0 3 1 3 3v2c0 2 1 3 2 3-1 0-2 1-2 3v2c0 2-1 3-3 3',
  print: 'M6 9V3h12v6M6 18H4v-8h16v8h-2M8 14h8v7H8z',
  up: 'M7 11v9H4v-9zM7 11l4-8c1.500 0 3 1 3 3v3h5.500c1 0 1.800 1 1.500 2l-1.500 7c-.200 1-1 2-2 2H7',
  down: 'M17 13V4h3v9zM17 13l-4 8c-1.500 0-3-1-3-3v-3H4.500c-1 0-1.800-1-1.500-2l1.500-7c.200-1 1-2 2-2H17',
};

export function icon(name) {
  return svg('svg', { viewBox: '0 0 24 24', class: 'icon', 'aria-hidden': 'true' }, svg('path', { d: ICONS[name] }));
}

export function iconButton(name, title, onclick, label) {
  return h('button.icon-button', { type: 'button', title, 'aria-label': title, onclick }, icon(name), label);
}
